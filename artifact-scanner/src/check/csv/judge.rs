//! What does a formula do, by the text behind its sign?
//!
//! What is searched for anywhere behind a sign is also found from any earlier sign of the line, so
//! that a line is searched once. What depends on the beginning is looked at nearby, for each cell.

use super::decode;
use crate::Severity;

/// So far the beginning of a formula is looked at.
const HEAD_BYTES_MAX: usize = 200;
/// So much of a call's arguments is looked at.
const ARGUMENTS_BYTES_MAX: usize = 300;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Judgement {
    pub(super) severity: Severity,
    pub(super) rule: &'static str,
    pub(super) message: &'static str,
}

/// What the beginning says, and how many bytes were looked at for that.
pub(super) struct Near {
    pub(super) found: Option<Judgement>,
    pub(super) bytes: usize,
}

/// The character that makes a cell a formula.
#[derive(Clone, Copy)]
pub(super) struct Sign {
    /// Nothing but a formula begins so; text begins with the others, too.
    is_equals: bool,
    is_minus: bool,
    /// Only some programs take it for a sign.
    is_wide: bool,
}

impl Sign {
    pub(super) const COUNT: usize = 4;
    pub(super) const EQUALS: Self = Self {
        is_equals: true,
        is_minus: false,
        is_wide: false,
    };

    pub(super) fn of(first: char) -> Option<Self> {
        let is_equals = matches!(first, '=' | '＝' | '﹦');
        let is_minus = matches!(first, '-' | '－' | '﹣' | '−');
        let is_other = matches!(first, '+' | '＋' | '﹢' | '@' | '＠' | '﹫');
        (is_equals || is_minus || is_other).then_some(Self {
            is_equals,
            is_minus,
            is_wide: !first.is_ascii(),
        })
    }

    pub(super) fn number(self) -> usize {
        usize::from(self.is_equals) + 2 * usize::from(self.is_wide)
    }
}

/// Whether the cell is a number and ends: most cells with a sign are.
pub(super) fn is_number(body: &str) -> bool {
    let part = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'-');
    let length = body.bytes().take_while(part).count();
    let behind = body.as_bytes().get(length);
    length > 0 && behind.is_none_or(|b| matches!(b, b',' | b';' | b'\t' | b'"'))
}

const fn command(sign: Sign, is_sure: bool) -> Judgement {
    Judgement {
        severity: if sign.is_wide || !is_sure {
            Severity::Suspicious
        } else {
            Severity::Malicious
        },
        rule: "csv.command",
        message: "a cell starts a program when the table is opened in a sheet",
    }
}

const fn reaches_out(message: &'static str) -> Judgement {
    Judgement {
        severity: Severity::Suspicious,
        rule: "csv.reaches_out",
        message,
    }
}

/// What is found however far behind the sign it stands.
pub(super) fn far(sign: Sign, body: &str) -> Option<Judgement> {
    // Without any of these there is no command, no call and no file.
    if !body.contains(['|', '(', '\'', '"', '[', '\\']) {
        return None;
    }
    let bare: String = body
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    if exchanges(sign, &bare) || calls(sign, &bare, "dde(") {
        return Some(command(sign, true));
    }
    if RUNS.iter().any(|call| calls(sign, &bare, call)) {
        // Lines of a program begin with `+` where they are changed.
        return Some(command(sign, sign.is_equals));
    }
    if REACHES.iter().any(|name| calls(sign, &bare, name)) {
        return Some(reaches_out(
            "a cell sends data or opens an address when the table is opened in a sheet",
        ));
    }
    refers_outside(sign, &bare).then(|| reaches_out("a cell refers to a file elsewhere"))
}

/// Calls that run code.
const RUNS: [&str; 6] = [
    "ddeauto",
    "call(\"",
    "exec(\"",
    "register(\"urlmon",
    "register.id(",
    "shell(",
];

const REACHES: [&str; 23] = [
    "hyperlink(",
    "webservice(",
    "importxml(",
    "importdata(",
    "importhtml(",
    "importfeed(",
    "importrange(",
    "importtext(",
    "importcsv(",
    "image(",
    "filterxml(",
    "rtd(",
    "sql.request(",
    "encodeurl(",
    "googlefinance(",
    "googletranslate(",
    "query(",
    "stockhistory(",
    "copilot(",
    "gemini(",
    "translate(",
    "detectlanguage(",
    "cubevalue(",
];

/// A call of a function, not the end of a longer name. Behind a sign that text begins with, too,
/// the call has a text or a cell to work on: `- image (left)` has not.
fn calls(sign: Sign, bare: &str, call: &str) -> bool {
    let name = call.find('(').map_or(call.len(), |open| open + 1);
    bare.match_indices(call).any(|(at, _)| {
        let is_whole = !bare[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        is_whole && (sign.is_equals || has_address(&bare[at + name..]))
    })
}

/// Whether there is a text or a reference to a cell among the arguments.
fn has_address(arguments: &str) -> bool {
    let mut open = 0_usize;
    let arguments = decode::head(arguments, ARGUMENTS_BYTES_MAX);
    let end = arguments.find(|c: char| {
        match c {
            '(' => open += 1,
            ')' if open > 0 => open -= 1,
            ')' => return true,
            _ => {}
        }
        false
    });
    let arguments = &arguments[..end.unwrap_or(arguments.len())];
    let mut words = arguments.split(|c: char| !c.is_ascii_alphanumeric() && c != '$');
    arguments.contains('"') || words.any(is_reference)
}

fn is_reference(word: &str) -> bool {
    let column = word.trim_start_matches('$');
    let row = column.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let letters = column.len() - row.len();
    let row = row.trim_start_matches('$');
    (1..=3).contains(&letters) && !row.is_empty() && row.bytes().all(|b| b.is_ascii_digit())
}

/// Dynamic data exchange, `program|'topic'!item`.
fn exchanges(sign: Sign, bare: &str) -> bool {
    // What closes a topic in quotes, and any topic.
    let closed = bare.rfind("'!").max(bare.rfind("\"!"));
    let named = bare.rfind('!');
    memchr::memchr_iter(b'|', bare.as_bytes()).any(|bar| {
        let (before, topic) = (&bare[..bar], &bare[bar + 1..]);
        let is_closed = closed > Some(bar);
        let is_named = named > Some(bar);
        let program = before.trim_end_matches(['\'', '"']);
        let is_program = program.ends_with(|c: char| c.is_ascii_alphanumeric());
        let in_quotes = is_program && is_closed && topic.starts_with(['\'', '"']);
        let with_equals = || {
            is_named && (topic.starts_with('/') || is_known(program) && !topic.is_empty())
                || is_closed
                || operand(program) && is_topic(topic)
        };
        in_quotes || sign.is_equals && is_program && with_equals()
    })
}

/// Whether the text ends with the name of a program that attacks start.
fn is_known(program: &str) -> bool {
    const KNOWN: [&str; 11] = [
        "cmd",
        "cmd.exe",
        "powershell",
        "mshta",
        "rundll32",
        "regsvr32",
        "msexcel",
        "wscript",
        "cscript",
        "certutil",
        "bitsadmin",
    ];
    KNOWN.iter().any(|known| program.ends_with(known))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '\\' | ':' | '$' | '?' | '-')
}

/// Whether the text ends with a name behind an operator, or is one.
fn operand(text: &str) -> bool {
    let before = text.trim_end_matches(|c: char| is_word(c) && c != '-');
    before.len() < text.len()
        && (before.is_empty()
            || before.ends_with([
                '+', '-', '*', '/', '^', '&', '=', '<', '>', '(', ',', ';', '%', '\'', '"', '@',
            ]))
}

/// `topic!item`, without quotes.
fn is_topic(text: &str) -> bool {
    let behind = text.trim_start_matches(|c: char| is_word(c) || c == '/');
    let item = behind.strip_prefix('!').unwrap_or_default();
    behind.len() < text.len()
        && item
            .starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '\'' | '"'))
}

/// A reference to a file of another machine or to an address, at any place of a formula.
fn refers_outside(sign: Sign, bare: &str) -> bool {
    const STARTS: [&str; 13] = [
        "'\\\\", "\"\\\\", "[\\\\", "'//", "[//", "'file:", "\"file:", "[file:", "'http", "[http",
        "'[http", "'[\\\\", "'[//",
    ];
    let closed = bare.rfind("'!").max(bare.rfind(']')).unwrap_or_default();
    let quoted = bare.rfind("'!").unwrap_or_default();
    STARTS.iter().any(|start| {
        let found = bare.find(start);
        found.is_some_and(|at| quoted > at || sign.is_equals && closed > at)
    }) || sign.is_equals
        && (bare.starts_with("'\\\\")
            || bare.starts_with("\\\\")
            || bare.starts_with("'file:")
            || bare.starts_with("'http"))
}

/// What the beginning of a formula says.
pub(super) fn near(sign: Sign, body: &str) -> Near {
    let head = decode::head(body, HEAD_BYTES_MAX);
    let run = contiguous(body);
    let found = if !sign.is_equals && exchanges_nearby(run) {
        Some(command(sign, false))
    } else if run.starts_with("\\\\") && run.contains(']') && run.contains('!') {
        Some(reaches_out("a cell refers to a file elsewhere"))
    } else if is_formula(sign, head) {
        Some(Judgement {
            severity: if sign.is_wide {
                Severity::Suspicious
            } else {
                Severity::Active
            },
            rule: "csv.formula",
            message: "a cell is a formula",
        })
    } else {
        None
    };
    Near {
        found,
        bytes: run.len() + 16,
    }
}

/// The beginning without a gap, up to the end of the cell or to a second bar. Text that begins with
/// a sign has gaps before it looks like a command.
fn contiguous(body: &str) -> &str {
    let (mut bars, mut in_text) = (0, false);
    let end = body.char_indices().find(|(at, c)| {
        match c {
            // Quotes may hide the ends of cells from here to the end of the line, for each cell.
            '"' if *at > HEAD_BYTES_MAX => return true,
            '"' => in_text = !in_text,
            '|' if !in_text => bars += 1,
            _ => {}
        }
        let is_end = c.is_whitespace() || matches!(c, ',' | ';');
        bars > 1 || is_end && !in_text || is_end && *at > HEAD_BYTES_MAX
    });
    &body[..end.map_or(body.len(), |(at, _)| at)]
}

/// `+program|topic!item`, without quotes.
fn exchanges_nearby(run: &str) -> bool {
    run.rsplit_once('|')
        .is_some_and(|(program, topic)| operand(program) && is_topic(topic))
}

/// Whether a sheet would compute it.
fn is_formula(sign: Sign, body: &str) -> bool {
    let trimmed = body.trim_start();
    let word: usize = trimmed
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'$'))
        .count();
    let name = &trimmed[..word];
    let after = trimmed[word..].trim_start();
    let function = after.starts_with('(')
        && name.len() >= 2
        && name
            .bytes()
            .all(|b| b.is_ascii_uppercase() || matches!(b, b'.' | b'0'..=b'9'))
        && name.starts_with(|c: char| c.is_ascii_uppercase());
    let reference = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '$')
        && name.ends_with(|c: char| c.is_ascii_digit())
        && name.bytes().filter(u8::is_ascii_alphabetic).count() <= 3
        && (sign.is_equals
            && !sign.is_wide
            && (after.is_empty() || after.starts_with(['+', '-', '*', '/', ':', ',', '"']))
            || after.starts_with(['+', '*', '/', ':', '!']));
    let sum = sign.is_equals
        && !sign.is_wide
        && name.starts_with(|c: char| c.is_ascii_digit())
        && after.starts_with(['+', '-', '*', '/', '^']);
    let nested = !sign.is_wide
        && trimmed.starts_with(['+', '-', '@', '='])
        && trimmed.len() > 1
        && !trimmed.starts_with("==")
        && !trimmed.starts_with("--")
        && is_formula(Sign::EQUALS, &trimmed[1..]);
    function
        || reference
        || sum
        || nested
        || (sign.is_wide && !sign.is_minus && name.len() > 3 && after.starts_with(['(', '|', '+']))
}
