//! The looks at the machine: small reads, and two tries that leave nothing behind.

use super::cgroup::{Cgroups, Tree};
use super::kernel::NAMESPACES;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Bytes that are read of any file of `/proc` or `/sys`.
const TEXT_BYTES_MAX: u64 = 256 * 1024;

pub(super) fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// A small text, without the white space around it.
pub(super) fn text(path: impl AsRef<Path>) -> Option<String> {
    let mut text = String::new();
    fs::File::open(path)
        .ok()?
        .take(TEXT_BYTES_MAX)
        .read_to_string(&mut text)
        .ok()?;
    Some(text.trim().to_owned())
}

pub(super) fn number(path: &str) -> Option<u64> {
    text(path)?.parse().ok()
}

pub(super) fn namespaces() -> Vec<&'static str> {
    NAMESPACES
        .into_iter()
        .filter(|name| {
            Path::new("/proc/self/ns")
                .join(name)
                .symlink_metadata()
                .is_ok()
        })
        .collect()
}

pub(super) fn cgroups() -> Cgroups {
    Cgroups::parse(&text("/proc/self/mounts").unwrap_or_default(), |point| {
        text(point.join("cgroup.controllers"))
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    })
}

/// Makes and removes a group in each hierarchy; the number of them.
pub(super) fn try_cgroup(cgroups: &Cgroups) -> Result<usize, String> {
    let mut points: Vec<&PathBuf> = match cgroups.tree() {
        Some(Tree::V1(all)) => all.values().collect(),
        Some(Tree::V2(point, _)) => vec![point],
        None => return Err("no tree".into()),
    };
    points.sort();
    points.dedup();
    for point in &points {
        let group = point.join(format!("kiln-doctor-{}", std::process::id()));
        fs::create_dir(&group)
            .and_then(|()| fs::remove_dir(&group))
            .map_err(|error| format!("`{}`: {error}", point.display()))?;
    }
    Ok(points.len())
}

/// Whether memory and swap can be limited together.
pub(super) fn swap_accounting(cgroups: &Cgroups) -> bool {
    match cgroups.tree() {
        Some(Tree::V1(all)) => all
            .get("memory")
            .is_some_and(|point| point.join("memory.memsw.limit_in_bytes").exists()),
        // A tree's root has no limits; any group below it shows which files there are.
        Some(Tree::V2(point, _)) => fs::read_dir(point).is_ok_and(|entries| {
            entries
                .filter_map(Result::ok)
                .any(|entry| entry.path().join("memory.swap.max").exists())
        }),
        None => false,
    }
}

/// Writes a file into the folder, or into the nearest one above it that there is.
pub(super) fn try_folder(folder: &Path) -> Result<(), String> {
    tried(folder).map_err(|(nearest, error)| format!("`{}`: {error}", nearest.display()))
}

/// As [`try_folder`]; else the nearest folder that is there, and what it said.
pub(super) fn tried(folder: &Path) -> Result<(), (PathBuf, std::io::Error)> {
    let nearest = folder
        .ancestors()
        .find(|path| path.exists())
        .expect("the root is always there");
    let probe = nearest.join(format!(".kiln-doctor-{}", std::process::id()));
    fs::File::create_new(&probe)
        .and_then(|_| fs::remove_file(&probe))
        .map_err(|error| (nearest.to_owned(), error))
}

/// Where a program of the host image is: only what lies below `/usr` is seen inside.
pub(super) fn program(name: &str) -> Option<String> {
    let path = Path::new("/usr/bin").join(name);
    path.is_file().then(|| path.display().to_string())
}

/// Which modules the host's python3 would import, by their folders.
pub(super) fn python_modules(wanted: &[&'static str]) -> Vec<&'static str> {
    let mut places = vec![PathBuf::from("/usr/lib/python3/dist-packages")];
    // `/usr/lib/python3.*/site-packages` is where other distributions put them.
    for lib in ["/usr/lib", "/usr/lib64"] {
        let entries = fs::read_dir(lib)
            .into_iter()
            .flatten()
            .filter_map(Result::ok);
        places.extend(
            entries
                .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3."))
                .map(|entry| entry.path().join("site-packages")),
        );
    }
    wanted
        .iter()
        .copied()
        .filter(|module| places.iter().any(|place| place.join(module).is_dir()))
        .collect()
}
