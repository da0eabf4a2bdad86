//! What libcontainer is told a sandbox is.
//!
//! Deliberately absent: a seccomp section (a libcontainer built without libseccomp ignores it and
//! starts all the same; the keeper installs its own filter and the warden proves it), resource
//! limits of the process (`RLIMIT_NOFILE` would strangle libcontainer itself before the root file
//! system stands), a cgroup namespace, `/sys`, and the group's resources (the keeper's group has
//! its limits before libcontainer puts anything into it; with any resources it would also write a
//! device list of its own, which allows to make device nodes).

use crate::devices;
use oci_spec::OciSpecError;
use oci_spec::runtime::{
    Capability, LinuxBuilder, LinuxCapabilitiesBuilder, LinuxNamespaceBuilder, LinuxNamespaceType,
    Mount, MountBuilder, ProcessBuilder, RootBuilder, Spec, SpecBuilder, UserBuilder,
};
use std::collections::HashSet;
use std::path::Path;

/// What a keeper may do in its user namespace: `KEEPER_CAPABILITIES` by name.
pub(crate) const CAPABILITIES: [Capability; 7] = [
    Capability::Chown,
    Capability::DacReadSearch,
    Capability::NetAdmin,
    Capability::Setgid,
    Capability::Setpcap,
    Capability::Setuid,
    Capability::SysAdmin,
];

/// Those that libcontainer makes; the user namespace is there already.
const NAMESPACES: [LinuxNamespaceType; 5] = [
    LinuxNamespaceType::Pid,
    LinuxNamespaceType::Mount,
    LinuxNamespaceType::Network,
    LinuxNamespaceType::Ipc,
    LinuxNamespaceType::Uts,
];

/// What differs between sandboxes.
#[derive(Debug)]
pub(crate) struct Sandbox<'a> {
    pub(crate) root: &'a Path,
    /// The keeper's group, from the root of every hierarchy.
    pub(crate) group: &'a Path,
    /// The user namespace, its ids mapped.
    pub(crate) user: &'a Path,
}

fn mount(at: &str, kind: &str, source: &str, options: &[&str]) -> Result<Mount, OciSpecError> {
    let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    MountBuilder::default()
        .destination(at)
        .typ(kind)
        .source(source)
        .options(options)
        .build()
}

/// The whole of it.
pub(crate) fn spec(sandbox: &Sandbox<'_>) -> Result<Spec, OciSpecError> {
    let set: HashSet<Capability> = CAPABILITIES.into_iter().collect();
    let none: HashSet<Capability> = HashSet::new();
    let capabilities = LinuxCapabilitiesBuilder::default()
        .bounding(set.clone())
        .permitted(set.clone())
        .effective(set)
        .inheritable(none.clone())
        .ambient(none)
        .build()?;
    let process = ProcessBuilder::default()
        .terminal(false)
        .args(vec!["keeper".to_owned()])
        .env(Vec::<String>::new())
        .cwd("/")
        .user(UserBuilder::default().uid(0_u32).gid(0_u32).build()?)
        .capabilities(capabilities)
        .no_new_privileges(true)
        .rlimits(Vec::new())
        .build()?;
    let mounts = vec![
        mount("/proc", "proc", "proc", &["nosuid", "nodev", "noexec"])?,
        mount(
            "/dev",
            "bind",
            devices::FOLDER,
            &["bind", "nosuid", "noexec"],
        )?,
    ];
    let user = LinuxNamespaceBuilder::default()
        .typ(LinuxNamespaceType::User)
        .path(sandbox.user);
    let namespaces = NAMESPACES
        .into_iter()
        .map(|kind| LinuxNamespaceBuilder::default().typ(kind))
        .chain([user])
        .map(LinuxNamespaceBuilder::build)
        .collect::<Result<Vec<_>, _>>()?;
    let mut linux = LinuxBuilder::default()
        .namespaces(namespaces)
        .cgroups_path(sandbox.group)
        .masked_paths(Vec::<String>::new())
        .readonly_paths(Vec::<String>::new())
        .rootfs_propagation("private")
        .build()?;
    linux.set_resources(None);
    SpecBuilder::default()
        .version("1.0.2")
        .process(process)
        .root(
            RootBuilder::default()
                .path(sandbox.root)
                .readonly(true)
                .build()?,
        )
        .hostname("kiln")
        .mounts(mounts)
        .linux(linux)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_that_libcontainer_would_do_wrong() {
        let spec = spec(&Sandbox {
            root: Path::new("/r"),
            group: Path::new("/g/keeper"),
            user: Path::new("/proc/7/ns/user"),
        })
        .expect("spec");
        let process = spec.process().as_ref().expect("process");
        assert!(process.rlimits().as_ref().is_none_or(Vec::is_empty));
        assert!(process.env().as_ref().is_none_or(Vec::is_empty));
        let linux = spec.linux().as_ref().expect("linux");
        assert!(linux.seccomp().is_none(), "it would fail open");
        assert!(linux.cgroups_path().as_ref().expect("group").is_absolute());
        let namespaces = linux.namespaces().as_ref().expect("namespaces");
        assert!(
            namespaces
                .iter()
                .all(|n| n.typ() != LinuxNamespaceType::Cgroup
                    && n.path().is_some() == (n.typ() == LinuxNamespaceType::User))
        );
        assert!(linux.resources().is_none(), "it would add device rules");
    }
}
