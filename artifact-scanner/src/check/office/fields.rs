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

/// Whether a field within a field stands where the name of the outer one does: no document has its
/// name computed, and what it comes to is not known before.
pub(crate) fn is_named_by_field(own: &str) -> bool {
    let own = own.trim_start();
    !own.starts_with('=') && !own.contains(char::is_whitespace)
}

/// Says that the name of a field is computed.
pub(crate) fn named_by_field(place: &str, notes: &mut Notes) {
    notes.find(
        "office.field_named",
        Severity::Suspicious,
        place,
        "what a field does is computed when the document is opened",
    );
}

/// `QUOTE 68 68 69` spells `DDE` in numbers, and so do symbols one by one.
fn hidden_dde(lower: &str) -> bool {
    if !lower.contains("quote") && !lower.contains("symbol") {
        return false;
    }
    let codes = lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter_map(|word| {
            // The next field may follow without a blank.
            let (digits, radix) = word.strip_prefix("0x").map_or((word, 10), |hex| (hex, 16));
            let end = digits.find(|c: char| !c.is_digit(radix));
            u32::from_str_radix(&digits[..end.unwrap_or(digits.len())], radix).ok()
        });
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
        if field
            .split_once('\u{13}')
            .is_some_and(|(own, _)| is_named_by_field(own))
        {
            named_by_field("", notes);
        }
        let head = field.trim_start().to_ascii_lowercase();
        let named = [
            "dde",
            "includepicture",
            "includetext",
            "quote",
            "symbol",
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
