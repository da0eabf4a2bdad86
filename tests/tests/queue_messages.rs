//! What becomes of a message that is no job: is it answered or set aside, with a reason, and does the worker live on?

use acceptance::leftovers::wait_for;
use acceptance::stack::letter::Letter;
use acceptance::stack::world::{SOON, World, bash, fresh};
use serde_json::{Value, json};

/// A letter with this body and this id in its properties.
fn letter(body: impl Into<Vec<u8>>, id: Option<&str>) -> Letter {
    let mut letter = Letter::job("interactive", &Value::Null);
    (letter.body, letter.id) = (body.into(), id.map(str::to_owned));
    letter
}

fn nested(depth: usize, id: &str) -> String {
    let (open, close) = ("[".repeat(depth), "]".repeat(depth));
    format!(
        r#"{{"schema":"kiln.job.v1","id":"{id}","code":"true","profile":"bash","labels":{open}{close}}}"#
    )
}

#[test]
fn who_can_be_answered_is_answered_with_a_pointer() {
    let mut world = World::up(2);
    let base = |key: &str, value: Value| {
        let mut job = bash("true");
        job[key] = value;
        job
    };
    let cases: [(&str, Value, &str); 9] = [
        ("a wrong type", base("code", json!(["true"])), "/code"),
        (
            "a wrong type below",
            base("limits", json!({"wall_ms": "10 s"})),
            "/limits/wall_ms",
        ),
        (
            "too much",
            base("limits", json!({"wall_ms": 99_999_999})),
            "/limits/wall_ms",
        ),
        (
            "an unknown profile",
            base("profile", json!("pyhton")),
            "/profile",
        ),
        (
            "an unknown schema",
            base("schema", json!("kiln.job.v9")),
            "/schema",
        ),
        ("two programs", base("command", json!(["true"])), "/command"),
        (
            "a way out",
            base("files", json!([{"path": "../x", "text": ""}])),
            "/files/0/path",
        ),
        (
            "a wrong secret",
            base("secrets", json!({"A": {"b": "hidden-value"}})),
            "/secrets/A",
        ),
        ("an unknown class", base("class", json!("urgent")), "/class"),
    ];
    for (what, job, pointer) in cases {
        let outcome = world.serve(&job);
        let told = format!("{what}: {outcome:#}");
        assert_eq!(outcome["status"], "rejected", "{told}");
        assert_eq!(outcome["reason"], "bad_job", "{told}");
        assert_eq!(outcome["fault"], "user", "{told}");
        assert_eq!(outcome["evidence"]["pointer"], pointer, "{told}");
        assert!(!outcome.to_string().contains("hidden-value"), "{told}");
    }
    assert!(world.worker().process().ended().is_none());
    world.assert_kept(0, "nothing was started");
}

#[test]
fn a_refusal_is_shown_to_no_other_tenant() {
    let world = World::with(|setup| setup.more = "[tenants.acme]\n[tenants.evil]\n".to_owned());
    let id = fresh("mine");
    let wrong = json!({"schema": "kiln.job.v1", "id": id, "code": "true", "limits": 1});
    let mut right = bash("true");
    right["id"] = json!(id);
    let to = |key: &str, job: &Value| Letter::job(key, job);
    let first = world.serve_letter(to("interactive.acme", &wrong), &id);
    assert_eq!(first["evidence"]["tenant"], "acme");
    world.client.send(&[
        to("interactive.evil", &wrong),
        to("interactive.evil", &right),
    ]);
    world.dead(2);
    let copies = world.client.heard().1;
    world.client.send(&[to("interactive.acme", &wrong)]);
    assert!(world.client.wait_copies(copies + 1, SOON), "it is acme's");
    world.assert_kept(0, "nothing was started");
}

#[test]
fn a_queue_that_refuses_answers_holds_nobody_up() {
    let world = World::up(1);
    let full = r#"{"max-length": 0, "overflow": "reject-publish"}"#;
    let refuse = |queues: &str| {
        let policy = ["set_policy", "-p", &world.vhost, "full", queues, full];
        world
            .broker
            .ctl(&[&policy[..], &["--apply-to", "queues"]].concat());
    };
    let queue = fresh("kiln.reply.full");
    world.client.declare(&queue);
    refuse("^kiln[.]reply[.]full");
    let job = bash("true");
    let mut letter = Letter::job("interactive", &job);
    letter.reply_to = Some(queue);
    let id = job["id"].as_str().expect("text");
    assert_eq!(world.serve_letter(letter, id)["status"], "succeeded");
    let sent = std::time::Instant::now();
    assert_eq!(world.serve(&bash("echo on"))["stdout"]["text"], "on\n");
    assert!(sent.elapsed() < SOON / 2, "{:?}", sent.elapsed());
    world.assert_kept(1, "each was run once");
}

#[test]
fn what_is_too_large_or_too_deep_is_answered_by_its_property() {
    let world = World::up(2);
    let large = fresh("large");
    let body = json!({"schema": "kiln.job.v1", "id": large, "profile": "bash", "code": "x".repeat(10 << 20)});
    let outcome = world.serve_letter(letter(body.to_string(), Some(&large)), &large);
    assert_eq!(
        (&outcome["status"], &outcome["reason"]),
        (&json!("rejected"), &json!("too_large"))
    );
    let code = fresh("code");
    let body = json!({"schema": "kiln.job.v1", "id": code, "profile": "bash", "code": "x".repeat(2 << 20)});
    let outcome = world.serve_letter(letter(body.to_string(), Some(&code)), &code);
    assert_eq!(outcome["status"], "rejected");
    assert!(!outcome.to_string().contains("xxxx"), "code is not told");
    for depth in [40, 100_000] {
        let deep = fresh("deep");
        let outcome = world.serve_letter(letter(nested(depth, &deep), Some(&deep)), &deep);
        assert_eq!(outcome["status"], "rejected", "depth {depth}: {outcome:#}");
    }
    world.assert_kept(0, "nothing was started");
}

#[test]
fn what_cannot_be_answered_is_set_aside_with_a_reason() {
    let mut world = World::up(2);
    let good = || {
        let mut job = bash("true");
        job.as_object_mut().expect("an object").remove("id");
        job.to_string()
    };
    let mut unknown_type = letter(good(), None);
    unknown_type.kind = Some("kiln.job.v9".to_owned());
    let mut unknown_encoding = letter(good(), None);
    unknown_encoding.encoding = Some("br".to_owned());
    let mut broken_gzip = letter("not gzip", None);
    broken_gzip.encoding = Some("gzip".to_owned());
    let mut other_content = letter(good(), None);
    other_content.content_type = Some("text/plain".to_owned());
    let cases = [
        ("not JSON", letter("{\"schema\": ", None), "bad_message"),
        ("nothing", letter("", None), "bad_message"),
        ("no object", letter("[1, 2]", None), "bad_message"),
        (
            "no UTF-8",
            letter(b"{\"id\": \"\xff\xfe\"}".to_vec(), None),
            "bad_message",
        ),
        ("no id", letter(good(), None), "no_id"),
        (
            "an id that is none",
            letter(r#"{"schema":"kiln.job.v1","id":"../x","code":""}"#, None),
            "no_id",
        ),
        ("too large", letter(vec![b' '; 10 << 20], None), "too_large"),
        (
            "a bomb of brackets",
            letter("[".repeat(3 << 20), None),
            "bad_message",
        ),
        ("an unknown type", unknown_type, "bad_message"),
        ("an unknown encoding", unknown_encoding, "bad_message"),
        ("a broken encoding", broken_gzip, "bad_message"),
        ("another content type", other_content, "bad_message"),
    ];
    let letters: Vec<_> = cases.iter().map(|(_, letter, _)| letter.clone()).collect();
    world.client.send(&letters);
    let dead = world.dead(cases.len());
    for (what, letter, reason) in &cases {
        let found = dead.iter().filter(|dead| dead.body == letter.body);
        let reasons: Vec<_> = found.map(|dead| dead.header("x-kiln-reason")).collect();
        assert!(reasons.contains(reason), "{what}: {reasons:?}");
    }
    assert!(
        dead.iter()
            .all(|dead| !dead.header("x-kiln-detail").is_empty())
    );
    // It lives, it serves, and it was asked no message twice.
    let outcome = world.serve(&bash("echo alive"));
    assert_eq!(outcome["stdout"]["text"], "alive\n");
    let deliveries = world.worker().metric("kiln_amqp_deliveries_total", "");
    let expected = f64::from(u32::try_from(cases.len() + 1).expect("few"));
    assert!(
        (deliveries - expected).abs() < 0.1,
        "{deliveries} deliveries"
    );
    assert_eq!(world.worker().exits(), 0);
}

#[test]
fn dead_letters_are_listed_replayed_and_purged() {
    let mut world = World::up(2);
    let mut job = bash("echo served");
    job.as_object_mut().expect("an object").remove("id");
    world
        .client
        .send(&[letter(job.to_string(), None), letter("no JSON", None)]);
    world.dead(2);
    let listed = world.worker().kiln(&["dlq", "ls", "--json"]);
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(
        listed.status.success() && text.contains("no_id") && text.contains("bad_message"),
        "{listed:?}"
    );
    let purge = ["dlq", "purge", "--reason", "bad_message"];
    let only_said = world.worker().kiln(&[&purge[..], &["--dry-run"]].concat());
    assert!(only_said.status.success(), "{only_said:?}");
    let purged = world.worker().kiln(&purge);
    assert!(purged.status.success(), "{purged:?}");
    assert_eq!(world.dead(1)[0].header("x-kiln-reason"), "no_id");
    // It has no id, so it is chosen by what it holds.
    let mut lines = text.lines().map(serde_json::from_str::<Value>);
    let nameless = lines.find_map(|line| line.ok().filter(|line| line["reason"] == "no_id"));
    let name = nameless.expect("it is listed")["sha256"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let shown = world.worker().kiln(&["dlq", "show", &name]);
    let whole = String::from_utf8_lossy(&shown.stdout);
    assert!(whole.contains("echo served"), "{shown:?}");
    let deliveries = |world: &World| world.workers[0].metric("kiln_amqp_deliveries_total", "");
    let before = deliveries(&world);
    let replayed = world.worker().kiln(&["dlq", "replay", "--id", &name]);
    assert!(replayed.status.success(), "{replayed:?}");
    assert!(wait_for(SOON, || deliveries(&world) > before));
    assert_eq!(world.dead(1)[0].body, job.to_string().as_bytes());
}
