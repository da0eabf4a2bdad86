//! What does a message of mail, or a page saved as one, carry in its parts?

use super::decode;
use crate::{Budget, Notes, Unscannable};

/// Parts that are looked at; no honest message has more.
const PARTS_MAX: usize = 1000;

/// Hands on what the parts hold in base64. Whatever is no message holds none.
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
        let rest = &text[after..];
        if !is_mark
            || !decode::head(rest, 16)
                .trim_start()
                .to_ascii_lowercase()
                .starts_with("base64")
        {
            continue;
        }
        let head = decode::head(rest, 8192);
        let blank = head.find("\n\n").map(|at| at + 2);
        let blank = blank.or_else(|| head.find("\n\r\n").map(|at| at + 3));
        let Some(body) = blank.map(|at| &rest[at..]) else {
            continue;
        };
        let body = &body[..body.find("\n--").unwrap_or(body.len())];
        budget.unpack(body.len().max(1) as u64)?;
        let content = decode::base64(body.as_bytes());
        if !content.is_empty() {
            notes.part(format!("part at offset {after}"), None, None, content);
        }
    }
    Ok(())
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
}
