//! What must the outcome of `gate/everything.py` say, whoever ran it?

use crate::places;
use serde_json::Value;

/// The program that prints a key and leaves what may leave and what may not.
///
/// # Panics
/// When it cannot be read.
pub fn everything() -> String {
    let path = places::home().join("gate/everything.py");
    std::fs::read_to_string(path).expect("it is there")
}

/// What an outcome says of one artifact.
///
/// # Panics
/// When it says nothing of it.
pub fn artifact<'a>(outcome: &'a Value, path: &str) -> &'a Value {
    let all = outcome["artifacts"].as_array().expect("a list");
    let found = all.iter().find(|one| one["path"] == path);
    found.unwrap_or_else(|| panic!("`{path}` is not told of: {outcome:#}"))
}

/// The right thing is said of each, in words.
///
/// # Panics
/// When it is not.
pub fn assert_told(outcome: &Value) {
    assert_eq!(outcome["status"], "succeeded", "{outcome:#}");
    assert_eq!(outcome["reason"], Value::Null);
    let served = |word: &str| Value::from(word);
    for (path, verdict, state, serve, media, words) in [
        (
            "backup.zip",
            "malicious",
            "withheld",
            Value::Null,
            "application/zip",
            "the anti-virus test string",
        ),
        (
            "minutes.docm",
            "suspicious",
            "withheld",
            Value::Null,
            "application/octet-stream",
            "macros",
        ),
        (
            "report.html",
            "active",
            "released",
            served("sandbox"),
            "text/html",
            "it holds a script",
        ),
        (
            "summary.csv",
            "clean",
            "released",
            served("attachment"),
            "text/csv",
            "",
        ),
    ] {
        let told = artifact(outcome, path);
        assert_eq!(told["verdict"], verdict, "{told:#}");
        assert_eq!(told["state"], state, "{told:#}");
        assert_eq!(told["serve"], serve, "{told:#}");
        assert_eq!(told["media_type"], media, "{told:#}");
        let folder = if state == "released" {
            "artifacts/"
        } else {
            "quarantine/"
        };
        let object = told["object"].as_str().expect("it is kept");
        assert!(
            object.starts_with(folder) && object.ends_with(path),
            "{told:#}"
        );
        let findings = told["findings"].as_array().expect("a list");
        assert_eq!(findings.is_empty(), words.is_empty(), "{told:#}");
        let said = findings.first().map(|it| it["message"].to_string());
        assert!(said.unwrap_or_default().contains(words), "{told:#}");
    }
    // Where it is within, and why it stays.
    let place = &artifact(outcome, "backup.zip")["findings"][0]["place"];
    assert_eq!(place, "inner.zip > a.com");
    assert_eq!(outcome["artifacts"].as_array().map(Vec::len), Some(4));
    let skipped = serde_json::json!([{"path": "weights.bin", "reason": "too_large"}]);
    assert_eq!(outcome["skipped"], skipped);
    // The key is in nothing that anybody is shown, and the lines around it are.
    let text = outcome["stdout"]["text"].as_str().expect("text");
    assert!(text.starts_with("training done\n[kiln: withheld"), "{text}");
    assert!(text.ends_with("]\nall written\n"), "{text}");
    assert_eq!(outcome["stdout"]["object"], Value::Null);
    let warned = outcome["warnings"].to_string();
    for words in [
        "what was written to stdout is withheld: suspicious, holds a private key",
        "`backup.zip` is withheld: malicious, the anti-virus test string",
        "`minutes.docm` is withheld: suspicious, the document says that it has macros",
    ] {
        assert!(warned.contains(words), "{words}: {warned}");
    }
}

/// The key that it printed is in none of these.
///
/// # Panics
/// When it is.
pub fn assert_kept_in<'a>(withheld: &[u8], shown: impl IntoIterator<Item = &'a str>) {
    let key = String::from_utf8_lossy(withheld);
    let secret = key.lines().nth(3).expect("a line of the key");
    for shown in shown {
        assert!(!shown.contains(secret), "{shown}");
    }
}
