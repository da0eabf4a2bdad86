//! What is in FILE, and which profile runs it?

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Bytes of code that a job may bring.
const CODE_BYTES_MAX: u64 = 1024 * 1024;

/// The endings that pick a profile.
const ENDINGS: [(&str, &str); 3] = [("py", "python"), ("sh", "bash"), ("js", "node")];

/// Why FILE cannot be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodeError {
    #[error("`{path}`: no such file")]
    Missing { path: PathBuf },
    #[error("`{path}` is a directory; give a file, and folders by `--input`")]
    Directory { path: PathBuf },
    #[error("`{path}` is empty")]
    Empty { path: PathBuf },
    #[error("`{path}` is larger than 1 MiB, the most that code may have; give data by `--input`")]
    TooLarge { path: PathBuf },
    #[error("`{path}` is a binary file, not code: byte {at} is not text")]
    Binary { path: PathBuf, at: usize },
    #[error("`{path}` is not UTF-8: byte {at} of it; save it as UTF-8")]
    NotUtf8 { path: PathBuf, at: usize },
    #[error(
        "`{path}`: its ending does not name a profile (`.py`, `.sh`, `.js`); name one by `--profile`"
    )]
    NoProfile { path: PathBuf },
    #[error("read `{path}`")]
    Read { path: PathBuf, source: io::Error },
}

/// Reads code, at most one byte more than it may have.
pub(crate) fn read(path: &Path) -> Result<String, CodeError> {
    let owned = || path.to_path_buf();
    let file = OpenOptions::new()
        .read(true)
        .open(path)
        .map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => CodeError::Missing { path: owned() },
            _ => CodeError::Read {
                path: owned(),
                source,
            },
        })?;
    let failed = |source| CodeError::Read {
        path: owned(),
        source,
    };
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(CodeError::Directory { path: owned() });
    }
    let mut bytes = Vec::new();
    file.take(CODE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > CODE_BYTES_MAX {
        return Err(CodeError::TooLarge { path: owned() });
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(CodeError::Binary { path: owned(), at });
    }
    if bytes.is_empty() {
        return Err(CodeError::Empty { path: owned() });
    }
    String::from_utf8(bytes).map_err(|error| CodeError::NotUtf8 {
        path: owned(),
        at: error.utf8_error().valid_up_to(),
    })
}

/// The profile that FILE's ending names.
pub(crate) fn profile(path: &Path) -> Result<&'static str, CodeError> {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ENDINGS
        .iter()
        .find(|(known, _)| ending == Some(known))
        .map(|(_, profile)| *profile)
        .ok_or_else(|| CodeError::NoProfile { path: path.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::scratch::Folder;

    fn message(name: &str, content: &[u8]) -> Result<String, String> {
        let dir = Folder::new();
        let path = dir.path().join(name);
        std::fs::write(&path, content).expect("scratch");
        read(&path).map_err(|error| error.to_string().replace(&path.display().to_string(), name))
    }

    #[test]
    fn what_is_not_code_is_refused_in_one_line() {
        for (content, wanted) in [
            (&b""[..], "`f` is empty"),
            (
                b"ab\0c",
                "`f` is a binary file, not code: byte 2 is not text",
            ),
            (
                b"# caf\xe9\n",
                "`f` is not UTF-8: byte 5 of it; save it as UTF-8",
            ),
            (
                &vec![b'x'; 1024 * 1024 + 1],
                "`f` is larger than 1 MiB, the most that code may have; give data by `--input`",
            ),
            (
                &vec![0; 1024 * 1024 + 1],
                "`f` is larger than 1 MiB, the most that code may have; give data by `--input`",
            ),
        ] {
            assert_eq!(message("f", content), Err(wanted.into()));
        }
    }

    #[test]
    fn code_up_to_the_bound_is_taken() {
        assert_eq!(message("f", b"print(1)"), Ok("print(1)".into()));
        let most = vec![b'#'; 1024 * 1024];
        assert_eq!(message("f", &most).map(|code| code.len()), Ok(most.len()));
    }

    #[test]
    fn a_directory_and_an_absent_file_are_named() {
        let dir = Folder::new();
        assert!(matches!(read(dir.path()), Err(CodeError::Directory { .. })));
        assert!(matches!(
            read(&dir.path().join("no")),
            Err(CodeError::Missing { .. })
        ));
        assert!(matches!(
            read(Path::new("/dev/zero")),
            Err(CodeError::TooLarge { .. })
        ));
    }

    #[test]
    fn the_ending_picks_the_profile() {
        for (name, wanted) in [
            ("a.py", Some("python")),
            ("b/c.sh", Some("bash")),
            ("d.e.js", Some("node")),
            ("a.rb", None),
            ("py", None),
        ] {
            assert_eq!(profile(Path::new(name)).ok(), wanted, "{name}");
        }
    }
}
