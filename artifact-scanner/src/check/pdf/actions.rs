//! What the dictionaries of a document start.

use super::lexer::{Dict, Value};
use crate::{Notes, Severity};

/// What was seen in all objects.
#[derive(Default)]
pub(super) struct Actions {
    pub(super) encrypted: bool,
    /// Something starts without being asked.
    starts: bool,
    scripts: Vec<(usize, Option<String>)>,
    opens_address: bool,
}

impl Actions {
    /// Looks at one dictionary that ended at `at`.
    pub(super) fn look(&mut self, dict: &Dict, at: usize, notes: &mut Notes) {
        let place = format!("offset {at}");
        self.encrypted |= dict.get("Encrypt").is_some();
        match dict.get("OpenAction") {
            None | Some(Value::Array(_)) => {}
            Some(Value::Dict(action)) => {
                self.starts |= !matches!(action.name("S"), Some("GoTo"));
                self.opens_address |= action.name("S") == Some("URI");
            }
            Some(_) => self.starts = true,
        }
        self.starts |= dict.get("AA").is_some() || dict.get("JavaScript").is_some();
        if let Some(script) = dict.get("JS") {
            self.scripts.push((at, script.text()));
        } else if dict.name("S") == Some("JavaScript") {
            self.scripts.push((at, None));
        }
        let target = ["F", "UF", "URI", "FS", "Unix", "Mac", "DOS"]
            .iter()
            .find_map(|key| match dict.get(key)? {
                Value::Dict(file) => ["F", "UF"].iter().find_map(|key| file.get(key)?.text()),
                value => value.text(),
            });
        let target = target.unwrap_or_default();
        match dict.name("S") {
            Some("Launch") => {
                notes.find(
                    "pdf.launch",
                    Severity::Malicious,
                    &*place,
                    "an action starts a program",
                );
            }
            Some("GoToR" | "GoToE" | "Thread" | "ImportData") if elsewhere(&target) => {
                notes.find(
                    "pdf.remote",
                    Severity::Malicious,
                    &*place,
                    "an action opens a file of another machine, which tells it who is logged on",
                );
            }
            Some("URI") if elsewhere(&target) && !web(&target) || script(&target) => {
                notes.find(
                    "pdf.address",
                    Severity::Malicious,
                    &*place,
                    "a link opens a script or a file of another machine",
                );
            }
            Some("URI") if risky(&target) => notes.find(
                "pdf.address",
                Severity::Suspicious,
                &*place,
                "a link opens a local file or a program's own scheme",
            ),
            Some("SubmitForm") => notes.find(
                "pdf.submit",
                Severity::Suspicious,
                &*place,
                "an action sends what is filled in",
            ),
            Some("ImportData") => notes.find(
                "pdf.import",
                Severity::Suspicious,
                &*place,
                "an action reads a file into the form",
            ),
            Some("Rendition" | "Movie" | "Sound" | "RichMediaExecute" | "GoTo3DView") => {
                notes.find(
                    "pdf.media",
                    Severity::Active,
                    &*place,
                    "an action plays media",
                );
            }
            _ => {}
        }
        forms_and_media(dict, &target, &place, notes);
    }

    /// What the actions are, all in all.
    pub(super) fn judge(&self, notes: &mut Notes) {
        for (at, script) in &self.scripts {
            let harmless = script.as_deref().is_some_and(fills_in);
            let severity = if harmless {
                Severity::Active
            } else if self.starts || script.as_deref().is_some_and(reaches) {
                Severity::Malicious
            } else {
                Severity::Suspicious
            };
            notes.find(
                "pdf.javascript",
                severity,
                format!("offset {at}"),
                "a script of the document runs",
            );
        }
        if self.opens_address {
            notes.find(
                "pdf.opens_address",
                Severity::Suspicious,
                "",
                "an address is opened together with the document",
            );
        }
    }
}

/// What is filled in, played and fetched.
fn forms_and_media(dict: &Dict, target: &str, place: &str, notes: &mut Notes) {
    let win = dict.get("Win").is_some() && dict.get("F").is_some() && dict.name("S").is_none();
    if win {
        notes.find(
            "pdf.launch",
            Severity::Malicious,
            place,
            "an action starts a program",
        );
    }
    if dict.get("XFA").is_some() {
        notes.find(
            "pdf.xfa",
            Severity::Suspicious,
            place,
            "a form of XML, which can hold scripts",
        );
    }
    if matches!(dict.name("Subtype"), Some("RichMedia" | "Flash" | "Screen"))
        || dict.get("RichMediaContent").is_some()
    {
        notes.find(
            "pdf.rich_media",
            Severity::Suspicious,
            place,
            "media that run programs are embedded",
        );
    }
    if dict.name("Type") == Some("Filespec") && dict.name("FS") == Some("URL")
        || dict.name("FFilter").is_some()
    {
        notes.find(
            "pdf.external_stream",
            Severity::Suspicious,
            place,
            "the content of a stream is fetched from elsewhere",
        );
    }
    if elsewhere(target) && !web(target) && dict.name("Type") == Some("Filespec") {
        notes.find(
            "pdf.remote",
            Severity::Malicious,
            place,
            "a file of another machine is named, which tells it who is logged on",
        );
    }
}

/// Calls of the form functions that every form program writes, and nothing else.
fn fills_in(script: &str) -> bool {
    let script = script.trim();
    let call = |line: &str| {
        let line = line.trim();
        let name = line.split('(').next().unwrap_or("");
        line.is_empty()
            || (name.starts_with("AF")
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                && line.matches('(').count() <= 2
                && !line.contains("app.")
                && !line.contains("eval"))
    };
    !script.is_empty() && script.split(';').all(call)
}

fn reaches(script: &str) -> bool {
    [
        "launchURL",
        "getURL",
        "submitForm",
        "exportDataObject",
        "importDataObject",
        "util.printf",
        "Collab.",
        "eval",
        "unescape",
        "mailMsg",
        "mailDoc",
        "getAnnots",
        "this.info",
        "spell.",
        "media.",
        "Net.",
        "SOAP",
        "RSS",
        "fromCharCode",
        "trustedFunction",
        "openDoc",
        "newDoc",
        "hostContainer",
        "importIcon",
        "URL",
    ]
    .iter()
    .any(|word| script.contains(word))
}

/// A path on another machine (`\\host\share`, `//host/share`), or an address.
fn elsewhere(target: &str) -> bool {
    target.starts_with("\\\\")
        || target.starts_with("//")
        || target.starts_with("/\\")
        || target.to_ascii_lowercase().starts_with("file://")
            && !target.to_ascii_lowercase().starts_with("file:///")
        || web(target)
}

fn web(target: &str) -> bool {
    let lower = target.trim_start().to_ascii_lowercase();
    ["http:", "https:", "ftp:"]
        .iter()
        .any(|scheme| lower.starts_with(scheme))
}

fn script(target: &str) -> bool {
    let lower = target.trim_start().to_ascii_lowercase();
    ["javascript:", "vbscript:", "data:"]
        .iter()
        .any(|scheme| lower.starts_with(scheme))
}

fn risky(target: &str) -> bool {
    let lower = target.trim_start().to_ascii_lowercase();
    [
        "file:",
        "ms-",
        "search-ms:",
        "shell:",
        "mhtml:",
        "res:",
        "smb:",
    ]
    .iter()
    .any(|scheme| lower.starts_with(scheme))
}
