//! What the declarations of an XML file make its reader do, and whether it is well formed.

use crate::bytes::index;
use crate::check;
use crate::{Budget, Limit, Notes, Severity, Unscannable};
use quick_xml::Reader;
use quick_xml::events::Event;

/// Reads to the end; elements must match.
pub(crate) fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    check::xml::check(text, notes, budget)?;
    declarations(text, notes);
    well_formed(text, budget)
}

/// Whether the elements match, to the end.
pub(crate) fn well_formed(text: &str, budget: &mut Budget) -> Result<(), Unscannable> {
    let nesting = index(budget.limits().nesting);
    let mut reader = Reader::from_str(text);
    let (mut depth, mut before) = (0usize, 0);
    loop {
        let event = reader.read_event().map_err(|_| Unscannable::Corrupt)?;
        let position = reader.buffer_position();
        budget.charge(position.saturating_sub(before) + 1)?;
        before = position;
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Eof => break,
            _ => {}
        }
        if depth > nesting {
            return Err(Unscannable::Limit(Limit::Nesting));
        }
    }
    if depth > 0 {
        Err(Unscannable::Corrupt)
    } else {
        Ok(())
    }
}

/// Looks at where the DOCTYPE comes from, at style sheets and at inclusions. SVG and parts of
/// documents pass here, too; entities are the business of [`check::xml`].
pub(crate) fn declarations(text: &str, notes: &mut Notes) {
    if let Some((doctype, _)) = check::xml::document_type(text) {
        external(doctype, notes);
    }
    let lower_has = |needle: &str| text.contains(needle);
    if lower_has("<xi:include")
        || lower_has("http://www.w3.org/2001/XInclude") && lower_has(":include")
    {
        notes.find(
            "xml.include",
            Severity::Suspicious,
            "",
            "the file includes another file when it is read",
        );
    }
    if lower_has("urn:schemas-microsoft-com:xslt") && lower_has(":script") {
        notes.find(
            "xml.transform_script",
            Severity::Suspicious,
            "",
            "a style sheet holds a script that runs when it is applied",
        );
    }
    // One in a comment says nothing of those that follow.
    for (at, _) in text.match_indices("<?xml-stylesheet").take(SHEETS_MAX) {
        let sheet = &text[at..text[at..].find("?>").map_or(text.len(), |end| at + end)];
        if sheet.contains("xsl")
            || sheet.contains("javascript:")
            || sheet.contains("://")
            || sheet.contains("data:")
        {
            notes.find(
                "xml.stylesheet",
                Severity::Suspicious,
                format!("offset {at}"),
                "a style sheet transforms the file when a browser opens it",
            );
        }
    }
}

/// More style sheets than any honest file names.
const SHEETS_MAX: usize = 100;

/// Hosts of definitions that everybody names and that readers have with them.
const DEFINITIONS: [&str; 9] = [
    "://www.w3.org/",
    "://java.sun.com/",
    "://www.oasis-open.org/",
    "://docbook.org/",
    "://www.docbook.org/",
    "://www.apple.com/DTDs/",
    "://www.freedesktop.org/",
    "://dtd.nlm.nih.gov/",
    "://jats.nlm.nih.gov/",
];

fn external(doctype: &str, notes: &mut Notes) {
    let mut quote = None;
    let subset = doctype.find(|c| {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
        c == '[' && quote.is_none()
    });
    let head = &doctype[..subset.unwrap_or(doctype.len())];
    let is_known = |at: usize| DEFINITIONS.iter().any(|host| head[at..].starts_with(host));
    let remote = head.match_indices("://").any(|(at, _)| !is_known(at));
    if (head.contains("SYSTEM") || head.contains("PUBLIC")) && remote || head.contains("file:") {
        notes.find(
            "xml.external_dtd",
            Severity::Suspicious,
            "DOCTYPE",
            "the reader fetches a definition from elsewhere",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    #[track_caller]
    fn check(text: &str, end: Result<(), Unscannable>, worst: Option<Severity>) {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        assert_eq!(super::check(text, &mut notes, &mut budget), end);
        assert_eq!(notes.worst(), worst);
    }

    #[test]
    fn declarations_are_judged() {
        check(
            "<?xml version='1.0'?><!DOCTYPE r><r a='1'>x</r>",
            Ok(()),
            None,
        );
        check(
            "<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><r>&x;</r>",
            Ok(()),
            Some(Severity::Malicious),
        );
        check(
            "<!DOCTYPE r [<!ENTITY % p PUBLIC 'a' 'http://h/e'> %p;]><r/>",
            Ok(()),
            Some(Severity::Malicious),
        );
        check("<!DOCTYPE r [<!ENTITY a 'b'>]><r>&a;</r>", Ok(()), None);
        check(
            "<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd'><svg/>",
            Ok(()),
            None,
        );
        for hidden in [
            "<!-- <!DOCTYPE --><!DOCTYPE r SYSTEM 'http://a.invalid/[.dtd'><r/>",
            "<!DOCTYPE r PUBLIC '[' 'http://a.invalid/a.dtd'><r/>",
            "<!-- <?xml-stylesheet ?> --><?xml-stylesheet type='text/xsl' href='a.xml'?><r/>",
        ] {
            check(hidden, Ok(()), Some(Severity::Suspicious));
        }
        check("<r><a></r>", Err(Unscannable::Corrupt), None);
        check("<r>", Err(Unscannable::Corrupt), None);
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "<a>".repeat(300) + &"</a>".repeat(300);
        check(&deep, Err(Unscannable::Limit(Limit::Nesting)), None);
    }
}
