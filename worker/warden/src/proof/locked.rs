//! Whether a keeper has locked itself down, before it may build its first cell.
//!
//! A container whose filter is missing starts all the same, so this is looked up and not assumed.

use super::manifest::Manifest;
use super::process::Namespaces;
use super::{Differs, same};
use crate::uids::Range;
use kiln_keeper::wire::KEEPER_CAPABILITIES;

/// Compares a keeper with the posture that every keeper must have.
pub(crate) fn prove(
    keeper: &Manifest,
    range: Range,
    outside: &[Namespaces],
) -> Result<(), Differs> {
    let status = &keeper.status;
    let id = range.host(0);
    same("uids of the keeper", &[id; 4][..], &status.uids[..])?;
    same("gids of the keeper", &[id; 4][..], &status.gids[..])?;
    same("groups of the keeper", &[0_u64; 0][..], &status.groups[..])?;
    same(
        "pid of the keeper",
        &[1][..],
        status.pids.get(1..).unwrap_or_default(),
    )?;
    same("threads of the keeper", &1, &status.threads)?;
    same("tracer of the keeper", &0, &status.tracer)?;
    for (what, wanted, mask) in [
        (
            "permitted capabilities of the keeper",
            KEEPER_CAPABILITIES,
            status.permitted,
        ),
        (
            "effective capabilities of the keeper",
            KEEPER_CAPABILITIES,
            status.effective,
        ),
        (
            "bounding capabilities of the keeper",
            KEEPER_CAPABILITIES,
            status.bounding,
        ),
        (
            "inheritable capabilities of the keeper",
            0,
            status.inheritable,
        ),
        ("ambient capabilities of the keeper", 0, status.ambient),
    ] {
        same(what, &wanted, &mask)?;
    }
    same("no_new_privs of the keeper", &1, &status.no_new_privs)?;
    same("seccomp mode of the keeper", &2, &status.seccomp)?;
    same("seccomp filters of the keeper", &1, &status.filters)?;
    for other in outside {
        // It has no cgroup namespace of its own; it holds no cgroup mount either.
        same(
            "namespaces that the keeper shares",
            &["cgroup"][..],
            &keeper.namespaces.shared(other)[..],
        )?;
    }
    Ok(())
}
