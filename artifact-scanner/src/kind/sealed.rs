//! Which images and archives are known by their magic, and not opened?

/// Magics at their places. Members of archives are raw numbers, too, so that short ones do not count.
const MAGIC: &[(usize, &[u8])] = &[
    // Images of discs and disks.
    (0, b"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0"),
    (3, b"NTFS    "),
    (3, b"EXFAT   "),
    (54, b"FAT12   "),
    (54, b"FAT16   "),
    (82, b"FAT32   "),
    (0, b"conectix"),
    (0, b"vhdxfile"),
    (0, b"QFI\xfb"),
    (0, b"KDMV"),
    (0, b"COWD"),
    (64, b"\x7f\x10\xda\xbe"),
    (0, b"WithoutFreeSpace"),
    (0, b"MSWIM\0\0\0"),
    (0, b"hsqs"),
    (0, b"sqsh"),
    (0, b"\x45\x3d\xcd\x28"),
    (0, b"LUKS\xba\xbe"),
    // Archives.
    (0, b"xar!"),
    (7, b"**ACE**"),
    (20, b"\xdc\xa7\xc4\xfd"),
    (0, b"RE\x7e\x5e"),
    (0, b"ISc("),
    (0, b"SZDD\x88\xf0\x27\x33"),
    (0, b"KWAJ\x88\xf0\x27\xd1"),
    (0, b"StuffIt"),
    (10, b"rLau"),
    (0, b"ArC\x01"),
    (0, b"LRZI"),
    (0, b"MAR1"),
    (0, b"pbzx"),
    (0, b"bvx1"),
    (0, b"bvx2"),
    (0, b"bvxn"),
    (0, b"AA01"),
    (0, b"YAA1"),
    (0, b"LZIP\x01"),
    (0, b"\x89LZO\0\r\n\x1a\n"),
    (0, b"\xff\x06\0\0sNaPpY"),
    (0, b"7kSt"),
    (0, b"070701"),
    (0, b"070702"),
    (0, b"070707"),
    // Mail and tables of other programs, with what is attached to them.
    (0, b"!BDN"),
    (0, b"\x78\x9f\x3e\x22"),
    (4, b"Standard Jet DB"),
    (4, b"Standard ACE DB"),
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

/// Where the description of a disc stands, and its first bytes: the last of them is no text, so that
/// what fills the room before it does not matter.
const DISCS: [(usize, &[u8]); 4] = [
    (0x8001, b"CD001\x01"),
    (0x8001, b"BEA01\x01"),
    (0x8801, b"CD001\x01"),
    (0x9001, b"CD001\x01"),
];

/// Endings of what is never opened or of programs: bytes of that name are not data, even if nothing
/// knows them.
const ENDINGS: [&str; 29] = [
    "rar", "r00", "cab", "iso", "arj", "lzh", "lha", "z", "ace", "zoo", "sit", "sitx", "dmg",
    "vhd", "vhdx", "vmdk", "qcow2", "wim", "one", "pst", "kdbx", "gpg", "exe", "dll", "scr", "msi",
    "cpl", "ocx", "com",
];

/// What is written by `openssl enc`, by `age` and by `OpenPGP`.
const LOCKED: [&[u8]; 4] = [
    b"Salted__",
    b"age-encryption.org/v1\n",
    b"-----BEGIN AGE ENCRYPTED FILE-----",
    b"-----BEGIN PGP MESSAGE-----",
];

pub(super) fn is_sealed(bytes: &[u8]) -> bool {
    let at = |(place, magic): &(usize, &[u8])| {
        bytes
            .get(*place..)
            .is_some_and(|rest| rest.starts_with(magic))
    };
    let last = bytes.len().checked_sub(BLOCK).map(|start| &bytes[start..]);
    let footer = last.is_some_and(|last| FOOTERS.iter().any(|mark| last.starts_with(mark)));
    // A number in a text is none, nor is a word.
    let is_text = || bytes[0] != 0x1f && bytes.iter().take(BLOCK).all(|byte| *byte >= b'\t');
    is_locked(bytes)
        || footer
        || DISCS.iter().any(at)
        || ((MAGIC.iter().any(at) || is_old(bytes)) && !is_text())
}

/// Archives and streams of the old systems, whose marks are short: what stands behind counts, too.
fn is_old(bytes: &[u8]) -> bool {
    match bytes {
        // compress: how long a code may be, and two bits that are not used.
        [0x1f, 0x9d, flags, ..] => flags & 0x60 == 0 && matches!(flags & 0x1f, 9..=16),
        // ARJ: the head of the archive is a head of the second kind.
        [0x60, 0xea, low, high, first, _, _, _, _, _, kind, ..] => {
            let length = u16::from_le_bytes([*low, *high]);
            matches!(length, 30..=2600) && (30..=length).contains(&u16::from(*first)) && *kind == 2
        }
        // LHA and its kin: the way of packing between two strokes.
        [_, _, b'-', b'l', b'h' | b'z' | b'x', way, b'-', ..] => way.is_ascii_alphanumeric(),
        [_, _, b'-', b'p', b'm', b'0' | b'1' | b'2' | b's', b'-', ..] => true,
        _ => false,
    }
}

/// Whether a file of that ending is an archive or an image, be its bytes known or not.
pub(crate) fn is_called(ending: &str) -> bool {
    ENDINGS.contains(&ending)
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
        optical[0x8001..0x8007].copy_from_slice(b"CD001\x01");
        let mut filled = vec![b'a'; 0x9000];
        filled[0x8001..0x8007].copy_from_slice(b"CD001\x01");
        let mut disk = vec![0; 2048];
        disk[1536..1544].copy_from_slice(b"conectix");
        for bytes in [
            &optical[..],
            &filled,
            &disk,
            b"\x1f\x9d\x90a\0",
            b"\x60\xea\x22\0\x1e\x0b\x01\0\0\0\x02\0",
            b"\x1f\x02-lh5-\0\0",
            b"\x1f\x02-lhd-\0\0",
            b"Salted__12345678x",
            b"xar!\0\x1c\0\x01",
        ] {
            assert!(is_sealed(bytes));
        }
        assert!(is_locked(b"Salted__12345678x") && !is_locked(&optical));
        for bytes in [
            &b"070701,2\n"[..],
            b"xar! xar!\n",
            b"a-lh5-b",
            b"a,-lh5-,b\n",
            &[0; 600],
        ] {
            assert!(!is_sealed(bytes));
        }
    }
}
