//! Where does an escape end, one of a terminal or one that spells a character?
//!
//! Its last letter is no letter of the word behind it, and what it stands within is one word.

/// How the character is written that begins the sequences of a terminal, in small letters.
const SPELLED: [&[u8]; 15] = [
    b"\x1b",
    b"\\u001b",
    b"\\u{1b}",
    b"\\u{001b}",
    b"\\u0000001b",
    b"\\x1b",
    b"\\x{1b}",
    b"\\033",
    b"\\27",
    b"\\e",
    b"^[",
    b"%1b",
    b"&#27;",
    b"&#x1b;",
    b"\xe2\x90\x9b",
];

/// So much is looked at before and behind a sequence within a word.
const NEAR_BYTES: usize = 512;
/// No sequence that a program writes is longer.
const SEQUENCE_BYTES_MAX: usize = 48;

/// Whether an escape ends here.
pub(super) fn end(before: &[u8]) -> bool {
    let near = &before[before.len().saturating_sub(SEQUENCE_BYTES_MAX)..];
    spells(near) || of_terminal(near)
}

/// `\n`, `\x22`, `\u0022`, `\042`, and `%22` and `=22` of addresses and mail.
fn spells(before: &[u8]) -> bool {
    let octal = |byte: u8| matches!(byte, b'0'..=b'7');
    match *before {
        [
            ..,
            b'\\',
            b'n' | b't' | b'r' | b'a' | b'b' | b'e' | b'f' | b'v' | b'0',
        ] => true,
        [.., b'%', a, b] | [.., b'\\', b'x', a, b] | [.., b'\\', b'u', b'0', b'0', a, b] => {
            a.is_ascii_hexdigit() && b.is_ascii_hexdigit()
        }
        [.., b'=', a @ b'0'..=b'3', b] => {
            b.is_ascii_digit() || (a >= b'2' && (b'A'..=b'F').contains(&b))
        }
        [.., b'\\', a, b, c] => octal(a) && octal(b) && octal(c),
        _ => false,
    }
}

/// `ESC [ 1 ; 31 m`, `ESC ( B`, `ESC 7`, however the first is spelled.
fn of_terminal(before: &[u8]) -> bool {
    let Some((last, rest)) = before.split_last() else {
        return false;
    };
    let without = |rest: &[u8], fits: fn(u8) -> bool| {
        let many = rest.iter().rev().take_while(|byte| fits(**byte)).count();
        rest.len() - many
    };
    let numbers = &rest[..without(rest, |byte| matches!(byte, b'0'..=b'?' | b' ' | b'!'))];
    if (b'@'..=b'~').contains(last) {
        match *numbers {
            // The first is lost where a log was made fit to be read.
            [.., b'['] if *last == b'm' && numbers.len() < rest.len() => return true,
            [ref rest @ .., b'['] if begins(rest) => return true,
            // The form in one byte, or in the two of UTF-8.
            [.., 0x9b] => return true,
            [ref rest @ .., b'b'] if rest.to_ascii_lowercase().ends_with(b"\\u009") => return true,
            _ => {}
        }
    }
    begins(&rest[..without(rest, |byte| (b' '..=b'/').contains(&byte))])
}

fn begins(before: &[u8]) -> bool {
    let tail = before[before.len().saturating_sub(10)..].to_ascii_lowercase();
    SPELLED.iter().any(|spelled| tail.ends_with(spelled))
}

/// The length of the sequence of a terminal at the start of a text; none where there is none.
fn sequence(text: &[u8]) -> usize {
    let [0x1b, rest @ ..] = text else { return 0 };
    let many = |rest: &[u8], fits: fn(u8) -> bool| {
        let near = rest.iter().take(SEQUENCE_BYTES_MAX);
        near.take_while(|byte| fits(**byte)).count()
    };
    let (inner, last) = match rest {
        [b'[', rest @ ..] => (1 + many(rest, |byte| (b' '..=b'?').contains(&byte)), b'@'),
        _ => (many(rest, |byte| (b' '..=b'/').contains(&byte)), b'0'),
    };
    match rest.get(inner) {
        Some(byte) if (last..=b'~').contains(byte) => 2 + inner,
        _ => 0,
    }
}

/// What stands around the sequences of a terminal within words, without them: colours mark a part of
/// a token where that was searched for. Bytes that are no text have some by chance, so that not all
/// of them are copied for one.
pub(super) fn without_colours(view: &[u8]) -> Option<Vec<u8>> {
    let word = |byte: Option<&u8>| byte.is_some_and(|byte| is_of_word(*byte));
    let mut plain = Vec::new();
    // Up to where it is copied, and where what is near the last one ends.
    let (mut done, mut near) = (0, 0);
    let mut first = None;
    let mut end = 0;
    for at in memchr::memchr_iter(0x1b, view) {
        let length = if at < end { 0 } else { sequence(&view[at..]) };
        if length == 0 {
            continue;
        }
        // Several may follow each other.
        let begun = if at == end { first.unwrap_or(at) } else { at };
        (first, end) = (Some(begun), at + length);
        let before = begun.checked_sub(1).and_then(|last| view.get(last));
        if !word(before) || !word(view.get(end)) {
            continue;
        }
        let from = begun.saturating_sub(NEAR_BYTES).max(done);
        if from > near {
            copy(&view[done..near.max(done)], &mut plain);
            plain.push(b'\n');
            done = from;
        }
        copy(&view[done..begun], &mut plain);
        (done, near) = (end, (end + NEAR_BYTES).min(view.len()));
    }
    if near > 0 {
        copy(&view[done..near.max(done)], &mut plain);
    }
    (near > 0).then_some(plain)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Copies a text without the sequences in it.
fn copy(text: &[u8], plain: &mut Vec<u8>) {
    let mut done = 0;
    for at in memchr::memchr_iter(0x1b, text) {
        if at >= done {
            plain.extend_from_slice(&text[done..at]);
            done = at + sequence(&text[at..]);
        }
    }
    plain.extend_from_slice(&text[done..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_ends_and_a_word_does_not() {
        for before in [
            &b"\x1b[1m"[..],
            b"\x1b[1;31m",
            b"\x1b[m",
            b"\x1b[K",
            b"\x1b[?25h",
            b"\x1b(B",
            b"\x1b7",
            b"\x9b1m",
            b"\xc2\x9b0m",
            b"a\\u001b[1m",
            b"\\u001B[0K",
            b"\\x1b[38;5;196m",
            b"\\033[1m",
            b"\\e[32m",
            b"^[[1m",
            b"%1B[1m",
            b"&#27;[1m",
            b"[1m",
            b"\\n",
            b"\\u0022",
            b"\\x22",
            b"%3D",
            b"token=3D",
        ] {
            assert!(end(before), "{}", before.escape_ascii());
        }
        for before in [
            &b"m"[..],
            b"a[m",
            b"1m",
            b"list[i",
            b"u001b",
            b"(B",
            b"=a",
            b"7",
            b"[K",
        ] {
            assert!(!end(before), "{}", before.escape_ascii());
        }
    }

    #[test]
    fn colours_are_taken_out_of_words() {
        let marked = b"a \x1b[01;31m\x1b[Kgh\x1b[m\x1b[Kp_1 b";
        let plain = without_colours(marked).expect("a word has one");
        assert!(plain.ends_with(b"a ghp_1 b"), "{}", plain.escape_ascii());
        let far = [&[b'x'; 3000][..], b" ", marked, &[b' '; 3000], marked].concat();
        let plain = without_colours(&far).expect("a word has one");
        let found = memchr::memmem::find_iter(&plain, b"a ghp_1 b").count();
        assert_eq!(found, 2, "{}", plain.escape_ascii());
        assert!(plain.len() < 3000, "{}", plain.len());
        assert_eq!(without_colours(b"\x1b[1mOK\x1b[0m done \x1b"), None);
    }
}
