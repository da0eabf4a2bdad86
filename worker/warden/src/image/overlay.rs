//! How a read-only overlay of some folders is put at a place, and how its flags are proved.
//!
//! An overlay of lower layers alone has a superblock of its own: inodes, and with them locks and
//! file watches, are not shared with another overlay of the same folders. The flags are set before
//! the mount can be seen anywhere, and before any user namespace exists, so that nobody inside a
//! sandbox can take them off.

use super::ImageError;
use super::tree;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::CWD;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The most of a mount table that is read.
const TABLE_BYTES_MAX: u64 = 64 << 20;

/// Why an overlay could not be made.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// A step of making it; `kernel` is what the kernel said of the step.
    #[error("{step} of an overlay of `{layers}` at `{at}` (the kernel says {kernel})")]
    Step {
        step: &'static str,
        layers: String,
        at: PathBuf,
        kernel: String,
        source: io::Error,
    },
    /// A layer's path cannot be written in the option `lowerdir`.
    #[error("name the layer `{0}`: it holds one of `:`, `,` and `\\`")]
    Name(PathBuf),
}

/// Mounts an overlay of `layers` (the first hides the later ones; at least two) at the folder `at`.
pub(super) fn mount(layers: &[&Path], at: &Path) -> Result<(), OverlayError> {
    let names = lowerdir(layers)?;
    let fail = |step, kernel: String, e: rustix::io::Errno| OverlayError::Step {
        step,
        layers: String::from_utf8_lossy(&names).into_owned(),
        at: at.to_owned(),
        kernel,
        source: e.into(),
    };
    let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)
        .map_err(|e| fail("open the kind", "nothing".to_owned(), e))?;
    let step = |step, done: rustix::io::Result<()>| done.map_err(|e| fail(step, said(&fs), e));
    step(
        "name the source",
        fsconfig_set_string(&fs, "source", "kiln"),
    )?;
    step(
        "set the layers",
        fsconfig_set_string(&fs, "lowerdir", &names[..]),
    )?;
    // No layer may lead to another folder than its own.
    step(
        "turn redirects off",
        fsconfig_set_string(&fs, "redirect_dir", "nofollow"),
    )?;
    step(
        "turn metacopy off",
        fsconfig_set_string(&fs, "metacopy", "off"),
    )?;
    step("set it read-only", fsconfig_set_flag(&fs, "ro"))?;
    fsconfig_create(&fs).map_err(|e| {
        let said = stacked(layers).map_or_else(|| said(&fs), str::to_owned);
        fail("make the superblock", said, e)
    })?;
    let mount = fsmount(
        &fs,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV,
    )
    .map_err(|e| fail("make the mount", said(&fs), e))?;
    step("place the mount", place(&mount, at))
}

/// Puts a read-only, nosuid and nodev copy of the one mount that holds `folder` at `at`, without
/// what is mounted below. It has its flags before it can be reached by any path.
pub(super) fn view(folder: impl AsFd, at: &Path) -> io::Result<()> {
    let tree = open_tree(
        folder,
        "",
        OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH,
    )?;
    protect(&tree)?;
    Ok(place(&tree, at)?)
}

/// Makes a mount that is not placed yet read-only, nosuid and nodev.
#[expect(unsafe_code, reason = "no safe crate in use has `mount_setattr`")]
fn protect(tree: &OwnedFd) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the descriptor is open for the whole call; the path is a constant C string; the
    // kernel only reads `attributes`, which lives on this stack and whose true size is given.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn place(mount: &OwnedFd, at: &Path) -> rustix::io::Result<()> {
    move_mount(mount, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// The value of the option `lowerdir`.
fn lowerdir(layers: &[&Path]) -> Result<Vec<u8>, OverlayError> {
    let mut names = Vec::new();
    for layer in layers {
        let name = layer.as_os_str().as_bytes();
        if name.iter().any(|b| matches!(b, b':' | b',' | b'\\')) {
            return Err(OverlayError::Name((*layer).to_owned()));
        }
        if !names.is_empty() {
            names.push(b':');
        }
        names.extend_from_slice(name);
    }
    Ok(names)
}

/// What a refusal means where a layer is an overlay; the kernel tells that to its own log alone.
fn stacked(layers: &[&Path]) -> Option<&'static str> {
    let overlay = |layer: &&Path| {
        rustix::fs::statfs(*layer).is_ok_and(|fs| fs.f_type == libc::OVERLAYFS_SUPER_MAGIC)
    };
    layers.iter().any(overlay).then_some(
        "nothing, but a layer lies on an overlay, and there may be no more than two on each other",
    )
}

/// What the kernel says about a context's last failure.
fn said(fs: &OwnedFd) -> String {
    let mut lines = Vec::new();
    let mut line = [0; 512];
    while let Ok(n @ 1..) = rustix::io::read(fs, &mut line) {
        lines.push(String::from_utf8_lossy(&line[..n]).trim().to_owned());
    }
    if lines.is_empty() {
        "nothing".to_owned()
    } else {
        lines.join("; ")
    }
}

/// Proves that the mounts at and below `at` are those named and no other, each a read-only overlay
/// with nosuid and nodev.
pub(super) fn prove(at: &Path, expected: &[&Path]) -> Result<(), ImageError> {
    let table = Path::new("/proc/thread-self/mountinfo");
    let text = tree::open(table)
        .and_then(|file| tree::bounded(file, TABLE_BYTES_MAX))
        .map_err(|e| ImageError::Read(table.to_owned(), e))?;
    let unproved = |mount: &Path, holds: &str| ImageError::Unproved {
        mount: mount.to_owned(),
        holds: holds.to_owned(),
    };
    let mut found = Vec::new();
    for line in text.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
        let line = String::from_utf8_lossy(line);
        let Some(mount) = Mount::parse(&line) else {
            return Err(unproved(table, &line));
        };
        if !mount.point.starts_with(at) {
            continue;
        }
        if mount.kind != "overlay"
            || !["ro", "nosuid", "nodev"]
                .iter()
                .all(|f| mount.flags.contains(f))
            || !mount.superblock.contains(&"ro")
        {
            return Err(unproved(&mount.point, &line));
        }
        found.push(mount.point);
    }
    found.sort();
    if found.iter().ne(expected) {
        return Err(unproved(at, &format!("mounts {found:?}, not {expected:?}")));
    }
    Ok(())
}

/// A line of a mount table.
struct Mount<'a> {
    point: PathBuf,
    flags: Vec<&'a str>,
    kind: &'a str,
    superblock: Vec<&'a str>,
}

impl<'a> Mount<'a> {
    /// `36 35 98:0 /root /point ro,nosuid shared:1 - overlay source ro,lowerdir=...`
    fn parse(line: &'a str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(4);
        let mut after = after.split(' ');
        Some(Mount {
            point: unescape(before.next()?),
            flags: before.next()?.split(',').collect(),
            kind: after.next()?,
            superblock: after.nth(1)?.split(',').collect(),
        })
    }
}

/// Undoes a mount table's `\040`.
fn unescape(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = (bytes[at] == b'\\')
            .then(|| text.get(at + 1..at + 4))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        out.push(octal.unwrap_or(bytes[at]));
        at += if octal.is_some() { 4 } else { 1 };
    }
    OsString::from_vec(out).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_mount_table_is_understood() {
        let line = r"36 35 0:52 / /mnt/a\040b ro,nosuid,nodev,relatime shared:1 - overlay kiln ro,lowerdir=/x:/y";
        let mount = Mount::parse(line).expect("the line is whole");
        assert_eq!(mount.point, Path::new("/mnt/a b"));
        assert_eq!(mount.flags, ["ro", "nosuid", "nodev", "relatime"]);
        assert_eq!(mount.kind, "overlay");
        assert_eq!(mount.superblock, ["ro", "lowerdir=/x:/y"]);
        assert!(Mount::parse("36 35 0:52 / /mnt ro").is_none());
    }

    #[test]
    fn a_layer_whose_name_is_a_separator_is_refused() {
        for bad in ["/a:b", "/a,b", "/a\\b"] {
            assert!(matches!(
                lowerdir(&[Path::new("/fine"), Path::new(bad)]),
                Err(OverlayError::Name(_))
            ));
        }
    }
}
