//! The same plays over local files and over S3; then what only one of them can suffer.
//!
//! Those named `s3_` need `KILN_TEST_S3`, the URL of a server that speaks S3 and takes any key.

mod faults;
mod ground;

use super::*;
use crate::collect::RawFile;
use crate::execute::Captured;
use crate::screen::table::Fate;
use crate::screen::word::Word;
use crate::screen::{Cleared, Outputs};
use crate::store::InputProblem;
use artifact_scanner::Verdict;
use ground::{Ground, file, id, job, sha256};
use std::io::Read as _;

/// One play, over both stores.
macro_rules! plays {
    ($($files:ident $s3:ident $play:ident)*) => {$(
        #[tokio::test]
        async fn $files() {
            let ground = Ground::files();
            $play(&ground.ledger().await, &ground).await;
        }
        #[tokio::test]
        async fn $s3() {
            let ground = Ground::s3();
            $play(&ground.ledger().await, &ground).await;
        }
    )*};
}

plays! {
    a_job_is_accepted_once s3_a_job_is_accepted_once accepts
    the_first_commit_stands s3_the_first_commit_stands commits
    one_of_many_commits_at_once_is_first s3_one_of_many_commits_at_once_is_first races
    a_key_has_one_holder s3_a_key_has_one_holder holds
    deaths_are_counted_by_run s3_deaths_are_counted_by_run counts
    wishes_to_cancel_are_kept_for_a_week s3_wishes_to_cancel_are_kept_for_a_week cancels
    what_a_run_made_is_kept s3_what_a_run_made_is_kept keeps
    inputs_are_checked s3_inputs_are_checked inputs
    lost_runs_are_swept s3_lost_runs_are_swept sweeps
}

async fn accepts(ledger: &Ledger, ground: &Ground) {
    let job = job("a.b-c");
    assert_eq!(ledger.job(&job.id).await.expect("asked"), None);
    assert_eq!(ledger.accept(&job).await.expect("asked"), Acceptance::New);
    let known = Acceptance::Known(job.to_json().into_bytes());
    assert_eq!(ledger.accept(&job).await.expect("asked"), known);
    // What a machine that died left half written is none.
    ground.write(ledger, "jobs/a.b-c.json", b"\0\0\0").await;
    assert_eq!(ledger.accept(&job).await.expect("asked"), Acceptance::New);
    ledger.forget(&job.id).await.expect("asked");
    let met = || ledger.meet(&job);
    assert_eq!(met().await.expect("asked"), (Acceptance::New, None));
    assert_eq!(met().await.expect("asked"), (known.clone(), None));
    ledger.forget(&job.id).await.expect("asked");
    ground.write(ledger, "results/a.b-c.json", b"{}").await;
    let refused: Arc<[u8]> = (*b"{}").into();
    for accepted in [Acceptance::New, known] {
        let both = (accepted, Some(Arc::clone(&refused)));
        assert_eq!(met().await.expect("asked"), both);
    }
}

async fn commits(ledger: &Ledger, ground: &Ground) {
    let id = id("j");
    assert_eq!(ledger.result(&id).await.expect("asked"), None);
    let (ours, other): (Arc<[u8]>, Arc<[u8]>) = ((*b"{\"a\":1}").into(), (*b"{\"b\":2}").into());
    let commit = |bytes: &Arc<[u8]>| ledger.commit(&id, Arc::clone(bytes));
    assert_eq!(commit(&ours).await.expect("asked"), Committed::Ours);
    // The answer to the first was lost.
    assert_eq!(commit(&ours).await.expect("asked"), Committed::Ours);
    let theirs = Committed::Theirs(Arc::clone(&ours));
    assert_eq!(commit(&other).await.expect("asked"), theirs);
    assert_eq!(ledger.result(&id).await.expect("asked"), Some(ours));
    // What a machine that died left half written is none, and nobody was told of it.
    for torn in [&b""[..], b"\0\0\0", b"{\"a\""] {
        ground.write(ledger, "results/j.json", torn).await;
        assert_eq!(ledger.result(&id).await.expect("asked"), None);
        assert_eq!(commit(&other).await.expect("asked"), Committed::Ours);
        let found = ledger.result(&id).await.expect("asked");
        assert_eq!(found, Some(Arc::clone(&other)));
    }
}

async fn races(ledger: &Ledger, _: &Ground) {
    let id = id("raced");
    let all = (0..8).map(|n| ledger.commit(&id, format!("{{\"n\":{n}}}").into_bytes().into()));
    let mut ours = 0;
    let mut theirs = std::collections::HashSet::new();
    for committed in futures_util::future::join_all(all).await {
        match committed.expect("asked") {
            Committed::Ours => ours += 1,
            Committed::Theirs(bytes) => {
                theirs.insert(bytes);
            }
        }
    }
    let visible = ledger.result(&id).await.expect("asked").expect("there");
    assert_eq!(ours, 1);
    assert_eq!(theirs.into_iter().collect::<Vec<_>>(), [visible]);
}

async fn holds(ledger: &Ledger, ground: &Ground) {
    let (acme, other) = (ground::tenant("acme"), ground::tenant("other"));
    let hold = |tenant, holder: &'static str| async move {
        let held = ledger.hold_key(tenant, "../k e y", &id(holder)).await;
        held.expect("asked")
    };
    assert_eq!(hold(&acme, "first").await, KeyHolder::Ours);
    assert_eq!(hold(&acme, "first").await, KeyHolder::Ours);
    assert_eq!(hold(&acme, "second").await, KeyHolder::Other(id("first")));
    assert_eq!(hold(&other, "second").await, KeyHolder::Ours);
    // What nobody understands holds nobody up.
    let key = key::idempotency(&acme, "../k e y");
    ground.write(ledger, &key, b"\0").await;
    assert_eq!(hold(&acme, "third").await, KeyHolder::Ours);
    assert_eq!(hold(&acme, "first").await, KeyHolder::Other(id("third")));
}

async fn counts(ledger: &Ledger, ground: &Ground) {
    let crash = |run: &str| Crash {
        worker: "w".into(),
        run: run.into(),
        started_unix_ms: 1,
        found_unix_ms: 2,
    };
    let id = id("j");
    assert_eq!(ledger.crashes(&id).await.expect("asked"), []);
    for run in ["r1", "r1", "r2"] {
        ledger.crashed(&id, &crash(run)).await.expect("asked");
    }
    ledger
        .crashed(&ground::id("j2"), &crash("r3"))
        .await
        .expect("asked");
    let mut found = ledger.crashes(&id).await.expect("asked");
    found.sort_by(|a, b| a.run.cmp(&b.run));
    assert_eq!(found, [crash("r1"), crash("r2")]);
    ground.write(ledger, "crashes/j/torn.json", b"").await;
    assert_eq!(ledger.crashes(&id).await.expect("asked").len(), 3);
    let wrong = ledger.crashed(&id, &crash("../r")).await;
    assert!(matches!(wrong, Err(StoreError::Token(_))), "{wrong:?}");
    assert!(
        ledger.reachable(),
        "a wrong token says nothing of the store"
    );
}

async fn cancels(ledger: &Ledger, ground: &Ground) {
    let tombstone = |job: &str, age_ms: u64| Tombstone {
        job_id: id(job),
        tenant: Some(ground::tenant("acme")),
        asked_unix_ms: now_unix_ms() - age_ms,
    };
    assert_eq!(ledger.cancelled().await.expect("asked"), []);
    let young = tombstone("young", 6 * 86_400_000);
    for tombstone in [&young, &tombstone("old", 7 * 86_400_000 + 1)] {
        ledger.cancel(tombstone).await.expect("asked");
    }
    // Another tenant's wish, too old by now, takes no other's place.
    let other = Tombstone {
        tenant: Some(ground::tenant("other")),
        ..tombstone("young", 7 * 86_400_000 + 1)
    };
    ledger.cancel(&other).await.expect("asked");
    ground.write(ledger, "cancel/odd.json", b"nonsense").await;
    assert_eq!(
        ledger.cancelled().await.expect("asked"),
        std::slice::from_ref(&young)
    );
    assert_eq!(
        ledger.list("cancel").await.expect("asked").len(),
        2,
        "the old one is gone"
    );
}

fn outputs(files: Vec<RawFile>) -> Cleared {
    judged(files, Fate::Release)
}

fn judged(files: Vec<RawFile>, fate: Fate) -> Cleared {
    let word = match fate {
        Fate::Release => Word::for_test(Verdict::Clean),
        Fate::Withhold | Fate::Drop => Word::for_test(Verdict::Suspicious),
    };
    let outputs = Outputs {
        stdout: Captured {
            bytes: b"hello\xff".to_vec(),
            total_bytes: 9,
            truncated: true,
        },
        stderr: Captured::default(),
        files,
        skipped: Vec::new(),
        secrets: Vec::new(),
    };
    Cleared::for_test(outputs, &word, fate)
}

async fn keeps(ledger: &Ledger, ground: &Ground) {
    let run = Run::new(&id("kept"));
    let large: Vec<u8> = (0..20_000_001_u32)
        .flat_map(|n| [n.to_le_bytes()[0]])
        .collect();
    let contents = [
        ("plots/a b.png", b"png".to_vec()),
        ("ü/\"%2F..\\", b"odd".to_vec()),
        ("empty", Vec::new()),
        ("large.bin", large),
    ];
    let raw = contents.iter().map(|(path, bytes)| file(path, bytes));
    let (kept, failed) = ledger.keep(&run, outputs(raw.collect())).await;
    assert!(failed.is_none(), "{failed:?}");
    assert_eq!(kept.stderr.object, None, "nothing was written");
    let stdout = kept.stdout.object.expect("kept");
    assert!(stdout.starts_with("logs/kept/") && stdout.ends_with("/stdout"));
    assert_eq!(ground.read(ledger, &stdout).await, b"hello\xff");
    assert_eq!(kept.files.len(), contents.len());
    for (file, (path, bytes)) in kept.files.iter().zip(&contents) {
        assert_eq!(file.path, *path);
        let object = file.object.as_deref().expect("kept");
        assert!(object.starts_with("artifacts/kept/"), "{object}");
        assert!(ground.read(ledger, object).await == *bytes, "{path}");
    }
    withholds(ledger, ground).await;
}

/// What is not let out lies apart, or nowhere.
async fn withholds(ledger: &Ledger, ground: &Ground) {
    let run = Run::new(&id("held"));
    let (kept, failed) = ledger
        .keep(&run, judged(vec![file("a/key", b"key")], Fate::Withhold))
        .await;
    assert!(failed.is_none(), "{failed:?}");
    for stream in [&kept.stdout, &kept.stderr] {
        assert!(stream.withheld.is_none(), "the test lets streams out");
    }
    let object = kept.files[0].object.as_deref().expect("kept");
    assert!(object.starts_with("quarantine/held/"), "{object}");
    assert!(object.ends_with("/a/key"), "{object}");
    assert_eq!(ground.read(ledger, object).await, b"key");
    let (kept, failed) = ledger
        .keep(&run, judged(vec![file("b", b"key")], Fate::Drop))
        .await;
    assert!(failed.is_none(), "{failed:?}");
    assert_eq!(kept.files[0].object, None);
    for folder in ["artifacts/held", "quarantine/held"] {
        let there = ledger.list(folder).await.expect("listed");
        let names: Vec<_> = there.into_iter().map(|entry| entry.key).collect();
        assert!(
            names.iter().all(|name| name.ends_with("/a/key")),
            "{names:?}"
        );
        assert_eq!(names.is_empty(), folder.starts_with("artifacts"));
    }
}

async fn inputs(ledger: &Ledger, ground: &Ground) {
    let acme = ground::tenant("acme");
    let key = "inputs/acme/big file.parquet";
    ground.write(ledger, key, b"rows").await;
    let sum = sha256(b"rows");
    for bytes_max in [4, 1 << 30] {
        let file = ledger.input(&acme, key, &sum, bytes_max).await;
        let mut file = file.expect("it is right");
        let mut text = String::new();
        file.read_to_string(&mut text).expect("readable");
        assert_eq!(text, "rows");
        assert!(
            io::Write::write(&mut file, b"x").is_err(),
            "nobody writes to it"
        );
    }
    let of = |key: &'static str, sum: String, max| {
        let acme = acme.clone();
        async move {
            let input = ledger.input(&acme, key, &sum, max).await;
            input.expect_err("it is wrong").input_problem().cloned()
        }
    };
    for (key, sum, max, problem) in [
        (key, sum.clone(), 3, InputProblem::TooLarge(3)),
        (key, sha256(b"x"), 9, InputProblem::Digest(sum.clone())),
        ("inputs/acme/no", sum.clone(), 9, InputProblem::Absent),
        (
            "inputs/b/x",
            sum.clone(),
            9,
            InputProblem::Elsewhere("acme".into()),
        ),
        (
            "inputs/acme/../b/x",
            sum,
            9,
            InputProblem::Elsewhere("acme".into()),
        ),
    ] {
        assert_eq!(of(key, sum, max).await, Some(problem), "{key}");
    }
    assert!(
        ledger.reachable(),
        "a job's mistake says nothing of the store"
    );
}

async fn sweeps(ledger: &Ledger, ground: &Ground) {
    let (won, lost) = (Run::new(&id("swept")), Run::new(&id("swept")));
    let mut objects = Vec::new();
    for run in [&won, &lost] {
        let (kept, failed) = ledger.keep(run, outputs(vec![file("a", b"a")])).await;
        assert!(failed.is_none(), "{failed:?}");
        objects.push([
            kept.stdout.object.expect("kept"),
            kept.files[0].object.clone().expect("kept"),
        ]);
    }
    let outcome = serde_json::to_vec(&objects[0]).expect("text");
    let committed = ledger.commit_run(&won, outcome.into()).await;
    assert_eq!(committed.expect("committed"), Committed::Ours);
    assert_eq!(
        ledger.sweep_runs().await.expect("asked"),
        0,
        "they are young"
    );
    let swept = ledger.sweep_older_than(Duration::ZERO).await;
    assert_eq!(swept.expect("asked"), 2);
    for object in &objects[0] {
        assert!(!ground.read(ledger, object).await.is_empty());
    }
    for object in &objects[1] {
        assert_eq!(ledger.get(object).await.expect("asked"), None);
    }
}
