//! The staging socket: the worker hands inputs to the stager, which writes them in the cell.
//!
//! The stager waits beside the future job, in the job's cgroup, so that what it writes is charged
//! to the job. It ends when the worker closes the socket; the job starts after that.

use crate::wire::Malformed;

/// Longest path, in bytes.
pub const PATH_MAX: usize = 4096;
/// Bytes of a [`Staged`].
pub const STAGED_BYTES: usize = 48;

/// One input below `/job`. Descriptor: a readable file with its content (read from offset 0 to
/// its end). Layout: `flags: u8`, then the path (relative, no `.` or `..`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Owned by another uid, under sticky parents, mode 0444 (0555 with `executable`).
    pub read_only: bool,
    /// Mode 0755 instead of 0644.
    pub executable: bool,
    pub path: Vec<u8>,
}

/// The stager's answer to one [`Input`], in order: little-endian words `errno`, `ino`, `size`,
/// `mtime_ns`, `ctime_ns`, `mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staged {
    /// 0, or why the file could not be written (28, `ENOSPC`: the disk limit).
    pub errno: u32,
    pub ino: u64,
    pub size: u64,
    pub mtime_ns: u64,
    pub ctime_ns: u64,
    pub mode: u32,
}

impl Input {
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.read_only) | u8::from(self.executable) << 1];
        bytes.extend(&self.path);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let (&flags, path) = bytes.split_first().ok_or(Malformed)?;
        if flags > 3 || path.is_empty() || path.len() > PATH_MAX || path.contains(&0) {
            return Err(Malformed);
        }
        Ok(Self {
            read_only: flags & 1 != 0,
            executable: flags & 2 != 0,
            path: path.to_vec(),
        })
    }
}

impl Staged {
    #[must_use]
    pub fn encode(&self) -> [u8; STAGED_BYTES] {
        let mut bytes = [0; STAGED_BYTES];
        let words = [
            u64::from(self.errno),
            self.ino,
            self.size,
            self.mtime_ns,
            self.ctime_ns,
            u64::from(self.mode),
        ];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() != STAGED_BYTES {
            return Err(Malformed);
        }
        let word = |n: usize| {
            bytes[n * 8..n * 8 + 8]
                .try_into()
                .map(u64::from_le_bytes)
                .map_err(|_| Malformed)
        };
        let narrow = |word: u64| u32::try_from(word).map_err(|_| Malformed);
        Ok(Self {
            errno: narrow(word(0)?)?,
            ino: word(1)?,
            size: word(2)?,
            mtime_ns: word(3)?,
            ctime_ns: word(4)?,
            mode: narrow(word(5)?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_survive() {
        let input = Input {
            read_only: true,
            executable: false,
            path: b"a b/c.csv".to_vec(),
        };
        assert_eq!(Input::decode(&input.encode()), Ok(input));
        let staged = Staged {
            errno: 28,
            ino: 2,
            size: 3,
            mtime_ns: 4,
            ctime_ns: 5,
            mode: 0o100_644,
        };
        assert_eq!(Staged::decode(&staged.encode()), Ok(staged));
    }

    #[test]
    fn paths_that_cannot_be_are_malformed() {
        for bytes in [&b""[..], b"\x01", b"\x04x", b"\x00a\0b"] {
            assert_eq!(Input::decode(bytes), Err(Malformed));
        }
    }
}
