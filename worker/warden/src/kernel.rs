//! How is a file that the kernel makes up as it is read, read with few calls?

use rustix::buffer::spare_capacity;
use rustix::io::{pread, read as read_some, retry_on_intr};
use std::io;
use std::os::fd::BorrowedFd;

/// Bytes of a file at most: 100,000 members of a group, or any mount table we would use.
const READ_MAX: usize = 1 << 20;
/// Bytes asked for at once: all of nearly every file.
const CHUNK: usize = 8 << 10;
/// The kernel fills a page with whole records and breaks off where the next does not fit. So a
/// file of short records is read to its end where less than this came.
const SHORT: usize = 2 << 10;

/// The rest of an open file. Bytes that are no UTF-8, as names may have, are replaced.
pub(crate) fn read(fd: BorrowedFd<'_>) -> io::Result<String> {
    to_end(fd, Vec::with_capacity(CHUNK))
}

/// [`read`] of a file whose records (its lines, or itself) are much shorter than a page.
pub(crate) fn read_short(fd: BorrowedFd<'_>) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(CHUNK);
    let n = retry_on_intr(|| read_some(fd, spare_capacity(&mut bytes)))?;
    if n < SHORT {
        return Ok(text(&bytes));
    }
    to_end(fd, bytes)
}

/// The value of a control file of one line, again from its start.
pub(crate) fn read_at_start(fd: BorrowedFd<'_>) -> io::Result<String> {
    let mut bytes = [0; 128];
    let n = retry_on_intr(|| pread(fd, &mut bytes, 0))?;
    bytes
        .get(..n)
        .filter(|held| held.len() < bytes.len())
        .map(text)
        .ok_or_else(|| io::ErrorKind::FileTooLarge.into())
}

fn to_end(fd: BorrowedFd<'_>, mut bytes: Vec<u8>) -> io::Result<String> {
    loop {
        bytes.reserve(CHUNK);
        if retry_on_intr(|| read_some(fd, spare_capacity(&mut bytes)))? == 0 {
            return Ok(text(&bytes));
        }
        if bytes.len() > READ_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::fd::AsFd;

    fn opened(path: &str) -> File {
        File::open(path).expect("open")
    }

    #[test]
    fn files_short_and_long_are_read_whole() {
        for path in ["/proc/self/limits", "/proc/self/maps", "/proc/filesystems"] {
            let file = opened(path);
            let whole = read(file.as_fd()).expect("read");
            assert!(whole.lines().count() > 3 && whole.ends_with('\n'), "{path}");
        }
        for path in ["/proc/self/limits", "/proc/cpuinfo", "/proc/kallsyms"] {
            let wanted = fs::read_to_string(path).expect("read");
            match read_short(opened(path).as_fd()) {
                // Clocks of CPUs drift while they are read.
                Ok(text) => assert_eq!(text.lines().count(), wanted.lines().count(), "{path}"),
                Err(e) => {
                    assert_eq!(e.kind(), io::ErrorKind::FileTooLarge, "{path}");
                    assert!(wanted.len() > READ_MAX, "{path}");
                }
            }
        }
    }

    #[test]
    fn a_value_is_read_again_from_its_start() {
        let file = opened("/proc/sys/kernel/pid_max");
        let first = read(file.as_fd()).expect("read");
        assert_eq!(read_at_start(file.as_fd()).expect("again"), first);
        let long = opened("/proc/self/limits");
        assert!(read_at_start(long.as_fd()).is_err(), "cut short");
    }
}
