//! A small file system that fills up when a test wants it to.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A tmpfs that is mounted for as long as this lives.
#[derive(Debug)]
pub struct Tmpfs(PathBuf);

impl Tmpfs {
    /// Mounts one on a folder, which is made where it is not there.
    ///
    /// # Panics
    /// When that is not possible: it needs root.
    pub fn mount(on: &Path, size: &str) -> Self {
        std::fs::create_dir_all(on).expect("writable");
        mount(&format!("size={size},mode=0755"), on);
        Self(on.to_owned())
    }

    /// Gives it another size.
    ///
    /// # Panics
    /// When that is not possible.
    pub fn resize(&self, size: &str) {
        mount(&format!("remount,size={size}"), &self.0);
    }
}

fn mount(options: &str, on: &Path) {
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", options, "tmpfs"])
        .arg(on)
        .status();
    assert!(
        mounted.expect("mount is there").success(),
        "{}",
        on.display()
    );
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}
