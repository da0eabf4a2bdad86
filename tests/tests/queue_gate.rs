//! Is what a job of the queue may not keep kept apart in the store, and is it told and counted?

use acceptance::gate::{assert_kept_in, assert_told, everything};
use acceptance::kiln::command;
use acceptance::places;
use acceptance::stack::world::{World, bash, fresh, id};
use serde_json::{Value, json};
use std::path::Path;

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

/// A command over a world's store, with a rule against `needle` or without: exit code and lines.
fn with_rules(world: &World, rule: bool, words: &[&str]) -> (Option<i32>, Vec<Value>, String) {
    let folder = places::scratch();
    let text = "rule needle { strings: $a = \"needle\" condition: $a }\n";
    std::fs::write(folder.path().join("own.yar"), text).expect("scratch");
    let rules = format!("[scanner]\nrules = '{}'\n", folder.path().display());
    let store = world.store().display().to_string();
    let text = format!(
        "[store]\nurl = \"file://{store}\"\n{}",
        if rule { &rules } else { "" }
    );
    let config = folder.path().join("kiln.toml");
    std::fs::write(&config, text).expect("scratch");
    let ran = command(folder.path())
        .args(words)
        .args(["--json", "--config"])
        .arg(&config)
        .output()
        .expect("it runs");
    let lines = String::from_utf8(ran.stdout).expect("text");
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    (ran.status.code(), lines.collect(), said)
}

#[test]
fn what_is_held_comes_out_by_an_operators_act_alone_and_goes_by_one() {
    let world = World::up(1);
    let job = bash(
        "echo needle,1 > a.csv; echo needle,2 > b.csv
         printf '%s%s' 'X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR' \
         '-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*' > bad.com",
    );
    let outcome = world.serve(&job);
    let job = id(&job);
    let object = |at: usize| {
        let text = outcome["artifacts"][at]["object"].as_str();
        text.expect("kept").to_owned()
    };
    let there = |object: &str| Path::new(&world.store()).join(object).exists();
    let (exit, _, said) = with_rules(&world, true, &["rescan"]);
    assert_eq!(exit, Some(1), "{said}");
    let (_, held, _) = with_rules(&world, true, &["quarantine", "ls"]);
    let mut paths: Vec<_> = held.iter().filter_map(|it| it["path"].as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["a.csv", "b.csv", "bad.com"]);

    let release = |rule: bool, words: &[&str]| {
        let all = [
            &["quarantine", "release", &job, "--reason", "seen by hand"],
            words,
        ];
        let (exit, lines, said) = with_rules(&world, rule, &all.concat());
        (
            exit,
            lines.first().map_or(Value::Null, |it| it["state"].clone()),
            said,
        )
    };
    // What the rules still hold against stays, unless somebody vouches; what harms stays anyway.
    let (exit, state, said) = release(true, &["a.csv"]);
    assert_eq!((exit, state), (Some(1), "withheld".into()), "{said}");
    let (exit, state, said) = release(true, &["bad.com", "--vouch"]);
    assert_eq!((exit, state), (Some(1), "withheld".into()), "{said}");
    let (exit, _, said) = release(true, &["none.csv"]);
    assert_eq!(exit, Some(1), "{said}");
    let (exit, _, said) = with_rules(
        &world,
        true,
        &["quarantine", "release", &job, "a.csv", "--reason", " "],
    );
    assert_eq!(exit, Some(2), "{said}");
    let (exit, state, said) = release(false, &["a.csv", "--dry-run"]);
    assert_eq!((exit, state), (Some(0), "withheld".into()), "{said}");
    assert!(!there(&object(0)) && !there(&object(1)) && !there("audit"));

    // A rule was wrong: the file comes out. It was right, and is vouched for: that lasts.
    let (exit, state, said) = release(false, &["a.csv"]);
    assert_eq!((exit, state), (Some(0), "released".into()), "{said}");
    let (exit, state, said) = release(true, &["b.csv", "--vouch"]);
    assert_eq!((exit, state), (Some(0), "released".into()), "{said}");
    assert!(there(&object(0)) && there(&object(1)));
    let (exit, lines, said) = with_rules(&world, true, &["rescan"]);
    assert_eq!(exit, Some(1), "{said}");
    assert_eq!((&lines[0]["path"], lines.len()), (&"a.csv".into(), 2));
    assert!(!there(&object(0)) && there(&object(1)));

    // Each act is on record, with who and why.
    let (exit, shown, _) = with_rules(&world, false, &["quarantine", "show", &job]);
    assert_eq!(exit, Some(0));
    let acts: Vec<_> = shown.iter().filter(|it| it["act"] == "release").collect();
    assert_eq!(acts.len(), 2, "{shown:#?}");
    assert_eq!(
        (&acts[1]["path"], &acts[1]["vouched"]),
        (&"b.csv".into(), &true.into())
    );
    assert_eq!(
        (&acts[1]["reason"], &acts[1]["uid"]),
        (&"seen by hand".into(), &0.into())
    );

    let purge = |words: &[&str]| {
        let all = [&["quarantine", "purge"], words].concat();
        let (exit, lines, _) = with_rules(&world, false, &all);
        (exit, lines.len())
    };
    assert_eq!(
        purge(&[]).0,
        Some(2),
        "nobody empties it by leaving words out"
    );
    assert_eq!(purge(&["--older-than", "1"]), (Some(0), 0));
    assert_eq!(purge(&[&job, "--dry-run"]), (Some(0), 2));
    assert!(there(&object(2)));
    assert_eq!(purge(&[&job]), (Some(0), 2));
    assert!(!there(&object(2)));
    assert_eq!(purge(&[&job]), (Some(1), 0));
}

#[test]
fn new_rules_take_back_what_was_released() {
    let world = World::up(1);
    let job = bash("echo needle,1 > a.csv; echo hay,1 > b.csv");
    let outcome = world.serve(&job);
    let object = outcome["artifacts"][0]["object"].as_str().expect("kept");
    assert_eq!(outcome["artifacts"][0]["path"], "a.csv");
    assert!(world.store().join(object).exists());
    let rescan = |more: &[&str]| {
        let (exit, told, _) = with_rules(&world, true, &[&["rescan"], more].concat());
        (exit, told)
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
