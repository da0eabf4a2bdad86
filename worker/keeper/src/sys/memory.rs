//! Giving up memory that this program never needs.

use super::{Errno, done, file};
use std::os::fd::AsFd;

/// Bytes of the table of mappings that are looked at: twice what it has.
const TABLE: usize = 4096;

/// Unmaps the kernel's code and data for asking the time without a system call. They lie alone, so
/// with them two pages of page tables go, here and in each process that is forked of this one.
///
/// Where they are not found, nothing is done.
pub(crate) fn unmap_clocks() -> Result<(), Errno> {
    let table = file::open(c"/proc/self/maps", libc::O_RDONLY)?;
    let mut bytes = [0; TABLE];
    let mut filled = 0;
    loop {
        let n = file::read(table.as_fd(), &mut bytes[filled..])?;
        if n == 0 {
            break;
        }
        filled += n;
    }
    for line in bytes[..filled].split(|&byte| byte == b'\n') {
        let Some((start, end)) = of_clocks(line) else {
            continue;
        };
        // SAFETY: nothing calls into these mappings: the clock is asked by system call, and
        // this program has no signal handler that would return through them.
        done(unsafe { libc::munmap(std::ptr::without_provenance_mut(start), end - start) })?;
    }
    Ok(())
}

/// The bounds of a mapping, if it is one of them.
fn of_clocks(line: &[u8]) -> Option<(usize, usize)> {
    let line = std::str::from_utf8(line).ok()?;
    let (bounds, name) = (line.split(' ').next()?, line.rsplit(' ').next()?);
    if !name.starts_with("[vvar") && name != "[vdso]" {
        return None;
    }
    let (start, end) = bounds.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    let (start, end) = (number(start)?, number(end)?);
    (start < end).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_kernels_own_mappings_are_taken() {
        let of = |line: &str| of_clocks(line.as_bytes());
        assert_eq!(
            of("7fa33936a000-7fa33936e000 r--p 00000000 00:00 0    [vvar]"),
            Some((0x7fa3_3936_a000, 0x7fa3_3936_e000))
        );
        assert!(of("1000-2000 r--p 00000000 00:00 0  [vvar_vclock]").is_some());
        assert!(of("1000-2000 r-xp 00000000 00:00 0  [vdso]").is_some());
        assert_eq!(of("1000-2000 rw-p 00000000 00:00 0  [stack]"), None);
        assert_eq!(of("1000-2000 rw-p 00000000 00:01 7  /x/[vdso]"), None);
        assert_eq!(of("2000-1000 r-xp 00000000 00:00 0  [vdso]"), None);
        assert_eq!(of(""), None);
    }
}
