//! How does a queue worker give up what it does not need, once its warden is started?
//!
//! The warden needs root, and the worker speaks to it by a socket that it holds already. What is
//! left for the worker is a network, two folders and the processes that it starts. Given a user of
//! its own it becomes that user, for good and without a single capability; else it stays root, and
//! keeps those capabilities that it uses. Either way nothing that it starts gains a right, nobody
//! looks into its memory, and what the kernel then says of it is read back.

use super::{ConfineError, proxy};
use crate::proof::status::Status;
use crate::sys;
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, CapabilitySets, Gid, Uid};
use std::io;

/// Whom a worker becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
}

/// What a worker holds, as the kernel says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holds {
    pub uid: u64,
    /// Those it has, and those that anything it starts could have.
    pub capabilities: (u64, u64),
}

/// What a worker that stays root uses: other people's folders, as an operator may have given it;
/// the ends of processes that became somebody else; their becoming it, in a network of their own;
/// the warden's namespaces, to count them; a port below 1024.
const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::SYS_ADMIN);

/// Confines this process, which has one thread and is root.
///
/// # Errors
///
/// The step that failed; the process must end then.
pub fn worker(user: Option<User>) -> Result<Holds, ConfineError> {
    const SEEN: &str = "see the worker confined";
    let step = |step| move |errno: Errno| ConfineError::at(step, errno.into());
    let single = sys::single_threaded().map_err(|e| ConfineError::at("count the threads", e))?;
    if !single {
        let why = io::Error::other("there is more than one");
        return Err(ConfineError::at("count the threads", why));
    }
    let had = rustix::thread::capabilities(None).map_err(step("read the capabilities"))?;
    let kept = match user {
        Some(_) => CapabilitySet::empty(),
        None => KEPT & had.permitted,
    };
    rustix::thread::set_no_new_privs(true).map_err(step("keep privileges from growing"))?;
    proxy::bound(kept).map_err(step("give up a capability for good"))?;
    if let Some(user) = user {
        let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
        rustix::thread::set_thread_groups(&[]).map_err(step("leave root's groups"))?;
        rustix::thread::set_thread_res_gid(gid, gid, gid).map_err(step("leave root's group"))?;
        rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(step("be root no more"))?;
    }
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, sets).map_err(step("give up the capabilities"))?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(step("hide from tracers"))?;
    let wanted = user.unwrap_or(User { uid: 0, gid: 0 });
    let not = |why| ConfineError::at(SEEN, io::Error::other(why));
    let text =
        std::fs::read_to_string("/proc/self/status").map_err(|e| ConfineError::at(SEEN, e))?;
    let status = Status::parse(&text).map_err(not)?;
    seen(&status, wanted, kept.bits(), user.is_some()).map_err(not)?;
    if rustix::process::dumpable_behavior() != Ok(DumpableBehavior::NotDumpable) {
        return Err(not("it can be looked into"));
    }
    Ok(Holds {
        uid: status.uids[0],
        capabilities: (status.effective, status.bounding),
    })
}

/// Whether a status is the one that is wanted; else what is not.
fn seen(status: &Status, wanted: User, kept: u64, left: bool) -> Result<(), &'static str> {
    let only = |ids: &[u64], id: u32| ids.len() == 4 && ids.iter().all(|it| *it == u64::from(id));
    if !only(&status.uids, wanted.uid) || !only(&status.gids, wanted.gid) {
        return Err("it is another user");
    }
    if left && !status.groups.is_empty() {
        return Err("it is in groups");
    }
    if status.effective != kept || status.permitted != kept {
        return Err("it has other capabilities");
    }
    if status.inheritable | status.ambient != 0 || status.bounding & !kept != 0 {
        return Err("what it starts can have other capabilities");
    }
    if status.no_new_privs != 1 {
        return Err("what it starts can gain privileges");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: User = User { uid: 7, gid: 8 };

    fn status(change: &[(&str, &str)]) -> Status {
        let mut text = "Uid:\t7\t7\t7\t7\nGid:\t8\t8\t8\t8\nGroups:\t\nNSpid:\t1\nThreads:\t1\n\
                        TracerPid:\t0\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t0\nCapInh:\t0\nCapPrm:\t0\n\
                        CapEff:\t0\nCapBnd:\t0\nCapAmb:\t0\nNoNewPrivs:\t1\nSeccomp:\t0\n\
                        Seccomp_filters:\t0\n"
            .to_owned();
        for (from, to) in change {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        Status::parse(&text).expect("a status")
    }

    #[test]
    fn whatever_is_left_of_root_is_seen() {
        assert_eq!(seen(&status(&[]), USER, 0, true), Ok(()));
        for (from, to, why) in [
            ("Uid:\t7\t7\t7\t7", "Uid:\t7\t7\t0\t7", "it is another user"),
            ("Gid:\t8\t8\t8\t8", "Gid:\t0\t8\t8\t8", "it is another user"),
            ("Groups:\t", "Groups:\t0", "it is in groups"),
            ("CapEff:\t0", "CapEff:\t1", "it has other capabilities"),
            ("CapPrm:\t0", "CapPrm:\t1", "it has other capabilities"),
            (
                "CapInh:\t0",
                "CapInh:\t1",
                "what it starts can have other capabilities",
            ),
            (
                "CapAmb:\t0",
                "CapAmb:\t1",
                "what it starts can have other capabilities",
            ),
            (
                "CapBnd:\t0",
                "CapBnd:\t1",
                "what it starts can have other capabilities",
            ),
            (
                "NoNewPrivs:\t1",
                "NoNewPrivs:\t0",
                "what it starts can gain privileges",
            ),
        ] {
            assert_eq!(
                seen(&status(&[(from, to)]), USER, 0, true),
                Err(why),
                "{to}"
            );
        }
    }

    #[test]
    fn what_loads_code_into_the_kernel_is_not_kept() {
        for never in [
            CapabilitySet::SYS_MODULE,
            CapabilitySet::SYS_RAWIO,
            CapabilitySet::SYS_BOOT,
            CapabilitySet::SYS_TIME,
            CapabilitySet::MKNOD,
            CapabilitySet::NET_ADMIN,
            CapabilitySet::NET_RAW,
            CapabilitySet::SETFCAP,
            CapabilitySet::MAC_ADMIN,
        ] {
            assert!(!KEPT.intersects(never), "{never:?}");
        }
    }
}
