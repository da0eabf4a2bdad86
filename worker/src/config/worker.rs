//! What does `[worker]` say about the process that runs jobs?

use super::section::{CANARY_MS, GRACE_MS, SLOTS, UID_BASE, WORKER};
use super::sources::Sources;
use super::{Config, Worker};
use kiln_protocol::limits::LimitUnit;
use kiln_warden::UID_BLOCK;
use kiln_warden::confine::User;
use kiln_warden::profile::keys::Keys;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// The folder that outlives the process, unless told otherwise.
const STATE: &str = "/var/lib/kiln";
const GRACE_MS_DEFAULT: u64 = 30_000;

/// What is said; `None` is nothing.
struct Raw {
    name: Option<String>,
    slots: Option<u64>,
    grace_ms: Option<u64>,
    canary_ms: Option<u64>,
    state: Option<PathBuf>,
    runtime: Option<PathBuf>,
    cgroup_parent: Option<String>,
    uid_base: Option<u32>,
    user: Option<User>,
}

pub(super) fn settle(sources: &Sources) -> Worker {
    let raw = sources.section(&WORKER, read);
    if let Some(why) = raw.runtime.as_deref().and_then(untrusted) {
        sources.wrong(sources.label(&WORKER, "runtime"), why);
    }
    let cpus = || std::thread::available_parallelism().map_or(1, usize::from);
    let slots = raw.slots.and_then(|slots| usize::try_from(slots).ok());
    Worker {
        name: raw.name.unwrap_or_else(Config::host_name),
        slots: slots.unwrap_or_else(cpus),
        grace: Duration::from_millis(raw.grace_ms.unwrap_or(GRACE_MS_DEFAULT)),
        canary: raw
            .canary_ms
            .filter(|ms| *ms > 0)
            .map(Duration::from_millis),
        state: raw.state.unwrap_or_else(|| STATE.into()),
        runtime: raw.runtime,
        cgroup_parent: raw.cgroup_parent,
        uid_base: raw.uid_base,
        user: raw.user,
    }
}

fn read(keys: &Keys) -> Raw {
    let count = |name, (least, most)| keys.figure(name, LimitUnit::Count, least, most);
    let uid_base = uid_base(keys);
    Raw {
        name: name(keys),
        slots: count("slots", SLOTS),
        grace_ms: count("grace_ms", GRACE_MS),
        canary_ms: count("canary_ms", CANARY_MS),
        state: path(keys, "state"),
        runtime: path(keys, "runtime"),
        cgroup_parent: cgroup_parent(keys),
        user: user(keys, uid_base.unwrap_or(kiln_warden::UID_BASE)),
        uid_base,
    }
}

fn name(keys: &Keys) -> Option<String> {
    worker_name(keys.text("name")?)
        .map_err(|problem| keys.wrong("name", problem))
        .ok()
}

/// A worker's name, or what is wrong with it.
pub(crate) fn worker_name(name: &str) -> Result<String, &'static str> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        return Err("it must have 1 to 64 letters, digits, `.`, `-` and `_`");
    }
    Ok(name.to_owned())
}

/// An absolute path.
pub(super) fn path(keys: &Keys, name: &str) -> Option<PathBuf> {
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

/// Whether a path has no part that leads elsewhere.
pub(super) fn is_plain(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
        && !path.as_os_str().as_encoded_bytes().contains(&0)
}

fn uid_base(keys: &Keys) -> Option<u32> {
    let (least, most) = UID_BASE;
    let base = keys.figure("uid_base", LimitUnit::Count, least, most)?;
    let base = u32::try_from(base).expect("it was compared with a figure of 32 bits");
    if !base.is_multiple_of(UID_BLOCK) {
        let usual = kiln_warden::UID_BASE;
        keys.wrong(
            "uid_base",
            format!("it must be a multiple of {UID_BLOCK}, such as {usual}"),
        );
        return None;
    }
    Some(base)
}

fn user(keys: &Keys, base: u32) -> Option<User> {
    super::user::user(keys.text("user")?, base)
        .map_err(|problem| keys.wrong("user", problem))
        .ok()
}

/// Why the warden would not take a folder for locks and sockets; one that is not there is made.
fn untrusted(runtime: &Path) -> Option<String> {
    let meta = runtime.symlink_metadata().ok()?;
    let trusted = meta.is_dir() && meta.uid() == 0 && meta.mode() & 0o022 == 0;
    (!trusted).then(|| {
        format!(
            "`{}` must be a folder of root that nobody else can write to",
            runtime.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{load, told};
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_section_is_read() {
        let text = "[worker]\nname = \"a-1\"\nslots = 3\ngrace_ms = 5\ncanary_ms = 9\nstate = \"/s\"\n\
                    runtime = \"/run/absent\"\ncgroup_parent = \"/k/l\"\nuid_base = 4194304\n";
        let worker = load(text, &[]).expect("it is right").worker;
        assert_eq!((worker.name.as_str(), worker.slots), ("a-1", 3));
        assert_eq!(worker.grace, Duration::from_millis(5));
        assert_eq!(worker.canary, Some(Duration::from_millis(9)));
        assert_eq!(worker.state, Path::new("/s"));
        assert_eq!(worker.runtime, Some("/run/absent".into()));
        assert_eq!(worker.cgroup_parent.as_deref(), Some("/k/l"));
        assert_eq!(worker.uid_base, Some(4_194_304));
        let worker = load("", &[]).expect("nothing is wrong").worker;
        assert_eq!(worker.grace, Duration::from_secs(30));
        assert_eq!(worker.canary, None);
        assert_eq!(worker.state, Path::new("/var/lib/kiln"));
        assert!(worker.slots >= 1 && worker.runtime.is_none());
    }

    #[test]
    fn what_is_wrong_is_named_by_its_key() {
        let said = told(
            "[worker]\nslot = 1\nslots = 0\nruntime = \"r\"\nstate = \"/a/../b\"\n\
             cgroup_parent = \"/\"\nuid_base = 5\nname = \"a b\"\n",
            &[],
        );
        for wanted in [
            "take `worker.slot`: `slot` is not known here; did you mean `slots`?",
            "take `worker.slots`: 0 is not between 1 and 1024",
            "take `worker.runtime`: it must be an absolute path",
            "take `worker.state`: it must be an absolute path",
            "take `worker.cgroup_parent`",
            "take `worker.uid_base`: it must be a multiple of 4194304",
            "take `worker.name`",
        ] {
            assert!(said.contains(wanted), "`{wanted}` is not in:\n{said}");
        }
        assert_eq!(said.lines().count(), 7, "{said}");
    }

    #[test]
    fn a_runtime_folder_that_others_can_write_to_is_refused() {
        let dir = crate::cli::scratch::Folder::new();
        let open = dir.path().join("open");
        std::fs::create_dir(&open).expect("scratch");
        std::fs::set_permissions(&open, Permissions::from_mode(0o777)).expect("ours");
        let text = format!("[worker]\nruntime = {open:?}\n");
        let said = told(&text, &[]);
        assert!(said.contains("open` must be a folder of root"), "{said}");
        assert!(untrusted(&dir.path().join("kiln.toml/x")).is_none());
        assert!(untrusted(Path::new("/etc/passwd")).is_some());
        assert!(untrusted(Path::new("/etc")).is_none());
    }
}
