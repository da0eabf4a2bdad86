//! Which fields and formulas of a document start or fetch something.

use crate::{Notes, Severity};

/// Judges the instruction of one field, or of all fields joined.
pub(crate) fn instruction(text: &str, place: &str, notes: &mut Notes) {
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    if words.iter().any(|word| matches!(*word, "dde" | "ddeauto")) || hidden_dde(&lower) {
        notes.find(
            "office.dde",
            Severity::Malicious,
            place,
            "a field starts a program when the document is opened",
        );
        return;
    }
    let fetches = words.iter().any(|word| {
        matches!(
            *word,
            "includepicture" | "includetext" | "link" | "import" | "rd"
        )
    });
    let outside = ["http:", "https:", "\\\\\\\\", "//", "file:", "ftp:"]
        .iter()
        .any(|start| lower.contains(start))
        || lower.contains("\\\\") && lower.contains("\"\\\\");
    if fetches && outside {
        notes.find(
            "office.field_fetches",
            Severity::Suspicious,
            place,
            "a field fetches something from elsewhere when the document is opened",
        );
    }
    if words.contains(&"macrobutton") && !lower.contains("nomacro") {
        notes.find(
            "office.field_macro",
            Severity::Info,
            place,
            "a field calls a macro when it is clicked",
        );
    }
}

/// `QUOTE 68 68 69` spells `DDE` in numbers.
fn hidden_dde(lower: &str) -> bool {
    let Some(at) = lower.find("quote") else {
        return false;
    };
    let codes = lower[at + 5..]
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse::<u32>().ok());
    let spelled: String = codes.filter_map(char::from_u32).collect();
    spelled.to_ascii_lowercase().contains("dde")
}

/// Looks at the text of an old document: fields stand between marks, in one or two bytes.
pub(super) fn old_text(text: &[u8], notes: &mut Notes) {
    let narrow: Vec<u8> = text.iter().copied().filter(|b| *b != 0).collect();
    for at in memchr::memchr_iter(0x13, &narrow).take(50_000) {
        let field: Vec<u8> = narrow[at + 1..]
            .iter()
            .take(400)
            .take_while(|b| !matches!(b, 0x14 | 0x15))
            .copied()
            .collect();
        let field = String::from_utf8_lossy(&field);
        let head = field.trim_start().to_ascii_lowercase();
        let named = [
            "dde",
            "includepicture",
            "includetext",
            "quote",
            "link",
            "import",
        ];
        if named.iter().any(|name| head.starts_with(name)) {
            instruction(&field, "", notes);
        }
    }
}

/// Judges a formula of a sheet.
pub(super) fn formula(text: &str, place: &str, notes: &mut Notes) {
    let lower: String = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let exchange = lower
        .find('|')
        .is_some_and(|bar| lower[bar + 1..].contains('!'));
    let runs = ["exec(", "call(", "register(", "dde(", "shell("]
        .iter()
        .any(|call| {
            lower.starts_with(call)
                || lower.match_indices(call).any(|(at, _)| {
                    let before = lower[..at].chars().next_back();
                    before.is_some_and(|before| "+-*/^&=<>(,;{@".contains(before))
                })
        });
    if exchange || runs {
        notes.find(
            "office.dde",
            Severity::Malicious,
            place,
            "a formula starts a program when the sheet is opened",
        );
    } else if lower.contains("image(") && lower.contains("http") && lower.contains('&')
        || [
            "webservice(",
            "filterxml(",
            "rtd(",
            "sql.request(",
            "importxml(",
            "importdata(",
        ]
        .iter()
        .any(|call| lower.contains(call))
    {
        notes.find(
            "office.formula_fetches",
            Severity::Suspicious,
            place,
            "a formula sends to an address when the sheet is opened",
        );
    } else if lower.contains("hyperlink(")
        && ((lower.contains('&') || lower.contains("concat")) && lower.contains("http"))
    {
        notes.find(
            "office.formula_link",
            Severity::Suspicious,
            place,
            "a formula makes a link that carries cells to an address",
        );
    }
}
