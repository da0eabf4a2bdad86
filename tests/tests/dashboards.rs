//! Are the dashboards, rules and runbooks whole: made from their sources, sound, and about metrics that exist?

use acceptance::dashboards::{alerts, documented, folder, index, metrics, panels, queries, read};
use acceptance::places::repository;
use std::collections::BTreeSet;
use std::process::Command;

/// Figures of the process and of Prometheus itself, which have the names that all have.
const COMMON: [&str; 6] = [
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
];

/// Runs a command in the folder of dashboards; what it said, where it failed.
fn run(program: &str, words: &[&str]) -> Result<(), String> {
    let output = Command::new(program)
        .args(words)
        .current_dir(folder())
        .output()
        .map_err(|error| format!("{program} cannot be started (tests/run installs it): {error}"))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    output.status.success().then_some(()).ok_or(said)
}

fn known() -> BTreeSet<String> {
    let common = COMMON.map(str::to_owned);
    documented().into_iter().chain(common).collect()
}

#[test]
fn what_is_checked_in_is_what_the_sources_make() {
    run("./build", &["--check"]).expect("run dashboards/build and look at what changed");
}

#[test]
fn promtool_takes_the_rules_and_every_alert_is_tested_both_ways() {
    run("promtool", &["check", "rules", "rules/kiln.yml"]).expect("sound rules");
    run("promtool", &["test", "rules", "rules/kiln.test.yml"]).expect("alerts that fire");
    let tests = read("dashboards/rules/kiln.test.yml");
    let alerts = alerts();
    assert!(alerts.len() >= 18, "{} alerts", alerts.len());
    for alert in alerts {
        for word in ["fires", "is quiet"] {
            let name = format!("name: \"{alert} {word}\"");
            assert!(tests.contains(&name), "{name}");
        }
    }
}

/// A rule that promtool takes though its alert can never fire would be no test: break one and see.
#[test]
fn an_alert_that_cannot_fire_is_found() {
    let scratch = std::env::temp_dir().join(format!("kiln-rules-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).expect("writable");
    let rules = read("dashboards/rules/kiln.yml");
    let broken = rules.replace("kiln_redis_up == 0", "kiln_redis_up == 7");
    assert_ne!(rules, broken);
    std::fs::write(scratch.join("kiln.yml"), broken).expect("writable");
    let tests = read("dashboards/rules/kiln.test.yml");
    let (head, rest) = tests.split_once("tests:\n").expect("it has tests");
    let start = rest
        .find("- name: \"KilnRedisAway fires\"")
        .expect("tested");
    let length = rest[start + 1..].find("- name:").expect("not the last");
    let one = format!("{head}tests:\n  {}\n", &rest[start..=start + length]);
    let file = scratch.join("one.yml");
    std::fs::write(&file, one.trim_end()).expect("writable");
    let said = run("promtool", &["test", "rules", &file.display().to_string()]);
    std::fs::remove_dir_all(&scratch).expect("ours");
    let said = said.expect_err("it cannot fire");
    assert!(said.contains("KilnRedisAway"), "{said}");
}

#[test]
fn every_alert_has_a_runbook_that_names_the_figures_of_its_cause() {
    let index = index();
    let books = repository().join("worker/docs/runbooks");
    let mut wrong = Vec::new();
    for (alert, about) in index["alerts"].as_object().expect("alerts") {
        let Ok(book) = std::fs::read_to_string(books.join(format!("{alert}.md"))) else {
            wrong.push(format!("{alert} has no runbook"));
            continue;
        };
        for head in [
            format!("# {alert}\n"),
            "\n## What it means\n\n".to_owned(),
            "\n## Look here\n\n".to_owned(),
            "\n## Do this\n\n".to_owned(),
        ] {
            if !book.contains(&head) {
                wrong.push(format!("{alert}.md lacks `{}`", head.trim()));
            }
        }
        for metric in about["cause"].as_array().expect("causes") {
            let metric = metric.as_str().expect("a name");
            if !book.contains(metric) {
                wrong.push(format!("{alert}.md does not name `{metric}`"));
            }
            if metric != "up" && !known().contains(metric) {
                wrong.push(format!("`{metric}` of {alert} does not exist"));
            }
        }
        let strange = metrics(&book);
        wrong.extend(
            strange
                .difference(&known())
                .map(|metric| format!("{alert}.md names `{metric}`, which does not exist")),
        );
    }
    let alerts = alerts();
    for entry in std::fs::read_dir(&books).expect("there are runbooks") {
        let name = entry.expect("readable").file_name();
        let name = name.to_string_lossy().replace(".md", "");
        if !alerts.contains(&name) {
            wrong.push(format!("no alert leads to {name}.md"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checked in, an alert leads to a file of the repository; whoever serves runbooks says where.
#[test]
fn every_alert_leads_to_its_runbook_wherever_that_is_served() {
    let places = |rules: &str| -> Vec<String> {
        let of = |line: &str| {
            Some(
                line.trim()
                    .strip_prefix("runbook_url: \"")?
                    .strip_suffix('"')?
                    .to_owned(),
            )
        };
        rules.lines().filter_map(of).collect()
    };
    let here = places(&read("dashboards/rules/kiln.yml"));
    assert_eq!(here.len(), alerts().len());
    for place in &here {
        assert!(repository().join(place).is_file(), "{place}");
    }
    let scratch = std::env::temp_dir().join(format!("kiln-books-{}", std::process::id()));
    let out = scratch.display().to_string();
    run(
        "./build",
        &["--out", &out, "--runbooks", "https://ops.example/kiln/"],
    )
    .expect("it is made");
    let rules = std::fs::read_to_string(scratch.join("rules/kiln.yml")).expect("it was made");
    let board =
        std::fs::read_to_string(scratch.join("grafana/kiln-fleet.json")).expect("it was made");
    std::fs::remove_dir_all(&scratch).expect("ours");
    let there = places(&rules);
    let served = here
        .iter()
        .map(|place| place.replace("worker/docs/runbooks", "https://ops.example/kiln"));
    assert_eq!(there, served.collect::<Vec<_>>());
    assert!(
        board.contains("\"query\": \"https://ops.example/kiln\""),
        "{board}"
    );
}

#[test]
fn links_between_runbooks_lead_somewhere() {
    let books = repository().join("worker/docs/runbooks");
    for alert in alerts() {
        let book = read(&format!("worker/docs/runbooks/{alert}.md"));
        for link in book.split("](").skip(1) {
            let to = link.split(')').next().unwrap_or_default();
            assert!(books.join(to).is_file(), "{alert}.md leads to {to}");
        }
    }
}

#[test]
fn dashboards_and_rules_are_about_metrics_that_exist_and_about_all_of_them() {
    let known = known();
    let mut shown = metrics(&read("dashboards/rules/kiln.yml"));
    let strange: Vec<_> = shown.difference(&known).cloned().collect();
    assert!(strange.is_empty(), "the rules name {strange:?}");
    for query in queries() {
        let named = metrics(&query.expr);
        let strange: Vec<_> = named.difference(&known).collect();
        assert!(strange.is_empty(), "{} asks for {strange:?}", query.panel);
        shown.extend(named);
    }
    let unseen: Vec<_> = known.difference(&shown).collect();
    assert!(unseen.is_empty(), "in no dashboard and no rule: {unseen:?}");
}

#[test]
fn every_panel_asks_a_question_and_leads_to_a_runbook_that_is_there() {
    let alerts = alerts();
    let mut linked = BTreeSet::new();
    for (name, panel) in panels() {
        let asks = panel["description"].as_str().unwrap_or_default();
        assert!(asks.ends_with('?') && asks.len() > 15, "{name}: {asks}");
        let unit = panel["fieldConfig"]["defaults"]["unit"].as_str();
        assert!(unit.is_some(), "{name} has no unit");
        for link in panel["links"].as_array().into_iter().flatten() {
            let url = link["url"].as_str().unwrap_or_default();
            let book = url.strip_prefix("${runbooks}/").unwrap_or_default();
            let alert = book.strip_suffix(".md").unwrap_or_default();
            assert!(alerts.contains(alert), "{name} leads to {url}");
            linked.insert(alert.to_owned());
        }
    }
    // What a picture would not show better than the alert's own words.
    let none = [
        "KilnAllWorkersGone",
        "KilnStateUnwritable",
        "KilnWardenGone",
        "KilnLatencySlowBurn",
        "KilnTestBuild",
    ];
    let unseen: Vec<_> = alerts
        .difference(&linked)
        .filter(|alert| !none.contains(&alert.as_str()))
        .collect();
    assert!(unseen.is_empty(), "no panel leads to {unseen:?}");
}

#[test]
fn no_two_panels_overlap() {
    for (uid, dashboard) in acceptance::dashboards::dashboards() {
        let mut taken = BTreeSet::new();
        for panel in dashboard["panels"].as_array().expect("panels") {
            let at = |side: &str| panel["gridPos"][side].as_u64().expect("a place");
            for x in at("x")..at("x") + at("w") {
                assert!(x < 24, "{uid}: {} is too wide", panel["title"]);
                for y in at("y")..at("y") + at("h") {
                    assert!(taken.insert((x, y)), "{uid}: {} overlaps", panel["title"]);
                }
            }
        }
    }
}
