//! Do `kiln topology` and `kiln dlq` say and do what they should? Needs a broker, whose url is in
//! `KILN_TEST_AMQP`; fails without.

use lapin::options::{BasicGetOptions, QueueDeclareOptions, QueueDeleteOptions, QueuePurgeOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};

const URL: &str = "KILN_TEST_AMQP";

fn url() -> String {
    std::env::var(URL).unwrap_or_else(|_| panic!("this test needs a broker: set {URL} to its url"))
}

/// With a store of the tests': `dlq replay` looks there for outcomes, and the machine may have none.
fn kiln(url: &str, args: &[&str]) -> Output {
    let store = concat!(env!("CARGO_TARGET_TMPDIR"), "/broker-store");
    std::fs::create_dir_all(store).expect("a folder of the build's");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kiln"));
    command.args(args).env("KILN_AMQP__URL", url);
    let output = command.env("KILN_STORE__URL", format!("file://{store}"));
    output.output().expect("it is built")
}

/// The exit code and the lines of stdout.
fn ask(args: &[&str]) -> (Option<i32>, Vec<String>) {
    let output = kiln(&url(), args);
    let text = String::from_utf8(output.stdout).expect("text");
    (
        output.status.code(),
        text.lines().map(str::to_owned).collect(),
    )
}

/// A configuration with one tenant that has queues of its own.
fn with_tenant(tenant: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("{tenant}.toml"));
    std::fs::write(&path, format!("[tenants.{tenant}]\nshare = 1\n")).expect("a file of ours");
    path
}

fn unique(name: &str) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = since.expect("it is later than 1970").as_micros();
    format!("{name}-{now:x}")
}

async fn channel() -> (Connection, Channel) {
    let connection = Connection::connect(&url(), ConnectionProperties::default()).await;
    let connection = connection.expect("the broker is there");
    let channel = connection.create_channel().await.expect("a channel");
    (connection, channel)
}

#[test]
fn broker_that_is_away_is_said_by_the_exit_code() {
    // Nothing listens on port 1.
    let away = "amqp://127.0.0.1:1/%2f";
    for args in [["topology", "check"], ["topology", "apply"], ["dlq", "ls"]] {
        let output = kiln(away, &args);
        assert_eq!(output.status.code(), Some(69), "{args:?}: {output:?}");
        assert!(output.stdout.is_empty());
    }
    let printed = kiln(away, &["topology", "print"]);
    assert_eq!(printed.status.code(), Some(0), "no broker is needed");
    let definitions: Value = serde_json::from_slice(&printed.stdout).expect("JSON");
    assert_eq!(definitions["exchanges"].as_array().map(Vec::len), Some(8));
    let wrong = kiln("http://u:hunter2@h/", &["topology", "check"]);
    assert_eq!(wrong.status.code(), Some(78), "{wrong:?}");
    assert!(!String::from_utf8_lossy(&wrong.stderr).contains("hunter2"));
}

#[tokio::test]
async fn broker_topology_is_made_checked_and_told_apart() {
    let tenant = unique("cli");
    let config = with_tenant(&tenant);
    let path = config.to_str().expect("it is text");
    let with = |word| ["topology", word, "--config", path];
    let queue = format!("kiln.jobs.interactive.{tenant}");
    let batch = format!("kiln.jobs.batch.{tenant}");
    let (exit, lines) = ask(&with("check"));
    assert_eq!(exit, Some(78));
    assert!(
        lines.contains(&format!("queue `{queue}` is missing")),
        "{lines:?}"
    );
    let (exit, lines) = ask(&with("apply"));
    assert_eq!(exit, Some(0), "{lines:?}");
    assert!(
        lines.contains(&format!("made queue `{queue}`")),
        "{lines:?}"
    );
    assert_eq!(ask(&with("check")), (Some(0), vec!["ok".to_owned()]));
    let (_connection, channel) = channel().await;
    let gone = channel.queue_delete(queue.as_str().into(), QueueDeleteOptions::default());
    gone.await.expect("it goes");
    let made = channel.queue_declare(
        queue.as_str().into(),
        QueueDeclareOptions::durable(),
        FieldTable::default(),
    );
    made.await.expect("it is made, as a classic queue");
    for word in ["check", "apply"] {
        let (exit, lines) = ask(&with(word));
        assert_eq!(exit, Some(78));
        let first = format!("queue `{queue}`: `x-queue-type` is none, wanted is `quorum`");
        assert!(lines.contains(&first), "{lines:?}");
        let ours = |line: &&String| line.contains(&queue);
        assert_eq!(lines.iter().filter(ours).count(), lines.len(), "{lines:?}");
    }
    for name in [queue, batch] {
        let gone = channel.queue_delete(name.into(), QueueDeleteOptions::default());
        gone.await.expect("it goes");
    }
}

/// Puts a letter among the dead.
async fn bury(channel: &Channel, id: &str, reason: &str, queue: &str) {
    let mut headers = FieldTable::default();
    for (name, text) in [
        ("x-kiln-reason", reason),
        ("x-kiln-queue", queue),
        ("x-death", "noise"),
        ("x-keep", "this"),
    ] {
        headers.insert(name.into(), AMQPValue::LongString(text.into()));
    }
    let properties = BasicProperties::default()
        .with_delivery_mode(2)
        .with_message_id(id.into())
        .with_headers(headers);
    let options = lapin::options::BasicPublishOptions::default();
    let sent = channel.basic_publish("".into(), "kiln.dead".into(), options, b"body", properties);
    sent.await.expect("sent").await.expect("taken");
}

#[tokio::test]
async fn broker_dead_letters_are_listed_in_order_replayed_and_purged() {
    let tenant = unique("dlq");
    let config = with_tenant(&tenant);
    let path = config.to_str().expect("it is text");
    let applied = ask(&["topology", "apply", "--config", path]);
    assert_eq!(applied.0, Some(0), "{applied:?}");
    let queue = format!("kiln.jobs.interactive.{tenant}");
    let (_connection, channel) = channel().await;
    channel
        .confirm_select(lapin::options::ConfirmSelectOptions::default())
        .await
        .expect("confirms");
    let ids: Vec<_> = (0..6).map(|n| format!("{tenant}-{n}")).collect();
    for id in &ids {
        bury(&channel, id, &tenant, &queue).await;
    }
    // Looking takes nothing away and changes no order, nor does a look at some of them.
    for _ in 0..3 {
        assert_eq!(ask(&["dlq", "ls", "--max", "2"]).1.len(), 2);
        assert_eq!(ask(&["dlq", "show", &ids[1]]).0, Some(0));
        let (exit, lines) = ask(&["dlq", "ls", "--reason", &tenant, "--json"]);
        assert_eq!(exit, Some(0));
        let listed: Vec<String> = lines.iter().map(|line| id_of(line)).collect();
        assert_eq!(listed, ids);
    }
    let (exit, lines) = ask(&["dlq", "show", &ids[2], "--json"]);
    assert_eq!(exit, Some(0));
    let shown: Value = serde_json::from_str(&lines[0]).expect("JSON");
    assert_eq!(shown["body"], "body");
    assert_eq!(shown["headers"]["x-keep"], "this");
    assert_eq!(ask(&["dlq", "show", "no-such-id"]).0, Some(1));

    let replay = ["dlq", "replay", "--reason", &tenant, "--max", "2"];
    let mut dry = replay.to_vec();
    dry.push("--dry-run");
    assert_eq!(ask(&dry).1.len(), 2);
    assert_eq!(ask(&replay).1.len(), 2);
    for id in &ids[..2] {
        let got = channel.basic_get(queue.as_str().into(), BasicGetOptions { no_ack: true });
        let job = got.await.expect("it is there").expect("it was replayed");
        let properties = &job.delivery.properties;
        assert_eq!(properties.message_id(), &Some(id.as_str().into()));
        let headers = properties.headers().clone().expect("there are some");
        let count = headers.inner().get("x-delivery-count").cloned();
        assert_eq!(
            count,
            Some(AMQPValue::LongLongInt(0)),
            "the broker's, of now"
        );
        let names = headers.inner().keys().map(ToString::to_string);
        let names: Vec<_> = names.filter(|name| name != "x-delivery-count").collect();
        assert_eq!(names, ["x-keep", "x-replayed-by"]);
    }
    let purge = ["dlq", "purge", "--reason", &tenant];
    assert_eq!(ask(&[&purge[..], &["--dry-run"]].concat()).1.len(), 4);
    assert_eq!(ask(&purge).1.len(), 4, "it was only said before");
    assert_eq!(ask(&["dlq", "ls", "--reason", &tenant]).1.len(), 0);
    for class in ["interactive", "batch"] {
        let name = format!("kiln.jobs.{class}.{tenant}");
        let purged = channel.queue_purge(name.as_str().into(), QueuePurgeOptions::default());
        purged.await.expect("it is ours");
        let gone = channel.queue_delete(name.into(), QueueDeleteOptions::default());
        gone.await.expect("it goes");
    }
}

fn id_of(line: &str) -> String {
    let letter: Value = serde_json::from_str(line).expect("JSON");
    letter["id"].as_str().expect("it has one").to_owned()
}
