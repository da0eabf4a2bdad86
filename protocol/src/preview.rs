//! What does a person see of what a program wrote?

use std::fmt::Write as _;

/// The most that a preview holds, its marker line included.
pub const PREVIEW_BYTES_MAX: usize = 64 * 1024;

/// Room for the marker line: its words and two figures of 20 digits.
const MARKER_BYTES_MAX: usize = 96;

const WRITES: &str = "a string takes what is written";

/// A preview of raw bytes, and whether it is less than all of them.
///
/// Valid UTF-8 of at most [`PREVIEW_BYTES_MAX`] bytes: bad bytes are U+FFFD, control characters
/// but newline and tab are escaped as text (`\u001b`), and what does not fit is left out of the
/// middle, where a line of its own says how much. No character and no escape is cut.
pub fn preview(raw: &[u8]) -> (String, bool) {
    // Nothing becomes shorter when it is shown, so one byte more cannot fit.
    if raw.len() <= PREVIEW_BYTES_MAX {
        let mut text = String::with_capacity(raw.len());
        if units(raw).all(|(_, unit)| push(&mut text, unit, PREVIEW_BYTES_MAX)) {
            return (text, false);
        }
    }
    let half = (PREVIEW_BYTES_MAX - MARKER_BYTES_MAX) / 2;
    let mut head = String::with_capacity(half);
    let mut head_raw = 0;
    for (bytes, unit) in units(&raw[..raw.len().min(PREVIEW_BYTES_MAX)]) {
        if !push(&mut head, unit, half) {
            break;
        }
        head_raw += bytes;
    }
    // Twice as much as can be shown, so that a character which the cut goes through is not.
    let start = raw.len().saturating_sub(PREVIEW_BYTES_MAX);
    let last: Vec<(usize, Unit)> = units(&raw[start..]).collect();
    let mut tail_raw = 0;
    let mut tail_bytes = 0;
    let mut from = last.len();
    while from > 0 {
        let (bytes, unit) = last[from - 1];
        if tail_bytes + unit.len() > half {
            break;
        }
        tail_bytes += unit.len();
        tail_raw += bytes;
        from -= 1;
    }
    let left_out = raw.len() - head_raw - tail_raw;
    let mut text = head;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let all = raw.len();
    writeln!(text, "[... {left_out} of {all} bytes left out ...]").expect(WRITES);
    for (_, unit) in &last[from..] {
        unit.write(&mut text);
    }
    (text, true)
}

/// What one character, or one run of bad bytes, is shown as.
#[derive(Clone, Copy)]
enum Unit {
    Plain(char),
    Escaped(char),
}

impl Unit {
    fn len(self) -> usize {
        match self {
            Self::Plain(c) => c.len_utf8(),
            Self::Escaped(_) => "\\u0000".len(),
        }
    }

    fn write(self, text: &mut String) {
        match self {
            Self::Plain(c) => text.push(c),
            Self::Escaped(c) => write!(text, "\\u{:04x}", u32::from(c)).expect(WRITES),
        }
    }
}

/// Adds a unit where it fits.
fn push(text: &mut String, unit: Unit, bytes_max: usize) -> bool {
    let fits = text.len() + unit.len() <= bytes_max;
    if fits {
        unit.write(text);
    }
    fits
}

/// What raw bytes are shown as, each with how many of the bytes it stands for.
fn units(raw: &[u8]) -> impl Iterator<Item = (usize, Unit)> + '_ {
    raw.utf8_chunks().flat_map(|chunk| {
        let good = chunk.valid().chars().map(|c| {
            let plain = !c.is_control() || matches!(c, '\n' | '\t');
            let unit = if plain {
                Unit::Plain(c)
            } else {
                Unit::Escaped(c)
            };
            (c.len_utf8(), unit)
        });
        let bad = match chunk.invalid().len() {
            0 => None,
            bytes => Some((bytes, Unit::Plain(char::REPLACEMENT_CHARACTER))),
        };
        good.chain(bad)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_shown_whole() {
        assert_eq!(preview(b""), (String::new(), false));
        assert_eq!(preview("a\tä\n".as_bytes()), ("a\tä\n".to_owned(), false));
        let (text, cut) = preview(&vec![b'x'; PREVIEW_BYTES_MAX]);
        assert_eq!((text.len(), cut), (PREVIEW_BYTES_MAX, false));
    }

    #[test]
    fn what_could_act_on_a_terminal_is_text() {
        let (text, cut) = preview(b"\x1b[2J\r\0\x7f\xc2\x9b");
        assert_eq!(text, "\\u001b[2J\\u000d\\u0000\\u007f\\u009b");
        assert!(!cut);
    }

    #[test]
    fn bad_bytes_are_replaced() {
        assert_eq!(
            preview(b"a\xff\xfeb\xe2\x82").0,
            "a\u{fffd}\u{fffd}b\u{fffd}"
        );
    }

    #[test]
    fn a_long_text_has_head_marker_and_tail() {
        let raw = format!("first\n{}\nlast", "x".repeat(PREVIEW_BYTES_MAX));
        let (text, cut) = preview(raw.as_bytes());
        assert!(cut && text.len() <= PREVIEW_BYTES_MAX);
        assert!(text.starts_with("first\nx") && text.ends_with("x\nlast"));
        assert_eq!(kept(&text) + left_out(&text), raw.len());
    }

    #[test]
    fn no_character_and_no_escape_is_cut() {
        for (unit, shown) in [("ä", "ä"), ("€", "€"), ("😀", "😀"), ("\u{1b}", "\\u001b")]
        {
            for shift in 0..7 {
                let raw = format!("{}{}", "x".repeat(shift), unit.repeat(100_000));
                let (text, cut) = preview(raw.as_bytes());
                assert!(cut && text.len() <= PREVIEW_BYTES_MAX, "{unit:?} {shift}");
                let (head, tail) = halves(&text);
                assert!(
                    head.ends_with(shown) && tail.starts_with(shown),
                    "{unit:?} {shift}"
                );
                assert!(
                    !text.contains(char::REPLACEMENT_CHARACTER),
                    "{unit:?} {shift}"
                );
            }
        }
    }

    #[test]
    fn what_grows_past_the_bound_when_shown_is_cut() {
        for raw in [
            vec![0x1b; PREVIEW_BYTES_MAX],
            vec![0xff; 40_000],
            vec![0x80; 200_000],
        ] {
            let (text, cut) = preview(&raw);
            assert!(cut && text.len() <= PREVIEW_BYTES_MAX);
            assert!(left_out(&text) < raw.len());
        }
    }

    fn halves(text: &str) -> (&str, &str) {
        let (head, rest) = text.split_once("\n[... ").expect("a marker");
        (head, rest.split_once(" ...]\n").expect("its end").1)
    }

    fn kept(text: &str) -> usize {
        let (head, tail) = halves(text);
        head.len() + tail.len()
    }

    fn left_out(text: &str) -> usize {
        let (_, rest) = text.split_once("\n[... ").expect("a marker");
        rest.split_once(' ')
            .expect("a figure")
            .0
            .parse()
            .expect("a figure")
    }
}
