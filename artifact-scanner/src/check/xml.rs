//! What the document type of an XML text brings with it: entities that fetch or explode.

mod declared;

pub(crate) use declared::{document_type, expanded, names_space};

use super::decode;
use super::html::{Scheme, is_script};
use super::markup::{Token, Tokens};
use crate::{Budget, Notes, Severity, Unscannable};
use declared::{Declaration, Entity, declarations};
use std::cell::OnceCell;
use std::collections::HashMap;

/// What all entities together may grow to.
const EXPANSION_MAX: u64 = 1_000_000;
const DECLARATIONS_MAX: usize = 10_000;
/// What a value of an attribute may be, as its list says.
const TYPES: [&str; 9] = [
    "CDATA", "ID", "IDREF", "IDREFS", "ENTITY", "ENTITIES", "NMTOKEN", "NMTOKENS", "NOTATION",
];
/// Attributes that load, lead or set others.
const LEADING: [&str; 14] = [
    "href",
    "src",
    "srcdoc",
    "data",
    "action",
    "formaction",
    "attributename",
    "values",
    "to",
    "from",
    "by",
    "style",
    "http-equiv",
    "content",
];
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
    for one in declarations(inner).take(DECLARATIONS_MAX) {
        match one {
            Declaration::External(name) => {
                let declared: String = name.chars().take(40).collect();
                notes.find(
                    "xml.external_entity",
                    Severity::Malicious,
                    "",
                    format!(
                        "entity `{declared}` reads a file or an address when the text is parsed"
                    ),
                );
            }
            // The first of a name holds.
            Declaration::Entity(name, entity) => {
                entities.entry(name).or_insert(entity);
            }
            Declaration::Attributes(list) => defaults(list, notes),
        }
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
    if entities.values().any(|entity| acts(&entity.value)) {
        notes.find(
            "xml.active_entity",
            Severity::Malicious,
            "",
            "an entity hides a script",
        );
    }
}

/// Whether what an entity stands for has tags or words that act.
fn acts(value: &str) -> bool {
    // A mark that is a reference within the value is none when the value is read: in one that
    // was referred to twice it is.
    let twice = decode::references(value);
    [value, &*twice].into_iter().any(|value| {
        let lower = value.to_ascii_lowercase();
        lower.contains("javascript:")
            || lower.contains("onload")
            || Tokens::xml(value).any(|token| match token {
                Token::Open(tag) => {
                    matches!(&*tag.name, "script" | "handler" | "iframe")
                        || tag.attributes.iter().any(|(key, value)| {
                            key.starts_with("on")
                                || matches!(is_script(value).0, Scheme::Script { .. })
                        })
                }
                _ => false,
            })
    })
}

/// What a list of attributes gives to elements that say nothing.
fn defaults(list: &str, notes: &mut Notes) {
    let mut name = "";
    let mut rest = list;
    while let Some(at) = rest.find(['"', '\'']) {
        let (before, quoted) = rest.split_at(at);
        let Some((value, after)) = quoted[1..].split_once(&quoted[..1]) else {
            break;
        };
        rest = after;
        // NAME TYPE ["#FIXED"]: the last word that is no type.
        let word = before
            .split_whitespace()
            .rfind(|word| !word.starts_with(['#', '(', '|', ')']) && !TYPES.contains(word));
        name = word.unwrap_or(name);
        let local = name.rsplit(':').next().unwrap_or(name).to_ascii_lowercase();
        let value = decode::references(value);
        let handler = local.len() > 3
            && local.starts_with("on")
            && local[2..].bytes().all(|b| b.is_ascii_alphabetic());
        if handler || matches!(is_script(&value).0, Scheme::Script { .. } | Scheme::Data) {
            notes.find(
                "xml.attribute_default",
                Severity::Malicious,
                "",
                "the document type gives a script to elements",
            );
        } else if LEADING.contains(&&*local) && !value.starts_with('#') {
            notes.find(
                "xml.attribute_default",
                Severity::Suspicious,
                "",
                "the document type gives addresses or animations to elements",
            );
        }
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
            "<!DOCTYPE r [<!-- <!ENTITY --> <!ENTITY x SYSTEM 'file:///etc/passwd'>]><r>&x;</r>",
            "<!DOCTYPE r [<!-- <!ENTITY a '--> <!ENTITY\tx\tSYSTEM 'a'><!-- ' -->]><r>&x;</r>",
            "<!DOCTYPE r [<!ENTITY % a '&#x3c;!&#69;NTITY b SYSTEM \"x\">'> %a;]><r/>",
            "<!DOCTYPE r [<!ENTITY x '<g><scr&#105;pt>a()</scr&#105;pt></g>'>]><r>&x;</r>",
            "<!DOCTYPE r [<!ENTITY x '<s:script xmlns:s=\"a\"/>'>]><r>&x;</r>",
            "<!DOCTYPE svg [<!ATTLIST svg onload CDATA 'a()'>]><svg/>",
            "<!DOCTYPE svg [<!ATTLIST a id ID #IMPLIED x:href CDATA #FIXED 'java&#115;cript:a()'>]><svg/>",
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
        assert_eq!(
            worst(
                "<!DOCTYPE r [<!ENTITY lt '&#38;#60;'><!ENTITY b '<em>it&#8217;s</em>'><!ATTLIST a id ID #IMPLIED b (c|d) 'c'>]><r>&b;</r>"
            ),
            None
        );
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
