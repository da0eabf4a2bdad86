//! Whether anything is left of the job that was, read from the host's side.
//!
//! What a job could reach died with its cell; this looks at what is kept. Doubt is dirt: a look
//! that fails is [`ResidueKind::Unreadable`].

use super::manifest::Manifest;
use super::process::{LookError, Process};
use crate::cgroup::{CgroupError, Leaf, SandboxGroup};
use crate::kernel;
use crate::wire::{Residue, ResidueKind};
use kiln_keeper::guard::{Guard, off};
use std::error::Error;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// What to look at.
#[derive(Debug)]
pub(crate) struct Spent<'a> {
    pub(crate) keeper: &'a Process,
    pub(crate) golden: &'a Manifest,
    pub(crate) leaf: &'a Leaf,
    pub(crate) groups: &'a SandboxGroup,
    /// The host's uids of the job and of the input owner.
    pub(crate) uids: [u64; 2],
}

/// Everything that should not be there; empty where the sandbox is clean, and its leaf removed.
///
/// Children of the keeper are members of its control groups or of the leaf, and seen there.
pub(crate) fn residue(spent: &Spent<'_>) -> Vec<Residue> {
    let mut residue = if off(Guard::CleanProof) {
        Vec::new()
    } else {
        kept(spent)
    };
    if residue.is_empty() {
        residue.extend(remove(spent.leaf));
        return residue;
    }
    // Evidence, for whoever reads of it.
    match spent.leaf.processes() {
        Ok(pids) if pids.is_empty() => {}
        Ok(pids) => residue.push(Residue {
            kind: ResidueKind::Process,
            detail: format!("processes in the job's control group: {pids:?}"),
        }),
        Err(e) => residue.push(unreadable("the job's control group", &e)),
    }
    match spent.keeper.children() {
        Ok(children) if children.is_empty() => {}
        Ok(children) => residue.push(Residue {
            kind: ResidueKind::Process,
            detail: format!("children of the keeper: {children:?}"),
        }),
        Err(e) => residue.push(unreadable("the keeper's children", &e)),
    }
    residue
}

/// What is wrong with what is kept: all but the leaf.
fn kept(spent: &Spent<'_>) -> Vec<Residue> {
    let mut residue = Vec::new();
    if let Err(e) = spent.groups.prove_keeper(spent.keeper.number()) {
        residue.push(Residue {
            kind: ResidueKind::Cgroup,
            detail: format!("the keeper's control group: {}", crate::chain(&e)),
        });
    }
    match keys(&spent.uids) {
        Ok(lines) if lines.is_empty() => {}
        Ok(lines) => residue.push(Residue {
            kind: ResidueKind::Key,
            detail: format!("keys of the job's users: {lines:?}"),
        }),
        Err(e) => residue.push(unreadable("the users of keys", &e)),
    }
    match Manifest::take(spent.keeper) {
        Ok(now) => residue.extend(spent.golden.compare(&now)),
        Err(LookError::Ended { .. }) => residue.push(Residue {
            kind: ResidueKind::Process,
            detail: "the keeper ended".to_owned(),
        }),
        Err(e) => residue.push(unreadable("the keeper", &e)),
    }
    residue
}

/// Removes the job's control group; what keeps it is residue.
fn remove(leaf: &Leaf) -> Option<Residue> {
    let error = leaf.remove().err()?;
    let kind = match error {
        CgroupError::Survivors { .. } => ResidueKind::Process,
        _ => ResidueKind::Cgroup,
    };
    let detail = format!("the job's control group: {}", crate::chain(&error));
    Some(Residue { kind, detail })
}

fn unreadable(what: &str, error: &dyn Error) -> Residue {
    Residue {
        kind: ResidueKind::Unreadable,
        detail: format!("{what}: {}", crate::chain(error)),
    }
}

/// The lines of `/proc/key-users` that belong to one of these uids. A kernel without keys has no
/// such file, and no keys.
fn keys(uids: &[u64]) -> io::Result<Vec<String>> {
    match File::open("/proc/key-users") {
        Ok(file) => Ok(owned(&kernel::read_short(file.as_fd())?, uids)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

fn owned(text: &str, uids: &[u64]) -> Vec<String> {
    text.lines()
        .filter(|line| {
            line.split(':')
                .next()
                .and_then(|uid| uid.trim().parse().ok())
                .is_none_or(|uid| uids.contains(&uid))
        })
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_by_their_user() {
        let text =
            "    0:    33 32/32 31/1000000 564/25000000\n 1879049192:  8 8/8 8/200 99/20000\n";
        assert!(owned(text, &[1000]).is_empty());
        assert_eq!(owned(text, &[1000, 1_879_049_192]).len(), 1);
        assert_eq!(owned("nonsense\n", &[1000]).len(), 1, "doubt is dirt");
    }
}
