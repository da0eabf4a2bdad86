//! What does a document of rich text start or fetch when it is opened?

use super::office;
use super::share::is_share;
use crate::{Budget, Limit, Notes, Severity, Unscannable};

/// Fields within fields are read to this depth.
const DEPTH_MAX: usize = 32;

/// What was read of a document.
#[derive(Default)]
struct Read {
    object: bool,
    deep: bool,
    /// The name of a field is computed.
    named_by_field: bool,
    templates: Vec<String>,
    /// Each instruction with, and without what readers may skip.
    fields: Vec<[String; 2]>,
}

/// A group of which the text is kept.
struct Kept {
    depth: usize,
    template: bool,
    texts: [String; 2],
}

/// Looks at objects, templates and fields.
pub(crate) fn check(text: &str, notes: &mut Notes, budget: &mut Budget) -> Result<(), Unscannable> {
    let read = read(text);
    // Some readers leave out the ends of lines before they read words.
    budget.unpack(text.len().max(1) as u64)?;
    let joined: String = text.chars().filter(|c| !c.is_control()).collect();
    let joined = self::read(&joined);
    if read.object || joined.object {
        notes.find(
            "rtf.object",
            Severity::Malicious,
            "",
            "the document embeds an object that is opened with it",
        );
    }
    if read.named_by_field || joined.named_by_field {
        office::named_by_field("", notes);
    }
    for template in read.templates.iter().chain(&joined.templates) {
        let lower = template.trim().to_ascii_lowercase();
        if is_share(&lower) || lower.contains("://") || lower.contains("http") {
            notes.find(
                "rtf.remote",
                Severity::Malicious,
                "",
                "the document loads from elsewhere when it is opened",
            );
        }
    }
    for field in read.fields.iter().flatten() {
        budget.charge(field.len().max(1) as u64)?;
        office::instruction(field, "", notes);
    }
    if read.deep {
        return Err(Unscannable::Limit(Limit::Depth));
    }
    Ok(())
}

fn read(text: &str) -> Read {
    let mut read = Read::default();
    let mut kept: Vec<Kept> = Vec::new();
    // How many letters follow a number of Unicode for readers that do not know it, in each group.
    let mut spare = vec![1_usize];
    let mut skipped: Option<usize> = None;
    let mut optional = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let mut letter = None;
        match c {
            '{' => spare.push(spare.last().copied().unwrap_or(1)),
            '}' => {
                if spare.len() > 1 {
                    spare.pop();
                }
                let depth = spare.len();
                skipped = skipped.filter(|skipped| *skipped <= depth);
                while let Some(ended) = kept.pop_if(|kept| kept.depth > depth) {
                    let [whole, short] = ended.texts;
                    if ended.template {
                        read.templates.push(whole);
                    } else {
                        read.fields.push([whole, short]);
                    }
                }
            }
            '\\' => {
                let (word, number, behind) = control(rest);
                rest = behind;
                match word {
                    "*" => {
                        optional = true;
                        continue;
                    }
                    "object" | "objdata" | "objupdate" | "objemb" | "objlink" => {
                        read.object = true;
                    }
                    "field" => {
                        let outer = kept.last().filter(|outer| !outer.template);
                        read.named_by_field |=
                            outer.is_some_and(|outer| office::is_named_by_field(&outer.texts[1]));
                    }
                    "template" | "fldinst" if kept.len() == DEPTH_MAX => read.deep = true,
                    "template" | "fldinst" => kept.push(Kept {
                        depth: spare.len(),
                        template: word == "template",
                        texts: Default::default(),
                    }),
                    "u" => {
                        let code = number.map(|code| if code < 0 { code + 0x1_0000 } else { code });
                        letter = code.and_then(|code| char::from_u32(u32::try_from(code).ok()?));
                        for _ in 0..spare.last().copied().unwrap_or(1).min(8) {
                            rest = rest
                                .strip_prefix(|c| !matches!(c, '\\' | '{' | '}'))
                                .unwrap_or(rest);
                        }
                    }
                    "uc" => {
                        let letters = number.and_then(|letters| usize::try_from(letters).ok());
                        if let (Some(last), Some(letters)) = (spare.last_mut(), letters) {
                            *last = letters;
                        }
                    }
                    "'" => {
                        let digits = rest.get(..2).unwrap_or_default();
                        if let Ok(code) = u8::from_str_radix(digits, 16) {
                            letter = Some(char::from(code));
                            rest = &rest[2..];
                        }
                    }
                    "bin" => {
                        let length = number.and_then(|length| usize::try_from(length).ok());
                        rest = rest.get(length.unwrap_or(0)..).unwrap_or_default();
                    }
                    "\\" | "{" | "}" => letter = word.chars().next(),
                    "~" | "tab" | "line" | "par" => letter = Some(' '),
                    _ if optional && skipped.is_none() => skipped = Some(spare.len()),
                    _ => {}
                }
            }
            '\r' | '\n' => continue,
            c => letter = Some(c),
        }
        optional = false;
        let Some(letter) = letter else { continue };
        // A field within a field is part of both.
        for kept in &mut kept {
            kept.texts[0].push(letter);
            if skipped.is_none_or(|skipped| skipped <= kept.depth) {
                kept.texts[1].push(letter);
            }
        }
    }
    for kept in kept {
        if kept.template {
            read.templates.push(kept.texts[0].clone());
        } else {
            read.fields.push(kept.texts);
        }
    }
    read
}

/// The word or sign behind a backslash, its number, and what follows.
fn control(rest: &str) -> (&str, Option<i64>, &str) {
    let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    if letters == 0 {
        let sign = rest.chars().next().map_or(0, char::len_utf8);
        return (&rest[..sign], None, &rest[sign..]);
    }
    let (word, behind) = rest.split_at(letters);
    let minus = usize::from(behind.starts_with('-'));
    let digits = behind[minus..]
        .bytes()
        .take_while(u8::is_ascii_digit)
        .count();
    let end = if digits == 0 { 0 } else { minus + digits };
    let number = behind[..end].parse().ok();
    let behind = &behind[end..];
    (word, number, behind.strip_prefix(' ').unwrap_or(behind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    fn worst(body: &str) -> Option<Severity> {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        let text = format!("{{\\rtf1 {body}}}");
        check(&text, &mut notes, &mut budget).expect("small");
        for cut in 0..text.len() {
            drop(read(&text[..cut]));
            drop(read(&text[cut..]));
        }
        notes.worst()
    }

    #[test]
    fn what_starts_is_seen_however_it_is_cut_up() {
        for body in [
            r"{\object\objemb{\*\objdata 01}}",
            "{\\obj\nect}",
            r"{\*\template http://a.invalid/x.dotm}",
            "{\\*\\tem\nplate http://a.invalid/x.dotm}",
            "{\\*\n\\template http://a.invalid/x.dotm}",
            r"{\*\template \\\\a.invalid\\x.dotm}",
            r"{\*\template \u104?\'74tp://a.invalid/x.dotm}",
            r#"{\field{\*\fldinst DDEAUTO c:\\x "y"}}"#,
            r"{\field{\*\fldinst {\b D}{\i DEAUTO} x}}",
            r"{\field{\*\fldinst D{\*\none no}DEAUTO x}}",
            "{\\field{\\*\r\n\\fldinst DDE\nAUTO x",
            r"{\field{\*\fldinst {\field{\*\fldinst SYMBOL 68}}{\field{\*\fldinst SYMBOL 0x44}}{\field{\*\fldinst SYMBOL 69}} x}}",
        ] {
            assert_eq!(worst(body), Some(Severity::Malicious), "{body}");
        }
        for spelled in [
            r"{\field{\*\fldinst {\field{\*\fldinst REF a}{\fldrslt DDE}} c:\\x}}",
            r"{\field{\*\fldinst D{\field{\*\fldinst QUOTE x}}E c:\\x}}",
        ] {
            assert_eq!(worst(spelled), Some(Severity::Suspicious), "{spelled}");
        }
        let fetched = r#"{\field{\*\fldinst INCLUDEPICTURE "http://a.invalid/a.png" \\d}}"#;
        assert_eq!(worst(fetched), Some(Severity::Suspicious));
    }

    #[test]
    fn quiet_documents_are_clean() {
        for body in [
            r"{\*\template C:\\Users\\a\\Normal.dotm}{\field{\*\fldinst PAGE}} added, hidden",
            r#"{\field{\*\fldinst HYPERLINK "https://a.invalid"}{\fldrslt a}} the DDE of old"#,
            r"{\field{\*\fldinst IF {\field{\*\fldinst PAGE}} > 1 a b}}",
            r"{\field{\*\fldinst ={\field{\*\fldinst PAGE}}+1}}{\field{\*\fldinst SYMBOL 183 \\f Symbol}}",
            r"of \\object and \\template http://a.invalid",
        ] {
            assert_eq!(worst(body), None, "{body}");
        }
    }
}
