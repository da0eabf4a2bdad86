//! The program that a waiting process becomes, read into the process's own memory.

use super::{Errno, check, file};
use std::ffi::{CStr, c_char};
use std::os::fd::BorrowedFd;
use std::ptr;

/// Bytes of a program's memfd at most; the kernel's own bound on arguments is lower.
const BYTES_MAX: usize = 8 << 20;

/// Arguments and environment as `execve` wants them.
pub(crate) struct Program {
    strings: &'static [u8],
    arguments: &'static [*const c_char],
    environment: &'static [*const c_char],
}

impl Program {
    /// Reads what `kiln_keeper::spec::Program::encode` wrote.
    pub(crate) fn read(memfd: BorrowedFd<'_>) -> Result<Self, Errno> {
        let malformed = Errno(libc::EINVAL);
        let size = usize::try_from(file::status(memfd)?.st_size).map_err(|_| malformed)?;
        if !(8..=BYTES_MAX).contains(&size) {
            return Err(Errno(libc::E2BIG));
        }
        let mut head = [0; 8];
        file::read_exactly_at(memfd, &mut head, 0)?;
        let word = |at: usize| {
            let bytes = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            u32::from_le_bytes(bytes) as usize
        };
        let (argc, envc) = (word(0), word(4));
        // Each string has at least its NUL byte, so the counts are bounded by the size.
        if argc == 0 || argc.saturating_add(envc) > size - 8 {
            return Err(malformed);
        }
        let strings = leak::<u8>(size - 8)?;
        file::read_exactly_at(memfd, strings, 8)?;
        let pointers = leak::<*const c_char>(argc + envc + 2)?;
        let mut rest: &'static [u8] = strings;
        for place in (0..argc).chain(argc + 1..=argc + envc) {
            let string = CStr::from_bytes_until_nul(rest).map_err(|_| malformed)?;
            pointers[place] = string.as_ptr();
            rest = &rest[string.count_bytes() + 1..];
        }
        let (arguments, environment) = pointers.split_at(argc + 1);
        Ok(Self {
            strings,
            arguments,
            environment,
        })
    }

    /// The first argument.
    pub(crate) fn name(&self) -> &'static CStr {
        CStr::from_bytes_until_nul(self.strings).unwrap_or_default()
    }

    /// The value of a variable of the environment; `name` ends with `=`.
    pub(crate) fn variable(&self, name: &[u8]) -> Option<&'static [u8]> {
        let strings = self.strings.split(|&byte| byte == 0);
        strings
            .skip(self.arguments.len() - 1)
            .take(self.environment.len() - 1)
            .find_map(|string| string.strip_prefix(name))
    }

    /// Becomes the program at `path`. Returns only where that fails.
    pub(crate) fn execute(&self, path: &CStr) -> Errno {
        // SAFETY: `path` is NUL-ended; both arrays hold pointers to NUL-ended strings in memory
        // that is never freed, and end with a null pointer (`leak` gives zeroes).
        unsafe {
            libc::execve(
                path.as_ptr(),
                self.arguments.as_ptr(),
                self.environment.as_ptr(),
            )
        };
        Errno::last()
    }
}

/// Zeroed memory of this process's own that is never freed: `execve` drops it.
fn leak<T: Copy>(items: usize) -> Result<&'static mut [T], Errno> {
    // SAFETY: a new private mapping, page-aligned and zeroed.
    let memory = unsafe {
        libc::mmap(
            ptr::null_mut(),
            items * size_of::<T>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    check(memory as libc::c_long)?;
    // SAFETY: the mapping holds `items` of `T`, for which zeroes are valid (bytes and pointers are
    // the only uses), and nobody else knows it.
    Ok(unsafe { std::slice::from_raw_parts_mut(memory.cast(), items) })
}
