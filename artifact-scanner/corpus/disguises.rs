//! Variants of files that are two things at once, of XML, and of what is harmless.

use super::build::{bzip2, gzip, member, png, tar, tar_member, zip};
use super::{CLEAN, MALICIOUS, SUSPICIOUS, Samples, UNSCANNABLE};
use std::fmt::Write as _;

pub(crate) fn polyglots() -> Samples {
    let archive = zip(&[member("a.txt", b"hello\n")]);
    let jar = zip(&[
        member("META-INF/MANIFEST.MF", b"Main-Class: A\n"),
        member("A.class", b"\xca\xfe\xba\xbe\0\0\0\x34"),
    ]);
    vec![
        ("a.png", SUSPICIOUS, png(8, &[], &archive)),
        ("b.png", MALICIOUS, png(8, &[], &jar)),
        (
            "c.png",
            SUSPICIOUS,
            png(8, &[(b"tEXt", b"k\0<html><body>hi</body></html>")], b""),
        ),
        (
            "a.gz",
            SUSPICIOUS,
            [gzip(b"hello\n"), archive.clone()].concat(),
        ),
        (
            "a.tar",
            SUSPICIOUS,
            [
                tar(&[tar_member("a", b'0', 0o644, "", b"x")]),
                archive.clone(),
            ]
            .concat(),
        ),
        (
            "a.zip",
            SUSPICIOUS,
            [b"#!/bin/sh\n".to_vec(), archive.clone()].concat(),
        ),
        (
            "b.zip",
            SUSPICIOUS,
            [archive.clone(), b"<script>1</script>".to_vec()].concat(),
        ),
        ("c.gif", MALICIOUS, b"GIF89a=1;alert(1)//".to_vec()),
        (
            "a.txt",
            SUSPICIOUS,
            [b"some text\n".to_vec(), b"%PDF-1.4\n%%EOF\n".to_vec()].concat(),
        ),
    ]
}

pub(crate) fn xmls() -> Samples {
    let text = |text: &str| text.as_bytes().to_vec();
    let mut laughs = String::from("<!DOCTYPE r [<!ENTITY e0 'lol'>");
    for level in 1..10 {
        let items = format!("&e{};", level - 1).repeat(10);
        write!(laughs, "<!ENTITY e{level} '{items}'>").expect("to memory");
    }
    laughs.push_str("]><r>&e9;</r>");
    vec![
        ("g.xml", MALICIOUS, laughs.into_bytes()),
        (
            "a.xml",
            MALICIOUS,
            text("<!DOCTYPE r [<!ENTITY x PUBLIC 'a' 'http://example.invalid/'>]><r>&x;</r>"),
        ),
        (
            "b.xml",
            MALICIOUS,
            text("<!doctype r [\n<!ENTITY\n x SYSTEM\n 'file:///dev/random'>]><r/>"),
        ),
        (
            "d.xml",
            SUSPICIOUS,
            text(
                "<r xmlns:xi='http://www.w3.org/2001/XInclude'><xi:include href='file:///etc/passwd'/></r>",
            ),
        ),
        (
            "e.xml",
            SUSPICIOUS,
            text("<?xml-stylesheet type='text/xsl' href='a.xsl'?><r/>"),
        ),
        ("f.xml", UNSCANNABLE, text("<r><a></r>")),
    ]
}

pub(crate) fn benign() -> Samples {
    let table = b"a,b\n1,-2\n";
    vec![
        ("a.csv", CLEAN, table.to_vec()),
        ("a.csv.gz", CLEAN, gzip(table)),
        ("two.csv.gz", CLEAN, [gzip(table), gzip(b"3,4\n")].concat()),
        ("a.csv.bz2", CLEAN, bzip2(table)),
        (
            "a.zip",
            CLEAN,
            zip(&[
                member("a.csv", table),
                member("b/c.json", b"{\"a\": [1, null, NaN]}"),
            ]),
        ),
        (
            "a.tar",
            CLEAN,
            tar(&[
                tar_member("a.csv", b'0', 0o644, "", table),
                tar_member("l", b'2', 0o777, "a.csv", b""),
            ]),
        ),
        (
            "plot.png",
            CLEAN,
            png(8, &[(b"tEXt", b"Software\0Matplotlib 3.9")], b""),
        ),
        ("a.jsonl", CLEAN, b"{\"a\":1}\n{\"a\":2}\n".to_vec()),
        ("a.yaml", CLEAN, b"a: &x [1, 2]\nb: *x\n".to_vec()),
        (
            "a.xml",
            CLEAN,
            b"<?xml version='1.0'?><r><a b='c'>d</a></r>".to_vec(),
        ),
        ("log.txt", CLEAN, b"\x1b[32mok\x1b[0m 12 passed\n".to_vec()),
        ("empty.csv", CLEAN, Vec::new()),
        (
            "run.sh",
            CLEAN,
            b"#!/bin/sh\ncurl -O https://example.invalid/data.csv\n".to_vec(),
        ),
    ]
}
