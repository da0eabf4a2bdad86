//! What is said on the control exchange?

use crate::id::{JobId, Tenant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of this version of the control messages.
pub const CONTROL_SCHEMA: &str = "kiln.control.v1";

/// Ends a job, whether it runs or waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "kiln.control.v1")]
pub struct Cancellation {
    /// The version of the message.
    #[schemars(extend("const" = CONTROL_SCHEMA))]
    pub schema: String,
    /// The job.
    pub cancel: JobId,
    /// Whose it must be, where that is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Tenant>,
}

/// What a worker says to that, where the message names a queue to reply to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlAnswer {
    /// The version of the message.
    pub schema: String,
    /// The job.
    pub cancel: JobId,
    /// How it stands with this worker.
    pub state: ControlState,
    /// Who says so.
    pub worker: String,
}

/// How a job that is to be ended stands with one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlState {
    /// It runs there and is being ended; its outcome follows.
    Ending,
    /// It does not run there; it will not start.
    Pending,
    /// Nothing is known of such a job of this tenant.
    Unknown,
}

impl Cancellation {
    /// The wish to end a job.
    pub fn of(job: JobId, tenant: Option<Tenant>) -> Self {
        Self {
            schema: CONTROL_SCHEMA.to_owned(),
            cancel: job,
            tenant,
        }
    }

    /// The message as JSON in one line.
    ///
    /// # Panics
    ///
    /// Never: what it holds always serialises.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings always serialise")
    }
}

impl ControlAnswer {
    /// The message as JSON in one line.
    ///
    /// # Panics
    ///
    /// Never: what it holds always serialises.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings always serialise")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_s_message_is_understood() {
        let read: Cancellation = serde_json::from_str(
            r#"{"schema": "kiln.control.v1", "cancel": "0199f0c2-6f5e", "more": 1}"#,
        )
        .expect("it is as in the contract");
        let wanted = Cancellation::of("0199f0c2-6f5e".parse().expect("an id"), None);
        assert_eq!(read, wanted);
        assert!(!wanted.to_json().contains("tenant"));
        assert!(
            serde_json::from_str::<Cancellation>(r#"{"schema": "x", "cancel": "../a"}"#).is_err()
        );
    }
}
