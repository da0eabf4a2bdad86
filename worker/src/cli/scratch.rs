//! A folder of its own for one test, gone when it is dropped.

use std::path::{Path, PathBuf};

pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let path = std::env::temp_dir().join(format!("kiln-test-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir(&path).expect("the folder for temporary files is writable");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
