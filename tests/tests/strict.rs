//! Who shares a sandbox with whom: `isolation`, and `reuse` of a profile, as the outcomes tell it?

use acceptance::batch::{Batch, python, sandbox};
use acceptance::places;
use serde_json::{Value, json};

fn job(id: &str, tenant: &str, isolation: Option<&str>) -> Value {
    let mut job = python(id, "print('ran')");
    job["tenant"] = json!(tenant);
    if let Some(isolation) = isolation {
        job["isolation"] = json!(isolation);
    }
    job
}

/// The sandboxes and uses of jobs that follow each other, with this configuration.
fn follow(profile: &str, jobs: &[Value]) -> Vec<(String, u64, Value)> {
    let folder = places::scratch();
    let config = folder.path().join("kiln.toml");
    std::fs::write(&config, format!("[profiles.python]\n{profile}\n")).expect("writable");
    let mut batch = Batch::start(1, &["--config", config.to_str().expect("text")]);
    let ran = jobs.iter().map(|job| {
        let outcome = batch.run(job);
        assert_eq!(outcome["status"], "succeeded", "{outcome:#}");
        let (id, uses) = sandbox(&outcome);
        (id, uses, outcome["sandbox"]["isolation"].clone())
    });
    ran.collect()
}

#[test]
fn a_strict_job_has_a_sandbox_that_nobody_used_before_or_after() {
    let jobs = [
        job("a", "one", None),
        job("b", "one", Some("strict")),
        job("c", "one", None),
        job("d", "one", None),
    ];
    let ran = follow("", &jobs);
    let (a, b, c, d) = (&ran[0], &ran[1], &ran[2], &ran[3]);
    assert_ne!(a.0, b.0, "a used sandbox was given to a strict job");
    assert_eq!((b.1, &b.2), (1, &json!("strict")));
    assert_ne!(b.0, c.0, "the sandbox of a strict job was used again");
    assert_eq!(
        (&c.0, c.1 + 1),
        (&d.0, d.1),
        "a standard job may follow on one"
    );
}

#[test]
fn a_job_may_ask_for_more_than_its_profile_and_not_for_less() {
    let jobs = [job("a", "one", Some("standard")), job("b", "one", None)];
    let ran = follow("isolation = \"strict\"", &jobs);
    for (_, uses, isolation) in &ran {
        assert_eq!((*uses, isolation), (1, &json!("strict")));
    }
    assert_ne!(ran[0].0, ran[1].0);
}

#[test]
fn a_change_of_tenant_retires_where_the_profile_says_so() {
    let jobs = [
        job("a", "one", None),
        job("b", "one", None),
        job("c", "two", None),
    ];
    let by_tenant = follow("reuse = \"tenant\"", &jobs);
    assert_eq!(by_tenant[0].0, by_tenant[1].0);
    assert_ne!(by_tenant[1].0, by_tenant[2].0);
    assert_eq!(by_tenant[2].1, 1);
    let never = follow("reuse = \"never\"", &jobs);
    assert!(never.iter().all(|(_, uses, _)| *uses == 1));
    let any = follow("reuse = \"any\"", &jobs);
    assert_eq!(any.iter().map(|ran| ran.1).collect::<Vec<_>>(), [1, 2, 3]);
}
