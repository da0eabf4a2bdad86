//! A disk of its own whose power goes: is every answered commit there after the next boot?
//!
//! A copy of the image beneath a mounted file system holds what the file system had given to its
//! disk at that moment, and nothing that it still kept in memory.

use super::*;
use std::path::PathBuf;
use std::process::Command;

/// An ext4 of its own in a file; needs root.
struct Disk {
    image: PathBuf,
    at: PathBuf,
}

impl Disk {
    fn make(folder: &Folder) -> Self {
        let image = folder.path().join("image");
        let file = File::create(&image).expect("scratch");
        file.set_len(96 << 20).expect("scratch");
        run("mkfs.ext4", &["-q", "-F"], &[&image]);
        Self::mount(folder, image, "disk")
    }

    fn mount(folder: &Folder, image: PathBuf, name: &str) -> Self {
        let at = folder.path().join(name);
        fs::create_dir(&at).expect("scratch");
        run("mount", &["-o", "loop"], &[&image, &at]);
        Self { image, at }
    }

    /// What the disk holds now, as another machine finds it that mounts it.
    fn cut(&self, folder: &Folder) -> Self {
        let image = folder.path().join("cut");
        fs::copy(&self.image, &image).expect("scratch");
        Self::mount(folder, image, "after")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.at).status());
    }
}

fn run(program: &str, words: &[&str], paths: &[&Path]) {
    let done = Command::new(program).args(words).args(paths).status();
    let done = done.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(done.success(), "{program} (as root): {done}");
}

#[test]
fn what_was_committed_is_there_when_the_power_comes_back() {
    let folder = Folder::new();
    let disk = Disk::make(&folder);
    let root = opened(&disk.at, "this");
    root.log_ahead();
    let outcome = |n: usize| format!("{{\"n\": {n}}}");
    for n in 0..200 {
        let unnamed = root.unnamed().expect("a file");
        let key = format!("logs/{n}/r/stdout");
        root.put_logged(unnamed, &key, key.as_bytes())
            .expect("written");
        commit(&root, &n.to_string(), &outcome(n));
    }
    let after = disk.cut(&folder);
    let missing = |n: &usize| {
        let result = fs::read_to_string(after.at.join(format!("results/{n}.json")));
        let key = format!("logs/{n}/r/stdout");
        let stream = fs::read_to_string(after.at.join(&key));
        result.ok() != Some(outcome(*n)) || stream.ok() != Some(key)
    };
    // Else nothing is shown here.
    assert_ne!((0..200).filter(missing).count(), 0, "the disk was faster");
    drop(opened(&after.at, NEXT_BOOT));
    assert_eq!((0..200).filter(missing).count(), 0);
}
