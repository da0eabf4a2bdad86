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
        "dbpr" | "olappr" if names_server(&attribute("connection")) => notes.find(
            "office.data_query",
            Severity::Suspicious,
            place,
            "the workbook queries a server elsewhere",
        ),
        "cachesource" if attribute("type") == "external" => notes.find(
            "office.data_query",
            Severity::Suspicious,
            place,
            "a table of the workbook has its data from elsewhere",
        ),
        "connection" if attribute("odcfile").contains("//") || is_share(&attribute("odcfile")) => {
            notes.find(
                "office.data_query",
                Severity::Suspicious,
                place,
                "the workbook takes a connection from elsewhere",
            );
        }
        _ => {}
    }
}

/// Whether a connection names a server that is not this machine, nor the workbook itself.
fn names_server(connection: &str) -> bool {
    const KEYS: [&str; 8] = [
        "data source",
        "server",
        "address",
        "addr",
        "network address",
        "host",
        "url",
        "location",
    ];
    connection.split(';').any(|field| {
        let Some((key, value)) = field.split_once('=') else {
            return false;
        };
        let value = value.trim().trim_matches(['"', '\'']);
        let own = value.is_empty()
            || value.starts_with("$workbook$")
            || value.as_bytes().get(1) == Some(&b':')
            // A file beside the workbook.
            || [".mdb", ".accdb", ".xls", ".xlsx", ".csv", ".db"]
                .iter()
                .any(|ending| value.ends_with(ending) && !value.contains(['/', '\\']))
            || ["localhost", "(local)", ".", "127.0.0.1"].contains(&value);
        KEYS.contains(&key.trim()) && !own
    })
}

/// Whether one of the fields of a connection is a file of another machine.
fn names_share(connection: &str) -> bool {
    connection
        .split([';', '='])
        .any(|field| is_share(field.trim_matches(['"', '\'', ' '])))
}
