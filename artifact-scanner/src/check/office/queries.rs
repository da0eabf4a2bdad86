//! Which elements of a document fetch what they show from elsewhere?

use super::super::share::is_share;
use crate::{Notes, Severity};

/// Looks at an element by its name and its attributes, in small letters.
pub(super) fn look(name: &str, attribute: &dyn Fn(&str) -> String, place: &str, notes: &mut Notes) {
    match name {
        "imagedata" | "sourcefilename"
            if ["src", "val"].iter().any(|name| {
                let target = attribute(name);
                is_share(&target) || target.starts_with("http")
            }) =>
        {
            notes.find(
                "office.remote_part",
                Severity::Suspicious,
                place,
                "a part of the document is fetched from elsewhere when it is opened",
            );
        }
        "textpr" | "webpr" | "dbpr"
            if [
                "sourcefile",
                "url",
                "connection",
                "sourceconnectionfile",
                "odcfile",
            ]
            .iter()
            .any(|name| names_share(&attribute(name))) =>
        {
            notes.find(
                "office.data_query",
                Severity::Malicious,
                place,
                "the workbook queries a file of another machine, which tells it who is logged on",
            );
        }
        "webpr" if attribute("url").starts_with("http") => notes.find(
            "office.web_query",
            Severity::Suspicious,
            place,
            "the workbook queries an address",
        ),
        "dbpr"
            if ["mshta", "cmd", "powershell", "http", "https"]
                .iter()
                .any(|word| {
                    attribute("command").contains(word)
                        || attribute("connection").contains(&format!("{word}:"))
                }) =>
        {
            notes.find(
                "office.data_query",
                Severity::Suspicious,
                place,
                "the workbook queries a source elsewhere",
            );
        }
        _ => {}
    }
}

/// Whether one of the fields of a connection is a file of another machine.
fn names_share(connection: &str) -> bool {
    connection
        .split([';', '='])
        .any(|field| is_share(field.trim_matches(['"', '\'', ' '])))
}
