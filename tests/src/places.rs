//! Where are the program under test, the cases and the probes, and may the tests run here at all?

use std::path::{Path, PathBuf};

/// The folder of this crate.
pub fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The root of the repository.
///
/// # Panics
/// Never: the crate lies in the repository.
pub fn repository() -> &'static Path {
    home().parent().expect("the crate lies in the repository")
}

/// The `kiln` under test: `KILN`, else the newer of the workspace's two builds.
///
/// # Panics
/// When there is none, or when the tests do not run as root.
pub fn kiln() -> PathBuf {
    assert!(
        rustix::process::geteuid().is_root(),
        "acceptance tests make sandboxes and need root (`tests/run` as root)"
    );
    if let Some(path) = std::env::var_os("KILN") {
        let path = PathBuf::from(path);
        assert!(
            path.is_file(),
            "KILN names `{}`, which is not a file",
            path.display()
        );
        return path;
    }
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| repository().join("target"), PathBuf::from);
    let built = |profile: &str| {
        let path = target.join(profile).join("kiln");
        let when = path.metadata().and_then(|data| data.modified()).ok()?;
        Some((when, path))
    };
    let newest = [built("debug"), built("release")]
        .into_iter()
        .flatten()
        .max();
    let (_, path) = newest.unwrap_or_else(|| {
        panic!(
            "no `kiln` in `{}`: run `cargo build -p kiln` first, or set KILN",
            target.display()
        )
    });
    path
}

/// A fresh folder of this test's own, removed when dropped.
///
/// # Panics
/// When the folder for temporary files takes no folder.
pub fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new()
        .prefix("kiln-test-")
        .tempdir()
        .expect("the temporary folder is writable")
}
