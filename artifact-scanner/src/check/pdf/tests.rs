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
