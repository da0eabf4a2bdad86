//! Where does a table of mounts say that the hierarchies are?

use super::*;

const APART: &str = "\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
36 31 0:33 / /sys/fs/cgroup/devices rw,relatime - cgroup cgroup rw,devices
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

#[test]
fn controllers_mounted_apart_are_four_hierarchies() {
    let tree = Tree::from_mountinfo(APART).expect("v1");
    assert_eq!(tree.version, CgroupVersion::V1);
    assert_eq!(tree.mounts.len(), 4);
    assert_eq!(tree.strays.len(), 2);
    assert_eq!(
        tree.file(Controller::Cpuacct, Path::new("a/b"), "cpuacct.usage"),
        Path::new("/sys/fs/cgroup/cpuacct/a/b/cpuacct.usage")
    );
}

#[test]
fn controllers_mounted_together_are_one_hierarchy() {
    let text = APART
        .replace("cgroup rw,cpu\n", "cgroup rw,cpu,cpuacct\n")
        .replace("/sys/fs/cgroup/cpu ", "/sys/fs/cgroup/cpu,cpuacct ")
        .replace("cgroup rw,cpuacct\n", "cgroup rw,blkio\n");
    let tree = Tree::from_mountinfo(&text).expect("v1");
    assert_eq!(tree.mounts.len(), 3);
    assert_eq!(
        tree.file(Controller::Cpuacct, Path::new("a"), "cpuacct.usage"),
        Path::new("/sys/fs/cgroup/cpu,cpuacct/a/cpuacct.usage")
    );
}

#[test]
fn a_missing_controller_is_named_not_skipped() {
    let text = APART.replace("cgroup rw,pids", "cgroup rw,misc");
    match Tree::from_mountinfo(&text) {
        Err(CgroupError::Missing { missing }) => assert_eq!(missing, ["pids"]),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        Tree::from_mountinfo(""),
        Err(CgroupError::Missing { .. })
    ));
}

#[test]
fn a_mount_point_with_a_space_is_read() {
    let line = r"1 1 0:1 / /sys/fs/my\040cgroup rw - cgroup2 cgroup2 rw";
    assert_eq!(mount(line).map(|m| m.0), Some("/sys/fs/my cgroup".into()));
}
