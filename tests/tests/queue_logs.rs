//! Does the log of a worker say of each job all that an audit asks, and nothing that is the job's own?

use acceptance::leftovers::wait_for;
use acceptance::marker::lines_with;
use acceptance::stack::world::{SOON, World, bash, fresh, id};
use rustix::process::Signal;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

const CODE: &str = "read line; echo marker-output $line $M $1; test ${#S} = 13 || exit 9; echo marker-error >&2; echo made > marker-file.txt; exit 3 # marker-code";

/// A job whose every part has a word in it that nobody may log.
fn marked() -> Value {
    json!({
        "schema": "kiln.job.v1", "id": fresh("job"), "profile": "bash", "code": CODE,
        "args": ["marker-arg"], "stdin": "marker-stdin\n", "env": {"M": "marker-env", "MARKER_NAME": "x"},
        "files": [{"path": "marker-input\u{1b}[2J\n.txt", "text": "marker-content"}],
        "secrets": {"S": "sealed"}, "labels": {"marker-key": "marker-label"}, "idempotency_key": fresh("marker-idempotency"),
        "limits": {"wall_ms": 20_000},
    })
}

fn sha256(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

/// The one event of a job.
fn done(world: &World, job: &str) -> Value {
    let mut found = Vec::new();
    wait_for(SOON, || {
        let log = world.workers[0].logs();
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        found = lines
            .filter(|it| it["event"] == "job.done" && it["job_id"] == *job)
            .collect();
        !found.is_empty()
    });
    assert_eq!(found.len(), 1, "of {job}: {found:#?}");
    found.remove(0)
}

/// Asks the worker's listener for what it only mentions to whoever wants to know more.
fn poke(world: &World) {
    let stream = TcpStream::connect(("127.0.0.1", world.workers[0].telemetry()));
    stream
        .and_then(|mut stream| stream.write_all(b"no request\r\n\r\n"))
        .expect("it listens");
}

/// Whose job it is may be said, so the same look at the same log finds that.
fn the_look_finds_a_tenant(world: &World) {
    let mut tenants = bash("true");
    tenants["tenant"] = "marker-tenant".into();
    world.serve(&tenants);
    done(world, &id(&tenants));
    let text = world.workers[0].logs();
    let marked = lines_with(&text, "marker");
    let theirs = |line: &&str| line.contains("\"tenant\":\"marker-tenant\"");
    assert!(marked.iter().any(theirs), "the look finds nothing: {text}");
}

#[test]
fn every_job_has_one_event_and_no_word_of_its_own_is_logged_at_any_level() {
    let world = World::with(|setup| {
        setup.more = "[secrets.sealed]\nenvironment = \"SEALED\"\ntenants = [\"default\"]\nprofiles = [\"bash\"]\n".to_owned();
        setup
            .env
            .push(("KILN_AMQP__TRUST_TENANT".to_owned(), "true".to_owned()));
        setup
            .env
            .push(("SEALED".to_owned(), "marker-secret".to_owned()));
    });
    let log = || world.workers[0].logs();
    let changed = |word: &str| {
        assert!(
            wait_for(SOON, || log().contains(word)),
            "no `{word}` in {}",
            log()
        );
    };
    let worker = world.workers[0].process();
    let told = || {
        log()
            .matches("a request to telemetry was not served")
            .count()
    };
    poke(&world);
    wait_for(Duration::from_millis(300), || false);
    assert_eq!(told(), 0, "{}", log());
    worker.signal(Signal::USR1);
    changed("\"level\":\"kiln=debug\"");
    poke(&world);
    changed("a request to telemetry was not served");
    worker.signal(Signal::USR1);
    changed("\"level\":\"kiln=trace\"");

    let job = marked();
    let outcome = world.serve(&job);
    assert_eq!(outcome["exit_code"], 3, "{outcome:#}");
    assert!(
        outcome["stdout"]["text"]
            .as_str()
            .is_some_and(|text| text.contains("marker-output marker-stdin marker-env marker-arg"))
    );
    let event = done(&world, &id(&job));
    assert_eq!(event["asked"]["program_sha256"], sha256(CODE));
    assert_eq!(
        event["asked"]["inputs_sha256"],
        json!([sha256("marker-content")])
    );
    for same in [
        "status",
        "reason",
        "fault",
        "exit_code",
        "limits",
        "usage",
        "timing_us",
        "sandbox",
        "worker",
        "attempt",
        "finished_unix_ms",
    ] {
        assert_eq!(event[same], outcome[same], "{same}");
    }
    assert_eq!(event["stdout"]["sha256"], outcome["stdout"]["sha256"]);
    assert_eq!(event["artifacts"]["released"], 1);
    assert_eq!(event["artifacts"]["verdicts"], json!({"clean": 1}));
    assert_eq!(
        (&event["tenant"], &event["queue"]),
        (&json!("default"), &json!("kiln.jobs.interactive"))
    );

    // One that is refused quotes what is wrong to its sender, not to the log.
    let refused = json!({"schema": "kiln.job.v1", "id": fresh("job"), "code": "marker-code", "profile": "marker-profile\n"});
    assert_eq!(world.serve(&refused)["status"], "rejected");
    assert_eq!(done(&world, &id(&refused))["status"], "rejected");
    // One that is heavy is told too.
    let mut heavy = bash("true");
    heavy["files"] = json!([{"path": "big", "text": "x".repeat(300_000)}]);
    world.serve(&heavy);
    assert_eq!(
        done(&world, &id(&heavy))["asked"]["inputs_sha256"],
        json!([sha256(&"x".repeat(300_000))])
    );

    let text = log();
    let marked = lines_with(&text, "marker");
    assert!(marked.is_empty(), "{marked:#?}");
    the_look_finds_a_tenant(&world);
    assert!(
        log()
            .lines()
            .all(|line| serde_json::from_str::<Value>(line).is_ok()),
        "a line is no JSON: {}",
        log()
    );
    worker.signal(Signal::USR2);
    changed("as at the start");
    let before = told();
    poke(&world);
    wait_for(Duration::from_millis(500), || false);
    assert_eq!(told(), before, "{}", log());
}
