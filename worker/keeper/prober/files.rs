//! Which files of the machine can a job reach?

use super::call::{Answer, call, make, text};
use super::{Look, Seen, unsure};
use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;

pub(crate) const LOOKS: &[Look] = &[
    ("image-read-only", image),
    ("host-files", host),
    ("mount-flags", flags),
    ("proc-masks", masks),
    ("kernel-settings", settings),
    ("devices", devices),
    ("sys", sys),
];

/// The places that a job may write to.
const WRITABLE: [&str; 4] = ["/job", "/home/job", "/tmp", "/dev/shm"];

fn image() -> Seen {
    for at in [
        "/", "/usr", "/usr/bin", "/usr/lib", "/etc", "/dev", "/proc", "/home",
    ] {
        let path = format!("{at}/kiln-probe");
        if OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .is_ok()
        {
            return Err(format!("`{path}` can be made"));
        }
    }
    for at in ["/etc/passwd", "/etc/ld.so.cache", "/etc/hosts"] {
        if OpenOptions::new().append(true).open(at).is_ok() {
            return Err(format!("`{at}` can be written"));
        }
    }
    for at in WRITABLE {
        let path = format!("{at}/.kiln-probe");
        File::create(&path)
            .and_then(|_| fs::remove_file(&path))
            .map_err(|e| unsure(at, e))?;
    }
    Ok(format!("only {} can be written", WRITABLE.join(", ")))
}

/// What of a host is never shown: its accounts, its people's files, its state, its kernel.
fn host() -> Seen {
    const ABSENT: [&str; 14] = [
        "/etc/shadow",
        "/etc/ssh",
        "/etc/machine-id",
        "/etc/kubernetes",
        "/root/.ssh",
        "/root/.bash_history",
        "/var/lib",
        "/var/log",
        "/var/run/docker.sock",
        "/run/kiln",
        "/run/docker.sock",
        "/run/secrets",
        "/boot/grub",
        "/.dockerenv",
    ];
    if let Some(at) = ABSENT.iter().find(|at| fs::symlink_metadata(at).is_ok()) {
        return Err(format!("`{at}` is there"));
    }
    let homes = fs::read_dir("/home").map_err(|e| unsure("/home", e))?;
    let others: Vec<_> = homes
        .filter_map(Result::ok)
        .map(|entry| entry.file_name())
        .filter(|name| name != "job")
        .collect();
    if !others.is_empty() {
        return Err(format!("homes of others: {others:?}"));
    }
    Ok("no accounts, keys, homes, state or sockets of the host".to_owned())
}

/// Every mount: set-uid bits and devices mean nothing, and what is not a writable place is
/// read-only.
fn flags() -> Seen {
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|e| unsure("mounts", e))?;
    let mut count = 0;
    for line in mounts.lines() {
        let mut words = line.split_whitespace();
        let (Some(at), Some(flags)) = (words.nth(4), words.next()) else {
            return Err(unsure("mountinfo", line));
        };
        count += 1;
        let has = |flag: &str| flags.split(',').any(|word| word == flag);
        if !has("nosuid") {
            return Err(format!("`{at}` is mounted without nosuid: {flags}"));
        }
        // The sandbox's own nodes lie below /dev: what they are is looked at elsewhere.
        let nodes = at.starts_with("/dev") && at != "/dev/shm";
        if !has("nodev") && !nodes {
            return Err(format!("`{at}` is mounted without nodev: {flags}"));
        }
        let own = WRITABLE.contains(&at) || nodes || at.starts_with("/proc");
        if !has("ro") && !own {
            return Err(format!("`{at}` is mounted writable: {flags}"));
        }
    }
    Ok(format!(
        "{count} mounts, each nosuid, nodev but for /dev, ro but for the writable places"
    ))
}

/// Files of `/proc` that tell of the machine or steer it.
fn masks() -> Seen {
    const EMPTY: [&str; 24] = [
        "kcore",
        "kmsg",
        "kallsyms",
        "keys",
        "key-users",
        "sysrq-trigger",
        "timer_list",
        "sched_debug",
        "interrupts",
        "modules",
        "iomem",
        "ioports",
        "config.gz",
        "cmdline",
        "diskstats",
        "partitions",
        "swaps",
        "locks",
        "vmstat",
        "zoneinfo",
        "buddyinfo",
        "softirqs",
        "consoles",
        "latency_stats",
    ];
    const FOLDERS: [&str; 7] = ["acpi", "asound", "bus", "driver", "fs", "irq", "scsi"];
    let mut closed = 0;
    for name in EMPTY {
        let Ok(mut file) = File::open(format!("/proc/{name}")) else {
            closed += 1;
            continue;
        };
        let mut bytes = [0; 1];
        match file.read(&mut bytes) {
            Ok(0) | Err(_) => closed += 1,
            Ok(_) => return Err(format!("`/proc/{name}` can be read")),
        }
    }
    for name in FOLDERS {
        let entries = fs::read_dir(format!("/proc/{name}"));
        if entries.is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(format!("`/proc/{name}` has entries"));
        }
        closed += 1;
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|e| unsure("mounts", e))?;
    let real = mounts
        .lines()
        .any(|line| line.contains(" /proc ") && line.contains(" - proc "));
    if !real {
        return Err("/proc is no proc".to_owned());
    }
    Ok(format!(
        "{closed} files and folders empty or closed, over a real proc"
    ))
}

/// What a write would change for the whole machine.
fn settings() -> Seen {
    const SETTINGS: [&str; 14] = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/ns_last_pid",
        "/proc/sys/kernel/randomize_va_space",
        "/proc/sys/kernel/yama/ptrace_scope",
        "/proc/sys/kernel/shmmax",
        "/proc/sys/fs/binfmt_misc/register",
        "/proc/sys/fs/mqueue/queues_max",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sys/user/max_user_namespaces",
        "/proc/sys/vm/drop_caches",
        "/proc/sysrq-trigger",
        "/proc/self/uid_map",
    ];
    for at in SETTINGS {
        let Ok(file) = OpenOptions::new().write(true).open(at) else {
            continue;
        };
        if at != "/proc/self/uid_map" {
            return Err(format!("`{at}` opens for writing"));
        }
        // Opening one's own map is allowed; the kernel takes it once.
        if std::io::Write::write_all(&mut &file, b"0 0 1\n").is_ok() {
            return Err(format!("`{at}` takes a map"));
        }
    }
    Ok(format!("none of {} opens for writing", SETTINGS.len()))
}

fn devices() -> Seen {
    const ALLOWED: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
    let entries = fs::read_dir("/dev").map_err(|e| unsure("/dev", e))?;
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_err(|e| unsure(&name, e))?;
        if kind.is_block_device() || (kind.is_char_device() && !ALLOWED.contains(&name.as_str())) {
            return Err(format!("`/dev/{name}` is there"));
        }
    }
    for (what, kind, device) in [
        ("memory", libc::S_IFCHR, libc::makedev(1, 1)),
        ("a disk", libc::S_IFBLK, libc::makedev(8, 0)),
    ] {
        let path = text(c"/job/.kiln-node");
        let mode = i64::from(kind | 0o600);
        let device = device.cast_signed();
        let node = call("mknod", libc::SYS_mknod, [path, mode, device, 0, 0, 0]);
        if let Answer::Done(_) = make(&node) {
            return Err(format!("a node for {what} can be made"));
        }
    }
    Ok("null, zero, full, random, urandom and tty; no node can be made".to_owned())
}

fn sys() -> Seen {
    let entries = fs::read_dir("/sys").map(Iterator::count);
    if let Ok(count @ 1..) = entries {
        return Err(format!("/sys has {count} entries"));
    }
    // As a release agent would be set: by mounting a tree of groups somewhere writable.
    let mount = call("mount", libc::SYS_mount, [0; 6]);
    match make(&mount) {
        Answer::Refused(libc::EPERM) => {
            Ok("empty or absent, and nothing can be mounted".to_owned())
        }
        other => Err(format!("a mount is answered: {other:?}")),
    }
}
