//! What of the host an image named `host` shows: `/usr`, and an `/etc` made for the purpose.
//!
//! `/` is a skeleton of a few small files and folders; `/usr` lies on it as an overlay of its own,
//! under a mask that hides what the host's administrator has put there privately. `/home`, `/root`,
//! `/var`, `/sys` and the host's own `/etc` have no way in.

use super::tree::{self, Tree};
use super::{Image, ImageError, MOUNT_POINTS, accounts, source, view};
use rustix::fs::{XattrFlags, setxattr};
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What of `/usr` is shown only where a profile names it.
pub(crate) const HIDDEN: [&str; 3] = ["/usr/local", "/usr/src", "/usr/lib/debug"];

/// Folders of a merged root that lead into `/usr`.
const MERGED: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// Single files of `/etc` that are public by their nature, taken as they are if they exist.
const FILES: [&str; 18] = [
    "crypto-policies/back-ends/opensslcnf.config",
    "debian_version",
    "ethertypes",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "locale.alias",
    "magic",
    "magic.mime",
    "matplotlibrc",
    "mime.types",
    "pki/tls/certs/ca-bundle.crt",
    "pki/tls/openssl.cnf",
    "protocols",
    "rpc",
    "services",
    "ssl/certs/ca-certificates.crt",
    "ssl/openssl.cnf",
];

/// Folders of `/etc` that are public by their nature. `python3*` stands for each version's.
const FOLDERS: [&str; 3] = ["alternatives", "fonts", "ld.so.conf.d"];

/// Where package managers keep what is installed, and with it the versions of what `/usr` holds.
const PACKAGES: [&str; 5] = [
    "/var/lib/dpkg/status",
    "/lib/apk/db/installed",
    "/usr/lib/sysimage/rpm/rpmdb.sqlite",
    "/var/lib/rpm/rpmdb.sqlite",
    "/var/lib/pacman/local",
];
/// A larger list of packages is known by its size and time instead of its content.
const PACKAGES_BYTES_MAX: u64 = 8 << 20;

pub(super) fn prepare(extra: &[String], work: &Path) -> Result<Image, ImageError> {
    let usr = work.join("usr");
    view(&source(Path::new("/usr"))?, Path::new("/usr"), &usr)?;

    let skeleton = skeleton(Tree::new(work.join("skeleton"))?)?;
    let mask = mask(Tree::new(work.join("mask"))?, extra)?;
    let empty = Tree::new(work.join("empty"))?;
    let root = vec![skeleton.root().to_owned(), empty.root().to_owned()];
    let below = vec![mask.root().to_owned(), usr];

    let mut manifest = Sha256::new();
    manifest.update(b"host\0");
    manifest.update(skeleton.digest());
    manifest.update(mask.digest());
    for list in PACKAGES {
        packages(&mut manifest, Path::new(list))?;
    }
    let overlays = vec![("", root), ("usr", below)];
    Ok(Image::new(&manifest.finalize().into(), overlays))
}

/// What an attempt to install a package is told, at once and in place of the distribution's advice
/// to break the machine's own packages: pip names the path in the last line of its error.
const PIP_CONF: &str = "\
[global]
cert = /no network: packages cannot be installed here; those that are: pip list
break-system-packages = true
retries = 0
disable-pip-version-check = true
";

/// The root but for `/usr`.
fn skeleton(mut tree: Tree) -> Result<Tree, ImageError> {
    let more = ["dev/pts", "dev/shm", "etc", "run", "usr"];
    for folder in MOUNT_POINTS.into_iter().chain(more) {
        tree.folder(Path::new(folder))?;
    }
    for name in MERGED {
        merged(&mut tree, name)?;
    }
    tree.link(Path::new("var/tmp"), Path::new("../tmp"))?;
    tree.link(Path::new("var/run"), Path::new("../run"))?;

    for (name, content) in [
        ("passwd", accounts::PASSWD),
        ("group", accounts::GROUP),
        ("hosts", accounts::HOSTS),
        ("pip.conf", PIP_CONF),
        ("nsswitch.conf", accounts::NSSWITCH),
        ("bash.bashrc", "PS1='\\u@\\h:\\w\\$ '\n"),
        ("timezone", "Etc/UTC\n"),
        ("shells", "/bin/sh\n/bin/bash\n"),
    ] {
        tree.file(&Path::new("etc").join(name), content.as_bytes())?;
    }
    for (name, target) in [
        ("localtime", "/usr/share/zoneinfo/Etc/UTC"),
        ("mtab", "/proc/self/mounts"),
        ("os-release", "../usr/lib/os-release"),
    ] {
        tree.link(&Path::new("etc").join(name), Path::new(target))?;
    }
    let etc = Path::new("/etc");
    for name in FILES {
        tree.copy(&etc.join(name), &Path::new("etc").join(name))?;
    }
    for name in FOLDERS {
        folder(&mut tree, Path::new(name))?;
    }
    for (name, kind) in tree::sorted(etc)? {
        if kind.is_dir() && name.as_encoded_bytes().starts_with(b"python3") {
            folder(&mut tree, Path::new(&name))?;
        }
    }
    Ok(tree)
}

/// A folder of `/etc`, with those of its links that end in `/usr` or in the folder itself. Links to
/// manual pages, most of the alternatives, are left out: each start would pay for them.
fn folder(tree: &mut Tree, name: &Path) -> Result<(), ImageError> {
    let from = Path::new("/etc").join(name);
    let public = |target: &Path| {
        target.starts_with("/usr")
            || target.starts_with(&from)
            || MERGED
                .iter()
                .any(|m| target.starts_with(Path::new("/").join(m)))
    };
    tree.copy_folder(&from, &Path::new("etc").join(name), &|target| {
        public(target) && !target.starts_with("/usr/share/man")
    })
}

/// A link into `/usr` where the host has one.
fn merged(tree: &mut Tree, name: &str) -> Result<(), ImageError> {
    let path = Path::new("/").join(name);
    let meta = match fs::symlink_metadata(&path) {
        Err(e) if tree::absent(&e) => return Ok(()),
        meta => meta.map_err(|e| ImageError::Read(path.clone(), e))?,
    };
    if meta.is_symlink() {
        let target = fs::read_link(&path).map_err(|e| ImageError::Read(path.clone(), e))?;
        let target = tree::normal(&Path::new("/").join(target));
        if let Ok(inside) = target.strip_prefix("/usr") {
            return tree.link(Path::new(name), &Path::new("usr").join(inside));
        }
    }
    Err(ImageError::Unfit {
        path,
        why: "it is not a link into /usr; on such a host an image must be a folder".to_owned(),
    })
}

/// A layer of empty folders over what is hidden.
fn mask(mut tree: Tree, extra: &[String]) -> Result<Tree, ImageError> {
    for name in extra {
        if !HIDDEN.contains(&name.as_str()) {
            return Err(ImageError::Unfit {
                path: name.into(),
                why: format!("only {HIDDEN:?} can be shown in addition"),
            });
        }
    }
    for path in HIDDEN {
        if extra.iter().any(|name| name == path) {
            continue;
        }
        match fs::symlink_metadata(path) {
            Err(e) if tree::absent(&e) => continue,
            meta => meta.map_err(|e| ImageError::Read(path.into(), e))?,
        };
        let inside = path.trim_start_matches("/usr/");
        tree.folder(Path::new(inside))?;
        let folder = tree.root().join(inside);
        setxattr(&folder, "trusted.overlay.opaque", b"y", XattrFlags::empty())
            .map_err(|e| ImageError::Write(folder, e.into()))?;
    }
    Ok(tree)
}

/// Adds one list of packages to an image's manifest.
fn packages(manifest: &mut Sha256, list: &Path) -> Result<(), ImageError> {
    let read = |e| ImageError::Read(list.to_owned(), e);
    let file = match tree::open(list) {
        Err(e) if tree::absent(&e) => return Ok(()),
        file => file.map_err(read)?,
    };
    let meta = file.metadata().map_err(read)?;
    manifest.update(list.as_os_str().as_encoded_bytes());
    manifest.update(meta.size().to_le_bytes());
    if meta.is_file() && meta.size() <= PACKAGES_BYTES_MAX {
        manifest.update(tree::bounded(file, PACKAGES_BYTES_MAX).map_err(read)?);
    } else {
        manifest.update(meta.mtime().to_le_bytes());
        manifest.update(meta.mtime_nsec().to_le_bytes());
    }
    Ok(())
}
