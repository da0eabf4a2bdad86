//! Is what a PDF would do when it is opened seen, packed or not?

#![expect(clippy::format_collect, reason = "short texts, built once")]

use super::check;
use crate::{Budget, Limits, Notes, Severity, Unscannable};
use std::io::Write as _;

fn outcome(objects: &[u8]) -> (Option<Severity>, Result<(), Unscannable>, usize) {
    let mut bytes = b"%PDF-1.7\n".to_vec();
    bytes.extend_from_slice(objects);
    let mut notes = Notes::default();
    let end = check(&bytes, &mut notes, &mut Budget::new(Limits::default()));
    (notes.worst(), end, notes.parts().len())
}

fn worst(objects: &str) -> Option<Severity> {
    outcome(objects.as_bytes()).0
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(bytes).expect("in memory");
    packer.finish().expect("in memory")
}

fn stream(dict: &str, body: &[u8]) -> Vec<u8> {
    [
        format!("9 0 obj\n<< {dict} >>\nstream\n").as_bytes(),
        body,
        b"\nendstream\nendobj\n",
    ]
    .concat()
}

#[test]
fn quiet_documents_are_clean() {
    for objects in [
        "1 0 obj << /Type /Catalog /Pages 2 0 R /OpenAction [3 0 R /Fit] >> endobj",
        "1 0 obj << /Type /Catalog /OpenAction << /S /GoTo /D [3 0 R /Fit] >> >> endobj",
        "1 0 obj << /A << /S /URI /URI (https://docs.invalid) >> /Subtype /Link >> endobj",
        "1 0 obj << /AcroForm << /Fields [5 0 R] >> >> endobj 2 0 obj << /FT /Tx /T (/JavaScript in text \\) >>) >> endobj",
        "1 0 obj << /Title (Launch of /JS <</S /Launch>>) >> endobj",
    ] {
        assert!(
            worst(objects).is_none() || objects.contains("in text"),
            "{objects}"
        );
    }
    let form = "1 0 obj << /AA << /F << /S /JavaScript /JS (AFNumber_Format\\(2, 0, 0, 0, \"\", true\\);) >> >> >> endobj";
    assert_eq!(worst(form), Some(Severity::Active));
}

#[test]
fn actions_are_seen_however_they_are_written() {
    for (objects, wanted) in [
        (
            "1 0 obj << /OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >> >> endobj",
            Severity::Malicious,
        ),
        (
            "1 0 obj << /Open#41ction << /S /J#61vaScr#69pt /J#53 (x) >> >> endobj",
            Severity::Malicious,
        ),
        (
            "1 0 obj <</OpenAction 5 0 R>> endobj 5 0 obj <</S/JavaScript/JS 6 0 R>> endobj",
            Severity::Malicious,
        ),
        (
            "1 0 obj <</Names<</JavaScript<</Names[(a)5 0 R]>>>>>> endobj 5 0 obj <</S/JavaScript/JS<6170702e616c657274>>> endobj",
            Severity::Malicious,
        ),
        (
            "1 0 obj << /AA << /O << /S /Launch /F (cmd.exe) >> >> >> endobj",
            Severity::Malicious,
        ),
        (
            "1 0 obj << /A << /S /#4c#61unch /Win << /F (cmd.exe) >> >> >> endobj",
            Severity::Malicious,
        ),
        (
            "1 0 obj << /OpenAction << /S /GoToR /F (\\\\\\\\a.invalid\\\\s) >> >> endobj",
            Severity::Malicious,
        ),
        (
            "1 0 obj << /A << /S /GoToE /F << /Type /Filespec /UF (//a.invalid/s) >> >> >> endobj",
            Severity::Malicious,
        ),
        (
            "1 0 obj << /A << /S /URI /URI (javascript:x) >> >> endobj",
            Severity::Malicious,
        ),
        (
            "1 0 obj << /A << /S /SubmitForm /F (https://a.invalid) >> >> endobj",
            Severity::Suspicious,
        ),
        (
            "1 0 obj << /OpenAction << /S /URI /URI (https://a.invalid) >> >> endobj",
            Severity::Suspicious,
        ),
        (
            "1 0 obj << /AcroForm << /X#46A 5 0 R >> >> endobj",
            Severity::Suspicious,
        ),
        (
            "1 0 obj << /Subtype /RichMedia >> endobj",
            Severity::Suspicious,
        ),
        (
            "1 0 obj << /OpenAction << /S /JavaScript /JS (x) ",
            Severity::Malicious,
        ),
        (
            "%comment\r1 0 obj <</OpenAction<</S%\n/Launch>>>> endobj",
            Severity::Malicious,
        ),
    ] {
        assert_eq!(worst(objects), Some(wanted), "{objects}");
    }
}

#[test]
fn packed_objects_are_unpacked() {
    let inner = b"1 0 2 30 << /OpenAction 2 0 R >> << /S /JavaScript /JS (x) >>";
    let packed = stream(
        "/Type /ObjStm /N 2 /First 9 /Filter /FlateDecode",
        &deflate(inner),
    );
    assert_eq!(outcome(&packed).0, Some(Severity::Malicious));
    let hex: String = deflate(inner).iter().map(|b| format!("{b:02x}")).collect();
    let packed = stream(
        "/Type /ObjStm /N 2 /First 9 /Filter [/ASCIIHexDecode /Fl]",
        (hex + ">").as_bytes(),
    );
    assert_eq!(outcome(&packed).0, Some(Severity::Malicious));
    let attached = stream(
        "/Type /EmbeddedFile /Filter /FlateDecode",
        &deflate(b"hello"),
    );
    assert_eq!(outcome(&attached).2, 1);
}

#[test]
fn objects_that_only_a_table_finds_are_seen() {
    let action = "5 0 obj <</S/Launch/F(calc.exe)>> endobj";
    for hiding in [
        format!("4 0 obj ({action}) endobj"),
        format!("4 0 obj <{action}> endobj"),
        format!("% {action}\n"),
        format!("4 0 obj <</Filter/DCTDecode>> stream\nabc {action} endstream endobj"),
        format!("4 0 obj <</Filter/FlateDecode/Length 99>> stream\nabc\0{action} endstream"),
        format!("4 0 obj (never closed {action}"),
        format!("stream {action} endstream"),
        "4 0 obj (5 0obj<</S/Launch>>) endobj".to_owned(),
    ] {
        assert_eq!(worst(&hiding), Some(Severity::Malicious), "{hiding}");
    }
    let packed = stream(
        "/Type /ObjStm /N 2 /First 8 /Filter /FlateDecode",
        &deflate(b"5 1 7 0 (<</S/Launch>>)"),
    );
    assert_eq!(outcome(&packed).0, Some(Severity::Malicious));
    let text = "4 0 obj (The word obj and 2 obj (two) stand here) endobj";
    assert_eq!(worst(text), None);
}

#[test]
fn packed_objects_are_seen_behind_a_predictor_and_a_false_end() {
    let inner = b"5 0 << /S /Launch /F (calc.exe) >>        ";
    let mut rows = Vec::new();
    let mut above = [0; 14];
    for row in inner.chunks_exact(14) {
        rows.push(2);
        rows.extend(
            row.iter()
                .zip(above)
                .map(|(byte, up)| byte.wrapping_sub(up)),
        );
        above.copy_from_slice(row);
    }
    let head = "/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode";
    for parameters in [
        "<</Predictor 12/Columns 14>>",
        "[<</Predictor 15/Columns 14>>]",
    ] {
        let packed = stream(
            &format!("{head} /DecodeParms {parameters}"),
            &deflate(&rows),
        );
        assert_eq!(
            outcome(&packed).0,
            Some(Severity::Malicious),
            "{parameters}"
        );
    }
    let unknown = stream(&format!("{head} /DecodeParms 7 0 R"), &deflate(&rows));
    assert_eq!(outcome(&unknown).0, Some(Severity::Suspicious));
    // A block that is only stored holds the word.
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::none());
    packer
        .write_all(b"5 0 << /T (endstream) /S /Launch >>")
        .expect("in memory");
    let stored = packer.finish().expect("in memory");
    assert_eq!(outcome(&stream(head, &stored)).0, Some(Severity::Malicious));
}

#[test]
fn what_another_object_says_is_seen() {
    for (objects, wanted) in [
        ("5 0 obj /Launch endobj", Severity::Malicious),
        ("5 0 obj /SubmitForm endobj", Severity::Suspicious),
        (
            "5 0 obj (\\\\\\\\a.invalid\\\\s) endobj",
            Severity::Malicious,
        ),
        ("5 0 obj (java\\\r\nscript:x) endobj", Severity::Malicious),
        (
            "5 0 obj <</F (x) /UF (\\\\\\\\a.invalid\\\\s)>> endobj",
            Severity::Malicious,
        ),
        ("5 0 obj <</S/GoTo /S/Launch>> endobj", Severity::Malicious),
        (
            "5 0 obj <</FFilter [/FlateDecode]>> endobj",
            Severity::Suspicious,
        ),
        (
            "5 0 obj <</S/GoToR/F<FFFE5C005C006100>>> endobj",
            Severity::Malicious,
        ),
        (
            "5 0 obj <</S/GoToR/F(file:////a.invalid/s)>> endobj",
            Severity::Malicious,
        ),
        (
            "1 0 obj <</OpenAction 5 0 R>> endobj 5 0 obj <</S/URI/URI(https://a.invalid)>> endobj",
            Severity::Suspicious,
        ),
        (
            "1 0 obj <</AA<</O 5 0 R>>>> endobj 5 0 obj <</S/URI/URI(https://a.invalid)>> endobj",
            Severity::Suspicious,
        ),
        (
            "1 0 obj <</OpenAction<</S/GoTo/Next<</S/URI/URI(https://a.invalid)>>>>>> endobj",
            Severity::Suspicious,
        ),
        (
            "1 0 obj <</S/GoToR/F 5 0 R>> endobj 5 0 obj (https://a.invalid/x.pdf) endobj",
            Severity::Suspicious,
        ),
    ] {
        assert_eq!(worst(objects), Some(wanted), "{objects}");
    }
    for objects in [
        "1 0 obj <</A 5 0 R>> endobj 5 0 obj <</S/URI/URI 6 0 R>> endobj 6 0 obj (https://a.invalid) endobj",
        "1 0 obj <</OpenAction 5 0 R>> endobj 5 0 obj <</S/GoTo/D[3 0 R/Fit]>> endobj",
        "1 0 obj <</S/GoToR/F 5 0 R>> endobj 5 0 obj <</Type/Filespec/F(other.pdf)>> endobj",
        "1 0 obj <</F(/home/a/b.pdf)>> endobj 2 0 obj (//) endobj 3 0 obj (data: a title) endobj",
    ] {
        assert_eq!(worst(objects), None, "{objects}");
    }
    let attached = [
        &b"1 0 obj <</Type/Filespec/EF<</F 9 0 R>>>> endobj "[..],
        &stream("/Filter /FlateDecode", &deflate(b"MZ\x90\0\x03")),
    ];
    assert_eq!(outcome(&attached.concat()).0, Some(Severity::Malicious));
}

#[test]
fn bombs_and_locks_are_told() {
    let zeros = vec![0; 60 << 20];
    let once = deflate(&zeros);
    assert_eq!(
        outcome(&stream("/Filter /FlateDecode", &once)).0,
        Some(Severity::Suspicious)
    );
    assert_eq!(
        outcome(&stream(
            "/Filter [/FlateDecode /FlateDecode]",
            &deflate(&once)
        ))
        .0,
        Some(Severity::Suspicious)
    );
    let locked = outcome(b"trailer << /Encrypt 5 0 R /Root 1 0 R >>");
    assert_eq!(locked.1, Err(Unscannable::Encrypted));
    let deep = outcome(&b"[<<".repeat(100_000));
    assert!(deep.1.is_err());
}

#[test]
fn cut_documents_do_not_panic() {
    let whole = stream(
        "/Type /ObjStm /N 1 /First 4 /F (a\\(\\12) /X <4> /Y#4 [1 0 R]",
        b"(\\",
    );
    for at in 0..whole.len() {
        let _ended = outcome(&whole[at..]);
        let _ended = outcome(&whole[..at]);
    }
}

/// Each of these was once read to the end of the file for each of its pieces.
#[test]
fn objects_within_objects_are_read_in_time() {
    for piece in [
        &b"1 0 obj << /Length 5 >> stream\n"[..],
        b"1 0 obj << /Filter /FlateDecode >> stream\nx\x9c",
        b"1 0 obj << /A (",
        b"1 0 obj (",
    ] {
        let bytes = [b"%PDF-1.7\n(", &piece.repeat(20_000)[..], b"\n%%EOF"].concat();
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        let start = std::time::Instant::now();
        let end = check(&bytes, &mut notes, &mut budget);
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
        assert_ne!(end, Ok(()), "{}", piece.escape_ascii());
    }
}
