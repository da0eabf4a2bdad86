//! How is one file of a control group read, written and proved?

use super::CgroupError;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes of a kernel file at most: 100,000 members of a group, or any mount table we would use.
const READ_MAX: u64 = 1 << 20;

/// A file and what it must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Knob {
    pub(super) file: PathBuf,
    pub(super) wanted: String,
}

impl Knob {
    /// Writes the value unless it is held already. A proof must follow.
    pub(super) fn set(&self) -> Result<(), CgroupError> {
        if read(&self.file)? == self.wanted {
            return Ok(());
        }
        fs::write(&self.file, &self.wanted).map_err(|source| CgroupError::Write {
            file: self.file.clone(),
            wanted: self.wanted.clone(),
            source,
        })
    }

    /// Reads the value back and compares it.
    pub(super) fn prove(&self) -> Result<(), CgroupError> {
        let held = read(&self.file)?;
        if held == self.wanted {
            return Ok(());
        }
        Err(CgroupError::Differs {
            file: self.file.clone(),
            wanted: self.wanted.clone(),
            held,
        })
    }
}

/// The whole text of a kernel file, without the last newline.
pub(super) fn read(file: &Path) -> Result<String, CgroupError> {
    let text = || -> io::Result<String> {
        let mut text = String::new();
        File::open(file)?
            .take(READ_MAX + 1)
            .read_to_string(&mut text)?;
        if text.len() as u64 > READ_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(text)
    };
    let text = text().map_err(|source| CgroupError::Read {
        file: file.into(),
        source,
    })?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// A kernel file that is one number; v2's `max` is the largest.
pub(super) fn number(file: &Path) -> Result<u64, CgroupError> {
    let text = read(file)?;
    if text == "max" {
        return Ok(u64::MAX);
    }
    text.parse().map_err(|_| CgroupError::Malformed {
        file: file.into(),
        text,
    })
}

/// A kernel file that is a number a line: `cgroup.procs`, `tasks`.
pub(super) fn numbers(file: &Path) -> Result<Vec<i32>, CgroupError> {
    let text = read(file)?;
    let numbers: Result<Vec<i32>, _> = text.lines().map(str::parse).collect();
    numbers.map_err(|_| CgroupError::Malformed {
        file: file.into(),
        text,
    })
}
