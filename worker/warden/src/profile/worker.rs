//! What do `[worker]` and the environment say about the process that runs jobs?

use super::ProfileError;
use super::keys::{Keys, unknown};
use crate::uids;
use kiln_protocol::limits::LimitUnit;
use std::cell::RefCell;
use std::path::{Component, Path, PathBuf};
use toml::{Table, Value};

/// The sections that a configuration may have; not all of them are served yet.
const SECTIONS: [&str; 9] = [
    "amqp",
    "egress",
    "profiles",
    "redis",
    "scanner",
    "secrets",
    "store",
    "telemetry",
    "tenants",
];

/// The section of this file.
const WORKER: &str = "worker";

const KEYS: [&str; 7] = [
    "cgroup_parent",
    "grace_ms",
    "name",
    "runtime",
    "slots",
    "state",
    "uid_base",
];

/// What every variable that sets a key begins with; between section and key stand two `_`.
const PREFIX: &str = "KILN_";

const GRACE_MS_MAX: u64 = 24 * 60 * 60 * 1_000;

/// What is said about the process that runs jobs; `None` is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerSection {
    /// The name in outcomes.
    pub name: Option<String>,
    /// Jobs that run at once.
    pub slots: Option<u16>,
    /// How long running jobs have at the end.
    pub grace_ms: Option<u64>,
    /// The folder that outlives the process.
    pub state: Option<PathBuf>,
    /// The folder for locks and sockets.
    pub runtime: Option<PathBuf>,
    /// The control group below which everything is made.
    pub cgroup_parent: Option<String>,
    /// The first host uid for sandboxes.
    pub uid_base: Option<u32>,
}

/// The section of a file; every section that there is not is named.
pub(super) fn read(document: &Table) -> (WorkerSection, Vec<ProfileError>) {
    let errors = RefCell::new(Vec::new());
    let known: Vec<&str> = SECTIONS.into_iter().chain([WORKER]).collect();
    for name in document.keys() {
        if !known.contains(&name.as_str()) {
            errors.borrow_mut().push(ProfileError::Key {
                key: name.clone(),
                problem: unknown(name, &known),
            });
        }
    }
    let section = match document.get(WORKER) {
        None => WorkerSection::default(),
        Some(Value::Table(table)) => one(&Keys::new(table, WORKER, &errors)),
        Some(_) => {
            errors.borrow_mut().push(ProfileError::Key {
                key: WORKER.to_owned(),
                problem: "it must be a table: `[worker]`".to_owned(),
            });
            WorkerSection::default()
        }
    };
    (section, errors.into_inner())
}

fn one(keys: &Keys) -> WorkerSection {
    keys.only(&KEYS);
    let count = |name, least, most| keys.figure(name, LimitUnit::Count, least, most);
    WorkerSection {
        name: name(keys),
        slots: count("slots", 1, 1_024)
            .map(|n| u16::try_from(n).expect("it was compared with a figure of 16 bits")),
        grace_ms: count("grace_ms", 0, GRACE_MS_MAX),
        state: folder(keys, "state"),
        runtime: folder(keys, "runtime"),
        cgroup_parent: cgroup_parent(keys),
        uid_base: uid_base(keys),
    }
}

fn name(keys: &Keys) -> Option<String> {
    let name = keys.text("name")?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        keys.wrong(
            "name",
            "it must have 1 to 64 letters, digits, `.`, `-` and `_`",
        );
        return None;
    }
    Some(name.to_owned())
}

fn folder(keys: &Keys, name: &str) -> Option<PathBuf> {
    let path = Path::new(keys.text(name)?);
    if !path.is_absolute() || !is_plain(path) {
        keys.wrong(name, "it must be an absolute path without `..`");
        return None;
    }
    Some(path.to_owned())
}

fn cgroup_parent(keys: &Keys) -> Option<String> {
    let group = keys.text("cgroup_parent")?;
    let path = Path::new(group);
    if !path.is_absolute() || !is_plain(path) || path.components().count() < 2 {
        keys.wrong(
            "cgroup_parent",
            "it must be the path of a group below the root, such as `/kiln`",
        );
        return None;
    }
    Some(group.to_owned())
}

fn is_plain(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
        && !path.as_os_str().as_encoded_bytes().contains(&0)
}

fn uid_base(keys: &Keys) -> Option<u32> {
    let most = u64::from(u32::MAX - uids::BLOCK);
    let base = keys.figure("uid_base", LimitUnit::Count, 1, most)?;
    let base = u32::try_from(base).expect("it was compared with a figure of 32 bits");
    if !base.is_multiple_of(uids::BLOCK) {
        let block = uids::BLOCK;
        keys.wrong(
            "uid_base",
            format!("it must be a multiple of {block}, such as {}", uids::BASE),
        );
        return None;
    }
    Some(base)
}

impl WorkerSection {
    /// This, with what the environment sets in its place, and what is wrong with that.
    pub(super) fn with_variables(
        self,
        variables: impl Iterator<Item = (String, String)>,
    ) -> (Self, Vec<ProfileError>) {
        let mut table = Table::new();
        let mut errors = Vec::new();
        for (variable, value) in variables {
            let Some((section, key)) = variable
                .strip_prefix(PREFIX)
                .and_then(|rest| rest.split_once("__"))
            else {
                continue;
            };
            let section = section.to_ascii_lowercase();
            let problem = match section.as_str() {
                WORKER => {
                    let key = key.to_ascii_lowercase();
                    let value = Value::String(value.clone());
                    if KEYS.contains(&key.as_str()) {
                        table.insert(key, value);
                        continue;
                    }
                    unknown(&key, &KEYS)
                }
                "profiles" => "profiles are set in the file alone, as the warden reads it".into(),
                known if SECTIONS.contains(&known) => continue,
                other => unknown(
                    other,
                    &SECTIONS.into_iter().chain([WORKER]).collect::<Vec<_>>(),
                ),
            };
            errors.push(ProfileError::Key {
                key: variable,
                problem,
            });
        }
        let wrong = RefCell::new(Vec::new());
        let own = one(&Keys::new(&table, WORKER, &wrong));
        errors.extend(
            wrong
                .into_inner()
                .into_iter()
                .map(|error| named(error, &table)),
        );
        let all = Self {
            name: own.name.or(self.name),
            slots: own.slots.or(self.slots),
            grace_ms: own.grace_ms.or(self.grace_ms),
            state: own.state.or(self.state),
            runtime: own.runtime.or(self.runtime),
            cgroup_parent: own.cgroup_parent.or(self.cgroup_parent),
            uid_base: own.uid_base.or(self.uid_base),
        };
        (all, errors)
    }
}

/// A mistake under the name of its variable, with the value.
fn named(error: ProfileError, table: &Table) -> ProfileError {
    match error {
        ProfileError::Key { key, problem } => {
            let key = key.rsplit('.').next().unwrap_or_default();
            let value = table.get(key).and_then(Value::as_str).unwrap_or_default();
            let upper = key.to_ascii_uppercase();
            ProfileError::Key {
                key: format!("{PREFIX}WORKER__{upper}={value}"),
                problem,
            }
        }
        other @ (ProfileError::File(_) | ProfileError::Syntax { .. }) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> Result<WorkerSection, Vec<String>> {
        let table = text.parse().expect("it is TOML");
        told(read(&table))
    }

    fn told(
        (section, errors): (WorkerSection, Vec<ProfileError>),
    ) -> Result<WorkerSection, Vec<String>> {
        if errors.is_empty() {
            return Ok(section);
        }
        Err(errors.iter().map(ToString::to_string).collect())
    }

    fn set(variables: &[(&str, &str)]) -> Result<WorkerSection, Vec<String>> {
        let file = WorkerSection {
            name: Some("file".into()),
            slots: Some(2),
            ..WorkerSection::default()
        };
        let owned = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        told(file.with_variables(owned))
    }

    #[test]
    fn the_section_is_read() {
        let found = section(
            "[worker]\nname = \"a-1\"\nslots = 3\ngrace_ms = 5\nstate = \"/s\"\nruntime = \"/r\"\n\
             cgroup_parent = \"/k/l\"\nuid_base = 4194304\n[amqp]\nurl = \"x\"\n",
        );
        let wanted = WorkerSection {
            name: Some("a-1".into()),
            slots: Some(3),
            grace_ms: Some(5),
            state: Some("/s".into()),
            runtime: Some("/r".into()),
            cgroup_parent: Some("/k/l".into()),
            uid_base: Some(4_194_304),
        };
        assert_eq!(found, Ok(wanted));
        assert_eq!(section(""), Ok(WorkerSection::default()));
    }

    #[test]
    fn everything_that_is_wrong_is_named_at_once() {
        let found = section(
            "wroker = 1\n[worker]\nslot = 1\nslots = 0\nruntime = \"r\"\ncgroup_parent = \"/\"\n\
             uid_base = 5\nname = \"a b\"\n[profile.x]\n",
        );
        let errors = found.expect_err("much is wrong");
        let all = errors.join("\n");
        for wanted in [
            "take `wroker`: `wroker` is not known here; did you mean `worker`?",
            "take `profile`: `profile` is not known here; did you mean `profiles`?",
            "take `worker.slot`: `slot` is not known here; did you mean `slots`?",
            "take `worker.slots`: 0 is not between 1 and 1024",
            "take `worker.runtime`: it must be an absolute path",
            "take `worker.cgroup_parent`",
            "take `worker.uid_base`: it must be a multiple of 4194304",
            "take `worker.name`",
        ] {
            assert!(all.contains(wanted), "`{wanted}` is not in:\n{all}");
        }
        assert_eq!(errors.len(), 8);
    }

    #[test]
    fn a_variable_wins_over_the_file() {
        let found = set(&[
            ("KILN_WORKER__SLOTS", "7"),
            ("KILN_WORKER__RUNTIME", "/run/other"),
            ("KILN_LOG", "debug"),
            ("KILN_AMQP__URL", "amqp://"),
            ("HOME", "/root"),
        ])
        .expect("all is right");
        assert_eq!(found.slots, Some(7));
        assert_eq!(found.runtime, Some("/run/other".into()));
        assert_eq!(found.name, Some("file".into()));
    }

    #[test]
    fn a_wrong_variable_is_named_with_its_value() {
        let errors = set(&[
            ("KILN_WORKER__SLOTS", "banana"),
            ("KILN_WORKER__SLOT", "1"),
            ("KILN_WROKER__SLOTS", "1"),
            ("KILN_PROFILES__PYTHON__REUSE", "any"),
        ])
        .expect_err("each is wrong");
        let all = errors.join("\n");
        for wanted in [
            "take `KILN_WORKER__SLOTS=banana`: `banana`",
            "take `KILN_WORKER__SLOT`: `slot` is not known here; did you mean `slots`?",
            "take `KILN_WROKER__SLOTS`: `wroker` is not known here; did you mean `worker`?",
            "take `KILN_PROFILES__PYTHON__REUSE`: profiles are set in the file alone",
        ] {
            assert!(all.contains(wanted), "`{wanted}` is not in:\n{all}");
        }
        assert_eq!(errors.len(), 4);
    }
}
