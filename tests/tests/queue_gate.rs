//! Is what a job of the queue may not keep kept apart in the store, and is it told and counted?

use acceptance::gate::{assert_kept_in, assert_told, everything};
use acceptance::stack::world::{World, bash, fresh, id};
use serde_json::{Value, json};

#[test]
fn what_is_withheld_is_not_where_artifacts_are() {
    let mut world = World::up(1);
    let job = bash(
        "echo a,b > good.csv; echo ok\n\
         printf '%s%s' 'X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR' \
         '-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*' > bad.com\n\
         printf 'key=ghp_%s%s\\n' x9K2mQ7vB4nR8tW1pL5j x9K2mQ7vB4nR8tW1pL5j >&2",
    );
    let outcome = world.serve(&job);
    assert_eq!(outcome["status"], "succeeded", "{outcome:#}");
    let told: Vec<_> = ["bad.com", "good.csv"]
        .into_iter()
        .map(|path| {
            let all = outcome["artifacts"].as_array().expect("a list");
            let one = all.iter().find(|one| one["path"] == path);
            one.expect("it is told of").clone()
        })
        .collect();
    assert_eq!(told[0]["state"], "withheld", "{outcome:#}");
    assert_eq!(told[0]["verdict"], "malicious");
    assert_eq!(told[0]["serve"], Value::Null);
    assert_eq!(told[1]["state"], "released");
    assert_eq!(told[1]["verdict"], "clean");
    let object = |one: &Value| one["object"].as_str().expect("kept").to_owned();
    assert!(object(&told[0]).starts_with(&format!("quarantine/{}/", id(&job))));
    assert!(object(&told[1]).starts_with(&format!("artifacts/{}/", id(&job))));
    assert_eq!(outcome["stderr"]["object"], Value::Null);
    let text = outcome["stderr"]["text"].as_str().expect("text");
    assert!(text.starts_with("[kiln: withheld"), "{text}");
    assert!(outcome["stdout"]["object"].is_string(), "{outcome:#}");
    let mut counted = |name: &str, label: &str| world.worker().metric(name, label);
    for (name, label) in [
        ("kiln_artifacts_total", "state=\"withheld\""),
        ("kiln_artifacts_total", "state=\"released\""),
        ("kiln_scan_total", "verdict=\"malicious\""),
        ("kiln_scan_total", "verdict=\"clean\""),
        ("kiln_scan_seconds_count", ""),
    ] {
        let counted = counted(name, label);
        assert!((counted - 1.0).abs() < 0.1, "{name}{{{label}}} {counted}");
    }
}

#[test]
fn a_job_with_everything_is_told_of_by_the_queue_too() {
    let world = World::up(1);
    let job = json!({
        "schema": "kiln.job.v1", "id": fresh("everything"), "profile": "python",
        "code": everything(), "limits": {"disk_bytes": 64 << 20},
    });
    let outcome = world.serve(&job);
    assert_told(&outcome);
    let below = |folder: &str| {
        let runs = world.store().join(folder).join(id(&job));
        let run = std::fs::read_dir(runs).expect("there").next();
        let run = run.expect("one run").expect("readable").path();
        let names = std::fs::read_dir(&run).expect("a folder");
        let names = names.map(|it| it.expect("readable").file_name().into_string());
        let mut names: Vec<_> = names.map(|it| it.expect("plain")).collect();
        names.sort();
        (run, names)
    };
    assert_eq!(below("artifacts").1, ["report.html", "summary.csv"]);
    let (run, names) = below("quarantine");
    assert_eq!(names, ["backup.zip", "minutes.docm", "~stdout"]);
    let key = std::fs::read(run.join("~stdout")).expect("kept");
    assert_kept_in(&key, [&*outcome.to_string()]);
}
