//! Which images and archives are known by their magic, and not opened?

/// Magics at their places. Members of archives are raw numbers, too, so that short ones do not count.
const MAGIC: &[(usize, &[u8])] = &[
    // Images of discs and disks.
    (0x8001, b"CD001"),
    (0x8001, b"BEA01"),
    (0x8801, b"CD001"),
    (0x9001, b"CD001"),
    (0, b"conectix"),
    (0, b"vhdxfile"),
    (0, b"QFI\xfb"),
    (0, b"KDMV"),
    (0, b"MSWIM\0\0\0"),
    (0, b"hsqs"),
    (0, b"LUKS\xba\xbe"),
    // Archives.
    (0, b"xar!"),
    (7, b"**ACE**"),
    (2, b"-lh0-"),
    (2, b"-lh5-"),
    (2, b"-lh7-"),
    (0, b"LZIP\x01"),
    (0, b"\x89LZO\0\r\n\x1a\n"),
    (0, b"\xff\x06\0\0sNaPpY"),
    (0, b"7kSt"),
    (0, b"070701"),
    (0, b"070707"),
    // Notes that carry files.
    (
        0,
        b"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3",
    ),
    (
        0,
        b"\xa1\x2f\xff\x43\xd9\xef\x76\x4c\x9e\xe2\x10\xea\x57\x22\x76\x5f",
    ),
    (0, b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5"),
];

/// Files whose mark stands in their last block.
const FOOTERS: [&[u8]; 2] = [b"conectix", b"koly\0\0\0\x04"];
const BLOCK: usize = 512;

/// What is written by `openssl enc` and by `age`.
const LOCKED: [&[u8]; 2] = [b"Salted__", b"age-encryption.org/v1\n"];

pub(super) fn is_sealed(bytes: &[u8]) -> bool {
    let at = |(place, magic): &(usize, &[u8])| {
        bytes
            .get(*place..)
            .is_some_and(|rest| rest.starts_with(magic))
    };
    let last = bytes.len().checked_sub(BLOCK).map(|start| &bytes[start..]);
    let footer = last.is_some_and(|last| FOOTERS.iter().any(|mark| last.starts_with(mark)));
    // A number in a text is none, nor is a word.
    let is_text = || bytes.iter().take(BLOCK).all(|byte| *byte >= b'\t');
    is_locked(bytes) || footer || (MAGIC.iter().any(at) && !is_text())
}

/// Whether it is locked by a password or a key.
pub(crate) fn is_locked(bytes: &[u8]) -> bool {
    LOCKED.iter().any(|mark| bytes.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_sealed_and_texts_are_not() {
        let mut optical = vec![0; 0x9000];
        optical[0x8001..0x8006].copy_from_slice(b"CD001");
        let mut disk = vec![0; 2048];
        disk[1536..1544].copy_from_slice(b"conectix");
        for bytes in [
            &optical[..],
            &disk,
            b"Salted__12345678x",
            b"xar!\0\x1c\0\x01",
        ] {
            assert!(is_sealed(bytes));
        }
        assert!(is_locked(b"Salted__12345678x") && !is_locked(&optical));
        for bytes in [&b"070701,2\n"[..], b"xar! xar!\n", b"a-lh5-b", &[0; 600]] {
            assert!(!is_sealed(bytes));
        }
    }
}
