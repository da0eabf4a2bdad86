//! What does a message of mail, or a page saved as one, carry in its parts?

use super::decode;
use crate::{Budget, Kind, Notes, Unscannable};

/// Parts that are looked at; no honest message has more.
const PARTS_MAX: usize = 1000;

/// Longer headers are no part's.
const HEADERS_BYTES_MAX: usize = 8192;

/// Hands on what the parts hold in base64 or with quoted letters. Whatever is no message holds none.
pub fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    const MARK: &[u8] = b"content-transfer-encoding:";
    let bytes = text.as_bytes();
    let colons = memchr::memmem::find_iter(bytes, b"ncoding:").take(PARTS_MAX);
    for colon in colons {
        budget.charge(64)?;
        let after = colon + b"ncoding:".len();
        let is_mark = after.checked_sub(MARK.len()).is_some_and(|start| {
            bytes[start..after].eq_ignore_ascii_case(MARK)
                && (start == 0 || bytes[start - 1] == b'\n')
        });
        if !is_mark {
            continue;
        }
        let rest = &text[after..];
        let coding = decode::head(rest, 32).trim_start().to_ascii_lowercase();
        let undo = if coding.starts_with("base64") {
            decode::base64
        } else if coding.starts_with("quoted-printable") {
            quoted
        } else {
            continue;
        };
        let head = decode::head(rest, HEADERS_BYTES_MAX);
        let blank = head.find("\n\n").map(|at| at + 2);
        let crlf = head.find("\n\r\n").map(|at| at + 3);
        let Some(start) = blank.into_iter().chain(crlf).min() else {
            continue;
        };
        let body = &rest[start..];
        let body = &body[..body.find("\n--").unwrap_or(body.len())];
        budget.unpack(body.len().max(1) as u64)?;
        let content = undo(body.as_bytes());
        if !content.is_empty() {
            let kind = kind(&text[..after], &rest[..start]);
            notes.part(format!("part at offset {after}"), None, kind, content);
        }
    }
    Ok(())
}

/// What the headers around the coding say that the part is, where a program acts on it.
fn kind(before: &str, behind: &str) -> Option<Kind> {
    let mut start = before.len().saturating_sub(HEADERS_BYTES_MAX);
    while !before.is_char_boundary(start) {
        start += 1;
    }
    let before = &before[start..];
    let top = before.rfind("\n\n").max(before.rfind("\n\r\n"));
    let headers = [&before[top.unwrap_or(0)..], behind].concat();
    let headers = headers.to_ascii_lowercase();
    let (_, value) = headers.split_once("content-type:")?;
    let value = value.trim_start();
    let pages = ["text/html", "application/xhtml+xml"];
    if pages.iter().any(|page| value.starts_with(page)) {
        Some(Kind::Html)
    } else {
        value.starts_with("image/svg+xml").then_some(Kind::Svg)
    }
}

/// Undoes `=3D` and the ends of lines that are not meant.
fn quoted(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'=', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let pair = rest.get(..2).map(decode::hex).unwrap_or_default();
        match (pair.first(), rest) {
            (Some(letter), _) => {
                out.push(*letter);
                rest = &rest[2..];
            }
            (None, [b'\r', b'\n', ..]) => rest = &rest[2..],
            (None, [b'\n', ..]) => rest = &rest[1..],
            _ => out.push(b'='),
        }
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn parts(text: &str) -> Vec<Vec<u8>> {
        let mut notes = Notes::default();
        check(text, &mut notes, &mut Budget::new(Limits::default())).expect("small");
        notes
            .parts()
            .iter()
            .map(|part| part.bytes.clone())
            .collect()
    }

    #[test]
    fn parts_are_decoded_and_prose_has_none() {
        let one = "MIME-Version: 1.0\nContent-Transfer-Encoding: base64\n\naGVs\nbG8=\n";
        assert_eq!(parts(one), [b"hello"]);
        let two =
            "x\r\n--a\r\ncontent-transfer-encoding:  BASE64\r\nA: b\r\n\r\naGVsbG8=\r\n--a--\r\n";
        assert_eq!(parts(two), [b"hello"]);
        assert!(parts("the header Content-Transfer-Encoding: base64\n\naGVsbG8=").is_empty());
    }

    #[test]
    fn quoted_letters_are_undone_and_pages_are_called_so() {
        let text = "Content-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n\
                    a <scr=\nipt src=3D\"x\">=C3=A4 1=2\n--b\n";
        let mut notes = Notes::default();
        check(text, &mut notes, &mut Budget::new(Limits::default())).expect("small");
        let part = &notes.parts()[0];
        assert_eq!(part.kind, Some(Kind::Html));
        let expected = "a <script src=\"x\">\u{e4} 1=2";
        assert_eq!(part.bytes, expected.as_bytes());
        let behind = "Content-Transfer-Encoding: base64\r\nContent-Type: image/svg+xml\r\n\r\naGVs\r\n\r\nContent-Type: text/html";
        let mut notes = Notes::default();
        check(behind, &mut notes, &mut Budget::new(Limits::default())).expect("small");
        assert_eq!(notes.parts()[0].kind, Some(Kind::Svg));
    }
}
