//! How does a file in memory become unchangeable?

use rustix::fs::{SealFlags, fcntl_add_seals};
use rustix::io::Errno;
use std::fs::File;
use std::io;

/// How often a file that is busy is sealed again. Each try waits up to 0.15 s.
const BUSY_MAX: u32 = 20;

/// Seals a file that was made to be sealed: nobody writes to it, shortens or lengthens it any more.
///
/// # Errors
/// What the kernel says; that the file is busy only after many tries.
pub fn seal(file: &File) -> io::Result<()> {
    let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    let mut busy = 0;
    loop {
        match fcntl_add_seals(file, all) {
            // Once in some hundred thousand files the kernel itself still holds a page of it.
            Err(Errno::BUSY) if busy < BUSY_MAX => busy += 1,
            sealed => return Ok(sealed?),
        }
    }
}
