//! What the macros of a document do, told by their source.

use super::compound::Compound;
use crate::{Budget, Notes, Severity, Unscannable};

const SOURCE_BYTES_MAX: usize = 8 << 20;

/// Names that run without being called.
const STARTS: [&str; 30] = [
    "autoopen",
    "autoexec",
    "autonew",
    "autoclose",
    "autoexit",
    "auto_open",
    "auto_close",
    "document_open",
    "document_close",
    "document_new",
    "documentopen",
    "documentbeforeclose",
    "workbook_open",
    "workbook_activate",
    "workbook_close",
    "workbook_beforeclose",
    "worksheet_activate",
    "worksheet_change",
    "worksheet_calculate",
    "presentation_open",
    "slideshowbegin",
    "onslideshowpagechange",
    "_painted(",
    "_layout(",
    "_gotfocus(",
    "_mousemove(",
    "_resize(",
    "_connecting(",
    "_titlechange(",
    "_statechange(",
];

/// Words of code that reaches out of the document.
const REACHES: [&str; 38] = [
    "shell ",
    "shell(",
    "shell\"",
    "wscript",
    "createobject",
    "getobject",
    "powershell",
    "cmd /c",
    "cmd.exe",
    "urldownloadtofile",
    "xmlhttp",
    "winhttp",
    "adodb.stream",
    "filesystemobject",
    "environ(",
    "kill ",
    "open for",
    "for binary",
    "for output",
    "savetofile",
    "callbyname",
    "declare function",
    "declare ptrsafe",
    "declare sub",
    "lib \"kernel32",
    "virtualalloc",
    "createthread",
    "rtlmovememory",
    "application.run",
    "executeexcel4macro",
    "macscript",
    "chrw(",
    "chr(",
    "strreverse",
    "wmi",
    "regwrite",
    "sendkeys",
    "shellexecute",
];

/// Looks for a macro project among the streams; `disguised` where the document promised to have
/// none, or keeps it under another name.
pub(super) fn look(
    file: &Compound<'_>,
    place: &str,
    disguised: bool,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let project = file.has("_VBA_PROJECT")
        || file.has("VBA")
        || file.has("_VBA_PROJECT_CUR")
        || file.has("PROJECT");
    let mut source = String::new();
    file.each_stream(budget, |stream, budget| {
        for at in memchr::memmem::find_iter(stream, b"\0Attribut").take(1000) {
            // The container begins with a 1, the length of a chunk and the flags of its tokens.
            let Some(start) = at.checked_sub(3).filter(|start| stream[*start] == 1) else {
                continue;
            };
            let text = decompress(&stream[start + 1..]);
            budget.unpack(text.len().max(1) as u64)?;
            source.push_str(&String::from_utf8_lossy(&text));
            source.push('\n');
            if source.len() > SOURCE_BYTES_MAX {
                break;
            }
        }
        Ok(())
    })?;
    if source.is_empty() && !project {
        return Ok(());
    }
    let lower = code(&source);
    let starts = STARTS.iter().any(|name| lower.contains(name));
    let reaches = REACHES.iter().any(|word| lower.contains(word));
    let (severity, why) = match (starts, reaches) {
        (true, true) => (
            Severity::Malicious,
            "macros that start by themselves and reach out of the document",
        ),
        _ if disguised => (
            Severity::Malicious,
            "macros where the file's name promises none",
        ),
        _ if source.is_empty() => (Severity::Suspicious, "a macro project without source"),
        (true, false) => (Severity::Suspicious, "macros that start by themselves"),
        (false, true) => (
            Severity::Suspicious,
            "macros that reach out of the document",
        ),
        (false, false) => (Severity::Suspicious, "macros"),
    };
    notes.find(
        "office.macro",
        severity,
        place,
        format!("the document has {why}"),
    );
    Ok(())
}

/// The source in small letters, lines joined, without its attributes.
fn code(source: &str) -> String {
    let joined = source.replace(" _\r\n", " ").replace(" _\n", " ");
    let lines = joined
        .lines()
        .filter(|line| !line.starts_with("Attribute "));
    lines.map(|line| line.to_ascii_lowercase() + "\n").collect()
}

/// Undoes the run-length coding of macro source (MS-OVBA 2.4.1), as far as it goes.
fn decompress(packed: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    let mut at = 0;
    while let Some(&[low, high]) = packed.get(at..at + 2).and_then(|head| head.first_chunk()) {
        let head = u16::from_le_bytes([low, high]);
        let size = usize::from(head & 0x0fff) + 3;
        let chunk = &packed[at + 2..(at + size).min(packed.len())];
        at += size;
        if head & 0x8000 == 0 {
            out.extend_from_slice(chunk);
        } else {
            tokens(chunk, &mut out);
        }
        if head >> 12 & 7 != 3 || out.len() > SOURCE_BYTES_MAX {
            break;
        }
    }
    out
}

fn tokens(chunk: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    let mut at = 0;
    while let Some(&flags) = chunk.get(at) {
        at += 1;
        for bit in 0..8 {
            if flags >> bit & 1 == 0 {
                let Some(&byte) = chunk.get(at) else { return };
                out.push(byte);
                at += 1;
                continue;
            }
            let Some(&[low, high]) = chunk.get(at..at + 2).and_then(|token| token.first_chunk())
            else {
                return;
            };
            at += 2;
            let token = u16::from_le_bytes([low, high]);
            let done = out.len() - begin;
            let mut bits = 4;
            while (1_usize << bits) < done && bits < 12 {
                bits += 1;
            }
            let length = usize::from(token & (0xffff >> bits)) + 3;
            let offset = usize::from(token >> (16 - bits)) + 1;
            if offset > done {
                return;
            }
            for _ in 0..length {
                out.push(out[out.len() - offset]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_is_unpacked_and_never_overruns() {
        // The example of the specification: `#aaabcdefaaaaghijaaaaaklaaamnopqaaaaaaaaaaaarstuvwxyzaaa`.
        let packed = [
            0x2f, 0xb0, 0x00, 0x23, 0x61, 0x61, 0x61, 0x62, 0x63, 0x64, 0x65, 0x82, 0x66, 0x00,
            0x70, 0x61, 0x67, 0x68, 0x69, 0x6a, 0x01, 0x38, 0x08, 0x61, 0x6b, 0x6c, 0x00, 0x30,
            0x6d, 0x6e, 0x6f, 0x70, 0x06, 0x71, 0x02, 0x70, 0x04, 0x10, 0x72, 0x73, 0x74, 0x75,
            0x76, 0x10, 0x77, 0x78, 0x79, 0x7a, 0x00, 0x3c,
        ];
        assert_eq!(
            decompress(&packed),
            b"#aaabcdefaaaaghijaaaaaklaaamnopqaaaaaaaaaaaarstuvwxyzaaa"
        );
        for cut in 0..packed.len() {
            decompress(&packed[cut..]);
        }
    }
}
