//! What the XML parts of a package refer to and start.

use super::super::decode;
use super::super::markup::{Tag, Token, Tokens};
use super::super::share::is_share;
use super::{fields, nested, queries};
use crate::{Notes, Severity};
use std::borrow::Cow;

/// Looks at one part.
pub(super) fn look(name: &str, bytes: &[u8], notes: &mut Notes) {
    let lower = name.to_ascii_lowercase().replace('\\', "/");
    by_name(&lower, name, bytes, notes);
    let text = text(bytes);
    if !text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('<')
    {
        return;
    }
    let ours = [".xml", ".rels", ".vml"]
        .iter()
        .any(|end| lower.ends_with(end));
    if ours && text.contains("<!DOCTYPE") {
        // No writer has one, and readers differ in what is behind it.
        notes.find(
            "office.doctype",
            Severity::Suspicious,
            name,
            "a part declares a type of its own, which office programs refuse",
        );
    }
    if lower.rsplit('.').next() == Some("rels") {
        relationships(name, &text, notes);
    } else if lower.ends_with("[content_types].xml") {
        types(name, &text, notes);
    } else {
        content(name, &lower, &text, notes);
    }
}

/// The text as it is shown, one line a paragraph: words are cut up between runs of characters.
pub(super) fn joined(bytes: &[u8]) -> Option<String> {
    let text = text(bytes);
    let runs = ["<w:t", "<a:t", "<t>", "<t "]
        .iter()
        .any(|run| text.contains(run));
    if !runs {
        return None;
    }
    let (mut out, mut inside) = (String::new(), false);
    for token in Tokens::xml(&text) {
        match token {
            Token::Open(tag) => inside = tag.name == "t",
            Token::Close(name) => {
                inside = false;
                if matches!(&*name, "p" | "si" | "is" | "tc") && !out.ends_with('\n') {
                    out.push('\n');
                }
            }
            Token::Text(inner) if inside => {
                out.push_str(&decode::references(inner));
            }
            _ => {}
        }
    }
    (!out.is_empty()).then_some(out)
}

pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes
            .chunks_exact(2)
            .map(|pair| unit([pair[0], pair[1]]))
            .collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [b'<', 0, ..] => wide(bytes, u16::from_le_bytes),
        [0, b'<', ..] => wide(bytes, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes),
    }
}

fn by_name(lower: &str, name: &str, bytes: &[u8], notes: &mut Notes) {
    if lower.contains("/macrosheets/") || lower.contains("/intlmacrosheets/") {
        let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
        let reaches = [
            "exec(",
            "call(",
            "register(",
            "urlmon",
            "run(",
            "formula.fill(",
            "fopen(",
            "char(",
        ]
        .iter()
        .any(|word| text.contains(word));
        let severity = if reaches {
            Severity::Malicious
        } else {
            Severity::Suspicious
        };
        notes.find(
            "office.xlm",
            severity,
            name,
            "a sheet of macros of the old kind",
        );
    } else if lower.contains("/activex/") {
        notes.find(
            "office.activex",
            Severity::Suspicious,
            name,
            "a control of ActiveX is loaded",
        );
    } else if lower.contains("/embeddings/")
        && [
            ".exe", ".scr", ".js", ".vbs", ".bat", ".cmd", ".ps1", ".hta", ".lnk",
        ]
        .iter()
        .any(|ending| lower.ends_with(ending))
    {
        notes.find(
            "office.packaged_file",
            Severity::Malicious,
            name,
            "a program is embedded",
        );
    } else if bytes.starts_with(b"MZ") || bytes.starts_with(b"\x7fELF") {
        notes.find(
            "office.packaged_file",
            Severity::Malicious,
            name,
            "a part is a program",
        );
    }
}

fn relationships(place: &str, text: &str, notes: &mut Notes) {
    for token in Tokens::xml(text) {
        let Token::Open(tag) = token else { continue };
        if tag.name != "relationship" {
            continue;
        }
        let attribute = |name| decode::references(tag.attribute(name).unwrap_or(""));
        let kind = attribute("type")
            .rsplit('/')
            .next()
            .unwrap_or("")
            .to_ascii_lowercase();
        let mut target = attribute("target").trim().to_ascii_lowercase();
        target.retain(|letter| !letter.is_control());
        let declared = attribute("targetmode").eq_ignore_ascii_case("external");
        let share = is_share(&target);
        let web = ["http:", "https:", "ftp:"]
            .iter()
            .any(|scheme| target.starts_with(scheme));
        let strange = [
            "mhtml:",
            "ms-",
            "javascript:",
            "vbscript:",
            "search-ms:",
            "script:",
            "x-usc:",
            "its:",
        ]
        .iter()
        .any(|scheme| target.starts_with(scheme))
            || target.contains("!x-usc:");
        if !declared && !share && !web {
            continue;
        }
        let (rule, severity, message) = match kind.as_str() {
            _ if strange => (
                "office.strange_scheme",
                Severity::Malicious,
                "an address calls a program of the system",
            ),
            "attachedtemplate" if share || web => (
                "office.remote_template",
                Severity::Malicious,
                "a template, with its macros, is fetched from elsewhere",
            ),
            "oleobject" | "package" | "control" if share || web => (
                "office.remote_object",
                Severity::Malicious,
                "an object is fetched from elsewhere when the document is opened",
            ),
            "frame" | "subdocument" | "afchunk" | "externallink" | "externallinkpath" | "image"
            | "video" | "audio" | "media" | "slideupdateurl" | "mailmergesource" | "customxml"
            | "recipientdata" | "datasource"
                if share || web =>
            {
                let severity = if share {
                    Severity::Malicious
                } else {
                    Severity::Suspicious
                };
                (
                    "office.remote_part",
                    severity,
                    "a part of the document is fetched from elsewhere when it is opened",
                )
            }
            "hyperlink" if share => (
                "office.share_link",
                Severity::Suspicious,
                "a link opens a file of another machine",
            ),
            "hyperlink" => continue,
            _ if share => (
                "office.remote_part",
                Severity::Suspicious,
                "a part of the document lies on another machine",
            ),
            _ if web => (
                "office.remote_part",
                Severity::Suspicious,
                "a part of the document lies elsewhere",
            ),
            _ => continue,
        };
        notes.find(rule, severity, place, message);
    }
}

fn types(place: &str, text: &str, notes: &mut Notes) {
    let lower = decode::references(text).to_ascii_lowercase();
    if lower.contains("vnd.ms-office.vbaproject") || lower.contains("macroenabled") {
        notes.find(
            "office.macro_type",
            Severity::Suspicious,
            place,
            "the document says that it has macros",
        );
    }
    if lower.contains("vnd.ms-excel.macrosheet") || lower.contains("vnd.ms-excel.intlmacrosheet") {
        notes.find(
            "office.xlm",
            Severity::Suspicious,
            place,
            "the workbook says that it has sheets of macros of the old kind",
        );
    }
}

/// Fields, formulas, names and buttons.
fn content(place: &str, lower: &str, text: &str, notes: &mut Notes) {
    let mut fields = nested::Fields::default();
    let mut inside = Cow::from("");
    for token in Tokens::xml(text) {
        match token {
            Token::Open(tag) => {
                element(&tag, place, notes);
                if tag.name == "fldchar" {
                    for (_, value) in &tag.attributes {
                        fields.mark(&decode::references(value));
                    }
                }
                inside = tag.name;
            }
            Token::Close(_) => inside = "".into(),
            Token::Text(inner) => {
                let inner = decode::references(inner);
                match &*inside {
                    "instrtext" | "delinstrtext" => fields.text(&inner),
                    "f" | "formula" | "formula1" | "formula2" | "oleformula" => {
                        super::fields::formula(&inner, place, notes);
                    }
                    "definedname" => super::fields::formula(&inner, place, notes),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    fields.judge(place, notes);
    if lower.contains("customui") && text.to_ascii_lowercase().contains("onload=") {
        notes.find(
            "office.custom_ui",
            Severity::Suspicious,
            place,
            "the document changes the program's menus and calls a macro as it does",
        );
    }
}

fn element(tag: &Tag<'_>, place: &str, notes: &mut Notes) {
    let attribute = |name: &str| {
        let found = tag
            .attributes
            .iter()
            .find(|(key, _)| key == name || key.rsplit(':').next() == Some(name));
        found.map_or(String::new(), |(_, value)| {
            decode::references(value).to_ascii_lowercase()
        })
    };
    match &*tag.name {
        "fldsimple" => fields::instruction(&attribute("instr"), place, notes),
        "ddelink" => notes.find(
            "office.dde",
            Severity::Malicious,
            place,
            "the workbook talks to another program when it is opened",
        ),
        "definedname" => {
            let name = attribute("name");
            if name.contains("auto_open")
                || name.contains("auto_close")
                || name.contains("auto_activate")
            {
                notes.find(
                    "office.xlm",
                    Severity::Malicious,
                    place,
                    "a macro of the old kind starts by itself",
                );
            }
        }
        "hlinkclick" | "hlinkhover" | "hlinkmouseover" => match attribute("action") {
            action if action.starts_with("ppaction://program") => {
                notes.find(
                    "office.starts_program",
                    Severity::Malicious,
                    place,
                    "a click starts a program",
                );
            }
            action if action.starts_with("ppaction://macro") => notes.find(
                "office.starts_macro",
                Severity::Suspicious,
                place,
                "a click starts a macro",
            ),
            _ => {}
        },
        "altchunk" => notes.find(
            "office.foreign_part",
            Severity::Suspicious,
            place,
            "a part in another format is taken in when the document is opened",
        ),
        _ => queries::look(&tag.name, &attribute, place, notes),
    }
}
