//! What does the gate say of what a job made, when nothing goes wrong?

use super::{eicar, file, gate, token};
use artifact_scanner::Verdict;
use kiln::screen::table::Fate;
use kiln::screen::{GateOptions, Outputs};

#[tokio::test]
async fn each_thing_has_a_word_of_its_own() {
    let gate = gate(GateOptions::default());
    let mut files = vec![file("a.csv", b"1,2\n"), file("b.com", &eicar())];
    // More than go in one message.
    files.extend((0..80).map(|n| file(&format!("{n}.csv"), b"a,b\n1,2\n")));
    files.push(file("large.csv", &b"a,b\n1,2\n".repeat(100_000)));
    let long = "a line\n".repeat(20_000);
    let outputs = Outputs::of([b"hello\n", long.as_bytes()], files, Vec::new());
    let cleared = gate.screen(outputs).await.expect("it is scanned");
    for (path, word, fate) in cleared.files() {
        let wanted = match path {
            "b.com" => (Verdict::Malicious, Fate::Withhold),
            _ => (Verdict::Clean, Fate::Release),
        };
        assert_eq!((word.verdict(), fate), wanted, "{path}: {word:?}");
    }
    assert_eq!(cleared.files().count(), 83);
    for (word, fate, _) in cleared.streams() {
        assert_eq!((word.verdict(), fate), (Verdict::Clean, Fate::Release));
    }
    assert_eq!(gate.scanner().lost(), 0);
}

#[tokio::test]
async fn a_stream_is_shown_without_the_lines_that_hold_a_secret() {
    let gate = gate(GateOptions::default());
    let stdout = format!("before\ntoken: {}\nafter\n", token());
    // In base64 the line is not where the secret is as it is: nothing of it is shown.
    let stderr = b"Z2hwX3g5SzJtUTd2QjRuUjh0VzFwTDVqeDlLMm1RN3ZCNG5SOHRXMXBMNWo=\nnext\n";
    let outputs = Outputs::of([stdout.as_bytes(), stderr], Vec::new(), Vec::new());
    let cleared = gate.screen(outputs).await.expect("it is scanned");
    let [(word, fate, shown), hidden] = cleared.streams();
    assert_eq!(
        (word.verdict(), fate),
        (Verdict::Suspicious, Fate::Withhold)
    );
    let shown = String::from_utf8_lossy(shown);
    assert!(
        shown.starts_with("before\n[kiln: ") && shown.ends_with("]\nafter\n"),
        "{shown}"
    );
    assert!(!shown.contains("ghp_"));
    assert_eq!(hidden.1, Fate::Withhold);
    assert!(hidden.2.starts_with(b"[kiln: withheld: "), "{:?}", hidden.2);
}

#[tokio::test]
async fn the_jobs_own_secrets_do_not_leave_and_are_nowhere_told() {
    let gate = gate(GateOptions::default());
    let secret = b"correct horse battery".to_vec();
    let base64 = b"a,b\n1,Y29ycmVjdCBob3JzZSBiYXR0ZXJ5\n";
    let files = || vec![file("a.csv", base64)];
    let stdout = b"it is correct horse battery\nnext\n";
    // First without: what is remembered then must not count for the job with the secret.
    let without = Outputs::of([stdout, b""], files(), Vec::new());
    let cleared = gate.screen(without).await.expect("it is scanned");
    assert!(cleared.files().all(|(_, _, fate)| fate == Fate::Release));
    let with = Outputs::of([stdout, b""], files(), vec![secret]);
    let cleared = gate.screen(with).await.expect("it is scanned");
    assert!(cleared.files().all(|(_, _, fate)| fate == Fate::Withhold));
    let [(word, fate, shown), _] = cleared.streams();
    assert_eq!(fate, Fate::Withhold);
    assert!(
        shown.ends_with(b"]\nnext\n"),
        "{}",
        String::from_utf8_lossy(shown)
    );
    assert!(!format!("{word:?}").contains("horse"));
    assert!(!String::from_utf8_lossy(shown).contains("horse"));
}

#[tokio::test]
async fn rules_of_the_operator_run_and_broken_ones_scan_nothing() {
    let rules = |text: &str| GateOptions {
        rules: vec![("own.yar".to_owned(), text.to_owned())],
        ..GateOptions::default()
    };
    let outputs = || Outputs::of([b"", b""], vec![file("a.csv", b"needle,2\n")], Vec::new());
    let own = gate(rules("rule a { strings: $a = \"needle\" condition: $a }"));
    let cleared = own.screen(outputs()).await.expect("it is scanned");
    assert!(
        cleared
            .files()
            .all(|(_, word, _)| word.verdict() == Verdict::Suspicious)
    );
    let broken = gate(rules("rule a {"));
    let error = broken.screen(outputs()).await.expect_err("nobody scans");
    assert!(
        kiln::fault::chain(&error).contains("own.yar:1:"),
        "{error:?}"
    );
}

#[tokio::test]
async fn nothing_is_asked_where_nothing_was_written() {
    // There is nobody who could scan, and nobody is needed.
    let gate = kiln::screen::Gate::open(GateOptions {
        program: Some("/bin/false".into()),
        ..GateOptions::default()
    });
    let nothing = Outputs::of([b"", b""], Vec::new(), Vec::new());
    let cleared = gate.screen(nothing).await.expect("nothing is scanned");
    assert!(
        cleared
            .streams()
            .iter()
            .all(|(_, fate, _)| *fate == Fate::Release)
    );
    let some = Outputs::of([b"x", b""], Vec::new(), Vec::new());
    gate.screen(some).await.expect_err("nobody scans");
}
