//! Is what a job of the queue may not keep kept apart in the store, and is it told and counted?

use acceptance::kiln::command;
use acceptance::places;
use acceptance::stack::world::{World, bash, id};
use serde_json::Value;

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
fn new_rules_take_back_what_was_released() {
    let world = World::up(1);
    let job = bash("echo needle,1 > a.csv; echo hay,1 > b.csv");
    let outcome = world.serve(&job);
    let object = outcome["artifacts"][0]["object"].as_str().expect("kept");
    assert_eq!(outcome["artifacts"][0]["path"], "a.csv");
    assert!(world.store().join(object).exists());
    let folder = places::scratch();
    let rule = "rule needle { strings: $a = \"needle\" condition: $a }\n";
    std::fs::write(folder.path().join("own.yar"), rule).expect("scratch");
    let config = folder.path().join("kiln.toml");
    let store = world.store().display().to_string();
    let text = format!(
        "[store]\nurl = \"file://{store}\"\n[scanner]\nrules = {:?}\n",
        folder.path()
    );
    std::fs::write(&config, text).expect("scratch");
    let rescan = |more: &[&str]| {
        let ran = command(folder.path())
            .args(["rescan", "--json", "--config"])
            .arg(&config)
            .args(more)
            .output()
            .expect("it runs");
        let lines = String::from_utf8(ran.stdout).expect("text");
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        (ran.status.code(), lines.collect::<Vec<Value>>())
    };
    let (exit, told) = rescan(&["--dry-run"]);
    assert_eq!(exit, Some(1), "{told:?}");
    assert!(world.store().join(object).exists(), "nothing is taken");
    let (exit, told) = rescan(&[]);
    assert_eq!((exit, told.len()), (Some(1), 2), "{told:?}");
    assert_eq!(told[0]["path"], "a.csv");
    assert_eq!(
        (&told[0]["then"], &told[0]["now"]),
        (&"clean".into(), &"suspicious".into())
    );
    let held = object.replacen("artifacts/", "quarantine/", 1);
    assert_eq!(told[0]["object"], held);
    assert_eq!(
        (&told[1]["scanned"], &told[1]["taken_back"]),
        (&2.into(), &1.into())
    );
    assert!(!world.store().join(object).exists());
    let kept = std::fs::read(world.store().join(&held)).expect("it is kept apart");
    assert_eq!(kept, b"needle,1\n");
    let (exit, told) = rescan(&[]);
    assert_eq!(exit, Some(0), "{told:?}");
    assert_eq!(
        (&told[0]["gone"], &told[0]["scanned"]),
        (&1.into(), &1.into())
    );
}
