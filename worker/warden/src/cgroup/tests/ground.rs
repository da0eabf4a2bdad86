//! Where do the tests play? In an instance of their own, with shells as its processes.

use super::super::layout::Tree;
use super::super::*;
use crate::counters::Counter;
use crate::wire::CellLimits;
use kiln_keeper::wire::Placement;
use std::fs::{self, File};
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub(super) const MIB: u64 = 1 << 20;
const KEEPER_UID: u32 = 1_879_048_192;

/// An instance below a parent of the test's own, removed when dropped.
pub(super) struct Ground {
    pub(super) hierarchy: Hierarchy,
    pub(super) parent: String,
    pub(super) instance: Option<Instance>,
    pub(super) children: Vec<Child>,
}

impl Ground {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let hierarchy = detect().expect("control groups; these tests need root");
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let parent = format!("/kiln-kernel-test-{}-{count}", std::process::id());
        let instance = hierarchy.instance(&parent, "one").expect("an instance");
        Self {
            hierarchy,
            parent,
            instance: Some(instance),
            children: Vec::new(),
        }
    }

    pub(super) fn sandbox(&self) -> SandboxGroup {
        let instance = self.instance.as_ref().expect("still there");
        let made = instance.sandbox("sbx-1").expect("a sandbox");
        made.owned_by(KEEPER_UID).expect("a sandbox of a keeper's")
    }

    /// A shell that waits for a line on stdin and then runs `script`.
    pub(super) fn shell(&mut self, script: &str) -> (i32, &mut Child) {
        let child = Command::new("/bin/sh")
            .args(["-c", &format!("read line; {script}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let pid = i32::try_from(child.id()).expect("a pid");
        self.children.push(child);
        (pid, self.children.last_mut().expect("just pushed"))
    }

    pub(super) fn groups(&self) -> Vec<PathBuf> {
        let path = Path::new(self.parent.trim_start_matches('/')).join("one");
        self.hierarchy.tree.all_dirs(&path)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        for child in &mut self.children {
            child.kill().expect("end a shell of ours");
            child.wait().expect("reap a shell of ours");
        }
        let parent = Path::new(self.parent.trim_start_matches('/'));
        let swept = self
            .hierarchy
            .sweep(&self.parent, "one")
            .and_then(|()| empty::remove(&self.hierarchy.tree, parent));
        if let Err(e) = swept {
            assert!(std::thread::panicking(), "clean up: {e}");
        }
    }
}

pub(super) fn limits(memory_bytes: u64, pids: u64, cpus_milli: u64) -> CellLimits {
    CellLimits {
        memory_bytes,
        pids,
        cpus_milli,
        disk_bytes: MIB,
        inodes: 16,
        open_files: 16,
    }
}

pub(super) fn tasks(leaf: &Leaf) -> usize {
    match leaf.placement() {
        Placement::V1 { tasks } => usize::from(tasks),
        Placement::V2 => 0,
    }
}

/// Moves a process as the keeper would let one move itself.
pub(super) fn place(tree: &Tree, path: &Path, pid: i32) {
    let file = match tree.version {
        CgroupVersion::V1 => "tasks",
        CgroupVersion::V2 => "cgroup.procs",
    };
    for dir in tree.dirs(path) {
        fs::write(dir.join(file), pid.to_string()).expect("place a process");
    }
}

pub(super) fn go(child: &mut Child) {
    let stdin = child.stdin.as_mut().expect("piped");
    stdin.write_all(b"go\n").expect("the shell reads");
}

/// Looks until it holds, for at most five seconds.
pub(super) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !holds() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        #[expect(clippy::disallowed_methods, reason = "between two looks, with a bound")]
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(super) fn counter(leaf: &Leaf, wanted: Counter) -> File {
    let counters = leaf.counters().expect("counters");
    let found = counters.into_iter().find(|(counter, _)| *counter == wanted);
    File::from(found.expect("this counter exists").1)
}
