//! Can the kernel's control groups hold the limits of a job here?

use super::Finding;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The controllers that hold a job's limits.
pub(super) const V1_NEEDED: [&str; 4] = ["memory", "pids", "cpu", "cpuacct"];
pub(super) const V2_NEEDED: [&str; 3] = ["memory", "pids", "cpu"];

/// Where the controllers are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cgroups {
    /// Hierarchies of version 1: controller and mount point.
    pub(super) v1: BTreeMap<String, PathBuf>,
    /// The tree of version 2 and its controllers.
    pub(super) v2: Option<(PathBuf, Vec<String>)>,
}

/// The tree that Kiln would use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tree<'a> {
    V1(&'a BTreeMap<String, PathBuf>),
    V2(&'a PathBuf, &'a [String]),
}

impl Cgroups {
    /// From the text of `/proc/self/mounts`; `controllers_of` reads a tree's controllers.
    pub(super) fn parse(mounts: &str, controllers_of: impl Fn(&PathBuf) -> Vec<String>) -> Self {
        let mut found = Self::default();
        for line in mounts.lines() {
            let mut fields = line.split(' ');
            let (_, point, kind, options) =
                (fields.next(), fields.next(), fields.next(), fields.next());
            let (Some(point), Some(kind), Some(options)) = (point, kind, options) else {
                continue;
            };
            let point = PathBuf::from(point);
            match kind {
                "cgroup" => {
                    for option in options.split(',') {
                        if V1_NEEDED.contains(&option) {
                            found.v1.insert(option.into(), point.clone());
                        }
                    }
                }
                "cgroup2" if found.v2.is_none() => {
                    let controllers = controllers_of(&point);
                    found.v2 = Some((point, controllers));
                }
                _ => {}
            }
        }
        found
    }

    /// Version 1 where any hierarchy of it holds one of our controllers, else version 2.
    pub(super) fn tree(&self) -> Option<Tree<'_>> {
        if !self.v1.is_empty() {
            return Some(Tree::V1(&self.v1));
        }
        self.v2
            .as_ref()
            .map(|(point, controllers)| Tree::V2(point, controllers))
    }
}

pub(super) fn version(cgroups: &Cgroups) -> Finding {
    let (what, needed) = ("cgroup version", "v2, or v1 hierarchies");
    match cgroups.tree() {
        Some(Tree::V2(..)) => Finding::ok(what, "v2", needed),
        Some(Tree::V1(_)) if cgroups.v2.is_some() => Finding::ok(what, "v1 (hybrid)", needed),
        Some(Tree::V1(_)) => Finding::ok(what, "v1", needed),
        None => Finding::missing(
            what,
            "none mounted",
            needed,
            "`mount -t cgroup2 none /sys/fs/cgroup`",
        ),
    }
}

pub(super) fn controllers(cgroups: &Cgroups) -> Finding {
    let what = "cgroup controllers";
    let (needed, absent, remedy) = match cgroups.tree() {
        Some(Tree::V1(there)) => (
            "memory, pids, cpu, cpuacct",
            absent(&V1_NEEDED, |name| there.contains_key(name)),
            "mount the hierarchies: `mount -t cgroup -o NAME none /sys/fs/cgroup/NAME`",
        ),
        Some(Tree::V2(_, there)) => (
            "memory, pids, cpu",
            absent(&V2_NEEDED, |name| there.iter().any(|t| t == name)),
            "delegate them: write `+cpu +memory +pids` to the parent's `cgroup.subtree_control`; \
             for a service, `Delegate=yes`",
        ),
        None => (
            "memory, pids, cpu",
            V2_NEEDED.to_vec(),
            "mount a cgroup tree first",
        ),
    };
    if absent.is_empty() {
        Finding::ok(what, needed, needed)
    } else {
        Finding::missing(
            what,
            format!("without {}", absent.join(", ")),
            needed,
            remedy,
        )
    }
}

fn absent<'a>(needed: &[&'a str], there: impl Fn(&str) -> bool) -> Vec<&'a str> {
    needed.iter().copied().filter(|name| !there(name)).collect()
}

/// `tried` is the outcome of making and removing a group in each hierarchy.
pub(super) fn writable(tried: &Result<usize, String>) -> Finding {
    let (what, needed) = ("cgroup tree", "groups can be made");
    match tried {
        Ok(1) => Finding::ok(what, "writable", needed),
        Ok(trees) => Finding::ok(what, format!("writable ({trees} hierarchies)"), needed),
        Err(why) => Finding::missing(
            what,
            why,
            needed,
            "run as root with `/sys/fs/cgroup` mounted read-write; in a container `--privileged` \
             with `--cgroupns=private`",
        ),
    }
}

/// `accounted` tells whether a limit on memory and swap together can be set.
pub(super) fn swap(meminfo: Option<&str>, accounted: bool) -> Finding {
    let (what, needed) = (
        "swap accounting",
        "memory limits that count swap, or no swap",
    );
    let total = meminfo.and_then(|text| super::host::kib(text, "SwapTotal"));
    match (accounted, total) {
        (true, _) => Finding::ok(what, "yes", needed),
        (false, Some(0)) => Finding::ok(what, "no, and no swap", needed),
        (false, _) => Finding::missing(
            what,
            "no, and there is swap",
            needed,
            "boot with `swapaccount=1`, or `swapoff -a`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    const HYBRID: &str = "\
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0
cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
";
    const PURE_V2: &str = "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n";

    fn parsed(mounts: &str, v2: &[&str]) -> Cgroups {
        Cgroups::parse(mounts, |_| v2.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_hybrid_host_is_used_by_its_v1_hierarchies() {
        let found = parsed(HYBRID, &[]);
        assert_eq!(version(&found).found, "v1 (hybrid)");
        assert_eq!(controllers(&found).state, State::Ok);
        let without = HYBRID.replace(",pids", "");
        let finding = controllers(&parsed(&without, &[]));
        assert_eq!(finding.found, "without pids");
        assert_eq!(finding.state, State::Missing);
    }

    #[test]
    fn a_v2_host_needs_its_controllers_delegated() {
        let all = parsed(PURE_V2, &["cpuset", "cpu", "io", "memory", "pids"]);
        assert_eq!(version(&all).found, "v2");
        assert_eq!(controllers(&all).state, State::Ok);
        let some = parsed(PURE_V2, &["cpu"]);
        assert_eq!(controllers(&some).found, "without memory, pids");
    }

    #[test]
    fn no_tree_at_all_is_missing_twice() {
        let none = parsed("proc /proc proc rw 0 0\n", &[]);
        assert_eq!(version(&none).state, State::Missing);
        assert_eq!(controllers(&none).state, State::Missing);
    }

    #[test]
    fn swap_without_accounting_would_let_a_job_past_its_memory() {
        for (meminfo, accounted, wanted) in [
            (Some("SwapTotal: 0 kB\n"), false, State::Ok),
            (Some("SwapTotal: 4 kB\n"), true, State::Ok),
            (Some("SwapTotal: 4 kB\n"), false, State::Missing),
            (None, false, State::Missing),
        ] {
            assert_eq!(swap(meminfo, accounted).state, wanted);
        }
    }

    #[test]
    fn a_tree_that_refuses_a_group_says_why() {
        assert_eq!(writable(&Ok(4)).found, "writable (4 hierarchies)");
        let finding = writable(&Err("read-only".into()));
        assert_eq!(
            (finding.state, finding.found.as_str()),
            (State::Missing, "read-only")
        );
    }
}
