//! Zips that are made here, record by record, true and false.

use super::*;
use crate::Limits;
use crate::archive::tests::Kept;

#[derive(Clone)]
struct Member {
    local_name: &'static str,
    central_name: &'static str,
    data: Vec<u8>,
    flags: u16,
    crc_xor: u32,
    listed: bool,
    mode: u32,
}

fn member(name: &'static str, data: &[u8]) -> Member {
    Member {
        local_name: name,
        central_name: name,
        data: data.to_vec(),
        flags: 0,
        crc_xor: 0,
        listed: true,
        mode: 0o100_644,
    }
}

fn fields(out: &mut Vec<u8>, member: &Member, name: &str) {
    out.extend(member.flags.to_le_bytes());
    out.extend([0; 6]);
    out.extend((crc32fast::hash(&member.data) ^ member.crc_xor).to_le_bytes());
    let size = u32::try_from(member.data.len()).expect("small");
    out.extend(size.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(u16::try_from(name.len()).expect("small").to_le_bytes());
    out.extend([0, 0]);
}

fn zip(members: &[Member], comment: &[u8]) -> Vec<u8> {
    let (mut out, mut directory, mut listed) = (Vec::new(), Vec::new(), 0u16);
    for member in members {
        let offset = u32::try_from(out.len()).expect("small");
        out.extend(b"PK\x03\x04\x14\x00");
        fields(&mut out, member, member.local_name);
        out.extend(member.local_name.as_bytes());
        out.extend(&member.data);
        if member.listed {
            listed += 1;
            directory.extend(b"PK\x01\x02\x14\x03\x14\x00");
            fields(&mut directory, member, member.central_name);
            directory.extend([0; 6]);
            directory.extend((member.mode << 16).to_le_bytes());
            directory.extend(offset.to_le_bytes());
            directory.extend(member.central_name.as_bytes());
        }
    }
    let start = u32::try_from(out.len()).expect("small");
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend(listed.to_le_bytes());
    out.extend(listed.to_le_bytes());
    out.extend(u32::try_from(directory.len()).expect("small").to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend(u16::try_from(comment.len()).expect("small").to_le_bytes());
    out.extend(comment);
    out
}

fn walk(bytes: &[u8]) -> (Kept, Result<(), Unscannable>) {
    let mut kept = Kept::new(Limits::default());
    let end = read(bytes, &mut kept);
    (kept, end)
}

#[test]
fn a_plain_archive_is_listed() {
    let (kept, end) = walk(&zip(&[member("a.csv", b"1"), member("b/c.txt", b"2")], b""));
    assert_eq!(end, Ok(()));
    assert_eq!(kept.names(), ["a.csv", "b/c.txt"]);
    assert!(kept.rules().is_empty(), "{:?}", kept.rules());
}

#[test]
fn what_only_the_local_view_shows_is_scanned() {
    let hidden = Member {
        listed: false,
        ..member("evil.exe", b"MZ")
    };
    for members in [
        vec![member("a", b"1"), hidden.clone(), member("b", b"2")],
        vec![hidden],
    ] {
        let (kept, end) = walk(&zip(&members, b""));
        assert_eq!(end, Ok(()));
        assert!(kept.rules().contains(&"archive.hidden"));
        assert!(kept.names().contains(&"evil.exe"));
    }
}

#[test]
fn two_names_are_both_judged() {
    let (kept, _) = walk(&zip(
        &[Member {
            local_name: "ok.exe",
            ..member("ok.csv", b"1")
        }],
        b"",
    ));
    assert_eq!(kept.rules(), ["archive.two_views"]);
    assert_eq!(kept.names(), ["ok.csv", "ok.exe"]);
}

#[test]
fn locked_is_unscannable_and_a_lie_about_it_is_read() {
    let locked = Member {
        flags: 1,
        crc_xor: 1,
        ..member("a", b"secret")
    };
    let (kept, end) = walk(&zip(&[locked, member("b", b"open")], b""));
    assert_eq!(end, Err(Unscannable::Encrypted));
    assert_eq!(
        kept.names(),
        ["b"],
        "what stands behind the lock is looked at"
    );
    let lie = Member {
        flags: 1,
        ..member("a", b"open")
    };
    let (kept, end) = walk(&zip(&[lie], b""));
    assert_eq!(end, Ok(()));
    assert_eq!(kept.rules(), ["archive.lies"]);
    assert_eq!(kept.members[0].bytes, b"open");
}

#[test]
fn a_wrong_checksum_is_corrupt_but_looked_at() {
    let (kept, end) = walk(&zip(
        &[Member {
            crc_xor: 1,
            ..member("a", b"x")
        }],
        b"",
    ));
    assert_eq!(end, Err(Unscannable::Corrupt));
    assert_eq!(kept.members[0].bytes, b"x");
}

#[test]
fn links_paths_and_doubles_are_judged() {
    let link = Member {
        mode: 0o120_777,
        ..member("l", b"/etc")
    };
    assert_eq!(walk(&zip(&[link], b"")).0.rules(), ["archive.link"]);
    assert_eq!(
        walk(&zip(&[member("../x", b"")], b"")).0.rules(),
        ["archive.escape"]
    );
    assert_eq!(
        walk(&zip(&[member("a", b"1"), member("a", b"2")], b""))
            .0
            .rules(),
        ["archive.twice"]
    );
}

#[test]
fn what_surrounds_the_archive_is_seen() {
    let plain = zip(&[member("a", b"1")], b"");
    let (kept, end) = walk(&[b"\x7fELF", plain.as_slice()].concat());
    assert_eq!((end, kept.rules()), (Ok(()), vec!["polyglot.around"]));
    let (kept, end) = walk(&[plain.as_slice(), b"tail"].concat());
    assert_eq!((end, kept.rules()), (Ok(()), vec!["polyglot.around"]));
    let (kept, _) = walk(&zip(&[member("a", b"1")], b"<script>"));
    assert_eq!(kept.rules(), ["polyglot.around"]);
    assert_eq!(kept.notes.worst(), Some(Severity::Suspicious));
}

#[test]
fn a_cut_archive_is_corrupt_and_its_members_are_scanned() {
    let whole = zip(&[member("a", b"1")], b"");
    let (kept, end) = walk(&whole[..whole.len() - 30]);
    assert_eq!(end, Err(Unscannable::Corrupt));
    assert_eq!(kept.names(), ["a"]);
}

/// An archive with an end of 64 bits before its plain end, which tells of the directory at
/// `offset`.
fn with_wide_end(whole: &[u8], offset: u64, asks: bool) -> Vec<u8> {
    let (body, plain) = whole.split_at(whole.len() - 22);
    let size = count(body.len()) - offset;
    let mut out = body.to_vec();
    out.extend(b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x2d\0\x2d\0\0\0\0\0\0\0\0\0");
    for number in [1, 1, size, offset] {
        out.extend(number.to_le_bytes());
    }
    out.extend(b"PK\x06\x07\0\0\0\0");
    out.extend(count(body.len()).to_le_bytes());
    out.extend([1, 0, 0, 0]);
    out.extend(plain);
    if asks {
        let at = out.len() - 6;
        out[at..at + 4].fill(0xff);
    }
    out
}

#[test]
fn an_end_that_no_field_asks_for_is_read_and_odd() {
    let two = zip(&[member("a", b"1"), member("b", b"2")], b"");
    let directory = two.len() - 22 - 2 * 47;
    // Behind the first record: the plain end tells of both members, the other of `b` alone.
    for asks in [true, false] {
        let (kept, _) = walk(&with_wide_end(&two, count(directory + 47), asks));
        assert!(
            kept.rules().contains(&"archive.two_ends"),
            "{asks} {:?}",
            kept.rules()
        );
        assert!(kept.names().contains(&"b"));
    }
    let one = zip(&[member("a", b"1")], b"");
    let directory = one.len() - 22 - 47;
    for asks in [true, false] {
        let (kept, end) = walk(&with_wide_end(&one, count(directory), asks));
        assert_eq!((end, kept.rules()), (Ok(()), vec![]));
        assert_eq!(kept.names(), ["a"]);
    }
}

#[test]
fn links_of_a_zip_are_followed() {
    let link = Member {
        mode: 0o120_777,
        ..member("q", b"sub")
    };
    let (kept, _) = walk(&zip(&[link, member("q/x", b"1")], b""));
    assert_eq!(kept.rules(), ["archive.through_link"]);
}
