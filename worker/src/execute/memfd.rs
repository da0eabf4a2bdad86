//! Bytes as a sealed file in memory: nobody can change them after us.

use kiln_warden::memfd;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Seek as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

/// An empty file in memory that can be sealed.
pub fn create(name: &str) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(File::from(memfd_create(name, flags)?))
}

/// Makes a file in memory unchangeable, and sets it to its beginning.
pub fn seal(mut file: File) -> io::Result<OwnedFd> {
    file.rewind()?;
    memfd::seal(&file)?;
    Ok(file.into())
}

/// A sealed file in memory with these bytes.
pub fn sealed(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let file = create(name)?;
    // This leaves the file at its beginning.
    file.write_all_at(bytes, 0)?;
    memfd::seal(&file)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn nobody_can_write_to_it() {
        let mut file = File::from(sealed("test", b"abc").expect("memfd"));
        assert!(file.write_all(b"x").is_err());
        assert!(file.set_len(0).is_err());
        assert_eq!(io::read_to_string(&mut file).expect("readable"), "abc");
    }
}
