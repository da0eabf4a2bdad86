//! What does whoever admits jobs know that a message does not say?

use crate::id::{JobId, Tenant};
use crate::job::Class;
use crate::limits::LimitTable;

/// What is known of a profile when a job is admitted.
#[derive(Clone, Copy, Debug)]
pub struct ProfileView<'a> {
    /// Whether it runs `code`.
    pub has_interpreter: bool,
    /// The file that `code` is saved as, such as `main.py`.
    pub main: Option<&'a str>,
    /// What its limits may be.
    pub limits: &'a LimitTable,
    /// What its jobs may ask to reach, as `host:port` or `*.host:port`.
    pub network: &'a [String],
}

/// The profiles there are.
pub trait ProfileSource {
    /// The profile of this name.
    fn profile(&self, name: &str) -> Option<ProfileView<'_>>;

    /// Their names, for whoever asked for another.
    fn names(&self) -> Vec<&str>;
}

/// Where an id comes from if the job has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdRule {
    /// From nowhere: the job is refused.
    Required,
    /// From the line or the command line. One in the job wins.
    Given(JobId),
    /// From the properties of a message. One in the job wins, with a warning where they differ.
    Message(JobId),
}

/// For whom a job may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TenantRule {
    /// For whom it says, and for this one if it says nothing.
    Default(Tenant),
    /// For this one; a job that names another is refused.
    Only(Tenant),
    /// For this one, whatever it says, with a warning where it names another: nobody has checked
    /// who sent it.
    Unchecked(Tenant),
}

/// The terms on which jobs are taken in.
#[derive(Clone)]
pub struct Admission<'a> {
    /// The profiles there are.
    pub profiles: &'a dyn ProfileSource,
    /// Where an id comes from if the job has none.
    pub id: IdRule,
    /// For whom the job may run.
    pub tenant: TenantRule,
    /// The class of the queue it came by, which wins over the job's, with a warning.
    pub class: Option<Class>,
}

impl std::fmt::Debug for Admission<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admission")
            .field("profiles", &self.profiles.names())
            .field("id", &self.id)
            .field("tenant", &self.tenant)
            .field("class", &self.class)
            .finish()
    }
}
