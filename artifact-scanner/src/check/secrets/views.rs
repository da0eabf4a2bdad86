//! The texts that a view holds in another coding.

use super::super::decode;
use super::escapes;
use super::keys;
use super::stretches::Stretch;
use crate::archive::unpack::{Unpacked, gzip, zlib};
use crate::{Budget, Unscannable};

/// Shorter runs hold no token.
const BASE64_MIN: usize = 24;
const HEX_MIN: usize = 40;
const WIDE_MIN: usize = 12;
const ESCAPES_MIN: usize = 8;
/// Percent signs are undone in larger views only where those are text.
const PERCENT_BYTES_MAX: usize = 1 << 20;
/// Looks at one text and what hides in it.
pub(super) type Look<'a> = dyn FnMut(String, Vec<u8>, &mut Budget) -> Result<(), Unscannable> + 'a;

/// Has the texts that are hidden in a view looked at, each with its place, one at a time. All of
/// them are paid for, so that none is left out in silence.
pub(super) fn hidden(
    view: &[u8],
    stretches: &[Stretch],
    look: &mut Look<'_>,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let mut keep = |place: String, text: Vec<u8>, budget: &mut Budget| {
        budget.unpack(text.len() as u64)?;
        look(place, text, budget)
    };
    if let Some(text) = wide(view) {
        keep("UTF-16 or UTF-32".into(), text, budget)?;
    }
    // What is coded otherwise has one of these.
    let is_coded = memchr::memchr3(b'%', b'&', b'\\', view).is_some();
    let is_small = view.len() <= PERCENT_BYTES_MAX;
    if is_coded && percents(view) > 2 && (is_small || std::str::from_utf8(view).is_ok()) {
        keep(
            "percent-decoded".into(),
            decode::percent(view).into_owned(),
            budget,
        )?;
    }
    if let Some(text) = Some(view).filter(|_| is_coded).and_then(escaped) {
        keep("escapes undone".into(), text, budget)?;
    }
    if let Some(bytes) = dumped(view) {
        keep("a dump in hexadecimal digits".into(), bytes, budget)?;
    }
    if let Some(text) = escapes::without_colours(view) {
        keep("without colours".into(), text, budget)?;
    }
    let mut at = 0;
    // These digits are among what stretches are made of.
    for stretch in stretches.iter().filter(|one| one.longest >= BASE64_MIN) {
        at = at.max(stretch.start);
        while let Some(run) = next_run(view, at, stretch.end) {
            at = run.end;
            let text = &view[run.clone()];
            let hexadecimal = text.len() >= HEX_MIN && text.iter().all(u8::is_ascii_hexdigit);
            let decoded = if hexadecimal {
                decode::hex
            } else {
                decode::base64
            };
            let head = decoded(&text[..text.len().min(32)]);
            if let Some(unpack) = packed(&head) {
                // What breaks is no more than it gave.
                let unpacked = unpack(&decoded(text), budget).bytes;
                if !unpacked.is_empty() {
                    let place = format!("packed in base64 at offset {}", run.start);
                    keep(place, unpacked, budget)?;
                }
                continue;
            }
            if !printable(&head) && !keys::begins(&head) {
                let digits = &text[..text.len().min(64)];
                if decode::is_base32(digits) && printable(&decode::base32(digits)) {
                    keep(
                        format!("base32 at offset {}", run.start),
                        decode::base32(text),
                        budget,
                    )?;
                }
                continue;
            }
            let coding = if hexadecimal { "hexadecimal" } else { "base64" };
            keep(
                format!("{coding} at offset {}", run.start),
                decoded(text),
                budget,
            )?;
        }
    }
    Ok(())
}

/// The text behind `\\u0041`, `\\x41` and `\/` of texts within texts and `&#65;` of markup, where
/// letters are written so.
fn escaped(view: &[u8]) -> Option<Vec<u8>> {
    // A token has more letters than that, and bytes that are no text hold such pairs by chance.
    let many = |mark: &[u8]| {
        memchr::memmem::find_iter(view, mark)
            .nth(ESCAPES_MIN)
            .is_some()
    };
    let any = |mark: &[u8]| memchr::memmem::find(view, mark).is_some();
    let (inner, markup) = (any(b"\\u00") || any(b"\\/") || many(b"\\x"), many(b"&#"));
    if !inner && !markup {
        return None;
    }
    let text = std::str::from_utf8(view).ok()?;
    let text = if markup {
        decode::references(text)
    } else {
        text.into()
    };
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let (letter, length) = match rest {
            [_, b'u', b'0', b'0', a, b, ..] => (decode::hex(&[*a, *b]).first().copied(), 6),
            [_, b'x', a, b, ..] => (decode::hex(&[*a, *b]).first().copied(), 4),
            [_, b'/', ..] => (Some(b'/'), 2),
            _ => (None, 1),
        };
        // Colours are undone in turn.
        let is_text = |letter: &u8| matches!(letter, 0x1b | 0x20..0x7f);
        if let Some(letter) = letter.filter(is_text) {
            out.push(letter);
            rest = &rest[length..];
        } else {
            out.push(b'\\');
            rest = &rest[1..];
        }
    }
    out.extend_from_slice(rest);
    // What stands as it is was looked at already.
    (out != view).then_some(out)
}

/// The bytes that a dump shows, as xxd, hexdump and od write it: an offset and sixteen bytes a line,
/// with blanks between them.
fn dumped(view: &[u8]) -> Option<Vec<u8>> {
    // The second line's offset, in either radix. What has no second line holds no token.
    const SECOND: [&[u8]; 2] = [b"00000010", b"0000020 "];
    const LINE_BYTES: usize = 16;
    SECOND
        .iter()
        .find(|offset| memchr::memmem::find(view, offset).is_some())?;
    let mut out = Vec::new();
    for line in view.split(|byte| *byte == b'\n') {
        let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        let offset = digits(line);
        if !(7..=8).contains(&offset) {
            continue;
        }
        let mut rest = &line[offset..];
        rest = rest.strip_prefix(b":").unwrap_or(rest);
        let end = out.len() + LINE_BYTES;
        while out.len() < end {
            let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
            let group = digits(&rest[blanks..]);
            let ends = matches!(rest.get(blanks + group), None | Some(b' ' | b'\r'));
            if !matches!(blanks, 1 | 2) || !matches!(group, 2 | 4 | 8) || !ends {
                break;
            }
            out.extend(decode::hex(&rest[blanks..blanks + group]));
            rest = &rest[blanks + group..];
        }
    }
    (out.len() > BASE64_MIN).then_some(out)
}

fn percents(view: &[u8]) -> usize {
    let code = |at: usize| {
        view.get(at + 1)
            .zip(view.get(at + 2))
            .is_some_and(|(a, b)| a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
    };
    memchr::memchr_iter(b'%', view)
        .take(10_000)
        .filter(|at| code(*at))
        .take(3)
        .count()
}

/// The next run of digits of base64, across the ends of lines, that begins between `at` and `until`.
fn next_run(view: &[u8], mut at: usize, until: usize) -> Option<std::ops::Range<usize>> {
    // Half the least length apart: no run can lie between two probes.
    const STEP: usize = BASE64_MIN / 2;
    loop {
        let probe = at + STEP;
        if probe >= until {
            return None;
        }
        if decode::sextet(view[probe]).is_none() {
            at = probe + 1;
            // Step back over nothing: the run must begin behind this byte.
            continue;
        }
        let back = view[at..probe]
            .iter()
            .rev()
            .take_while(|b| decode::sextet(**b).is_some())
            .count();
        let start = probe - back;
        let mut end = start;
        loop {
            end += view[end..]
                .iter()
                .take_while(|b| decode::sextet(**b).is_some())
                .count();
            let line = end - start >= 40;
            let gap = match &view[end..] {
                [b'\r', b'\n', ..] | [b'\\', b'n', ..] if line => 2,
                [b'\n', ..] if line => 1,
                _ => break,
            };
            let more = view[end + gap..]
                .iter()
                .take(16)
                .take_while(|b| decode::sextet(**b).is_some())
                .count();
            if more < 16 {
                break;
            }
            end += gap;
        }
        if end - start >= BASE64_MIN {
            return Some(start..end);
        }
        at = end;
    }
}

type Unpack = fn(&[u8], &mut Budget) -> Unpacked;

/// How what begins so is unpacked, if it is packed.
fn packed(head: &[u8]) -> Option<Unpack> {
    match head {
        [0x1f, 0x8b, 8, ..] => Some(gzip),
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => Some(zlib),
        _ => None,
    }
}

fn printable(head: &[u8]) -> bool {
    head.len() >= 12
        && head
            .iter()
            .all(|b| matches!(b, b'\t' | b'\n' | b'\r' | 0x20..=0x7e))
        || wide(head).is_some()
}

/// The characters of runs of UTF-16 and UTF-32 that lie in ASCII, the runs on lines of their own. With
/// the high byte first they are the same, but for the first character.
fn wide(view: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut at = 0;
    while let Some(zero) = memchr::memchr(0, &view[at..]) {
        let start = (at + zero).checked_sub(1).filter(|start| *start >= at);
        let Some(start) = start else {
            at += zero + 1;
            continue;
        };
        let rest = &view[start..];
        let size = if rest.get(2..4) == Some(&[0; 2]) {
            4
        } else {
            2
        };
        let units = rest.chunks_exact(size);
        let is_letter = |unit: &&[u8]| {
            matches!(unit[0], b'\t' | b'\n' | b'\r' | 0x20..=0x7e)
                && unit[1..].iter().all(|byte| *byte == 0)
        };
        let length = units.clone().take_while(is_letter).count();
        at = start + (size * length).max(2);
        if length >= WIDE_MIN {
            text.extend(units.take(length).map(|unit| unit[0]));
            text.push(b'\n');
        }
    }
    (!text.is_empty()).then_some(text)
}
