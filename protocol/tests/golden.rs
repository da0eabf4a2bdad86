//! Are the messages in `examples/` taken and refused as they say?
//!
//! `KILN_GOLDEN=write cargo test -p kiln-protocol --test golden` writes the refusals anew; read the
//! difference before it is committed.

mod profiles;

use kiln_protocol::{Outcome, Rejection, decode, schema};
use profiles::{Profiles, admission};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn examples(kind: &str) -> BTreeMap<String, (PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(kind);
    std::fs::read_dir(folder)
        .expect("the folder of examples")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().expect("a name").to_string_lossy();
            let text = std::fs::read_to_string(&path).expect("a text");
            (name.into_owned(), (path, text))
        })
        .collect()
}

#[test]
fn what_is_valid_is_taken_and_survives() {
    let profiles = Profiles::default();
    let examples = examples("valid");
    assert!(examples.len() >= 12, "only {}", examples.len());
    for (name, (_, text)) in examples {
        let accepted = decode(text.as_bytes(), &admission(&profiles))
            .unwrap_or_else(|rejection| panic!("{name}: {}", rejection.main));
        let pointers: Vec<_> = accepted
            .warnings
            .iter()
            .map(|warning| warning.pointer.as_deref().unwrap_or_default())
            .collect();
        let expected: &[&str] = match name.as_str() {
            "unknown-fields" => &[
                "/files/0/mode",
                "/network/deny",
                "/limits/memory",
                "/imports",
            ],
            _ => &[],
        };
        assert_eq!(pointers, expected, "{name}");
        let again = decode(accepted.job.to_json().as_bytes(), &admission(&profiles))
            .unwrap_or_else(|rejection| panic!("{name}, as accepted: {}", rejection.main));
        assert_eq!(again.job, accepted.job, "{name}");
        assert_eq!(again.limits, accepted.limits, "{name}");
        assert_eq!(again.warnings, [], "{name}");
    }
}

#[test]
fn what_is_invalid_is_refused_as_it_says_and_quotes_nothing() {
    let profiles = Profiles::default();
    let examples = examples("invalid");
    assert!(examples.len() >= 40, "only {}", examples.len());
    let write = std::env::var_os("KILN_GOLDEN").is_some_and(|value| value == "write");
    for (name, (path, text)) in examples {
        let example: Value = serde_json::from_str(&text).expect("an example");
        let rejection =
            decode(example["job"].to_string().as_bytes(), &admission(&profiles)).expect_err(&name);
        let refusal = &rejection.main;
        let said = json!({"pointer": refusal.pointer, "message": refusal.message});
        if write {
            let example = json!({"job": example["job"], "refusal": said});
            let text = serde_json::to_string_pretty(&example).expect("JSON") + "\n";
            std::fs::write(path, text).expect("to write the example");
        } else {
            assert_eq!(said, example["refusal"], "{name}");
        }
        quotes_nothing(&name, &rejection);
        let outcome = rejection.outcome("j".parse().expect("an id"), "w".to_owned(), 0);
        assert_eq!(outcome.contradictions(), [] as [&str; 0], "{name}");
    }
}

/// Every code, variable, file and secret in the examples holds this word.
fn quotes_nothing(name: &str, rejection: &Rejection) {
    for refusal in std::iter::once(&rejection.main).chain(&rejection.others) {
        let said = serde_json::to_string(refusal).expect("JSON");
        assert!(!said.contains("hunter2"), "{name}: {said}");
    }
}

/// The schema and the decoder each have a list of fields: the full example holds them together.
#[test]
fn the_full_example_has_every_field_of_the_schema() {
    let (_, text) = &examples("valid")["full"];
    let full: Value = serde_json::from_str(text).expect("JSON");
    let schema = schema::job().to_value();
    let names = |value: &Value| -> Vec<String> {
        value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect()
    };
    let mut fields = names(&full);
    fields.push("command".to_owned());
    fields.sort();
    assert_eq!(fields, names(&schema["properties"]));
    let limits = &schema["$defs"]["LimitRequest"]["properties"];
    assert_eq!(names(&full["limits"]), names(limits));
    let files = full["files"].as_array().expect("files");
    let mut in_files: Vec<String> = files.iter().flat_map(names).collect();
    in_files.sort();
    in_files.dedup();
    assert_eq!(in_files, names(&schema["$defs"]["InputFile"]["properties"]));
}

/// A file's text has the fields in the contract's order, and every null.
#[test]
fn outcomes_are_written_as_they_are_read() {
    let examples = examples("outcome");
    assert!(examples.len() >= 3, "only {}", examples.len());
    for (name, (_, text)) in examples {
        let outcome: Outcome = serde_json::from_str(&text).expect(&name);
        assert_eq!(outcome.contradictions(), [] as [&str; 0], "{name}");
        let written = serde_json::to_string_pretty(&outcome).expect("JSON") + "\n";
        assert_eq!(written, text, "{name}");
    }
}

#[test]
fn the_schemas_that_are_checked_in_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    for (file, text) in schema::checked_in() {
        let held = std::fs::read_to_string(folder.join(file)).expect(file);
        assert!(
            held == text,
            "{file} is old: cargo run -p kiln-protocol --example schema"
        );
    }
}
