//! Does only that leave which may, and does the outcome say the right thing about each?

use acceptance::gate::{artifact, assert_kept_in, assert_told};
use acceptance::kiln::{Program, Run, command, command_of, run};
use acceptance::outside::secure::sha256;
use acceptance::places;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

fn everything(options: &[&str]) -> Run {
    let program = Program::file(places::home().join("gate/everything.py"));
    run(&program, options)
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
    assert_told(&run.outcome);
    // What is in the folder is what may leave, and apart from it what may not.
    let there = files(&run.out.join("artifacts"));
    assert_eq!(there, ["report.html", "summary.csv"]);
    let held = files(&run.out.join("quarantine"));
    assert_eq!(held, ["backup.zip", "minutes.docm", "~stdout"]);
    for (name, mode) in [("quarantine", 0o700), ("quarantine/~stdout", 0o600)] {
        let meta = std::fs::metadata(run.out.join(name)).expect("there");
        assert_eq!(meta.permissions().mode() & 0o777, mode, "{name}");
    }
    let key = std::fs::read(run.out.join("quarantine/~stdout")).expect("kept");
    let shown = run.raw("stdout");
    let shown = String::from_utf8_lossy(&shown);
    assert_kept_in(&key, [&run.outcome.to_string(), &run.stderr, &*shown]);
    assert!(run.stderr.contains("; 2 withheld)"), "{}", run.stderr);
}

#[test]
fn of_an_unfriendly_job_the_tables_leave_and_the_rest_is_told_of() {
    let program = Program::file(places::home().join("gate/unfriendly.py"));
    let run = run(&program, &[]);
    let outcome = &run.outcome;
    assert_eq!(outcome["status"], "succeeded", "{outcome:#}");
    let mut left = Vec::new();
    for (path, verdict) in [
        ("-rf", "suspicious"),
        ("changing.csv", "clean"),
        ("empty.csv", "clean"),
        ("esc%1B[31m.csv", "clean"),
        ("good.csv", "clean"),
        ("line%0Abreak.csv", "suspicious"),
        ("linked.csv", "clean"),
        ("no%FF%FEutf8.csv", "clean"),
        ("turned\u{202e}fdp.csv", "malicious"),
    ] {
        let told = artifact(outcome, path);
        assert_eq!(told["verdict"], verdict, "{told:#}");
        assert_eq!(told["state"] == "released", verdict == "clean", "{told:#}");
        left.extend((verdict == "clean").then_some(path));
        // What is told of is what is there, even of a file that changed under the job's hands.
        let bytes = std::fs::read_to_string(run.out.join(told["object"].as_str().expect("kept")));
        let bytes = bytes.expect("it is there");
        assert_eq!(told["bytes"], bytes.len(), "{told:#}");
        assert_eq!(told["sha256"], sha256(&bytes), "{told:#}");
    }
    assert_eq!(outcome["artifacts"].as_array().map(Vec::len), Some(9));
    assert_eq!(files(&run.out.join("artifacts")), left);
    let mut skipped = outcome["skipped"].as_array().expect("a list").clone();
    let deep = skipped.remove(0);
    assert_eq!(deep["reason"], "too_deep", "{outcome:#}");
    let skipped: Vec<_> = skipped
        .iter()
        .map(|it| (it["path"].as_str(), it["reason"].as_str()))
        .collect();
    let wanted = [
        ("etc", "symlink"),
        ("fifo", "fifo"),
        ("shadow.txt", "symlink"),
        ("socket", "socket"),
        ("sparse.bin", "too_large"),
        ("within.csv", "symlink"),
    ];
    assert_eq!(skipped, wanted.map(|(path, why)| (Some(path), Some(why))));
    // No name steers the terminal of whoever reads of it.
    assert!(!run.stderr.contains('\u{1b}'), "{:?}", run.stderr);
    assert!(!run.stderr.contains('\u{202e}'), "{:?}", run.stderr);
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
    assert_eq!(artifact(&run.outcome, "backup.zip")["state"], "withheld");
    assert_eq!(artifact(&run.outcome, "backup.zip")["object"], Value::Null);
    assert_eq!(artifact(&run.outcome, "report.html")["state"], "withheld");
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
    assert_eq!(artifact(&found.outcome, "a.csv")["state"], "withheld");
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

#[test]
fn who_may_make_no_control_groups_scans_by_hand_too() {
    let folder = places::scratch();
    let program = folder.path().join("kiln");
    std::fs::copy(places::kiln(), &program).expect("scratch");
    std::fs::write(folder.path().join("a.csv"), "1,2\n").expect("scratch");
    for (path, mode) in [(folder.path(), 0o755), (&*program, 0o755)] {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, mode).expect("ours");
    }
    let ran = command_of(&program, folder.path())
        .args(["scan", "a.csv"])
        .uid(1_000)
        .gid(1_000)
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!((ran.status.code(), &*told), (Some(0), ""));
}
