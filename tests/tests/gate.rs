//! Does only that leave which may, and does the outcome say the right thing about each?

use acceptance::kiln::{Program, Run, command, run};
use acceptance::places;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn everything(options: &[&str]) -> Run {
    let program = Program::file(places::home().join("gate/everything.py"));
    run(&program, options)
}

fn artifact<'a>(run: &'a Run, path: &str) -> &'a Value {
    let all = run.at("/artifacts").as_array().expect("a list");
    all.iter()
        .find(|one| one["path"] == path)
        .unwrap_or_else(|| panic!("`{path}` is not told of: {:#}", run.outcome))
}

/// Every file below a folder, from it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&next) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below it");
                found.push(name.display().to_string());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn only_what_may_leave_has_left() {
    let run = everything(&[]);
    assert_eq!(run.text("/status"), "succeeded", "{:#}", run.outcome);
    assert_eq!(run.at("/reason"), &Value::Null);
    for (path, verdict, state, serve) in [
        ("backup.zip", "malicious", "withheld", Value::Null),
        ("minutes.docm", "suspicious", "withheld", Value::Null),
        ("report.html", "active", "released", "sandbox".into()),
        ("summary.csv", "clean", "released", "attachment".into()),
    ] {
        let told = artifact(&run, path);
        assert_eq!(told["verdict"], verdict, "{told:#}");
        assert_eq!(told["state"], state, "{told:#}");
        assert_eq!(told["serve"], serve, "{told:#}");
        let findings = told["findings"].as_array().expect("a list");
        assert_eq!(findings.is_empty(), verdict == "clean", "{told:#}");
    }
    assert_eq!(run.artifacts().len(), 4);
    assert_eq!(artifact(&run, "report.html")["media_type"], "text/html");
    assert_eq!(artifact(&run, "summary.csv")["media_type"], "text/csv");
    let skipped = run.skipped();
    assert_eq!(skipped, [("weights.bin".into(), "too_large".into())]);
    // What is in the folder is what may leave, and apart from it what may not.
    let there = files(&run.out.join("artifacts"));
    assert_eq!(there, ["report.html", "summary.csv"]);
    let held = files(&run.out.join("quarantine"));
    assert_eq!(held, ["backup.zip", "minutes.docm", "~stdout"]);
    for (name, mode) in [("quarantine", 0o700), ("quarantine/~stdout", 0o600)] {
        let meta = std::fs::metadata(run.out.join(name)).expect("there");
        assert_eq!(meta.permissions().mode() & 0o777, mode, "{name}");
    }
    // The key is in nothing that anybody is shown, and the lines around it are.
    let text = run.text("/stdout/text");
    assert!(text.starts_with("training done\n[kiln: withheld"), "{text}");
    assert!(text.ends_with("]\nall written\n"), "{text}");
    assert_eq!(run.at("/stdout/object"), &Value::Null);
    let key = std::fs::read(run.out.join("quarantine/~stdout")).expect("kept");
    let key = String::from_utf8(key).expect("text");
    let secret = key.lines().nth(3).expect("a line of the key");
    for shown in [run.outcome.to_string(), run.stderr.clone()] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(!String::from_utf8_lossy(&run.raw("stdout")).contains(secret));
    let warned = run.at("/warnings").to_string();
    for word in [
        "artifact_withheld",
        "stream_withheld",
        "private key",
        "backup.zip",
    ] {
        assert!(warned.contains(word), "{word}: {warned}");
    }
    assert!(run.stderr.contains("; 2 withheld)"), "{}", run.stderr);
}

/// A configuration of root's in a folder of its own.
fn configured(text: &str) -> (tempfile::TempDir, String) {
    let folder = places::scratch();
    let path = folder.path().join("kiln.toml");
    std::fs::write(&path, text).expect("scratch");
    let path = path.to_str().expect("plain").to_owned();
    (folder, path)
}

#[test]
fn a_table_says_what_is_done() {
    let (_folder, config) = configured(
        "[scanner]\n\
         [[scanner.table]]\ntype = 'application/zip'\naction = 'drop'\n\
         [[scanner.table]]\ntype = 'text/*'\nverdict = 'active'\naction = 'withhold'\n\
         [[scanner.table]]\ntype = 'stream'\naction = 'drop'\n",
    );
    let run = everything(&["--config", &config]);
    assert_eq!(artifact(&run, "backup.zip")["state"], "withheld");
    assert_eq!(artifact(&run, "backup.zip")["object"], Value::Null);
    assert_eq!(artifact(&run, "report.html")["state"], "withheld");
    assert_eq!(files(&run.out.join("artifacts")), ["summary.csv"]);
    let held = files(&run.out.join("quarantine"));
    assert_eq!(held, ["minutes.docm", "report.html"]);
}

#[test]
fn an_operators_rule_counts_and_a_broken_one_refuses_the_start() {
    let rules = places::scratch();
    let rule = rules.path().join("own.yar");
    let (_folder, config) = configured(&format!("[scanner]\nrules = {:?}\n", rules.path()));
    let program = Program::python("open('a.csv', 'w').write('needle,1\\n')");
    let text = "rule needle { strings: $a = \"needle\" condition: $a }\n";
    std::fs::write(&rule, text).expect("scratch");
    let found = run(&program, &["--config", &config]);
    assert_eq!(artifact(&found, "a.csv")["state"], "withheld");
    assert!(found.at("/warnings").to_string().contains("needle"));
    std::fs::write(
        &rule,
        format!("{text}rule broken {{ condition: nothing }}\n"),
    )
    .expect("scratch");
    let refused = run(&program, &["--config", &config]);
    assert_eq!(refused.exit, Some(78), "{}", refused.stderr);
    assert!(refused.stderr.contains("own.yar:2:"), "{}", refused.stderr);
}

#[test]
fn a_file_is_scanned_by_hand_as_it_would_be_in_a_job() {
    let folder = places::scratch();
    let put = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).expect("scratch");
    };
    put("a.csv", b"1,2\n");
    put("b.csv", b"=cmd|'/c calc'!A1\n");
    let scan = |names: &[&str]| {
        let ran = command(folder.path())
            .arg("scan")
            .args(names)
            .arg("--json")
            .output();
        let ran = ran.expect("it runs");
        let text = String::from_utf8(ran.stdout).expect("text");
        let lines = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            line["verdict"].as_str().expect("a word").to_owned()
        });
        (ran.status.code(), lines.collect::<Vec<_>>())
    };
    assert_eq!(scan(&["a.csv"]), (Some(0), vec!["clean".to_owned()]));
    let both = vec!["clean".to_owned(), "malicious".to_owned()];
    assert_eq!(scan(&["a.csv", "b.csv"]), (Some(1), both));
    assert_eq!(scan(&["none.csv"]), (Some(2), Vec::new()));
}
