//! What the dictionaries of a document start.

use super::target::{elsewhere, risky, runs, script, tidy, web};
use super::value::{Dict, Value};
use crate::{Notes, Severity};
use std::collections::HashSet;

/// What was seen in all objects.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one thing that was seen, whatever else was"
)]
pub(super) struct Actions {
    pub(super) encrypted: bool,
    /// The objects that are referred to as attached files.
    pub(super) attached: HashSet<i64>,
    /// Something starts without being asked.
    starts: bool,
    scripts: Vec<(usize, Option<String>)>,
    opens_address: bool,
    /// An address is opened after another action.
    opens_next: bool,
    /// The objects that start by themselves, and those that open an address.
    started: HashSet<i64>,
    addresses: HashSet<i64>,
    /// An action opens a file that another object names, and one names an address.
    refers: bool,
    names_address: bool,
}

/// What happens without a hand: a document, page or screen is opened, shown, left or printed.
const EVENTS: [&str; 11] = [
    "O", "C", "PO", "PC", "PV", "PI", "WC", "WS", "DS", "WP", "DP",
];

/// Where a file or an address is named.
const PLACES: [&str; 7] = ["F", "UF", "URI", "FS", "Unix", "Mac", "DOS"];

impl Actions {
    /// Looks at one dictionary of the object `own` that ended at `at`.
    pub(super) fn look(&mut self, dict: &Dict, own: Option<i64>, at: usize, notes: &mut Notes) {
        self.look_once(dict, own, at, notes);
        if let Some(dict) = dict.backwards() {
            self.look_once(&dict, own, at, notes);
        }
    }

    /// Looks at an object that is no dictionary: the value of a key that refers to it.
    pub(super) fn bare(&mut self, value: &Value, at: usize, notes: &mut Notes) {
        let place = format!("offset {at}");
        match value {
            Value::Name(name) if name == "Launch" => launch(&place, notes),
            Value::Name(name) if name == "JavaScript" => self.scripts.push((at, None)),
            Value::Name(name) => {
                let acts = [
                    "GoToR",
                    "GoToE",
                    "ImportData",
                    "SubmitForm",
                    "URI",
                    "Rendition",
                ];
                if acts.contains(&name.as_str()) {
                    notes.find(
                        "pdf.hidden_action",
                        Severity::Suspicious,
                        &*place,
                        "what an action does is said elsewhere, where few readers look",
                    );
                }
            }
            Value::Text(_) => {
                let target = value.text().map(tidy).unwrap_or_default();
                self.names_address |= web(&target);
                if elsewhere(&target) && !web(&target) || runs(&target) {
                    notes.find(
                        "pdf.address",
                        Severity::Malicious,
                        &*place,
                        "a script or a file of another machine is named",
                    );
                }
            }
            Value::Reference(number) => {
                self.started.insert(*number);
            }
            _ => {}
        }
    }

    /// Which objects start by themselves, and what else is told by numbers alone.
    fn numbers(&mut self, dict: &Dict, own: Option<i64>) {
        let opens = |dict: &Dict| dict.name("S") == Some("URI");
        match dict.get("OpenAction") {
            None | Some(Value::Array(_)) => {}
            Some(Value::Dict(action)) => {
                self.starts |= action.name("S") != Some("GoTo") || action.get("Next").is_some();
                self.opens_address |= opens(action);
            }
            Some(action) => {
                self.starts = true;
                if let Value::Reference(number) = action {
                    self.started.insert(*number);
                }
            }
        }
        for (key, value) in &dict.0 {
            let next = key == "Next";
            if !next && !EVENTS.contains(&key.as_str()) {
                continue;
            }
            match value {
                Value::Reference(number) => {
                    self.started.insert(*number);
                }
                Value::Dict(action) if next => self.opens_next |= opens(action),
                Value::Dict(action) => self.opens_address |= opens(action),
                Value::Array(items) if next => {
                    for item in items {
                        match item {
                            Value::Reference(number) => {
                                self.started.insert(*number);
                            }
                            Value::Dict(action) => self.opens_next |= opens(action),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        if opens(dict)
            && let Some(own) = own
        {
            self.addresses.insert(own);
        }
        if dict.get("S").is_none() {
            let files = PLACES.iter().filter_map(|key| match dict.get(key)? {
                Value::Reference(number) => Some(*number),
                _ => None,
            });
            self.attached.extend(files);
        }
    }

    fn look_once(&mut self, dict: &Dict, own: Option<i64>, at: usize, notes: &mut Notes) {
        let place = format!("offset {at}");
        self.encrypted |= dict.get("Encrypt").is_some();
        self.numbers(dict, own);
        self.starts |= dict.get("AA").is_some() || dict.get("JavaScript").is_some();
        if let Some(script) = dict.get("JS") {
            self.scripts.push((at, script.text()));
        } else if dict.name("S") == Some("JavaScript") {
            self.scripts.push((at, None));
        }
        let targets: Vec<String> = PLACES
            .iter()
            .filter_map(|key| match dict.get(key)? {
                Value::Dict(file) => ["F", "UF"].iter().find_map(|key| file.get(key)?.text()),
                value => value.text(),
            })
            .map(tidy)
            .collect();
        let remote = targets.iter().any(|target| elsewhere(target));
        let foreign = targets
            .iter()
            .any(|target| elsewhere(target) && !web(target));
        match dict.name("S") {
            Some("Launch") => launch(&place, notes),
            Some("GoToR" | "GoToE" | "Thread" | "ImportData") if remote => {
                notes.find(
                    "pdf.remote",
                    Severity::Malicious,
                    &*place,
                    "an action opens a file of another machine, which tells it who is logged on",
                );
            }
            Some("GoToR" | "GoToE" | "Thread")
                if matches!(dict.get("F"), Some(Value::Reference(_))) =>
            {
                self.refers = true;
            }
            Some("URI") if foreign || targets.iter().any(|target| script(target)) => {
                notes.find(
                    "pdf.address",
                    Severity::Malicious,
                    &*place,
                    "a link opens a script or a file of another machine",
                );
            }
            Some("URI") if targets.iter().any(|target| risky(target)) => notes.find(
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
        if dict.get("S").is_none() {
            self.names_address |= remote && !foreign && dict.get("F").is_some();
        }
        forms_and_media(dict, foreign, &place, notes);
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
        if self.refers && self.names_address {
            notes.find(
                "pdf.remote",
                Severity::Suspicious,
                "",
                "an action opens a file that may lie on another machine",
            );
        }
        let opens_started = !self.started.is_disjoint(&self.addresses);
        if self.opens_address || opens_started || self.opens_next && self.starts {
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
fn forms_and_media(dict: &Dict, foreign: bool, place: &str, notes: &mut Notes) {
    let win = dict.get("Win").is_some() && dict.get("F").is_some() && dict.name("S").is_none();
    if win {
        launch(place, notes);
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
    if dict.name("FS") == Some("URL") || dict.get("FFilter").is_some() {
        notes.find(
            "pdf.external_stream",
            Severity::Suspicious,
            place,
            "the content of a stream is fetched from elsewhere",
        );
    }
    if foreign && matches!(dict.name("S"), None | Some("SubmitForm")) {
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

fn launch(place: &str, notes: &mut Notes) {
    notes.find(
        "pdf.launch",
        Severity::Malicious,
        place,
        "an action starts a program",
    );
}
