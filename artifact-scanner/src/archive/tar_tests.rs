//! Tars that are made here, member by member.

use super::*;
use crate::Limits;
use crate::archive::tests::Kept;

fn header(name: &str, kind: u8, size: u64, mode: u32, link: &str) -> Vec<u8> {
    let mut header = vec![0; BLOCK];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(format!("{mode:07o}").as_bytes());
    header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    header[156] = kind;
    header[157..157 + link.len()].copy_from_slice(link.as_bytes());
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header
}

fn file(name: &str, data: &[u8]) -> Vec<u8> {
    let mut member = header(name, b'0', count(data.len()), 0o644, "");
    member.extend_from_slice(data);
    member.resize(member.len().div_ceil(BLOCK) * BLOCK, 0);
    member
}

fn walk(members: &[Vec<u8>]) -> (Kept, Result<(), Unscannable>) {
    let mut kept = Kept::new(Limits::default());
    let end = read(&members.concat(), &mut kept);
    (kept, end)
}

fn end() -> Vec<u8> {
    vec![0; 2 * BLOCK]
}

#[test]
fn a_plain_archive_is_listed() {
    let (kept, end) = walk(&[file("a.csv", b"1,2\n"), file("b/c", b"x"), end()]);
    assert_eq!(end, Ok(()));
    assert_eq!(kept.names(), ["a.csv", "b/c"]);
    assert!(kept.rules().is_empty());
}

#[test]
fn links_devices_and_modes_are_judged() {
    #[track_caller]
    fn check(member: Vec<u8>, rule: &str) {
        let (kept, end) = walk(&[member, end()]);
        assert_eq!(end, Ok(()));
        assert_eq!(kept.rules(), [rule]);
    }
    check(header("l", b'2', 0, 0o777, "/etc"), "archive.link");
    check(
        header("l", b'1', 0, 0o644, "../../etc/shadow"),
        "archive.link",
    );
    check(header("d", b'4', 0, 0o644, ""), "archive.device");
    check(header("p", b'6', 0, 0o644, ""), "archive.fifo");
    check(header("s", b'0', 0, 0o4755, ""), "archive.setuid");
    check(file("../x", b"x"), "archive.escape");
}

#[test]
fn a_member_written_through_a_link_is_seen() {
    let link = header("data", b'2', 0, 0o777, "other");
    let (kept, _) = walk(&[link, file("data/passwd", b"x"), end()]);
    assert_eq!(kept.rules(), ["archive.through_link"]);
}

#[test]
fn a_pax_path_wins_over_the_header() {
    let path = b"18 path=../../x.y\n";
    assert_eq!(path.len(), 18);
    let mut pax = header("h", b'x', 18, 0o644, "");
    pax.extend_from_slice(path);
    pax.resize(2 * BLOCK, 0);
    let (kept, _) = walk(&[pax, file("harmless", b"x"), end()]);
    assert_eq!(kept.rules(), ["archive.escape"]);
    assert_eq!(kept.names(), ["../../x.y"]);
}

#[test]
fn a_size_without_data_is_corrupt_and_a_tail_is_seen() {
    let (_, cut) = walk(&[header("big", b'0', 1 << 32, 0o644, ""), end()]);
    assert_eq!(cut, Err(Unscannable::Corrupt));
    let (kept, whole) = walk(&[file("a", b"x"), end(), b"PK\x05\x06".to_vec()]);
    assert_eq!(whole, Ok(()));
    assert_eq!(kept.rules(), ["polyglot.trailing"]);
}

#[test]
fn numbers_are_octal_or_of_base_256() {
    assert_eq!(number(b"0000644\0"), Some(0o644));
    assert_eq!(number(b"\x80\0\0\0\0\0\x01\x02"), Some(258));
    assert_eq!(number(b"\x80\0\0\0\0\0\0\0\0\0\x01\0"), Some(256));
    assert_eq!(number(&[0xff; 12]), None);
    assert_eq!(number(b"0000x"), None);
}

fn pax(kind: u8, records: &[(&str, &str)]) -> Vec<u8> {
    let record = |(key, value): &(&str, &str)| {
        let record = format!(" {key}={value}\n");
        format!("{}{record}", record.len() + 2)
    };
    let text: String = records.iter().map(record).collect();
    let mut member = file("pax", text.as_bytes());
    let head = header("pax", kind, count(text.len()), 0o644, "");
    member[..BLOCK].copy_from_slice(&head);
    member
}

#[test]
fn the_headers_of_solaris_are_those_of_pax() {
    let named = pax(b'X', &[("path", "../../x")]);
    let (kept, end) = walk(&[named, file("a", b"x"), end()]);
    assert_eq!((end, kept.rules()), (Ok(()), vec!["archive.escape"]));
    assert_eq!(kept.names(), ["../../x"]);
}

#[test]
fn a_name_for_all_members_is_odd_and_a_comment_for_all_is_not() {
    let (kept, _) = walk(&[pax(b'g', &[("path", "run.x")]), file("a", b"x"), end()]);
    assert_eq!(kept.rules(), ["archive.two_views"]);
    let comment = pax(b'g', &[("comment", "0123456")]);
    let (kept, _) = walk(&[comment, file("a", b"x"), end()]);
    assert!(kept.rules().is_empty());
}

#[test]
fn holes_are_filled_however_they_are_told() {
    let mut map = b"2\n2\n2\n6\n1\n".to_vec();
    map.resize(BLOCK, 0);
    let data = [&map[..], b"MZx"].concat();
    let (major, minor) = (("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"));
    let named = [
        major,
        minor,
        ("GNU.sparse.name", "a"),
        ("GNU.sparse.realsize", "8"),
    ];
    let in_data = [pax(b'x', &named), file("GNUSparseFile.0/a", &data)].concat();
    let of_map = [("GNU.sparse.size", "8"), ("GNU.sparse.map", "2,2,6,1")];
    let of_map = [pax(b'x', &of_map), file("a", b"MZx")].concat();
    let mut old = file("a", b"MZx");
    old[156] = b'S';
    for (at, number) in [(386, 2), (398, 2), (410, 6), (422, 1), (483, 8)] {
        old[at..at + 11].copy_from_slice(format!("{number:011o}").as_bytes());
    }
    old[148..156].fill(b' ');
    let sum: u32 = old[..BLOCK].iter().map(|byte| u32::from(*byte)).sum();
    old[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    for member in [in_data, of_map, old] {
        let (kept, end) = walk(&[member, end()]);
        assert_eq!(end, Ok(()));
        assert_eq!(kept.names(), ["a"]);
        assert_eq!(kept.members[1].bytes, b"\0\0MZ\0\0x\0");
    }
}

#[test]
fn a_folder_with_data_is_read_as_members_too() {
    let mut folder = file("a/", &file("b", b"x"));
    let head = header("a/", 0, 2 * 512, 0o755, "");
    folder[..BLOCK].copy_from_slice(&head);
    let (kept, end) = walk(&[folder, end()]);
    assert_eq!((end, kept.rules()), (Ok(()), vec!["archive.odd_member"]));
    assert_eq!(kept.members[0].kind, Some(Kind::Tar));
}
