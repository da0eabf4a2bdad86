//! Whether the process that waits in a new cell is what it must be, before the worker hears of it.
//!
//! Everything is read from the host's side. The process has not received a byte of any job yet.
//! The limits of its control group are not looked at here: making the leaf, and setting its limits,
//! proves them, and only the host's root can write them.

use super::process::{LookError, NAMESPACES, Namespaces, Process};
use super::status::Status;
use super::{Differs, same};
use crate::cgroup::{CgroupError, Leaf};
use crate::sys::Resource;
use crate::wire::CellLimits;
use kiln_keeper::guard::{Guard, off};
use kiln_keeper::wire::SCRATCH_INODES;
use rustix::fs::StatFs;
use std::os::fd::BorrowedFd;

/// Filters on a waiting process: the keeper's, which it inherits, and the job's.
const FILTERS: u64 = 2;
/// `CAP_CHOWN`, `CAP_DAC_OVERRIDE` and `CAP_FOWNER`: what the stager may have at most.
const STAGER_CAPABILITIES: u64 = 1 << 0 | 1 << 1 | 1 << 3;
const MEMBERS: &str = "members of the cell's control group";
/// Signals 32 and 33 are libc's own: its `posix_spawn` leaves them ignored in whatever it starts.
const LIBC_SIGNALS: u64 = 0b11 << 31;
const TMPFS_MAGIC: i64 = 0x0102_1994;
const PAGE_BYTES: u64 = 4096;

/// Why a waiting process was not proved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlacedError {
    #[error("look at a process of the cell")]
    Look(#[from] LookError),
    #[error("look at the cell's control group")]
    Leaf(#[source] CgroupError),
    #[error("look at the scratch")]
    Scratch(#[source] std::io::Error),
    #[error("look at the affinity")]
    Affinity(#[source] std::io::Error),
    #[error(transparent)]
    Differs(#[from] Differs),
}

/// What the cell was asked to be.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) keeper: &'a Process,
    pub(crate) keeper_namespaces: &'a Namespaces,
    /// The host's namespaces, and the warden's.
    pub(crate) outside: &'a [Namespaces],
    pub(crate) leaf: &'a Leaf,
    pub(crate) limits: &'a CellLimits,
    pub(crate) open_files_max: u64,
    /// The host's uid and gid of the job.
    pub(crate) job_uid: u64,
    /// The host's uid and gid of the input owner.
    pub(crate) owner_uid: u64,
    pub(crate) affinity: u64,
    pub(crate) scratch: BorrowedFd<'a>,
}

/// The processes of a proved cell.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) waiter: Process,
    /// The inode of its network namespace.
    pub(crate) network: u64,
    /// The keeper's, as they are from now on: that of the network is the cell's.
    pub(crate) keeper_namespaces: Namespaces,
}

/// Proves the waiting process; `fresh` where the stager must still be there beside it.
pub(crate) fn prove(wanted: &Wanted<'_>, fresh: bool) -> Result<Placed, PlacedError> {
    let mut members = wanted.leaf.processes().map_err(PlacedError::Leaf)?;
    members.sort_unstable();
    let init = one_child(wanted.keeper)?;
    let init = Process::open(init)?;
    // The cell is the keeper's only child, and the cell's only processes are those of the leaf.
    same("children of the cell's init", &members, &init.children()?)?;

    let mut waiter = None;
    let mut stager = None;
    for pid in &members {
        let process = Process::open(*pid)?;
        let status = process.status()?;
        match status.uids.first() {
            Some(uid) if *uid == wanted.job_uid && waiter.is_none() => {
                waiter = Some((process, status));
            }
            Some(uid) if *uid == wanted.owner_uid && stager.is_none() => {
                stager = Some((process, status));
            }
            uid => {
                let found = format!("the process {pid} of the uid {uid:?}");
                return Err(Differs::new(MEMBERS, "one waiter, one stager", found).into());
            }
        }
    }
    let missing = |who: &str| Differs::new(MEMBERS, who, format!("{members:?}"));
    let (waiter, status) = waiter.ok_or_else(|| missing("a waiter"))?;
    prove_waiter(wanted, &waiter, &status)?;
    let namespaces = waiter.namespaces()?;
    let keeper_namespaces = wanted.keeper.namespaces()?;
    prove_apart(wanted, &keeper_namespaces, &namespaces)?;
    prove_init(wanted, &init, &namespaces)?;
    match &stager {
        Some((stager, status)) => prove_stager(wanted, stager, status, &namespaces)?,
        None if fresh => return Err(missing("a stager").into()),
        None => {}
    }
    prove_scratch(wanted)?;
    waiter.alive()?;
    init.alive()?;
    wanted.keeper.alive()?;
    let network = namespaces.get("net");
    let network = network.ok_or_else(|| missing("a network namespace"))?;
    Ok(Placed {
        waiter,
        network,
        keeper_namespaces,
    })
}

fn one_child(keeper: &Process) -> Result<i32, PlacedError> {
    let children = keeper.children()?;
    match children.as_slice() {
        [init] => Ok(*init),
        _ => Err(Differs::new(
            "children of the keeper",
            "the cell's init",
            format!("{children:?}"),
        )
        .into()),
    }
}

fn prove_ids(status: &Status, uid: u64) -> Result<(), Differs> {
    same("uids", &[uid; 4][..], &status.uids[..])?;
    same("gids", &[uid; 4][..], &status.gids[..])?;
    same("groups", &[0_u64; 0][..], &status.groups[..])?;
    same("threads", &1, &status.threads)?;
    same("tracer", &0, &status.tracer)?;
    same("no_new_privs", &1, &status.no_new_privs)?;
    same("seccomp mode", &2, &status.seccomp)?;
    same("seccomp filters", &FILTERS, &status.filters)
}

fn prove_waiter(wanted: &Wanted<'_>, waiter: &Process, status: &Status) -> Result<(), PlacedError> {
    prove_ids(status, wanted.job_uid)?;
    let inner = status.pids.get(2..).unwrap_or_default();
    same("pid in the cell", &[2][..], inner)?;
    for (what, mask) in [
        ("inheritable capabilities", status.inheritable),
        ("permitted capabilities", status.permitted),
        ("effective capabilities", status.effective),
        ("bounding capabilities", status.bounding),
        ("ambient capabilities", status.ambient),
        ("blocked signals", status.blocked),
        ("ignored signals", status.ignored & !LIBC_SIGNALS),
        ("caught signals", status.caught),
    ] {
        same(what, &0, &mask)?;
    }
    let descriptors = waiter.descriptors()?;
    let right = match descriptors.as_slice() {
        [(0, go), (1, out), (2, err)] => {
            go.starts_with("socket:[") && out == "/dev/null" && err == "/dev/null"
        }
        _ => false,
    };
    if !right && !off(Guard::Proof) {
        let wanted = "a socket, /dev/null, /dev/null";
        return Err(Differs::new("descriptors", wanted, format!("{descriptors:?}")).into());
    }
    // The waiter lowers the hard limit to the soft one as it becomes the job.
    let files = (wanted.limits.open_files, wanted.open_files_max);
    let limits = waiter.limits()?;
    same("open files", &files, &limits.get(Resource::OpenFiles)?)?;
    same("core files", &(1, 1), &limits.get(Resource::Core)?)?;
    prove_affinity(waiter, wanted.affinity)
}

fn prove_affinity(waiter: &Process, wanted: u64) -> Result<(), PlacedError> {
    let set = rustix::thread::sched_getaffinity(Some(waiter.pid()))
        .map_err(|e| PlacedError::Affinity(e.into()))?;
    let found = (0..64)
        .filter(|cpu| set.is_set(*cpu))
        .fold(0, |mask, cpu| mask | 1_u64 << cpu);
    same("affinity", &wanted, &found)?;
    same("number of CPUs", &wanted.count_ones(), &set.count())?;
    Ok(())
}

/// No namespace of the job is the host's or the warden's, and of the keeper's only that of the
/// network, which is all that the keeper may have changed of its own.
fn prove_apart(wanted: &Wanted<'_>, keeper: &Namespaces, job: &Namespaces) -> Result<(), Differs> {
    let none: &[&str] = &[];
    for outside in wanted.outside {
        same("shared namespaces", none, &job.shared(outside)[..])?;
    }
    same(
        "namespaces that the keeper and the job share",
        &["net"][..],
        &job.shared(keeper)[..],
    )?;
    let lasting = |names: &[&'static str]| -> Vec<_> {
        names
            .iter()
            .copied()
            .filter(|name| *name != "net")
            .collect()
    };
    same(
        "lasting namespaces of the keeper",
        &lasting(&NAMESPACES),
        &lasting(&keeper.shared(wanted.keeper_namespaces)),
    )
}

/// The cell's init sees the same processes, mounts, network, ipc and host name, from the sandbox's
/// user namespace, to which they belong.
fn prove_init(wanted: &Wanted<'_>, init: &Process, job: &Namespaces) -> Result<(), PlacedError> {
    let namespaces = init.namespaces()?;
    let shared = namespaces.shared(job);
    let same_world = &["ipc", "mnt", "net", "pid", "uts"][..];
    same(
        "namespaces of the cell's init and the job",
        same_world,
        &shared[..],
    )?;
    let keeper = wanted.keeper_namespaces.get("user");
    same(
        "user namespace of the cell's init",
        &keeper,
        &namespaces.get("user"),
    )?;
    Ok(())
}

fn prove_stager(
    wanted: &Wanted<'_>,
    stager: &Process,
    status: &Status,
    job: &Namespaces,
) -> Result<(), PlacedError> {
    prove_ids(status, wanted.owner_uid)?;
    let more = |mask: u64| mask & !STAGER_CAPABILITIES;
    same(
        "permitted capabilities of the stager",
        &0,
        &more(status.permitted),
    )?;
    same(
        "effective capabilities of the stager",
        &0,
        &more(status.effective),
    )?;
    let shared = stager.namespaces()?.shared(job);
    same(
        "namespaces of the stager and the job",
        &NAMESPACES[..],
        &shared[..],
    )?;
    Ok(())
}

fn prove_scratch(wanted: &Wanted<'_>) -> Result<(), PlacedError> {
    let found: StatFs =
        rustix::fs::fstatfs(wanted.scratch).map_err(|e| PlacedError::Scratch(e.into()))?;
    let block = u64::try_from(found.f_bsize).unwrap_or(0);
    let bytes = wanted.limits.disk_bytes.div_ceil(PAGE_BYTES) * PAGE_BYTES;
    same("file system of the scratch", &TMPFS_MAGIC, &found.f_type)?;
    same("bytes of the scratch", &bytes, &(found.f_blocks * block))?;
    same(
        "inodes of the scratch",
        &wanted.limits.inodes,
        &found.f_files,
    )?;
    let used = found.f_files.saturating_sub(found.f_ffree);
    same("files in the scratch", &SCRATCH_INODES, &used)?;
    Ok(())
}
