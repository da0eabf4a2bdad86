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

/// Where everything is built, and where the tests keep their data.
///
/// # Panics
/// When the folder we are in is gone.
pub fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| repository().join("target"), PathBuf::from);
    std::path::absolute(target).expect("a path is not empty")
}

/// The virtual environment with a plain AMQP client and an S3 for Python: `KILN_TEST_VENV`, else `target/venv`.
///
/// # Panics
/// When it is not there.
pub fn venv() -> PathBuf {
    let venv =
        std::env::var_os("KILN_TEST_VENV").map_or_else(|| target().join("venv"), PathBuf::from);
    assert!(
        venv.join("made").is_file(),
        "no virtual environment in `{}`: run `tests/python/venv`",
        venv.display()
    );
    venv
}

/// A `kiln` built with the feature `checkpoints`: `KILN_CHECKPOINTS`, else `target/debug/kiln-checkpoints`.
///
/// # Panics
/// When there is none.
pub fn kiln_checkpoints() -> PathBuf {
    let named = std::env::var_os("KILN_CHECKPOINTS");
    let path = named.map_or_else(|| target().join("debug/kiln-checkpoints"), PathBuf::from);
    assert!(
        path.is_file(),
        "no `{}`: `tests/run` builds it",
        path.display()
    );
    path
}

/// A `kiln` built with the feature `unguarded`: `KILN_UNGUARDED`, else `target/debug/kiln-unguarded`.
///
/// # Panics
/// When there is none.
pub fn kiln_unguarded() -> PathBuf {
    let named = std::env::var_os("KILN_UNGUARDED");
    let path = named.map_or_else(|| target().join("debug/kiln-unguarded"), PathBuf::from);
    assert!(
        path.is_file(),
        "no `{}`: `tests/run` builds it",
        path.display()
    );
    path
}

/// An example of the worker's, as it was built beside the program under test.
///
/// # Panics
/// When it is not there.
pub fn example(name: &str) -> PathBuf {
    let target = target();
    let built = |profile: &str| {
        let path = target.join(profile).join("examples").join(name);
        let when = path.metadata().and_then(|data| data.modified()).ok()?;
        Some((when, path))
    };
    let newest = [built("debug"), built("release")].into_iter().flatten();
    let (_, path) = newest.max().unwrap_or_else(|| {
        panic!("no example `{name}`: run `cargo build -p kiln --example {name}` first")
    });
    path
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
    let target = target();
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
