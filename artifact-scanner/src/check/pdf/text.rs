//! Which text does a page draw, as far as its letters are those of ASCII?

use super::value::Dict;

/// Texts of fewer bytes hold no secret.
const TEXT_BYTES_MIN: usize = 12;

/// Whether a stream may draw text: not a picture, a font, a table or a description.
pub(super) fn is_drawn(dict: &Dict) -> bool {
    let other = [
        "Subtype",
        "Length1",
        "Length2",
        "FunctionType",
        "W",
        "N",
        "ShadingType",
    ];
    dict.get("Type").is_none() && other.iter().all(|key| dict.get(key).is_none())
}

/// The strings of the content, joined as they stand on a line.
pub(super) fn drawn(content: &[u8]) -> Option<Vec<u8>> {
    // Operators that leave the line.
    const MOVES: [&[u8]; 8] = [b"Td", b"TD", b"T*", b"Tm", b"ET", b"BT", b"'", b"\""];
    let mut out: Vec<u8> = Vec::new();
    let mut at = memchr::memmem::find(content, b"BT")?;
    while let Some(&byte) = content.get(at) {
        match byte {
            b'(' => at = literal(content, at + 1, &mut out),
            b'<' if content.get(at + 1) != Some(&b'<') => {
                let digits = &content[at + 1..];
                let end = memchr::memchr(b'>', digits).unwrap_or(digits.len());
                let letters = crate::check::decode::hex(&digits[..end]);
                out.extend(letters.into_iter().filter(|b| (0x20..0x7f).contains(b)));
                at += end + 2;
            }
            byte if byte.is_ascii_alphabetic() || matches!(byte, b'\'' | b'"') => {
                let word = content[at..].iter();
                let length = word
                    .take_while(|b| b.is_ascii_alphabetic() || **b == b'*')
                    .count();
                let length = length.max(1);
                if MOVES.contains(&&content[at..at + length]) && !out.ends_with(b"\n") {
                    out.push(b'\n');
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    (out.len() >= TEXT_BYTES_MIN).then_some(out)
}

/// Reads a string in brackets; says where it ends.
fn literal(content: &[u8], mut at: usize, out: &mut Vec<u8>) -> usize {
    let mut depth = 1;
    while let Some(&byte) = content.get(at) {
        at += 1;
        match byte {
            b'\\' => {
                match content.get(at) {
                    Some(b'n') => out.push(b'\n'),
                    Some(escaped @ (b'(' | b')' | b'\\')) => out.push(*escaped),
                    _ => {}
                }
                at += 1;
                continue;
            }
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if matches!(byte, b'\n' | 0x20..=0x7e) {
            out.push(byte);
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_one_line_are_joined() {
        let content = b"q 1 0 0 1 BT /F1 12 Tf [(to) -20 (ken\\(1\\))] TJ 0 -14 Td <414243> Tj (-four (five)) Tj ET";
        let text = drawn(content).expect("there is text");
        assert_eq!(text, b"\ntoken(1)\nABC-four (five)\n");
        assert_eq!(drawn(b"q (no text object) Q"), None);
        for cut in 0..content.len() {
            drop(drawn(&content[..cut]));
        }
    }
}
