//! The collector's socket: first a listing of `/job`, then files by descriptor.
//!
//! ```text
//!   collector ── List (many entries a message) … End ──► worker
//!   worker ── Open(path) ──► collector
//!   collector ── Opened (+ descriptor where errno is 0) ──► worker
//! ```
//!
//! The worker closes the socket when it has enough, and the collector ends. A message begins with
//! one byte: 1 `List`, 2 `End`, 3 `Open`, 4 `Opened`.

use crate::wire::Malformed;

/// Bytes of one message at most.
pub const MESSAGE_MAX: usize = 32 * 1024;
/// Directories below `/job` that are entered at most, one in another.
pub const DEPTH_MAX: u32 = 64;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    File = 0,
    Directory = 1,
    Symlink = 2,
    Fifo = 3,
    Socket = 4,
    Device = 5,
    /// A directory that could not be read.
    Unreadable = 6,
    /// A directory deeper than [`DEPTH_MAX`], or a path that is too long; not entered.
    TooDeep = 7,
}

/// One entry of the listing. Times and inode tell a changed input from an untouched one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    pub mode: u32,
    pub size: u64,
    pub ino: u64,
    pub mtime_ns: u64,
    pub ctime_ns: u64,
    /// Relative to `/job`, raw bytes.
    pub path: Vec<u8>,
}

/// A message on the collector's socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    List(Vec<Entry>),
    /// The listing is over; `truncated` where a bound on entries or bytes cut it.
    End {
        truncated: bool,
    },
    Open {
        path: Vec<u8>,
    },
    /// The answer to one `Open`, from `fstat` on the very descriptor that is handed over.
    Opened {
        errno: u32,
        size: u64,
        mode: u32,
    },
}

const FIXED: usize = 1 + 4 + 8 * 4 + 2;

impl Entry {
    /// Bytes this entry takes in a `List`.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        FIXED + self.path.len()
    }

    fn push(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.kind as u8);
        bytes.extend(self.mode.to_le_bytes());
        for word in [self.size, self.ino, self.mtime_ns, self.ctime_ns] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(
            u16::try_from(self.path.len())
                .unwrap_or(u16::MAX)
                .to_le_bytes(),
        );
        bytes.extend(&self.path);
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.0.split_at_checked(n).ok_or(Malformed)?;
        self.0 = rest;
        Ok(head)
    }
    fn byte(&mut self) -> Result<u8, Malformed> {
        self.take(1).map(|b| b[0])
    }
    fn u16(&mut self) -> Result<u16, Malformed> {
        self.take(2)?
            .try_into()
            .map(u16::from_le_bytes)
            .map_err(|_| Malformed)
    }
    fn u32(&mut self) -> Result<u32, Malformed> {
        self.take(4)?
            .try_into()
            .map(u32::from_le_bytes)
            .map_err(|_| Malformed)
    }
    fn u64(&mut self) -> Result<u64, Malformed> {
        self.take(8)?
            .try_into()
            .map(u64::from_le_bytes)
            .map_err(|_| Malformed)
    }
}

impl Kind {
    fn from_byte(byte: u8) -> Result<Self, Malformed> {
        [
            Self::File,
            Self::Directory,
            Self::Symlink,
            Self::Fifo,
            Self::Socket,
            Self::Device,
            Self::Unreadable,
            Self::TooDeep,
        ]
        .get(usize::from(byte))
        .copied()
        .ok_or(Malformed)
    }
}

impl Message {
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::List(entries) => {
                let mut bytes = vec![1];
                for entry in entries {
                    entry.push(&mut bytes);
                }
                bytes
            }
            Self::End { truncated } => vec![2, u8::from(*truncated)],
            Self::Open { path } => [&[3], path.as_slice()].concat(),
            Self::Opened { errno, size, mode } => {
                let mut bytes = vec![4];
                bytes.extend(errno.to_le_bytes());
                bytes.extend(size.to_le_bytes());
                bytes.extend(mode.to_le_bytes());
                bytes
            }
        }
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(bytes);
        match reader.byte()? {
            1 => {
                let mut entries = Vec::new();
                while !reader.0.is_empty() {
                    let kind = Kind::from_byte(reader.byte()?)?;
                    let mode = reader.u32()?;
                    let (size, ino) = (reader.u64()?, reader.u64()?);
                    let (mtime_ns, ctime_ns) = (reader.u64()?, reader.u64()?);
                    let len = usize::from(reader.u16()?);
                    let path = reader.take(len)?.to_vec();
                    entries.push(Entry {
                        kind,
                        mode,
                        size,
                        ino,
                        mtime_ns,
                        ctime_ns,
                        path,
                    });
                }
                Ok(Self::List(entries))
            }
            2 => match reader.0 {
                [0] => Ok(Self::End { truncated: false }),
                [1] => Ok(Self::End { truncated: true }),
                _ => Err(Malformed),
            },
            3 if !reader.0.is_empty() && !reader.0.contains(&0) => Ok(Self::Open {
                path: reader.0.to_vec(),
            }),
            4 => {
                let opened = Self::Opened {
                    errno: reader.u32()?,
                    size: reader.u64()?,
                    mode: reader.u32()?,
                };
                if reader.0.is_empty() {
                    Ok(opened)
                } else {
                    Err(Malformed)
                }
            }
            _ => Err(Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_survives() {
        let entry = Entry {
            kind: Kind::File,
            mode: 0o100_600,
            size: 1 << 40,
            ino: 12,
            mtime_ns: 13,
            ctime_ns: 14,
            path: b"plots/\xff.png".to_vec(),
        };
        let other = Entry {
            kind: Kind::TooDeep,
            path: b"d".to_vec(),
            ..entry.clone()
        };
        for message in [
            Message::List(vec![entry, other]),
            Message::End { truncated: true },
            Message::Open {
                path: b"a".to_vec(),
            },
            Message::Opened {
                errno: 0,
                size: 5,
                mode: 0o100_644,
            },
        ] {
            assert_eq!(Message::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn cut_messages_are_malformed() {
        let whole = Message::Opened {
            errno: 0,
            size: 5,
            mode: 0o644,
        }
        .encode();
        for cut in 0..whole.len() {
            assert_eq!(Message::decode(&whole[..cut]), Err(Malformed));
        }
    }
}
