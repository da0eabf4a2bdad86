//! What do `OpenDocument` files and documents in one text of XML start, and what do they pack?

use super::{Member, fields};
use crate::check::decode;
use crate::check::markup::{Token, Tokens};
use crate::check::share::is_share;
use crate::{Budget, Notes, Severity, Unscannable};
use std::borrow::Cow;

/// Whether a member of a zip tells of an `OpenDocument` file.
pub(crate) fn is_open_part(name: &str) -> bool {
    matches!(
        name,
        "mimetype" | "content.xml" | "styles.xml" | "META-INF/manifest.xml"
    ) || is_macro(name)
}

fn is_macro(name: &str) -> bool {
    (name.starts_with("Basic/") || name.starts_with("Scripts/")) && !name.ends_with('/')
}

/// Looks at the telling members of a zip; without the type of a document they say nothing.
pub(crate) fn check_open(
    members: &[Member<'_>],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let typed = members.iter().any(|member| {
        let kind = member
            .bytes
            .starts_with(b"application/vnd.oasis.opendocument");
        // Without it a document is told by its content.
        let content = member.name == "content.xml"
            && memchr::memmem::find(member.bytes, b"office:document-content").is_some();
        member.name == "mimetype" && kind || content
    });
    if !typed {
        return Ok(());
    }
    let mut locked = false;
    for member in members {
        budget.charge(member.bytes.len().max(1) as u64)?;
        let own = String::from_utf8_lossy(member.bytes);
        let text = decode::references(&own).to_ascii_lowercase();
        locked |= member.name == "META-INF/manifest.xml" && text.contains("encryption-data");
        let found = if is_macro(member.name) {
            let words = [
                "shell(",
                "shell ",
                "createunoservice",
                "subprocess",
                "os.system",
                "exec(",
            ];
            let reaches = words.iter().any(|word| text.contains(word));
            let severity = if reaches {
                Severity::Malicious
            } else {
                Severity::Suspicious
            };
            // The lists of libraries hold no code.
            let list =
                member.name.ends_with("script-lb.xml") || member.name.ends_with("script-lc.xml");
            (!list).then_some(("office.macro", severity, "the document has macros"))
        } else {
            elements(member.name, &own, notes, budget)?;
            acts(&text)
        };
        if let Some((rule, severity, message)) = found {
            notes.find(rule, severity, member.name, message);
        }
    }
    if locked {
        Err(Unscannable::Encrypted)
    } else {
        Ok(())
    }
}

/// What a text in small letters starts, by its words.
fn acts(text: &str) -> Option<(&'static str, Severity, &'static str)> {
    if text.contains("vnd.sun.star.script:") {
        let message = "what happens to the document starts a macro";
        Some(("office.macro", Severity::Malicious, message))
    } else if text.contains("dde-link") || text.contains("dde-source") {
        let message = "the document talks to another program when it is opened";
        Some(("office.dde", Severity::Malicious, message))
    } else {
        None
    }
}

/// Formulas, and what is fetched.
fn elements(
    place: &str,
    text: &str,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    for token in Tokens::xml(text) {
        budget.charge(16)?;
        let Token::Open(tag) = token else { continue };
        let fetches = matches!(
            &*tag.name,
            "section-source"
                | "object"
                | "object-ole"
                | "floating-frame"
                | "plugin"
                | "applet"
                | "image"
                | "table-source"
                | "cell-range-source"
        );
        for (key, value) in &tag.attributes {
            let key = key.rsplit(':').next().unwrap_or(key);
            if key == "formula" {
                let formula = decode::references(value);
                // Behind the name of its grammar: `of:=1+1`.
                let formula = formula
                    .split_once('=')
                    .map_or(&*formula, |(_, behind)| behind);
                fields::formula(formula, place, notes);
            } else if key == "href" {
                let target = decode::references(value).trim().to_ascii_lowercase();
                let share = is_share(&target);
                let web = ["http:", "https:", "ftp:"]
                    .iter()
                    .any(|scheme| target.starts_with(scheme));
                if share || web && fetches {
                    notes.find(
                        "office.remote_part",
                        Severity::Suspicious,
                        place,
                        "a part of the document is fetched from elsewhere when it is opened",
                    );
                }
            }
        }
    }
    Ok(())
}

/// Hands on what a document in one text of XML packs in base64.
pub(crate) fn check_flat(
    text: &str,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    // A document of `OpenDocument` that is not packed.
    if text.contains("opendocument") || text.contains("office:mimetype") {
        budget.unpack(text.len().max(1) as u64)?;
        elements("", text, notes, budget)?;
        let lower = decode::references(text).to_ascii_lowercase();
        if let Some((rule, severity, message)) = acts(&lower) {
            notes.find(rule, severity, "", message);
        } else if lower.contains("<ooo:module") || lower.contains("<script:module") {
            let message = "the document has macros";
            notes.find("office.macro", Severity::Suspicious, "", message);
        }
    }
    if !text.contains("inaryData") && !text.contains("binData") && !text.contains("inary-data") {
        return Ok(());
    }
    let mut inside = Cow::from("");
    for token in Tokens::xml(text) {
        budget.charge(32)?;
        match token {
            Token::Open(tag) => inside = tag.name,
            Token::Text(body) if matches!(&*inside, "binarydata" | "bindata" | "binary-data") => {
                budget.unpack(body.len().max(1) as u64)?;
                let content = decode::base64(body.as_bytes());
                // Macros of the older form stand behind a head, packed.
                let packed = content
                    .get(50..)
                    .filter(|_| content.starts_with(b"ActiveMime"));
                let content = match packed {
                    Some(packed) => crate::archive::unpack::zlib(packed, budget).bytes,
                    None => content,
                };
                if !content.is_empty() {
                    notes.part("packed part", None, None, content);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn worst(members: &[(&str, &str)]) -> Result<Option<Severity>, Unscannable> {
        let kind = ("mimetype", "application/vnd.oasis.opendocument.text");
        let members: Vec<_> = [&[kind], members].concat();
        let members: Vec<_> = members
            .iter()
            .map(|(name, text)| Member {
                name,
                bytes: text.as_bytes(),
            })
            .collect();
        let mut notes = Notes::default();
        check_open(&members, &mut notes, &mut Budget::new(Limits::default()))?;
        Ok(notes.worst())
    }

    #[test]
    fn macros_start_and_text_does_not() {
        assert_eq!(worst(&[("content.xml", "<office:body/>")]), Ok(None));
        assert_eq!(worst(&[("Basic/script-lc.xml", "<a/>")]), Ok(None));
        let calm = ("Basic/Standard/M.xml", "Sub Main");
        assert_eq!(worst(&[calm]), Ok(Some(Severity::Suspicious)));
        let shell = ("Basic/Standard/M.xml", "Shell(\"calc\")");
        assert_eq!(worst(&[shell]), Ok(Some(Severity::Malicious)));
        let locked = ("META-INF/manifest.xml", "<manifest:encryption-data/>");
        assert_eq!(worst(&[locked]), Err(Unscannable::Encrypted));
    }

    #[test]
    fn what_is_fetched_and_sent_is_seen() {
        for (text, wanted) in [
            (
                r#"<t:c table:formula='of:=DDE("cmd";"/c calc";"x")'/>"#,
                Severity::Malicious,
            ),
            (
                r#"<t:c table:formula='of:=COM.MICROSOFT.WEBSERVICE("https://a.invalid")'/>"#,
                Severity::Suspicious,
            ),
            (
                "<s:l xlink:href='vnd.sun.star&#46;script:S.M.Main'/>",
                Severity::Malicious,
            ),
            (
                "<draw:object xlink:href='file://a.invalid/s'/>",
                Severity::Suspicious,
            ),
            (
                "<text:section-source xlink:type='simple' xlink:href='http://a.invalid'/>",
                Severity::Suspicious,
            ),
        ] {
            assert_eq!(worst(&[("content.xml", text)]), Ok(Some(wanted)), "{text}");
            let flat = format!("<a xmlns='urn:oasis:names:tc:opendocument'>{text}</a>");
            let mut notes = Notes::default();
            check_flat(&flat, &mut notes, &mut Budget::new(Limits::default())).expect("small");
            assert_eq!(notes.worst(), Some(wanted), "{flat}");
        }
        let calm = "<t:c t:formula='of:=SUM([.A1])'/><text:a xlink:href='https://a.invalid'/>";
        assert_eq!(worst(&[("content.xml", calm)]), Ok(None));
    }

    #[test]
    fn packed_parts_are_handed_on() {
        let mut notes = Notes::default();
        let text = "<pkg:part><pkg:binaryData>aGVs\nbG8=</pkg:binaryData></pkg:part>";
        check_flat(text, &mut notes, &mut Budget::new(Limits::default())).expect("small");
        assert_eq!(notes.parts()[0].bytes, b"hello");
    }
}
