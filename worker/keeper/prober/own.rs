//! What is the process of a job, and what was it given?

use super::call::{Answer, apart, call, make, no_limit};
use super::{Look, Seen, unsure};
use std::fs;

pub(crate) const LOOKS: &[Look] = &[
    ("identity", identity),
    ("capabilities", capabilities),
    ("filter", filter),
    ("core-files", core_files),
    ("descriptors", descriptors),
    ("environment", environment),
    ("control-groups", control_groups),
];

const JOB: &str = "1000";

/// The value of a line of `/proc/self/status`.
fn status(name: &str) -> Result<String, String> {
    let text = fs::read_to_string("/proc/self/status").map_err(|e| unsure("status", e))?;
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .map(|value| value.split_whitespace().collect::<Vec<_>>().join(" "))
        .ok_or_else(|| unsure(name, "no such line"))
}

fn identity() -> Seen {
    for name in ["Uid", "Gid"] {
        let found = status(name)?;
        if found != [JOB; 4].join(" ") {
            return Err(format!("{name} is {found}"));
        }
    }
    let groups = status("Groups")?;
    if !groups.is_empty() {
        return Err(format!("groups {groups}"));
    }
    for id in [0, 1001, 65_534] {
        let change = call("setresuid", libc::SYS_setresuid, [id, id, id, 0, 0, 0]);
        if let Answer::Done(_) = apart(|| make(&change)) {
            return Err(format!("it can become uid {id}"));
        }
    }
    let map = fs::read_to_string("/proc/self/uid_map").map_err(|e| unsure("uid_map", e))?;
    let root = map
        .lines()
        .any(|line| line.split_whitespace().next() == Some("0"));
    if root {
        return Err("root is mapped".to_owned());
    }
    Ok(format!(
        "uid and gid {JOB}, no groups, no root in the map, no other uid to become"
    ))
}

fn capabilities() -> Seen {
    for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        let found = status(name)?;
        if found.chars().any(|c| c != '0') {
            return Err(format!("{name} is {found}"));
        }
    }
    match status("NoNewPrivs")?.as_str() {
        "1" => Ok("five empty sets, no_new_privs".to_owned()),
        other => Err(format!("NoNewPrivs is {other}")),
    }
}

fn filter() -> Seen {
    let (mode, filters) = (status("Seccomp")?, status("Seccomp_filters")?);
    if (mode.as_str(), filters.as_str()) == ("2", "2") {
        return Ok("mode 2, the keeper's filter and the job's".to_owned());
    }
    Err(format!("mode {mode}, {filters} filters"))
}

/// With 0 a `|helper` of the host's would run on a crash, as the host's root.
fn core_files() -> Seen {
    let text = fs::read_to_string("/proc/self/limits").map_err(|e| unsure("limits", e))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max core file size"))
        .ok_or_else(|| unsure("limits", "no line of core files"))?;
    let found: Vec<&str> = line.split_whitespace().take(2).collect();
    if found != ["1", "1"] {
        return Err(format!("the limit is {found:?}"));
    }
    let core = libc::RLIMIT_CORE.into();
    for lower in [
        call(
            "prlimit64",
            libc::SYS_prlimit64,
            [0, core, no_limit(), 0, 0, 0],
        ),
        call(
            "setrlimit",
            libc::SYS_setrlimit,
            [core, no_limit(), 0, 0, 0, 0],
        ),
    ] {
        if let Answer::Done(_) = apart(|| make(&lower)) {
            return Err("it can be lowered to 0, and a piped core_pattern reached".to_owned());
        }
    }
    Ok("limit 1, and it cannot be changed".to_owned())
}

/// Nothing but the three streams, none of which is a directory (CVE-2024-21626).
fn descriptors() -> Seen {
    let is_open = |number: &i64| {
        let flags = call(
            "fcntl",
            libc::SYS_fcntl,
            [*number, libc::F_GETFD.into(), 0, 0, 0, 0],
        );
        matches!(make(&flags), Answer::Done(_))
    };
    let found: Vec<i64> = (0..65_536).filter(is_open).collect();
    if found != [0, 1, 2] {
        return Err(format!("open descriptors: {found:?}"));
    }
    for number in 0..3 {
        let path = format!("/proc/self/fd/{number}");
        let meta = fs::metadata(&path).map_err(|e| unsure(&path, e))?;
        if meta.is_dir() {
            return Err(format!("descriptor {number} is a directory"));
        }
    }
    let at = std::env::current_dir().map_err(|e| unsure("the working directory", e))?;
    if at.as_os_str() != "/job" {
        return Err(format!("it starts in `{}`", at.display()));
    }
    Ok("0, 1 and 2, no directory; started in /job".to_owned())
}

/// Every name that a job's environment may hold by itself.
const NAMES: [&str; 16] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "TZ",
    "TMPDIR",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "MPLBACKEND",
    "MPLCONFIGDIR",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "LOKY_MAX_CPU_COUNT",
];

fn environment() -> Seen {
    let more: Vec<String> = std::env::vars_os()
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .filter(|name| !NAMES.contains(&name.as_str()))
        .collect();
    if more.is_empty() {
        return Ok("the contract's variables alone".to_owned());
    }
    Err(format!("beside the contract's: {more:?}"))
}

/// Its group looks like the root, no tree of groups is mounted, and no agent can be set.
fn control_groups() -> Seen {
    let text = fs::read_to_string("/proc/self/cgroup").map_err(|e| unsure("cgroup", e))?;
    // A hierarchy that holds nothing of the sandbox shows where it lies from here: outside.
    let told: Vec<&str> = text
        .lines()
        .filter_map(|line| line.splitn(3, ':').nth(2))
        .filter(|path| *path != "/" && !path.chars().all(|c| "/.".contains(c)))
        .collect();
    if !told.is_empty() {
        return Err(format!("it sees where its groups are: {told:?}"));
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|e| unsure("mounts", e))?;
    if let Some(line) = mounts.lines().find(|line| line.contains(" - cgroup")) {
        return Err(format!("a tree of groups is mounted: {line}"));
    }
    Ok("a namespace of its own, no tree mounted".to_owned())
}
