//! Do the private servers of the tests work: do they come up, break as asked, come back, and leave nothing?

use acceptance::leftovers::{lives, wait_for};
use acceptance::stack::broker::Broker;
use acceptance::stack::client::Client;
use acceptance::stack::folder;
use acceptance::stack::letter::Letter;
use acceptance::stack::objects::Objects;
use acceptance::stack::redis::Redis;
use serde_json::json;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(40);

/// A client whose outcomes are published by itself: there is no worker.
fn client(broker: &Broker) -> Client {
    let client = Client::start(&broker.url("%2f"));
    broker.ctl(&[
        "eval",
        "rabbit_exchange:declare(rabbit_misc:r(<<\"/\">>, exchange, <<\"kiln.results\">>), topic, true, false, false, [], <<\"guest\">>), ok.",
    ]);
    client.wait_bound();
    client
}

fn outcome(job: &str) -> Letter {
    Letter {
        exchange: "kiln.results".to_owned(),
        key: "default.succeeded".to_owned(),
        body: json!({"job_id": job, "attempt": 1})
            .to_string()
            .into_bytes(),
        id: Some(job.to_owned()),
        ..Letter::default()
    }
}

/// Whether a message still finds its way.
fn serves(client: &Client, job: &str) {
    client.send(&[outcome(job)]);
    let heard = client.outcome(job, PATIENCE);
    assert_eq!(heard.expect("it is heard").json()["job_id"], job);
}

#[test]
fn alone_a_broker_breaks_as_asked_and_comes_back() {
    let broker = Arc::new(Broker::start(""));
    let client = client(&broker);
    serves(&client, "before");
    broker.kill9();
    assert!(!broker.ready());
    broker.revive();
    serves(&client, "after-a-kill");
    broker.restart_app();
    serves(&client, "after-a-restart");
    broker.close_all_connections();
    let closed = || client.state().contains("asked for by a test");
    assert!(wait_for(PATIENCE, closed), "{}", client.state());
    serves(&client, "after-a-close");
    for alarm in [Broker::memory_alarm, Broker::disk_alarm] {
        alarm(&broker, true);
        let other = Client::start(&broker.url("%2f"));
        let letter = [outcome("blocked")];
        std::thread::scope(|scope| {
            let sent = scope.spawn(|| other.send(&letter));
            assert!(!wait_for(Duration::from_secs(2), || sent.is_finished()));
            alarm(&broker, false);
        });
        assert!(client.outcome("blocked", PATIENCE).is_some());
    }
    broker.freeze();
    assert!(!broker.ready());
    broker.thaw();
    serves(&client, "after-a-frost");
    broker.delete_queue("/", "test.outcomes");
    let bound = || broker.consumers("/", "test.outcomes") == 1;
    assert!(wait_for(PATIENCE, bound), "{:?}", broker.queues("/"));
    serves(&client, "after-a-deletion");
}

#[test]
fn a_virtual_host_is_nobodys_and_is_forgotten() {
    let broker = Broker::shared();
    let (one, two) = (broker.vhost(), broker.vhost());
    assert_ne!(one, two);
    let client = Client::start(&broker.url(&one));
    client.declare("kiln.reply.a");
    client.send(&[Letter {
        key: "kiln.reply.a".to_owned(),
        body: b"hello".to_vec(),
        ..Letter::default().header("x-kiln-reason", "none")
    }]);
    for _ in 0..2 {
        let lies = client.peek("kiln.reply.a");
        assert_eq!(lies.len(), 1, "looking takes nothing");
        assert_eq!(
            (lies[0].body.as_slice(), lies[0].header("x-kiln-reason")),
            (&b"hello"[..], "none")
        );
    }
    assert_eq!(broker.queues(&two), []);
    drop(client);
    for vhost in [one, two] {
        broker.forget(&vhost);
        assert!(!broker.ctl(&["list_vhosts"]).contains(&vhost));
    }
}

/// Names the servers it started, and is killed by the other test.
#[test]
fn killed_half_of_the_test_below() {
    let Ok(file) = std::env::var("KILN_TEST_HALF") else {
        return;
    };
    let (broker, redis) = (Broker::start(""), Redis::start());
    std::fs::write(&file, broker.name() + " " + &redis.url()).expect("writable");
    wait_for(Duration::from_mins(5), || false);
}

#[test]
fn alone_a_killed_test_leaves_nothing_after_the_next_start() {
    let scratch = acceptance::places::scratch();
    let file = scratch.path().join("names");
    let mut half = Command::new(std::env::current_exe().expect("we are a program"))
        .args(["--exact", "killed_half_of_the_test_below"])
        .env("KILN_TEST_HALF", &file)
        .stdout(Stdio::null())
        .spawn()
        .expect("we can be started");
    let own = format!("{}-", half.id());
    let ours = || {
        let entries = std::fs::read_dir(folder::home())
            .into_iter()
            .flatten()
            .flatten();
        let paths = entries.map(|entry| entry.path());
        let of = |path: &std::path::PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(&own))
        };
        paths.filter(of).collect::<Vec<_>>()
    };
    assert!(
        wait_for(PATIENCE, || file.exists()),
        "the servers are not up"
    );
    let noted = |folder: &std::path::PathBuf| {
        let text = std::fs::read_to_string(folder.join("pids")).unwrap_or_default();
        let pids = text
            .lines()
            .filter_map(|line| line.split('-').next()?.parse().ok());
        pids.collect::<Vec<u32>>()
    };
    let pids: Vec<u32> = ours().iter().flat_map(noted).collect();
    assert!(
        pids.len() == 3 && pids.iter().all(|&pid| lives(pid)),
        "{pids:?}"
    );
    half.kill().expect("it runs");
    half.wait().expect("it is ours");
    let gone = wait_for(Duration::from_secs(5), || {
        !pids.iter().any(|&pid| lives(pid))
    });
    assert!(gone, "servers outlive their test: {pids:?}");
    assert_eq!(ours().len(), 2, "its folders are still there");
    folder::sweep(&folder::home());
    assert!(ours().is_empty());
}

#[test]
fn s3_and_redis_come_up() {
    let objects = Objects::start();
    objects.bucket("kiln");
    assert!(Redis::start().url().starts_with("redis://127.0.0.1:"));
}
