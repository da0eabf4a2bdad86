//! Are tokens found in dumps, and how is a text written in base32?

#![expect(clippy::format_collect, reason = "short texts, built once")]

use super::tests::rules;

/// In base32, without padding.
pub(super) fn base32(bytes: &[u8]) -> Vec<u8> {
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let digit = |bits: &[u8]| {
        let value = bits.iter().fold(0, |value, bit| value << 1 | (bit - b'0'));
        let value = value << (5 - bits.len());
        if value < 26 {
            b'A' + value
        } else {
            b'2' + value - 26
        }
    };
    bits.as_bytes().chunks(5).map(digit).collect()
}

/// A dump of the bytes: the offset, what stands behind it, the bytes in groups, the text.
fn dump(bytes: &[u8], octal: bool, behind: &str, group: usize) -> String {
    let line = |(number, line): (usize, &[u8])| {
        let at = 16 * number;
        let offset = if octal {
            format!("{at:07o}")
        } else {
            format!("{at:08x}")
        };
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let groups: Vec<String> = line.chunks(group).map(hex).collect();
        let shown = |byte: &u8| {
            if byte.is_ascii_graphic() {
                char::from(*byte)
            } else {
                '.'
            }
        };
        let text: String = line.iter().map(shown).collect();
        format!("{offset}{behind} {}  {text}\n", groups.join(" "))
    };
    bytes.chunks(16).enumerate().map(line).collect()
}

#[test]
fn tokens_are_found_in_dumps() {
    let token = format!("{}{}", "ghp_", "op6FasrEF582wWhLUSQWhnSCynAd8U1lWSRy");
    let text = format!("some text of the file, {token}\nmore text\n");
    for view in [
        dump(text.as_bytes(), false, ":", 2),
        dump(text.as_bytes(), false, ":", 1),
        dump(text.as_bytes(), false, ":", 4),
        dump(text.as_bytes(), false, " ", 1),
        dump(text.as_bytes(), true, "", 1),
        format!(
            "$ xxd a\n{}\r\n",
            dump(text.as_bytes(), false, ":", 2).replace('\n', "\r\n")
        ),
    ] {
        assert_eq!(rules(view.as_bytes()), ["secrets.github"], "{view}");
    }
    let plain = dump(
        b"some text of the file, and nothing else at all in it",
        false,
        ":",
        2,
    );
    assert!(rules(plain.as_bytes()).is_empty());
    assert!(rules("00000010 11111111 01010101,00000001\n".repeat(9).as_bytes()).is_empty());
}
