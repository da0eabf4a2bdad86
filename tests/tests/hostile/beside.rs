//! Groups C and E: does a job find anything of a job that runs at the same time, in another sandbox?
//!
//! Some probes plant, each in a job of its own that then stays alive; meanwhile every probe looks. The clocks of the
//! jobs say which looks were within the lives of the plants; only those count.

use crate::leaks::{looked, step, two_step};
use acceptance::batch::{Batch, sandbox, text};
use acceptance::hostile::{Findings, Probe};
use acceptance::places;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// Plants that live at once.
const PLANTS: usize = 10;
/// Looks that run at once beside them.
const LOOKS: usize = 2;
/// How long a plant stays.
const STAY_S: u32 = 6;
const PATIENCE: Duration = Duration::from_secs(90);

/// Runs the probe's first step as a child, says when it was done, and stays: what it left lives on.
const PLANTER: &str = "import os, subprocess, sys, time
subprocess.run([sys.executable, 'probe.py', 'plant', *sys.argv[2:]])
os.write(1, b'\\nPLANTED-AT %d\\n' % int(time.time() * 1000))
time.sleep(float(sys.argv[1]))
";

fn planter(probe: &Probe, id: &str, built: &Path) -> Value {
    let mut job = step(probe, id, &["plant".to_owned()], built);
    let code = job["code"].take();
    let mut files = job["files"].as_array().cloned().unwrap_or_default();
    files.push(json!({"path": "probe.py", "text": code}));
    job["files"] = json!(files);
    job["code"] = json!(PLANTER);
    let mut args = vec![json!(STAY_S.to_string())];
    args.extend(job["args"].as_array().cloned().unwrap_or_default());
    job["args"] = json!(args);
    job["tenant"] = json!("one");
    job
}

/// When a job of this outcome was alive, in milliseconds since 1970, as the worker saw it.
fn alive(outcome: &Value) -> Option<(u64, u64)> {
    let end = outcome["finished_unix_ms"].as_u64()?;
    let run = outcome["timing_us"]["run"].as_u64()?;
    Some((end.checked_sub(run / 1000)?, end))
}

/// From when to when a planter held what it had planted.
fn held(outcome: &Value) -> Option<(u64, u64)> {
    let mut lines = text(outcome, "stdout").lines();
    let planted = lines.find_map(|line| line.strip_prefix("PLANTED-AT "))?;
    Some((planted.parse().ok()?, alive(outcome)?.1))
}

#[test]
fn alone_beside_each_other_jobs_find_nothing() {
    let built = places::scratch();
    let mut findings = Findings::default();
    // A C program's heap is its own; a job that is killed for want of memory stays nowhere. Both are looked at one after
    // the other.
    let stays = |probe: &Probe| !probe.is_c() && probe.name != "sticky_oom_and_limits";
    let probes: Vec<Probe> = two_step().into_iter().filter(stays).collect();
    let (mut pairs, mut wanted) = (0, 0);
    for (round, plants) in probes.chunks(PLANTS).enumerate() {
        let mut batch = Batch::start(PLANTS + LOOKS, &[]);
        for plant in plants {
            batch.send(&planter(
                plant,
                &format!("{round}-{}-plant", plant.name),
                built.path(),
            ));
        }
        for look in &probes {
            let words = ["look".to_owned()];
            let mut job = step(
                look,
                &format!("{round}-{}-look", look.name),
                &words,
                built.path(),
            );
            job["tenant"] = json!("two");
            batch.send(&job);
        }
        batch.close();
        let results: Vec<Value> = (0..plants.len() + probes.len())
            .map(|_| batch.next(PATIENCE).expect("a result"))
            .collect();
        let of = |step: &'static str| {
            results
                .iter()
                .filter(move |one| text_id(one).ends_with(step))
        };
        let plants: Vec<_> = of("-plant").collect();
        for plant in &plants {
            assert!(held(plant).is_some(), "nothing was planted: {plant:#}");
        }
        for look in of("-look") {
            let probe = probes
                .iter()
                .find(|probe| text_id(look) == format!("{round}-{}-look", probe.name))
                .expect("a look is of a probe");
            findings.note(&probe.file, &format!("beside round {round}"), looked(look));
            let (from, to) = alive(look).expect("a look has a time");
            for plant in &plants {
                let (planted, ended) = held(plant).expect("looked at above");
                assert_ne!(
                    sandbox(plant).0,
                    sandbox(look).0,
                    "two jobs at once in one sandbox"
                );
                pairs += usize::from(planted <= from && to <= ended);
                wanted += 1;
            }
        }
    }
    assert!(
        pairs * 2 > wanted,
        "only {pairs} of {wanted} looks were beside a plant"
    );
    findings.settle();
}

fn text_id(outcome: &Value) -> &str {
    outcome["job_id"].as_str().unwrap_or_default()
}
