//! Where do the servers of a test keep their data, and who removes what a killed test left?
//!
//! Each folder is `target/stack/<pid>-<start>-<n>`: its owner is the process with this pid and this start time. Its file
//! `pids` lists the servers in the same way. Whoever makes a folder first sweeps those whose owner is gone.

use crate::places;
use crate::stack::process;
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of this process's own, removed when dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// A fresh one.
    ///
    /// # Panics
    /// When the build folder is not writable.
    pub fn new() -> Self {
        static SWEPT: OnceLock<usize> = OnceLock::new();
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let home = home();
        SWEPT.get_or_init(|| sweep(&home));
        let own = process::tag(std::process::id()).expect("this process lives");
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = home.join(format!("{own}-{n}"));
        std::fs::create_dir_all(&path)
            .unwrap_or_else(|error| panic!("make `{}`: {error}", path.display()));
        Self { path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes a server, so that a later test can end it when this one cannot.
    ///
    /// # Panics
    /// When the folder is not writable.
    pub fn note(&self, pid: u32) {
        note(&self.path, pid);
    }
}

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::env::var_os("KILN_TEST_KEEP").is_none() {
            std::fs::remove_dir_all(&self.path).ok();
        }
    }
}

/// Notes a server in the folder that lies at a path.
///
/// # Panics
/// When the folder is not writable.
pub fn note(folder: &Path, pid: u32) {
    let Some(tag) = process::tag(pid) else {
        return; // It has ended already.
    };
    let mut options = std::fs::OpenOptions::new();
    let file = options.create(true).append(true).open(folder.join("pids"));
    let written = file.and_then(|mut file| writeln!(file, "{tag}"));
    written.unwrap_or_else(|error| panic!("note a server in `{}`: {error}", folder.display()));
}

/// Below it all folders are.
pub fn home() -> PathBuf {
    places::target().join("stack")
}

/// Ends the servers and removes the folders whose owner is gone; says how many there were.
pub fn sweep(home: &Path) -> usize {
    let mut swept = 0;
    for entry in std::fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((owner, _)) = name.to_str().and_then(|name| name.rsplit_once('-')) else {
            continue;
        };
        if alive(owner).is_some() {
            continue;
        }
        let listed = std::fs::read_to_string(entry.path().join("pids")).unwrap_or_default();
        for pid in listed.lines().filter_map(alive) {
            kill_process(pid, Signal::KILL).ok();
        }
        std::fs::remove_dir_all(entry.path()).ok();
        swept += 1;
    }
    swept
}

/// The process of a tag, where it is still the same one.
fn alive(tag: &str) -> Option<Pid> {
    let pid: u32 = tag.split('-').next()?.parse().ok()?;
    (process::tag(pid)? == tag).then_some(())?;
    Pid::from_raw(i32::try_from(pid).ok()?)
}

#[cfg(test)]
mod tests {
    use super::{Folder, alive, note, sweep};
    use crate::leftovers::{lives, wait_for};
    use crate::stack::process;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn a_folder_goes_with_its_owner() {
        let folder = Folder::new();
        let path = folder.path().to_owned();
        assert!(path.is_dir());
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_dead_owner_left_is_swept_and_nothing_else() {
        let home = crate::places::scratch();
        let mut server = Command::new("sleep").arg("60").spawn().expect("sleep");
        let own = process::tag(std::process::id()).expect("we live");
        let (kept, left) = (
            home.path().join(format!("{own}-0")),
            home.path().join("4194303-7-0"),
        );
        for folder in [&kept, &left] {
            std::fs::create_dir_all(folder).expect("writable");
        }
        note(&left, server.id());
        assert_eq!(sweep(home.path()), 1);
        assert!(kept.is_dir() && !left.exists());
        assert!(wait_for(Duration::from_secs(5), || !lives(server.id())));
        server.wait().expect("it was ours");
    }

    #[test]
    fn a_pid_that_is_used_again_is_not_the_same_process() {
        let own = process::tag(std::process::id()).expect("we live");
        assert!(alive(&own).is_some());
        assert!(alive(&format!("{}-1", std::process::id())).is_none());
    }
}
