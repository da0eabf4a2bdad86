//! Where does a value come from that must not be shown?

use super::Origin;
use super::section::Section;
use super::sources::Sources;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The largest secret that is read.
const BYTES_MAX: u64 = 64 * 1_024;
/// Room for one byte more, and for how it is read.
const BYTES_WHOLE: usize = 96 * 1_024;

/// A value that is never shown, and is wiped when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(Zeroizing::new(value.into()))
    }

    /// The value itself, for whoever must use it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The secret that is given as `key`, or as the file in `<key>_file`: of the two the one that is
/// set later, by the environment, counts.
pub(super) fn either(
    sources: &Sources,
    section: &Section,
    (key, given): (&str, Option<&str>),
    file: Option<&Path>,
) -> Option<(Secret, String)> {
    let file_key = format!("{key}_file");
    let label = |key: &str| sources.label(section, key);
    let of = |key: &str| sources.origin(section.name, key);
    match (given, file) {
        (Some(_), Some(_)) if of(key) == of(&file_key) => {
            let problem = format!("`{key}` is given too; one of the two is enough");
            sources.wrong(label(&file_key), problem);
            None
        }
        (Some(value), file) if file.is_none() || of(key) == Origin::Environment => {
            Some((Secret::new(value), label(key)))
        }
        (_, Some(path)) => {
            let secret = from_file(sources, section, &file_key, path)?;
            Some((secret, label(&file_key)))
        }
        _ => None,
    }
}

/// The secret in the file that `key` names.
pub(super) fn from_file(
    sources: &Sources,
    section: &Section,
    key: &str,
    path: &Path,
) -> Option<Secret> {
    read(path)
        .map_err(|error| {
            sources.wrong(sources.label(section, key), crate::fault::chain(&error));
        })
        .ok()
}

/// Why a secret was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretError {
    #[error("read `{}`", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    #[error("`{}` {why}", path.display())]
    Untrusted { path: PathBuf, why: String },
}

/// The trimmed text of a file that others can neither read nor write. A symbolic link is followed:
/// orchestrators mount secrets so.
pub(crate) fn read(path: &Path) -> Result<Secret, SecretError> {
    let failed = |error| SecretError::Read(path.to_owned(), error);
    let untrusted = |why: String| SecretError::Untrusted {
        path: path.to_owned(),
        why,
    };
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file() {
        return Err(untrusted("is not a regular file".to_owned()));
    }
    if meta.mode() & 0o027 != 0 {
        return Err(untrusted(format!(
            "can be read by others, or changed by its group (mode {:04o}): `chmod 0400`",
            meta.mode() & 0o7777
        )));
    }
    let owner = meta.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(untrusted(format!(
            "belongs to uid {owner}, neither root nor the worker"
        )));
    }
    let text = bounded(file).map_err(failed)?;
    match text.trim() {
        "" => Err(untrusted("is empty".to_owned())),
        text => Ok(Secret::new(text)),
    }
}

fn bounded(file: File) -> std::io::Result<Zeroizing<String>> {
    // In one piece: what is moved leaves a copy behind.
    let mut text = Zeroizing::new(String::with_capacity(BYTES_WHOLE));
    file.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(std::io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_secret_is_never_shown() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "*** Some(***)");
        assert_eq!(secret.reveal(), "hunter2");
    }

    #[test]
    fn a_file_is_trimmed_bounded_and_its_owners_alone() {
        let folder = crate::cli::scratch::Folder::new();
        let path = folder.path().join("key");
        let write = |text: &[u8], mode| {
            std::fs::write(&path, text).expect("scratch");
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("ours");
            read(&path).map_err(|error| crate::fault::chain(&error))
        };
        assert_eq!(write(b" hunter2\n", 0o400), Ok(Secret::new("hunter2")));
        assert_eq!(write(b"hunter2", 0o640), Ok(Secret::new("hunter2")));
        for mode in [0o644, 0o604, 0o660, 0o602] {
            let said = write(b"hunter2", mode).expect_err("others can");
            assert!(said.contains("can be read by others"), "{said}");
            assert!(!said.contains("hunter2"));
        }
        let said = write(b" \n", 0o600).expect_err("nothing is in it");
        assert!(said.contains("is empty"), "{said}");
        let long = vec![b'a'; 64 * 1_024 + 1];
        let said = write(&long, 0o600).expect_err("it is too long");
        assert!(said.contains("file too large"), "{said}");
        assert!(write(&long[1..], 0o600).is_ok());
        assert!(write(b"\xff", 0o600).is_err());
        let said = read(folder.path()).expect_err("a folder");
        assert!(said.to_string().contains("not a regular file"), "{said}");
        assert!(read(&folder.path().join("absent")).is_err());
    }
}
