//! Which files does v2 write? On a folder that stands for a cgroup2 mount.

use super::limits::Limits;
use super::*;
use std::fs;

/// A folder with the files that the kernel would make, removed when dropped.
struct Fake(PathBuf);

impl Fake {
    fn new(name: &str, controllers: &str) -> Self {
        let root = std::env::temp_dir().join(format!("kiln-cgroup2-{}-{name}", std::process::id()));
        fs::create_dir(&root).expect("a fresh folder");
        let fake = Self(root);
        fs::write(fake.0.join("cgroup.controllers"), controllers).expect("writable");
        fake
    }

    fn tree(&self) -> Result<Tree, CgroupError> {
        let root = self.0.display();
        Tree::from_mountinfo(&format!(
            "1 1 0:1 / {root} rw,nsdelegate - cgroup2 cgroup2 rw"
        ))
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).expect("writable");
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).expect("readable")
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("remove a folder of ours");
    }
}

#[test]
fn swap_is_off_and_a_kill_takes_the_whole_job() {
    let fake = Fake::new("limits", "cpuset cpu io memory pids\n");
    let tree = fake.tree().expect("v2");
    assert_eq!(tree.version, CgroupVersion::V2);
    for (name, text) in [
        ("memory.swap.max", "max\n"),
        ("memory.oom.group", "0\n"),
        ("memory.max", "max\n"),
        ("pids.max", "max\n"),
        ("cpu.max", "max 100000\n"),
    ] {
        fake.file(name, text);
    }
    let limits = Limits {
        memory_bytes: (64 << 20) + 5,
        pids: 7,
        cpus_milli: Some(1500),
    };
    limits.set(&tree, Path::new("")).expect("set");
    assert_eq!(fake.text("memory.swap.max"), "0");
    assert_eq!(fake.text("memory.oom.group"), "1");
    assert_eq!(fake.text("memory.max"), "67108864");
    assert_eq!(fake.text("pids.max"), "7");
    assert_eq!(fake.text("cpu.max"), "150000 100000");
    fake.file("memory.swap.max", "max\n");
    let folders = tree.folders(Path::new("")).expect("there");
    let held = limits.prove(&tree, &folders);
    assert!(matches!(held, Err(CgroupError::Differs { .. })), "{held:?}");
    fs::remove_file(fake.0.join("memory.swap.max")).expect("there");
    let absent = limits.set(&tree, Path::new(""));
    assert!(
        matches!(absent, Err(CgroupError::Read { .. })),
        "{absent:?}"
    );
}

#[test]
fn only_missing_controllers_are_enabled_and_read_back() {
    let fake = Fake::new("enable", "cpu memory pids\n");
    let tree = fake.tree().expect("v2");
    fake.file("cgroup.subtree_control", "cpu memory pids io\n");
    tree.enable(Path::new("")).expect("all there");
    assert_eq!(fake.text("cgroup.subtree_control"), "cpu memory pids io\n");
    fake.file("cgroup.subtree_control", "cpu\n");
    // The folder keeps the text instead of the meaning, so the reading back must refuse it.
    let held = tree.enable(Path::new(""));
    assert!(matches!(held, Err(CgroupError::Differs { .. })), "{held:?}");
    assert_eq!(fake.text("cgroup.subtree_control"), "+memory +pids");
}

#[test]
fn only_the_right_to_place_processes_is_given() {
    use std::os::unix::fs::MetadataExt;
    let fake = Fake::new("give", "cpu memory pids\n");
    let tree = fake.tree().expect("v2");
    fake.file("cgroup.procs", "");
    fake.file("memory.max", "");
    tree.give(Path::new(""), 4242).expect("needs root");
    let uid = |name| fs::metadata(fake.0.join(name)).expect("there").uid();
    assert_eq!((uid("cgroup.procs"), uid("memory.max")), (4242, 0));
}

#[test]
fn a_missing_controller_is_an_error() {
    let fake = Fake::new("missing", "cpu memory\n");
    match fake.tree() {
        Err(CgroupError::Missing { missing }) => assert_eq!(missing, ["pids"]),
        other => panic!("{other:?}"),
    }
}
