//! Is a job from the queue served as the contract says, from its submission to its answer?

use acceptance::places;
use acceptance::stack::letter::Letter;
use acceptance::stack::objects::Objects;
use acceptance::stack::world::{World, bash, fresh, id, sleeper};
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.expect("after 1970").as_millis()).expect("not so far")
}

fn with(mut job: Value, key: &str, value: impl Into<Value>) -> Value {
    job[key] = value.into();
    job
}

fn warns(outcome: &Value, pointer: &str) -> bool {
    let warnings = outcome["warnings"].as_array().cloned().unwrap_or_default();
    warnings.iter().any(|warning| warning["pointer"] == pointer)
}

#[test]
fn a_job_is_served_and_what_is_published_is_what_is_stored() {
    let mut world = World::up(2);
    let job = bash("echo hello; echo x > made.txt");
    world.submit(std::slice::from_ref(&job));
    let message = world.message(&id(&job));
    let outcome = message.json();
    assert_eq!(outcome["status"], "succeeded", "{outcome:#}");
    assert_eq!(outcome["stdout"]["text"], "hello\n");
    assert_eq!(outcome["artifacts"][0]["path"], "made.txt");
    assert_eq!(
        (&outcome["attempt"], &outcome["redelivered"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(outcome["worker"], "a");
    assert_eq!(message.key, "default.succeeded");
    assert_eq!(message.kind.as_deref(), Some("kiln.outcome.v1"));
    assert_eq!(
        message.correlation, message.id,
        "without one it is the job's id"
    );
    assert_eq!(world.stored(&id(&job)), Some(message.body));
    let counted = world
        .worker()
        .metric("kiln_jobs_total", "status=\"succeeded\"");
    assert!((counted - 1.0).abs() < 0.1, "counted {counted}");
    world.assert_kept(1, "one job");
}

#[test]
fn what_fails_is_answered_too_and_never_run_again() {
    let world = World::up(2);
    let job = bash("echo partial; exit 3");
    let outcome = world.serve(&job);
    assert_eq!(
        (&outcome["status"], &outcome["exit_code"]),
        (&json!("failed"), &json!(3))
    );
    assert_eq!(outcome["stdout"]["text"], "partial\n");
    assert_eq!(world.message(&id(&job)).key, "default.failed");
    world.assert_kept(1, "a job that fails");
}

#[test]
fn every_way_into_a_message_is_understood() {
    let world = World::up(2);
    let plain = bash("cat; echo served");
    let zip = |program: &str, bytes: &[u8]| {
        let file = world.folder().path().join(fresh("packed"));
        std::fs::write(&file, bytes).expect("writable");
        let packed = Command::new(program).arg("-c").arg(&file).output();
        packed.expect("it is installed").stdout
    };
    let mut bare = Letter::job("interactive", &plain);
    (bare.kind, bare.content_type) = (
        Some("kiln.job.v1".to_owned()),
        Some("application/json".to_owned()),
    );
    let mut unnamed = bash("echo served");
    unnamed.as_object_mut().expect("an object").remove("id");
    let mut by_property = Letter::job("interactive", &unnamed);
    by_property.id = Some(fresh("by-property"));
    let mut packed = Letter::job("interactive", &bash("echo served"));
    packed.body = zip("gzip", &packed.body);
    packed.encoding = Some("gzip".to_owned());
    let batch = Letter::job("batch", &bash("echo served"));
    let tenant = Letter::job("interactive.nobody-knows", &bash("echo served"));
    for letter in [bare, by_property, packed, batch, tenant] {
        let job = letter.id.clone().expect("named");
        let outcome = world.serve_letter(letter, &job);
        assert_eq!(outcome["stdout"]["text"], "served\n", "{outcome:#}");
    }
}

#[test]
fn an_answer_goes_where_it_is_asked_for() {
    let world = World::up(2);
    let queue = fresh("kiln.reply.test");
    world.client.declare(&queue);
    let mut letter = Letter::job("interactive", &bash("echo hello"));
    letter.reply_to = Some(queue.clone());
    letter.correlation = Some("call-7".to_owned());
    let job = letter.id.clone().expect("named");
    world.client.send(&[letter.clone()]);
    let message = world.message(&job);
    let reply = world.replies(&queue, 1).remove(0);
    assert_eq!(reply.body, message.body);
    assert_eq!(reply.correlation.as_deref(), Some("call-7"));
    assert_eq!(message.correlation.as_deref(), Some("call-7"));
    assert_eq!(reply.kind.as_deref(), Some("kiln.outcome.v1"));
    // A queue that is gone costs nothing; one of another name is refused.
    for (reply_to, status) in [("kiln.reply.gone", "succeeded"), ("kiln.dead", "rejected")] {
        let mut letter = Letter::job("interactive", &bash("true"));
        letter.reply_to = Some(reply_to.to_owned());
        let job = letter.id.clone().expect("named");
        assert_eq!(
            world.serve_letter(letter, &job)["status"],
            status,
            "{reply_to}"
        );
    }
}

#[test]
fn the_body_wins_over_properties_and_says_so() {
    let world = World::up(2);
    let job = bash("echo hello");
    let mut letter = Letter::job("batch", &with(job.clone(), "class", "interactive"));
    letter.id = Some(fresh("another"));
    let outcome = world.serve_letter(letter, &id(&job));
    assert_eq!(outcome["status"], "succeeded", "{outcome:#}");
    assert!(
        warns(&outcome, "/id") && warns(&outcome, "/class"),
        "{:#}",
        outcome["warnings"]
    );
}

#[test]
fn the_same_id_again_is_the_same_answer() {
    let world = World::up(2);
    let job = bash("echo $RANDOM");
    let first = world.serve(&job);
    let copies = world.client.heard().1;
    world.submit(&[job.clone(), with(job.clone(), "code", "echo another")]);
    assert!(
        world
            .client
            .wait_copies(copies + 2, Duration::from_secs(30))
    );
    assert_eq!(world.answer(&id(&job)), first);
    assert_eq!(world.starts(&id(&job)), 1);
    // Another tenant's is none of its business.
    let foreign = with(with(job.clone(), "tenant", "thief"), "code", "true");
    world.client.send(&[Letter::job("interactive", &foreign)]);
    world.serve(&bash("true")); // It is behind the others.
    world.assert_kept(1, "the same id four times");
}

#[test]
fn twice_at_once_is_run_once() {
    let world = World::up(4);
    let job = sleeper(1500);
    world.submit(&[job.clone(), job.clone(), job.clone()]);
    world.answer(&id(&job));
    assert!(
        world.client.wait_copies(3, Duration::from_secs(30)),
        "each is answered"
    );
    world.assert_kept(1, "three messages of one job");
}

#[test]
fn an_idempotency_key_is_one_run_for_many_ids() {
    let world = World::up(4);
    let key = fresh("report");
    let first = with(sleeper(2000), "idempotency_key", key.as_str());
    let second = with(sleeper(2000), "idempotency_key", key.as_str());
    world.submit(std::slice::from_ref(&first));
    world.wait_started(&id(&first));
    world.submit(std::slice::from_ref(&second)); // ... while the first still runs.
    let third = with(sleeper(2000), "idempotency_key", key.as_str());
    let original = world.answer(&id(&first));
    for later in [&second, &third] {
        let copy = if id(later) == id(&third) {
            world.serve(later)
        } else {
            world.answer(&id(later))
        };
        assert_eq!(copy["duplicate_of"], id(&first), "{copy:#}");
        assert_eq!(copy["job_id"], id(later));
        assert_eq!(copy["stdout"], original["stdout"]);
        assert_eq!(world.starts(&id(later)), 0);
    }
    world.assert_kept(1, "three jobs of one key");
}

#[test]
fn a_deadline_holds_before_and_during_the_run() {
    let world = World::up(1);
    let late = with(bash("echo late"), "deadline_unix_ms", now_ms() - 1000);
    let outcome = world.serve(&late);
    assert_eq!(
        (&outcome["status"], world.starts(&id(&late))),
        (&json!("expired"), 0),
        "{outcome:#}"
    );
    let mut by_header = Letter::job("interactive", &bash("echo late"));
    by_header = by_header.header("x-deadline-unix-ms", &(now_ms() - 1000).to_string());
    let job = by_header.id.clone().expect("named");
    assert_eq!(world.serve_letter(by_header, &job)["status"], "expired");
    let cut = with(
        bash("echo begun; sleep 30"),
        "deadline_unix_ms",
        now_ms() + 2500,
    );
    let outcome = world.serve(&cut);
    assert_eq!(
        (&outcome["status"], &outcome["reason"]),
        (&json!("timed_out"), &json!("deadline"))
    );
    assert_eq!(outcome["stdout"]["text"], "begun\n");
}

#[test]
fn a_client_that_knows_only_the_contract_is_served() {
    let world = World::up(2);
    for more in [&["--direct"][..], &[]] {
        let job = json!({"code": "print(6 * 7)", "profile": "python"});
        let file = world.folder().path().join(fresh("job"));
        std::fs::write(&file, job.to_string()).expect("writable");
        let client = Command::new(places::venv().join("bin/python"))
            .arg(places::home().join("python/pika_client.py"))
            .arg(world.amqp())
            .arg(&file)
            .args(more)
            .output()
            .expect("python is there");
        assert!(
            client.status.success(),
            "{client:?}\n{}",
            world.last_words()
        );
        let outcome: Value = serde_json::from_slice(&client.stdout).expect("an outcome");
        assert_eq!(outcome["stdout"]["text"], "42\n");
    }
}

#[test]
fn the_command_line_submits_and_reads() {
    let mut world = World::up(2);
    let job = bash("echo hello");
    let file = world.folder().path().join("job.json");
    std::fs::write(&file, job.to_string()).expect("writable");
    let file = file.display().to_string();
    let submit = world.worker().kiln(&["submit", &file, "--wait", "--json"]);
    assert_eq!(submit.status.code(), Some(0), "{submit:?}");
    let result = world.worker().kiln(&["result", &id(&job), "--json"]);
    let outcome: Value = serde_json::from_slice(&result.stdout).expect("an outcome");
    assert_eq!(outcome["stdout"]["text"], "hello\n");
    let unknown = world.worker().kiln(&["result", &fresh("nobody")]);
    assert_eq!(unknown.status.code(), Some(1), "{unknown:?}");
    let replay = world.worker().kiln(&["replay", &id(&job)]);
    assert_eq!(replay.status.code(), Some(0), "{replay:?}");
}

#[test]
fn a_store_of_objects_serves_as_files_do() {
    let objects = Objects::start();
    objects.bucket("kiln");
    let world = World::with(|setup| {
        setup.store = format!(
            "url = \"s3://kiln/jobs\"\nendpoint = \"{}\"",
            objects.endpoint()
        );
        setup.env.extend(Objects::credentials());
    });
    let job = bash("echo hello; echo made > made.txt");
    let outcome = world.serve(&job);
    assert_eq!(outcome["status"], "succeeded", "{outcome:#}");
    let stored = objects.object("kiln", &format!("jobs/results/{}.json", id(&job)));
    assert_eq!(
        stored.map(String::into_bytes),
        Some(world.message(&id(&job)).body)
    );
    let made = outcome["artifacts"][0]["object"].as_str().expect("a key");
    assert_eq!(
        objects.object("kiln", &format!("jobs/{made}")).as_deref(),
        Some("made\n")
    );
}
