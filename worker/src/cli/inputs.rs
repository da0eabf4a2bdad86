//! Which files does `--input SRC[:DEST]` hand to a job, and under which names?
//!
//! Files are opened, not read: the job's own limits decide what fits. A symlink is refused
//! wherever it stands, since what it names is not what was asked for.

use crate::engine::LocalInput;
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

/// Files that one job may be given.
const FILES_MAX: usize = 1_000;
/// Folders below each other that are walked.
const DEPTH_MAX: usize = 64;

/// Why an input is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("input `{given}`: no such file or folder")]
    Missing { given: String },
    #[error("input `{path}` is a symlink; give the file that it points to")]
    Symlink { path: PathBuf },
    #[error(
        "the input folder `{folder}` holds the symlink `{path}`; give a copy without links, as \
         `cp -rL` makes it, or give its files one by one"
    )]
    SymlinkInside { folder: String, path: PathBuf },
    #[error("input `{path}` is neither a file nor a folder")]
    Special { path: PathBuf },
    #[error("input `{given}`: the destination `{dest}` is absolute; it is a path below `/job`")]
    Absolute { given: String, dest: String },
    #[error("input `{given}`: the destination `{dest}` has `..` in it; it is a path below `/job`")]
    Upwards { given: String, dest: String },
    #[error("input `{given}`: the destination is empty")]
    Empty { given: String },
    #[error("input `{given}` has no name of its own; say where it goes by `{given}:DEST`")]
    Nameless { given: String },
    #[error("input `{path}`: its name is not UTF-8")]
    NotUtf8 { path: PathBuf },
    #[error("two inputs have the destination `{dest}`: `{first}` and `{second}`")]
    Twice {
        dest: String,
        first: PathBuf,
        second: PathBuf,
    },
    #[error("the input `{file}` would be a file and the folder of `{below}`")]
    FileAndFolder { file: String, below: String },
    #[error("more than {FILES_MAX} input files; pack them into an archive")]
    TooMany,
    #[error("input `{path}` is more than {DEPTH_MAX} folders deep")]
    TooDeep { path: PathBuf },
    #[error("read the input `{path}`")]
    Read { path: PathBuf, source: io::Error },
}

/// Opens every file that the arguments name, in order of destination.
pub(crate) fn open_all(given: &[String]) -> Result<Vec<LocalInput>, InputError> {
    let mut found = Found::default();
    for argument in given {
        let (source, dest) = split(argument)?;
        let meta = look(&source)?;
        if meta.is_dir() {
            found
                .folder(&source, &folder_dest(argument, &source, dest)?, 0)
                .map_err(|error| inside(error, &source))?;
        } else {
            found.file(&source, file_dest(argument, &source, dest)?)?;
        }
    }
    found.no_file_is_a_folder()?;
    Ok(found
        .by_dest
        .into_iter()
        .map(|(dest, (_, opened))| LocalInput {
            path: dest,
            file: opened.file,
            executable: opened.executable,
        })
        .collect())
}

/// A symlink below a folder was not given by anybody, so that what to do is another.
fn inside(error: InputError, folder: &Path) -> InputError {
    match error {
        InputError::Symlink { path } => InputError::SymlinkInside {
            folder: folder.display().to_string(),
            path,
        },
        other => other,
    }
}

#[derive(Debug)]
struct Opened {
    file: File,
    executable: bool,
}

#[derive(Debug, Default)]
struct Found {
    by_dest: BTreeMap<String, (PathBuf, Opened)>,
}

impl Found {
    fn file(&mut self, source: &Path, dest: String) -> Result<(), InputError> {
        if let Some((first, _)) = self.by_dest.get(&dest) {
            return Err(InputError::Twice {
                dest,
                first: first.clone(),
                second: source.into(),
            });
        }
        if self.by_dest.len() == FILES_MAX {
            return Err(InputError::TooMany);
        }
        let opened = open(source)?;
        self.by_dest.insert(dest, (source.into(), opened));
        Ok(())
    }

    fn no_file_is_a_folder(&self) -> Result<(), InputError> {
        for below in self.by_dest.keys() {
            for (at, _) in below.match_indices('/') {
                if self.by_dest.contains_key(&below[..at]) {
                    return Err(InputError::FileAndFolder {
                        file: below[..at].into(),
                        below: below.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    fn folder(&mut self, source: &Path, dest: &str, depth: usize) -> Result<(), InputError> {
        if depth > DEPTH_MAX {
            return Err(InputError::TooDeep {
                path: source.into(),
            });
        }
        let read = |source_error| InputError::Read {
            path: source.into(),
            source: source_error,
        };
        let mut entries = std::fs::read_dir(source)
            .map_err(read)?
            .collect::<Result<Vec<_>, _>>()
            .map_err(read)?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let name = entry
                .file_name()
                .into_string()
                .map_err(|_| InputError::NotUtf8 { path: path.clone() })?;
            let below = if dest.is_empty() {
                name
            } else {
                format!("{dest}/{name}")
            };
            if look(&path)?.is_dir() {
                self.folder(&path, &below, depth + 1)?;
            } else {
                self.file(&path, below)?;
            }
        }
        Ok(())
    }
}

/// The source and, where there is one, the destination. The whole argument is tried as a path
/// first, then the colons from the right, so that a name with a colon in it can be given.
fn split(argument: &str) -> Result<(PathBuf, Option<&str>), InputError> {
    let there = |path: &str| !path.is_empty() && Path::new(path).symlink_metadata().is_ok();
    if there(argument) {
        return Ok((argument.into(), None));
    }
    argument
        .rmatch_indices(':')
        .map(|(at, _)| (&argument[..at], &argument[at + 1..]))
        .find(|(source, _)| there(source))
        .map(|(source, dest)| (source.into(), Some(dest)))
        .ok_or_else(|| InputError::Missing {
            given: argument.into(),
        })
}

/// What is there, never through a symlink.
fn look(path: &Path) -> Result<std::fs::Metadata, InputError> {
    let meta = path.symlink_metadata().map_err(|source| InputError::Read {
        path: path.into(),
        source,
    })?;
    if meta.is_symlink() {
        return Err(InputError::Symlink { path: path.into() });
    }
    if !meta.is_dir() && !meta.is_file() {
        return Err(InputError::Special { path: path.into() });
    }
    Ok(meta)
}

/// Opens what [`look`] saw; a path that changed in between is refused, not waited for.
fn open(path: &Path) -> Result<Opened, InputError> {
    let read = |source| InputError::Read {
        path: path.into(),
        source,
    };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file: File = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|errno| read(errno.into()))?
        .into();
    let meta = file.metadata().map_err(read)?;
    if !meta.is_file() {
        return Err(InputError::Special { path: path.into() });
    }
    Ok(Opened {
        executable: meta.permissions().mode() & 0o111 != 0,
        file,
    })
}

/// Where a file goes: by its own name into `/job`, to DEST, or into DEST where that ends in `/`.
fn file_dest(given: &str, source: &Path, dest: Option<&str>) -> Result<String, InputError> {
    match dest {
        None => own_name(given, source),
        Some(dest) => {
            let into = dest.ends_with('/') || dest == ".";
            let folder = checked(given, dest)?;
            match (into, folder.is_empty()) {
                (false, _) => Ok(folder),
                (true, true) => own_name(given, source),
                (true, false) => Ok(format!("{folder}/{}", own_name(given, source)?)),
            }
        }
    }
}

/// Where the files below a folder go: under its own name, or under DEST. Empty is `/job` itself.
fn folder_dest(given: &str, source: &Path, dest: Option<&str>) -> Result<String, InputError> {
    match dest {
        Some(dest) => checked(given, dest),
        None if source == Path::new(".") || source == Path::new("./") => Ok(String::new()),
        None => own_name(given, source),
    }
}

fn own_name(given: &str, source: &Path) -> Result<String, InputError> {
    source
        .file_name()
        .and_then(|name| name.to_str())
        .map(str::to_owned)
        .ok_or_else(|| InputError::Nameless {
            given: given.into(),
        })
}

/// A destination without `.` and doubled slashes.
fn checked(given: &str, dest: &str) -> Result<String, InputError> {
    if dest.is_empty() {
        return Err(InputError::Empty {
            given: given.into(),
        });
    }
    let mut parts = Vec::new();
    for part in Path::new(dest).components() {
        match part {
            Component::Normal(name) => {
                parts.push(name.to_str().expect("a part of a string is a string"));
            }
            Component::CurDir => {}
            Component::ParentDir => {
                return Err(InputError::Upwards {
                    given: given.into(),
                    dest: dest.into(),
                });
            }
            Component::RootDir | Component::Prefix(_) => {
                return Err(InputError::Absolute {
                    given: given.into(),
                    dest: dest.into(),
                });
            }
        }
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
#[path = "inputs/tests.rs"]
mod tests;
