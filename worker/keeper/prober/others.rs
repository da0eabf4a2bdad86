//! Which processes can a job see or touch, and what tells it of the machine?

use super::call::{Answer, apart, call, make};
use super::{Look, Seen, unsure};
use std::fs::{self, File};

pub(crate) const LOOKS: &[Look] = &[
    ("processes", processes),
    ("init", init),
    ("signals", signals),
    ("host-name", host_name),
    ("machine-load", load),
    ("machine-names", names),
];

fn visible() -> Result<Vec<i32>, String> {
    let entries = fs::read_dir("/proc").map_err(|e| unsure("/proc", e))?;
    Ok(entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect())
}

/// Its own alone; one number after another, too, in case a list hides what a name opens.
fn processes() -> Seen {
    let own = std::process::id().cast_signed();
    let listed = visible()?;
    let others: Vec<_> = listed.iter().filter(|pid| **pid != own).collect();
    if !others.is_empty() {
        return Err(format!("others are listed: {others:?}"));
    }
    let named = (1..4096)
        .filter(|pid| *pid != own)
        .find(|pid| fs::read_to_string(format!("/proc/{pid}/status")).is_ok());
    if let Some(pid) = named {
        return Err(format!("the process {pid} can be looked at"));
    }
    Ok("its own alone, in the list and by number".to_owned())
}

/// The cell's init, which is the sandbox's: nothing of it opens (CVE-2019-5736 and its kind).
fn init() -> Seen {
    for name in [
        "mem", "environ", "maps", "root/", "cwd/", "exe", "fd/", "auxv", "stack", "syscall",
    ] {
        let path = format!("/proc/1/{name}");
        if File::open(&path).is_ok() {
            return Err(format!("`{path}` opens"));
        }
    }
    if fs::read_link("/proc/self/exe").is_ok()
        && fs::OpenOptions::new()
            .write(true)
            .open("/proc/1/exe")
            .is_ok()
    {
        return Err("the program of pid 1 opens for writing".to_owned());
    }
    Ok("no memory, environment, root, program or descriptor of pid 1".to_owned())
}

/// Neither init nor whoever else there is can be signalled.
fn signals() -> Seen {
    let kill = |pid: i64| apart(|| make(&call("kill", libc::SYS_kill, [pid, 0, 0, 0, 0, 0])));
    if let Answer::Done(_) = kill(1) {
        return Err("pid 1 takes signals".to_owned());
    }
    let own = i64::from(std::process::id());
    for pid in (2..512).filter(|pid| *pid != own) {
        // A child of this very look may be among them.
        if let Answer::Done(_) = make(&call("kill", libc::SYS_kill, [pid, 0, 0, 0, 0, 0])) {
            return Err(format!("the process {pid} takes signals"));
        }
    }
    Ok("none but its own".to_owned())
}

fn host_name() -> Seen {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").map_err(|e| unsure("name", e))?;
    match name.trim() {
        "kiln" => Ok("`kiln`".to_owned()),
        other => Err(format!("`{other}`")),
    }
}

/// Soft: what neighbours do must not show in `/proc/stat` and `/proc/loadavg`.
fn load() -> Seen {
    let load = fs::read_to_string("/proc/loadavg").map_err(|e| unsure("loadavg", e))?;
    let stat = fs::read_to_string("/proc/stat").map_err(|e| unsure("stat", e))?;
    let made_up = load.starts_with("0.00 0.00 0.00")
        && stat
            .lines()
            .filter(|line| line.starts_with("cpu"))
            .all(|line| line.split_whitespace().skip(1).all(|word| word == "0"));
    if !made_up {
        return Err("the load of the machine can be read".to_owned());
    }
    Ok("made up: no load, counters of nought".to_owned())
}

/// Soft: the kernel hides none of these from anybody.
fn names() -> Seen {
    let told: Vec<&str> = [
        "/proc/sys/kernel/random/boot_id",
        "/proc/version",
        "/proc/meminfo",
        "/proc/uptime",
    ]
    .into_iter()
    .filter(|path| fs::read_to_string(path).is_ok_and(|text| !text.trim().is_empty()))
    .collect();
    if told.is_empty() {
        return Ok("none".to_owned());
    }
    Err(format!("readable: {}", told.join(", ")))
}
