//! Is the way of a job a trace that its sender can join, with nothing of the job in it, and does nobody wait for it?

use acceptance::leftovers::wait_for;
use acceptance::stack::collector::{Collector, attribute};
use acceptance::stack::letter::Letter;
use acceptance::stack::world::{SOON, World, bash, fresh, id, ids};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::time::{Duration, Instant};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SENDER: &str = "b7ad6b7169203331";

fn traced(otlp: &str) -> World {
    let otlp = otlp.to_owned();
    World::with(|setup| setup.env.push(("KILN_TELEMETRY__OTLP".to_owned(), otlp)))
}

fn with_parent(job: &Value, parent: &str) -> Letter {
    Letter::job("interactive", job).header("traceparent", parent)
}

fn names(spans: &[Value]) -> Vec<&str> {
    spans
        .iter()
        .filter_map(|span| span["name"].as_str())
        .collect()
}

fn named<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    let found = spans.iter().find(|span| span["name"] == *name);
    found.unwrap_or_else(|| panic!("no `{name}` in {:?}", names(spans)))
}

fn it_says_whose_it_is(own: &Value, job: &Value, outcome: &Value) {
    for (key, value) in [
        ("messaging.system", "rabbitmq"),
        ("messaging.operation.name", "process"),
        ("messaging.destination.name", "kiln.jobs.interactive"),
        ("messaging.message.id", &id(job)),
        ("kiln.tenant", "default"),
        ("kiln.profile", "bash"),
        ("kiln.status", "failed"),
        ("kiln.reason", "exit_code"),
        ("kiln.attempt", "1"),
        (
            "kiln.sandbox.id",
            outcome["sandbox"]["id"].as_str().expect("it ran"),
        ),
    ] {
        assert_eq!(attribute(own, key).as_deref(), Some(value), "{key}");
    }
    assert!(
        own.get("status").is_none(),
        "a program that fails is no error of ours: {own:#}"
    );
}

fn they_are_when_it_was(spans: &[Value], outcome: &Value) {
    let stages = [
        "acquire", "stage_in", "run", "collect", "scan", "store", "commit",
    ];
    let of = |name: &str| named(spans, name);
    let (own, wait) = (
        of("process kiln.jobs.interactive"),
        of("wait kiln.jobs.interactive"),
    );
    let (sent, answered) = (of("send kiln.results"), of("send (temporary)"));
    let time = |span: &Value, key: &str| -> u64 {
        span[key]
            .as_str()
            .and_then(|it| it.parse().ok())
            .expect("a time")
    };
    let began = |span: &Value| time(span, "startTimeUnixNano");
    let ended = |span: &Value| time(span, "endTimeUnixNano");
    for span in spans.iter().filter(|span| *span != wait) {
        assert!(
            began(own) <= began(span) && began(span) <= ended(span),
            "{span:#}"
        );
        assert!(ended(span) <= ended(own), "{span:#}");
    }
    // Each stage is as long as the outcome says, and begins when it began: after the one before, and not at its end.
    let mut gaps = 0;
    for pair in stages.windows(2) {
        let (one, next) = (of(pair[0]), of(pair[1]));
        assert!(ended(one) <= began(next), "{pair:?}");
        gaps += began(next) - ended(one);
        let took = (ended(one) - began(one)) / 1_000;
        let told = outcome["timing_us"][pair[0]].as_u64().expect("it is told");
        assert!(took.abs_diff(told) <= 1, "{pair:?}: {took} and {told}");
    }
    assert!(
        gaps > 1_000,
        "what lies between the stages is nobody's: {gaps} ns"
    );
    assert!(
        began(answered) < ended(sent) && began(sent) < ended(answered),
        "both are sent at once"
    );
    // It waited until it was served, and its sender's span is what it waits under.
    assert_eq!(ended(wait), began(own));
    let waited = outcome["timing_us"]["queue_wait"]
        .as_u64()
        .expect("its letter has a time");
    for span in [wait, own] {
        let told = attribute(span, "kiln.queue_wait_us");
        assert_eq!(told, Some(waited.to_string()));
    }
}

#[test]
fn a_job_is_a_trace_from_its_sender_to_whoever_reads_its_outcome() {
    let collector = Collector::start();
    let world = traced(&collector.url());
    let job = json!({
        "schema": "kiln.job.v1", "id": fresh("job"), "profile": "bash",
        "code": "echo marker-output; echo made > marker-file.txt; exit 3 # marker-code",
        "args": ["marker-arg"], "stdin": "marker-stdin", "env": {"M": "marker-env"},
        "files": [{"path": "marker-input.txt", "text": "marker-content"}],
        "labels": {"marker": "marker"}, "idempotency_key": fresh("marker-key"),
    });
    let replies = "kiln.reply.marker";
    world.client.declare(replies);
    let letter = Letter {
        reply_to: Some(replies.to_owned()),
        ..with_parent(&job, &format!("00-{TRACE}-{SENDER}-01")).stamped()
    };
    let outcome = world.serve_letter(letter, &id(&job));
    assert_eq!(
        (&outcome["trace_id"], &outcome["status"]),
        (&json!(TRACE), &json!("failed"))
    );

    let spans = collector.trace(TRACE, 12);
    let of = |name: &str| named(&spans, name);
    assert_eq!(spans.len(), 12, "{:?}", names(&spans));
    let process = "process kiln.jobs.interactive";
    let own = of(process);
    assert_eq!(
        (&own["parentSpanId"], &own["kind"]),
        (&json!(SENDER), &json!(5))
    );
    let wait = of("wait kiln.jobs.interactive");
    for span in spans.iter().filter(|span| *span != own) {
        let under = if span == wait {
            &own["parentSpanId"]
        } else {
            &own["spanId"]
        };
        assert_eq!(&span["parentSpanId"], under, "{span:#}");
    }
    let mut different: Vec<_> = spans.iter().map(|span| span["spanId"].as_str()).collect();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), spans.len());
    it_says_whose_it_is(own, &job, &outcome);
    let (sent, answered, settled) = (
        of("send kiln.results"),
        of("send (temporary)"),
        of("settle"),
    );
    assert_eq!(
        (&sent["kind"], &answered["kind"], &settled["kind"]),
        (&json!(4), &json!(4), &json!(3))
    );
    assert_eq!(
        attribute(sent, "messaging.destination.name").as_deref(),
        Some("kiln.results:default.failed")
    );
    // Whoever reads the outcome goes on from the span that sent it.
    let header = world.message(&id(&job)).header("traceparent").to_owned();
    assert_eq!(
        header,
        format!("00-{TRACE}-{}-01", sent["spanId"].as_str().expect("an id"))
    );
    let reply = world.replies(replies, 1).remove(0);
    assert_eq!(
        reply.header("traceparent"),
        format!(
            "00-{TRACE}-{}-01",
            answered["spanId"].as_str().expect("an id")
        )
    );
    they_are_when_it_was(&spans, &outcome);

    let all = Value::from(collector.heard().clone()).to_string();
    assert!(
        all.contains("service.instance.id") && !all.to_lowercase().contains("marker"),
        "{all}"
    );
}

#[test]
fn who_sends_no_context_begins_a_trace_and_who_wants_none_has_none() {
    let collector = Collector::start();
    let world = traced(&collector.url());
    let job = bash("true");
    let outcome = world.serve_letter(with_parent(&job, "00-nonsense"), &id(&job));
    let trace = outcome["trace_id"]
        .as_str()
        .expect("its own trace")
        .to_owned();
    let spans = collector.trace(&trace, 10);
    let named = names(&spans);
    assert!(
        !named.iter().any(|name| name.starts_with("wait")),
        "{named:?}"
    );
    assert!(spans[0].get("parentSpanId").is_none(), "{:#}", spans[0]);

    let unwanted = format!("00-{TRACE}-{SENDER}-00");
    let job = bash("true");
    let outcome = world.serve_letter(with_parent(&job, &unwanted), &id(&job));
    assert_eq!(outcome["trace_id"], TRACE);
    assert_eq!(world.message(&id(&job)).header("traceparent"), unwanted);

    // What never runs has its trace too: a refusal, and a letter that nobody can answer.
    let refused =
        json!({"schema": "kiln.job.v1", "id": fresh("job"), "code": "x", "profile": "nobody"});
    let outcome = world.serve(&refused);
    let spans = collector.trace(outcome["trace_id"].as_str().expect("a trace"), 3);
    assert_eq!(
        attribute(&spans[0], "kiln.status").as_deref(),
        Some("rejected")
    );
    world.client.send(&[Letter {
        body: b"no job".to_vec(),
        ..with_parent(&bash("x"), &format!("00-{}-{SENDER}-01", "1".repeat(32)))
    }]);
    let spans = collector.trace(&"1".repeat(32), 1);
    assert_eq!(
        attribute(&spans[0], "error.type").as_deref(),
        Some("bad_message")
    );
    assert_eq!(spans[0]["status"]["code"], 2);
    assert!(
        !Value::from(collector.heard().clone())
            .to_string()
            .contains(TRACE),
        "nobody wanted it"
    );
}

#[test]
fn a_collector_that_is_away_or_hangs_costs_a_counter() {
    let hangs = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let hangs = format!("http://{}", hangs.local_addr().expect("it is bound"));
    for otlp in ["http://127.0.0.1:9", &hangs] {
        let mut world = traced(otlp);
        let jobs: Vec<_> = (0..20).map(|_| bash("true")).collect();
        world.submit(&jobs);
        world.wait_all(&ids(&jobs), SOON);
        let dropped = || world.workers[0].metric("kiln_trace_spans_total", "dropped");
        assert!(
            wait_for(Duration::from_secs(15), || dropped() >= 10.0),
            "{} spans",
            dropped()
        );
        assert!(world.workers[0].ready().is_some_and(|it| it.status == 200));
        let asked = Instant::now();
        world.worker().term();
        assert_eq!(world.worker().exit(SOON), Some(0), "{}", world.last_words());
        assert!(
            asked.elapsed() < Duration::from_secs(8),
            "{:?}",
            asked.elapsed()
        );
        let told = world.workers[0]
            .logs()
            .matches("the collector of traces takes none")
            .count();
        assert_eq!(told, 1, "it is told once: {}", world.workers[0].logs());
    }
}
