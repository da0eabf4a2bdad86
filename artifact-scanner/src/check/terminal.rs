//! What would a text make a terminal do that shows it?
//!
//! Colours, titles, progress and links to pages are what programs write. A string for the terminal ends
//! with a bell or with a mark of its own (`ESC \`); it begins with `ESC` and a letter, or with one
//! character that stands for both.

mod links;

use super::decode;
use crate::{Notes, Severity};
use links::leads_elsewhere;

/// A string that goes on for longer shows a picture, and is looked at as far as that.
const STRING_BYTES_MAX: usize = 4096;
/// How often each byte of a text is looked at as one of a string, by and large, and how many are in any
/// case: strings that follow one another are looked at once, or twice where one lies within another.
const LOOKS: usize = 8;
const LOOKS_MIN: usize = 1024 * 1024;
/// Strings within strings, as programs between two terminals write them.
const DEPTH_MAX: usize = 4;
/// Looks at the strings that a terminal would carry out.
pub(crate) fn check(text: &str, notes: &mut Notes) {
    let mut left = Left(LOOKS_MIN.max(text.len().saturating_mul(LOOKS)));
    check_within(text, 0, &mut left, notes);
    if left.0 == 0 {
        // Strings follow one another: only where they are made to overlap does this take so long.
        find(
            Severity::Suspicious,
            0,
            "more strings for a terminal, each within others, than are looked at",
            notes,
        );
    }
}

/// How many bytes of strings are still looked at.
struct Left(usize);

impl Left {
    fn look(&mut self, string: &str) {
        self.0 = self.0.saturating_sub(string.len());
    }
}

fn check_within(text: &str, depth: usize, left: &mut Left, notes: &mut Notes) {
    let bytes = text.as_bytes();
    let mut ends = Ends::of(text);
    for at in memchr::memchr_iter(0x1b, bytes) {
        match bytes.get(at + 1) {
            _ if left.0 == 0 => return,
            Some(b']') => system(ends.string(at + 2), at, left, notes),
            Some(b'P') => device(ends.string(at + 2), at, depth, left, notes),
            Some(b'_') => program(ends.string(at + 2), at, left, notes),
            Some(b'[') => control(&bytes[at + 2..], at, notes),
            _ => {}
        }
    }
    // The same in one character, of which the first byte is this one.
    let mut ends = Ends::of(text);
    for at in memchr::memchr_iter(0xc2, bytes) {
        match bytes.get(at + 1) {
            _ if left.0 == 0 => return,
            Some(0x9d) => system(ends.string(at + 2), at, left, notes),
            Some(0x90) => device(ends.string(at + 2), at, depth, left, notes),
            Some(0x9f) => program(ends.string(at + 2), at, left, notes),
            Some(0x9b) => control(&bytes[at + 2..], at, notes),
            _ => {}
        }
    }
}

/// Where the strings of a text end, for strings one after another.
struct Ends<'a> {
    text: &'a str,
    /// The next end that was found, and the place that was looked from.
    next: Option<usize>,
    from: usize,
}

impl<'a> Ends<'a> {
    fn of(text: &'a str) -> Self {
        Self {
            text,
            next: Some(0),
            from: 0,
        }
    }

    /// The string up to its end, as far as it is looked at; a short one that never ends is none.
    fn string(&mut self, start: usize) -> &'a str {
        // A mark that stands for itself is never parted: strings begin behind a letter.
        if self.next.is_some_and(|next| next < start) || self.from > start {
            self.next = end(self.text.as_bytes(), start);
            self.from = start;
        }
        let rest = &self.text[start..];
        let head = decode::head(rest, STRING_BYTES_MAX);
        match self.next {
            Some(next) if next - start <= head.len() => &rest[..next - start],
            None if head.len() == rest.len() => "",
            _ => head,
        }
    }
}

fn end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut from = start;
    while let Some(found) = memchr::memchr3(0x07, 0x1b, 0xc2, &bytes[from..]) {
        let at = from + found;
        match &bytes[at..] {
            // Between two terminals each mark is written twice.
            [0x1b, 0x1b, ..] => from = at + 2,
            [0x07, ..] | [0xc2, 0x9c, ..] | [0x1b, b'\\', ..] => return Some(at),
            _ => from = at + 1,
        }
    }
    None
}

fn find(severity: Severity, at: usize, message: &str, notes: &mut Notes) {
    notes.find("terminal.acts", severity, format!("offset {at}"), message);
}

/// `52;c;...`: what is said to the terminal's own system.
fn system(string: &str, at: usize, left: &mut Left, notes: &mut Notes) {
    // Terminals pass over other controls, and read a number.
    let plain = || string.chars().filter(|c| !c.is_control());
    let begin: String = plain().skip_while(|c| *c == '0').take(5).collect();
    if !["52;", "5522;", "8;", "1337;"]
        .iter()
        .any(|known| begin.starts_with(known))
    {
        return;
    }
    left.look(string);
    let string: String = plain().collect();
    let (number, rest) = string.split_once(';').unwrap_or((&string, ""));
    match number.trim_start_matches('0') {
        // The second is kitty's own.
        "52" | "5522" if is_clip(rest) || rest.contains("type=") => find(
            Severity::Suspicious,
            at,
            "a terminal that shows the text writes to the clipboard or tells what is in it",
            notes,
        ),
        "8" => {
            let address = rest.split_once(';').map_or("", |(_, address)| address);
            if leads_elsewhere(address) {
                find(
                    Severity::Suspicious,
                    at,
                    "a link that a terminal shows leads to a script or a program",
                    notes,
                );
            }
        }
        // Files to be saved; a picture that is shown says so.
        "1337" if is_file(rest) => find(
            Severity::Suspicious,
            at,
            "a terminal that shows the text saves a file",
            notes,
        ),
        "1337" if rest.to_ascii_lowercase().starts_with("copy") => find(
            Severity::Suspicious,
            at,
            "a terminal that shows the text writes to the clipboard or tells what is in it",
            notes,
        ),
        _ => {}
    }
}

/// Of which clipboard, and a question or what it is to hold, in base64.
fn is_clip(rest: &str) -> bool {
    let Some((which, content)) = rest.split_once(';') else {
        return false;
    };
    let coded = |b: u8| decode::sextet(b).is_some() || b == b'=';
    which.bytes().all(|b| b"cpqs01234567".contains(&b))
        && !content.is_empty()
        && (content == "?" || content.bytes().all(coded))
}

fn is_file(rest: &str) -> bool {
    let lower = decode::head(rest, 400).to_ascii_lowercase();
    let arguments = lower
        .strip_prefix("file=")
        .or_else(|| lower.strip_prefix("multipartfile="))
        .unwrap_or("");
    // The content stands behind a colon.
    let mut named = arguments.split(':').next().unwrap_or("").split(';');
    !arguments.is_empty() && !named.any(|one| one == "inline=1")
}

/// What is said to the device: keys that type something, and questions that it answers as if they
/// were typed.
fn device(string: &str, at: usize, depth: usize, left: &mut Left, notes: &mut Notes) {
    if !string.starts_with(|c: char| c.is_ascii_digit() || matches!(c, ';' | '$' | 't')) {
        return;
    }
    left.look(string);
    if let Some(inner) = string.strip_prefix("tmux;") {
        if depth < DEPTH_MAX {
            let inner = inner.replace("\u{1b}\u{1b}", "\u{1b}");
            let mut own = Notes::default();
            // Its end is the outer one.
            check_within(&(inner + "\u{1b}\\"), depth + 1, left, &mut own);
            notes.absorb(&format!("offset {at}"), own);
        }
        return;
    }
    let parameters = string.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
    if string.starts_with("$q") && !is_question(&string[2..]) {
        find(
            Severity::Suspicious,
            at,
            "a terminal that shows the text answers with what the text says, as if it were typed",
            notes,
        );
    } else if parameters.starts_with('|') && parameters.len() < string.len() {
        find(
            Severity::Suspicious,
            at,
            "a terminal that shows the text has its keys type something else",
            notes,
        );
    }
}

/// Settings that programs ask for: a few letters.
fn is_question(asked: &str) -> bool {
    asked.len() <= 2 && asked.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
}

/// What is said to a program: pictures by kitty, of which some are read from the disk of who looks.
fn program(string: &str, at: usize, left: &mut Left, notes: &mut Notes) {
    let Some(picture) = string.strip_prefix('G') else {
        return;
    };
    left.look(string);
    let control = picture.split(';').next().unwrap_or("");
    let control: String = control.chars().filter(|c| !c.is_control()).collect();
    let reads = control
        .split(',')
        .any(|pair| matches!(pair, "t=f" | "t=t" | "t=s"));
    if reads {
        find(
            Severity::Suspicious,
            at,
            "a terminal that shows the text reads a file of the machine",
            notes,
        );
    }
}

/// `ESC [ 21 t`: the title as if it were typed; whoever sets the title types it.
fn control(rest: &[u8], at: usize, notes: &mut Notes) {
    let parameters = rest
        .iter()
        .take_while(|b| b.is_ascii_digit() || **b == b';');
    let (parameters, behind) = rest.split_at(parameters.count());
    let first = parameters.split(|b| *b == b';').next().unwrap_or_default();
    let asked = matches!(without_noughts(first), b"20" | b"21");
    if asked && behind.first() == Some(&b't') {
        find(
            Severity::Suspicious,
            at,
            "a terminal that shows the text answers with its title, as if it were typed",
            notes,
        );
    }
}

fn without_noughts(number: &[u8]) -> &[u8] {
    let noughts = number.iter().take_while(|b| **b == b'0').count();
    &number[noughts..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worst(text: &str) -> Option<Severity> {
        let mut notes = Notes::default();
        check(text, &mut notes);
        notes.worst()
    }

    #[test]
    fn strings_act_whatever_they_end_with() {
        for end in ["\x07", "\x1b\\", "\u{9c}"] {
            for (escaped, short) in [
                ("\x1b]", "\u{9d}"),
                ("\x1bP", "\u{90}"),
                ("\x1b_", "\u{9f}"),
            ] {
                let strings: &[&str] = match short {
                    "\u{9d}" => &[
                        "52;c;aWQK",
                        "52;;?",
                        "052;\rc;aWQK",
                        "8;;javascript:alert(1)",
                        "8;id=a;Ms-Officecmd:{}",
                        "8;;vscode://a/b",
                        "8;;cursor://anysphere.deeplink/a",
                        "8;;idea://open?url=b",
                        "8;;file://a.invalid@80/s/x",
                        "1337;File=name=YQ==;size=3:YWJj",
                        "1337;Copy=:aWQK",
                        "1337;File=name=YQ==;inline=0;inline=11:YWJj",
                        "1337;MultipartFile=name=YQ==;size=3",
                        "5522;type=wdata:mime=dGV4dA==;aWQK",
                    ],
                    "\u{90}" => &["$qm;id\n", "0;1|17/6964"],
                    _ => &["Gi=1,a=T,t=f;L2V0Yy9wYXNzd2Q=", "Gt=t,f=100;YQ=="],
                };
                for string in strings {
                    for start in [escaped, short] {
                        let text = format!("ok {start}{string}{end}x");
                        assert_eq!(worst(&text), Some(Severity::Suspicious), "{text:?}");
                    }
                }
            }
        }
        let between = "\x1bPtmux;\x1b\x1b]52;c;aWQK\x07\x1b\\";
        assert_eq!(worst(between), Some(Severity::Suspicious));
        let between = "\x1bPtmux;\x1b\x1b]52;c;aWQK\x1b\x1b\\\x1b\\";
        assert_eq!(worst(between), Some(Severity::Suspicious));
        for asks in ["\x1b[21t", "\x1b[021;0t", "\u{9b}20t"] {
            let text = format!("\x1b]2;id\x07{asks}");
            assert_eq!(worst(&text), Some(Severity::Suspicious), "{text:?}");
        }
    }

    #[test]
    fn strings_that_overlap_are_not_looked_at_for_ever() {
        for piece in [
            "\x1b]8;;",
            "\u{9d}52;",
            "\x1bP1\x1b\x1b",
            "\x1b_G",
            "\x1bPtmux;\x1b\x1bPtmux;",
        ] {
            let text = piece.repeat(2_000_000);
            assert_eq!(worst(&text), Some(Severity::Suspicious), "{piece:?}");
        }
        // Quotation marks that were read in another code, and what says nothing to a terminal.
        for piece in [
            "â€œhello there,â€\u{9d} said she. ",
            "\x1b]",
            "\x1b]00",
            "\x1bPx",
        ] {
            assert_eq!(worst(&piece.repeat(500_000)), None, "{piece:?}");
        }
    }

    #[test]
    fn what_programs_write_is_fine() {
        for text in [
            "\x1b[1;31mred\x1b[0m \x1b[2J\x1b[6n\x1b[20;21H\x1b[22;0;0t",
            "\x1b]0;a title\x07\x1b]2;another\x1b\\",
            "\x1b]8;;https://host.invalid/a?b=c:d\x1b\\link\x1b]8;;\x1b\\",
            "\x1b]8;id=1;file:///home/a/b.py\x07b.py\x1b]8;;\x07",
            "\x1b]8;;file://host/home/a/b.py\x07b.py\x1b]8;;\x07",
            "\x1b]8;;man:ls(1)\x07ls\x1b]8;;\x07\x1b]8;;vscode://file/a/b.py:3\x07b.py\x1b]8;;\x07",
            "\x1b]8;;s3://a/b\x07x\x1b]8;;\x07\x1b]8;;localhost:8888/lab\x07x\x1b]8;;\x07",
            "\x1b]8;;pycharm://open?file=/a.py&line=3\x07x\x1b]8;;cursor://file/a.py:3\x07x\x1b]8;;\x07",
            "\x1b]8;;a.html#b:c\x07x\x1b]8;;\x07 \x1b]8;;mailto:a@b.invalid\x07x\x1b]8;;\x07",
            "\x1b]9;4;1;50\x1b\\\x1b]133;A\x07\x1b]7;file://host/tmp\x1b\\",
            "\x1bP$qm\x1b\\\x1bP$q q\x1b\\\x1bP+q544e\x1b\\\x1bP0;0;0q#0;2;0;0;0~-\x1b\\",
            "\x1b_Ga=T,f=100,m=1;iVBORw0KGgo=\x1b\\\x1b_a tmux title\x1b\\",
            "\x1b]1337;MultipartFile=inline=1;size=3\x07\x1b]1337;File=inline=1;width=3:YWJj\x07\x1b]1337;SetMark\x07",
            // Never ends, and a mark that was read in another code.
            "\x1b]52;c;aWQK",
            "â€\u{9d}52;c; and â€\u{9c}x",
            "see ESC]52;c;aWQK and \\e]52;c;aWQK",
        ] {
            assert_eq!(worst(text), None, "{text:?}");
        }
    }
}
