//! What lies over the cell's proc: nothing about the machine that its neighbours change.
//!
//! The keeper makes one small tmpfs with the read-only files once, at `/job` of its own mount
//! namespace, where a cell binds from it before its own `/job` covers it. Its own proc it covers as
//! a whole, so that no part of it has to be covered for the keeper:
//!
//! ```text
//!   /proc            a folder of the small tmpfs: what a cell takes out, all at once
//!     proc           the keeper's proc, and over it an empty folder
//!     scratch        where a cell attaches its tmpfs, see [`crate::mounts`]
//! ```
//!
//! What only the host's root
//! may open (mode 0400: `kpagecount`, `slabinfo`, ...) is masked only where a slip would be worst:
//! no process of a sandbox is the host's root.
//!
//! Not masked: `/proc/meminfo`, `uptime`, `version`, `filesystems`, `mounts`, `self`, `sysvipc`,
//! `net` (its own), `devices`, `misc`, `crypto`: programs read them, and they tell no neighbour's
//! activity but for the free memory and the idle time of the machine.

use crate::mounts;
use crate::report::{At, Failure};
use crate::sys::file;
use crate::sys::mount::{self, Configuration, NODEV, NOEXEC, NOSUID, RDONLY};
use crate::sys::{Errno, poll};
use kiln_keeper::guard::{Guard, off};
use kiln_keeper::step::Step;
use std::ffi::CStr;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const PLACE: &CStr = c"/job";
const NOTHING: &CStr = c"/job/nothing";
const CLOSED: &CStr = c"/job/closed";
const NO_FILES: &CStr = c"/job/no-files";
const PASSING: &CStr = c"/job/passing";
const COVERED: &CStr = c"/proc/proc";

/// Files that nobody may open: the host's root alone may, where they are not masked.
const CLOSED_FILES: &[&CStr] = &[
    c"/proc/kcore",
    c"/proc/kmsg",
    c"/proc/sysrq-trigger",
    c"/proc/timer_list",
];

/// Files that become empty.
const FILES: &[&CStr] = &[
    c"/proc/buddyinfo",
    c"/proc/cgroups",
    c"/proc/cmdline",
    c"/proc/config.gz",
    c"/proc/consoles",
    c"/proc/diskstats",
    c"/proc/interrupts",
    c"/proc/iomem",
    c"/proc/ioports",
    c"/proc/kallsyms",
    c"/proc/key-users",
    c"/proc/keys",
    c"/proc/latency_stats",
    c"/proc/locks",
    c"/proc/modules",
    c"/proc/mtrr",
    c"/proc/partitions",
    c"/proc/sched_debug",
    c"/proc/schedstat",
    c"/proc/softirqs",
    c"/proc/swaps",
    c"/proc/timer_stats",
    c"/proc/vmstat",
    c"/proc/zoneinfo",
];

/// Directories that become empty.
const DIRECTORIES: &[&CStr] = &[
    c"/proc/acpi",
    c"/proc/asound",
    c"/proc/bus",
    c"/proc/driver",
    c"/proc/dynamic_debug",
    c"/proc/fs",
    c"/proc/irq",
    c"/proc/pressure",
    c"/proc/scsi",
    c"/proc/tty",
];

/// Files that are replaced by something made up.
const MADE_UP: &[(&CStr, &CStr)] = &[
    (c"/job/stat", c"/proc/stat"),
    (c"/job/cpuinfo", c"/proc/cpuinfo"),
    (c"/job/loadavg", c"/proc/loadavg"),
];

/// The keeper's tmpfs of read-only files.
pub(crate) struct Masks {
    root: OwnedFd,
    /// `/proc/cpuinfo`, from before it was covered.
    cpuinfo: OwnedFd,
    affinity: u64,
}

impl Masks {
    /// Makes the tmpfs, attaches it, and covers the keeper's own proc.
    pub(crate) fn new() -> Result<Self, Errno> {
        let tmpfs = Configuration::new(c"tmpfs")?;
        tmpfs.set(c"size", c"4m")?;
        tmpfs.set(c"nr_inodes", c"16")?;
        tmpfs.set(c"mode", c"0755")?;
        let root = tmpfs.create(NOSUID | NODEV | NOEXEC)?;
        for (folder, mode) in [
            (c"no-files", 0o555),
            (c"passing", 0o755),
            (c"passing/proc", 0o555),
            (c"passing/scratch", 0o555),
        ] {
            file::make_directory_at(root.as_fd(), folder, mode)?;
        }
        create(root.as_fd(), c"nothing")?;
        file::set_mode(create(root.as_fd(), c"closed")?.as_fd(), 0)?;
        let loadavg = create(root.as_fd(), c"loadavg")?;
        file::write_all(loadavg.as_fd(), b"0.00 0.00 0.00 1/1 2\n")?;
        // A file that is open for writing keeps a mount from becoming read-only.
        drop(loadavg);
        create(root.as_fd(), c"stat")?;
        create(root.as_fd(), c"cpuinfo")?;
        mount::attach(root.as_fd(), PLACE)?;
        mount::change(root.as_fd(), RDONLY, 0)?;
        let cpuinfo = file::open(c"/proc/cpuinfo", libc::O_RDONLY)?;
        let proc = mount::copy(mounts::PROC)?;
        mount::detach(mounts::PROC)?;
        mount::bind(PASSING, mounts::PROC)?;
        mount::attach(proc.as_fd(), COVERED)?;
        mount::bind(NO_FILES, COVERED)?;
        Ok(Self {
            root,
            cpuinfo,
            affinity: 0,
        })
    }

    /// Makes the files tell of the CPUs in the mask, if they do not yet. No cell may live.
    pub(crate) fn show(&mut self, affinity: u64) -> Result<(), Errno> {
        if self.affinity == affinity {
            return Ok(());
        }
        mount::change(self.root.as_fd(), 0, RDONLY)?;
        let written = self.write(affinity);
        mount::change(self.root.as_fd(), RDONLY, 0)?;
        written?;
        self.affinity = affinity;
        Ok(())
    }

    fn write(&self, affinity: u64) -> Result<(), Errno> {
        let flags = libc::O_WRONLY | libc::O_TRUNC | libc::O_NOFOLLOW;
        let stat = file::open_at(self.root.as_fd(), c"stat", flags, 0)?;
        write_stat(stat.as_fd(), affinity)?;
        let cpuinfo = file::open_at(self.root.as_fd(), c"cpuinfo", flags, 0)?;
        write_cpuinfo(self.cpuinfo.as_fd(), cpuinfo.as_fd(), affinity)
    }
}

fn create(root: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
    let file = file::open_at(root, name, flags, 0o644)?;
    file::set_mode(file.as_fd(), 0o644)?;
    Ok(file)
}

/// Lays the masks over the cell's proc; what this kernel does not have is left out.
pub(crate) fn lay() -> Result<(), Failure> {
    if off(Guard::Masks) {
        return Ok(());
    }
    let empty = FILES.iter().map(|to| (NOTHING, *to));
    let directories = DIRECTORIES.iter().map(|to| (NO_FILES, *to));
    let closed = CLOSED_FILES.iter().map(|to| (CLOSED, *to));
    let made_up = MADE_UP.iter().copied();
    for (from, to) in empty.chain(closed).chain(directories).chain(made_up) {
        match mount::bind(from, to) {
            Ok(()) | Err(Errno(libc::ENOENT)) => {}
            Err(errno) => return Err(errno).at(Step::Mask),
        }
    }
    let sys = mount::copy(c"/proc/sys").at(Step::ReadOnlySys)?;
    mount::change(sys.as_fd(), RDONLY, 0).at(Step::ReadOnlySys)?;
    mount::attach(sys.as_fd(), c"/proc/sys").at(Step::ReadOnlySys)
}

fn in_mask(affinity: u64, cpu: u64) -> bool {
    cpu < 64 && affinity >> cpu & 1 == 1
}

/// One line per CPU of the mask, with no time used: libc counts CPUs by them.
fn write_stat(file: BorrowedFd<'_>, affinity: u64) -> Result<(), Errno> {
    const ZEROS: &[u8] = b" 0 0 0 0 0 0 0 0 0 0\n";
    file::write_all(file, b"cpu ")?;
    file::write_all(file, ZEROS)?;
    for cpu in (0..64).filter(|&cpu| in_mask(affinity, cpu)) {
        write_number(file, b"cpu", cpu)?;
        file::write_all(file, ZEROS)?;
    }
    file::write_all(file, b"intr 0\nctxt 0\n")?;
    write_number(file, b"btime ", poll::booted_at_seconds())?;
    file::write_all(
        file,
        b"\nprocesses 0\nprocs_running 1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n",
    )
}

fn write_number(file: BorrowedFd<'_>, before: &[u8], number: u64) -> Result<(), Errno> {
    let mut text = [0; 21];
    let mut rest = &mut text[..];
    let room = rest.len();
    write!(rest, "{number}").map_err(|_| Errno(libc::EOVERFLOW))?;
    let length = room - rest.len();
    file::write_all(file, before)?;
    file::write_all(file, &text[..length])
}

/// Copies the paragraphs of `/proc/cpuinfo` that tell of a CPU in the mask.
fn write_cpuinfo(from: BorrowedFd<'_>, to: BorrowedFd<'_>, affinity: u64) -> Result<(), Errno> {
    let mut bytes = [0; 8192];
    let mut filled = 0;
    let mut at = 0;
    let mut shown = true;
    loop {
        let n = file::read_at(from, &mut bytes[filled..], at)?;
        filled += n;
        at += n as u64;
        let mut rest = &bytes[..filled];
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let (line, after) = rest.split_at(end + 1);
            if let Some(cpu) = processor(line) {
                shown = in_mask(affinity, cpu);
            }
            if shown {
                file::write_all(to, line)?;
            }
            rest = after;
        }
        let kept = rest.len();
        if n == 0 || kept == bytes.len() {
            return Ok(());
        }
        bytes.copy_within(filled - kept..filled, 0);
        filled = kept;
    }
}

/// The number of a line `processor : N`.
fn processor(line: &[u8]) -> Option<u64> {
    let value = line.strip_prefix(b"processor")?;
    let value = std::str::from_utf8(value).ok()?;
    value.trim_start().strip_prefix(':')?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_known_by_its_first_line() {
        assert_eq!(processor(b"processor\t: 12\n"), Some(12));
        assert_eq!(processor(b"processor_id : 12\n"), None);
        assert_eq!(processor(b"model name\t: processor 3\n"), None);
        assert!(in_mask(0b100, 2) && !in_mask(0b100, 1) && !in_mask(u64::MAX, 64));
    }
}
