//! Lists a tree that a job left, by descriptor, without following anything.
//!
//! Depth first and without recursion: one open directory and one buffer of entries for each level,
//! [`DEPTH_MAX`] levels at most.

use crate::sys::{Errno, file};
use kiln_keeper::collect::{DEPTH_MAX, Entry, Kind};
use kiln_keeper::guard::{Guard, off};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Entries listed at most.
const ENTRIES_MAX: usize = 200_000;
/// Bytes of the whole listing at most: long paths must not make a worker hold much for few files.
const BYTES_MAX: usize = 16 << 20;
/// Longest path that the kernel can open in one go.
const PATH_MAX: usize = 4095;
const BUFFER_BYTES: usize = 8 << 10;
/// Where the kernel's entry holds its length, and where its name begins.
const LENGTH_AT: usize = 16;
const NAME_AT: usize = 19;

/// One directory being read.
struct Level {
    directory: OwnedFd,
    entries: Vec<u8>,
    at: usize,
    /// Bytes of the path that name this directory, with the slash.
    prefix: usize,
}

impl Level {
    fn new(directory: OwnedFd, prefix: usize) -> Self {
        Self {
            directory,
            entries: Vec::new(),
            at: 0,
            prefix,
        }
    }

    /// The next name in this directory, NUL byte included.
    fn next(&mut self) -> Result<Option<&[u8]>, Errno> {
        loop {
            if self.at >= self.entries.len() {
                self.entries.resize(BUFFER_BYTES, 0);
                let filled = file::list(self.directory.as_fd(), &mut self.entries)?;
                self.entries.truncate(filled);
                self.at = 0;
                if filled == 0 {
                    return Ok(None);
                }
            }
            let start = self.at;
            let rest = &self.entries[start..];
            let length = match rest.get(LENGTH_AT..NAME_AT - 1) {
                Some(&[low, high]) => usize::from(u16::from_le_bytes([low, high])),
                _ => return Err(Errno(libc::EIO)),
            };
            let end = start + length.max(NAME_AT);
            self.at = end;
            let name = self.entries.get(start + NAME_AT..end);
            let name = name.and_then(|bytes| CStr::from_bytes_until_nul(bytes).ok());
            let name = name.ok_or(Errno(libc::EIO))?.count_bytes();
            let name = start + NAME_AT..start + NAME_AT + name + 1;
            if !matches!(&self.entries[name.clone()], b".\0" | b"..\0") {
                return Ok(Some(&self.entries[name]));
            }
        }
    }
}

/// Gives every entry below `top` to `take`; says whether a bound on entries or bytes
/// cut it.
pub(crate) fn walk(
    top: BorrowedFd<'_>,
    take: &mut dyn FnMut(Entry) -> Result<(), Errno>,
) -> Result<bool, Errno> {
    let top = file::open_beneath(top, c".", libc::O_DIRECTORY, 0)?;
    let mut levels = vec![Level::new(top, 0)];
    let mut path = Vec::new();
    let (mut listed, mut bytes) = (0, 0);
    while let Some(level) = levels.last_mut() {
        path.truncate(level.prefix);
        let Some(name) = level.next()? else {
            levels.pop();
            continue;
        };
        if listed == ENTRIES_MAX {
            return Ok(true);
        }
        listed += 1;
        path.extend_from_slice(&name[..name.len() - 1]);
        let name = CStr::from_bytes_until_nul(name).map_err(|_| Errno(libc::EIO))?;
        let name = name.to_owned();
        let depth = levels.len();
        let level = levels.last().ok_or(Errno(libc::EIO))?;
        let (entry, inner) = look(level.directory.as_fd(), &name, &path, depth)?;
        bytes += entry.encoded_len();
        if bytes > BYTES_MAX {
            return Ok(true);
        }
        take(entry)?;
        if let Some(directory) = inner {
            path.push(b'/');
            levels.push(Level::new(directory, path.len()));
        }
    }
    Ok(false)
}

/// What one entry is, and its descriptor where it is a directory to enter.
fn look(
    directory: BorrowedFd<'_>,
    name: &CStr,
    path: &[u8],
    depth: usize,
) -> Result<(Entry, Option<OwnedFd>), Errno> {
    let status = if off(Guard::Links) {
        file::open_at(directory, name, libc::O_RDONLY | libc::O_NONBLOCK, 0)
            .and_then(|file| file::status(file.as_fd()))
            .or_else(|_| file::status_at(directory, name))?
    } else {
        file::status_at(directory, name)?
    };
    let mut inner = None;
    let mut kind = match status.st_mode & libc::S_IFMT {
        libc::S_IFREG => Kind::File,
        libc::S_IFDIR => Kind::Directory,
        libc::S_IFLNK => Kind::Symlink,
        libc::S_IFIFO => Kind::Fifo,
        libc::S_IFSOCK => Kind::Socket,
        _ => Kind::Device,
    };
    if path.len() > PATH_MAX || (kind == Kind::Directory && depth > DEPTH_MAX as usize) {
        kind = Kind::TooDeep;
    } else if kind == Kind::Directory {
        match file::open_beneath(directory, name, libc::O_DIRECTORY | libc::O_NOFOLLOW, 0) {
            Ok(opened) => inner = Some(opened),
            Err(_) => kind = Kind::Unreadable,
        }
    }
    let entry = Entry {
        kind,
        mode: status.st_mode,
        size: status.st_size.cast_unsigned(),
        ino: status.st_ino,
        mtime_ns: file::nanoseconds(status.st_mtime, status.st_mtime_nsec),
        ctime_ns: file::nanoseconds(status.st_ctime, status.st_ctime_nsec),
        path: path.to_vec(),
    };
    Ok((entry, inner))
}
