//! What should the counters of a worker say, by the outcomes of its jobs?
//!
//! The outcomes are read as a client reads them; nothing here shares code with the worker. Every series of a family that
//! is judged counts: one that says more than happened is as wrong as one that says less.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Counters that outcomes explain to the last one.
const COUNTERS: [&str; 6] = [
    "kiln_jobs_total",
    "kiln_artifacts_total",
    "kiln_scan_total",
    "kiln_streams_withheld_total",
    "kiln_limits_hit_total",
    "kiln_pool_acquire_total",
];

/// Histograms of which outcomes tell every value.
const HISTOGRAMS: [&str; 6] = [
    "kiln_job_run_seconds",
    "kiln_job_overhead_seconds",
    "kiln_job_latency_seconds",
    "kiln_queue_wait_seconds",
    "kiln_scan_seconds",
    "kiln_pool_acquire_seconds",
];

/// The stages of `kiln_job_stage_seconds` that an outcome tells; `publish` comes after it.
const STAGES: [&str; 6] = ["acquire", "stage_in", "run", "collect", "scan", "store"];
const STAGE: &str = "kiln_job_stage_seconds";

/// Warnings and reasons that are limits.
const LIMITS: [&str; 9] = [
    "wall_time",
    "cpu_time",
    "memory",
    "pids",
    "disk",
    "inodes",
    "output",
    "syscall",
    "network",
];

/// A name, and its labels but `le`, as `a="b",c="d"` in the order of their names.
type Series = (String, String);

/// What is expected of one worker.
#[derive(Debug, Default)]
pub struct Tally {
    jobs: u64,
    counters: BTreeMap<Series, u64>,
    /// In microseconds.
    histograms: BTreeMap<Series, Vec<u64>>,
}

impl Tally {
    /// A committed outcome of a job of this class and profile; `labelled` says whether a profile has a label.
    pub fn add(&mut self, class: &str, profile: &str, outcome: &Value) {
        self.jobs += 1;
        let word = |key: &str| outcome[key].as_str().unwrap_or_default();
        let labels = [
            ("class", class),
            ("profile", profile),
            ("status", word("status")),
        ];
        self.count("kiln_jobs_total", &labels);
        if outcome["duplicate_of"].is_string() {
            return; // It ran nothing.
        }
        for key in ["state", "verdict"] {
            let name = ["kiln_artifacts_total", "kiln_scan_total"][usize::from(key == "verdict")];
            for artifact in list(&outcome["artifacts"]) {
                self.count(name, &[(key, artifact[key].as_str().unwrap_or_default())]);
            }
        }
        let codes: Vec<_> = list(&outcome["warnings"])
            .filter_map(|it| it["code"].as_str())
            .collect();
        for _ in codes.iter().filter(|code| **code == "stream_withheld") {
            self.count("kiln_streams_withheld_total", &[]);
        }
        for limit in LIMITS
            .into_iter()
            .filter(|it| word("reason") == *it || codes.contains(it))
        {
            self.count("kiln_limits_hit_total", &[("limit", limit)]);
        }
        self.times(class, &outcome["timing_us"]);
        if let Some(start) = outcome["sandbox"]["start"].as_str() {
            self.count(
                "kiln_pool_acquire_total",
                &[("profile", profile), ("start", start)],
            );
            self.took(
                "kiln_pool_acquire_seconds",
                &[],
                outcome["timing_us"]["acquire"].as_u64(),
            );
        }
    }

    fn times(&mut self, class: &str, timing: &Value) {
        let us = |key: &str| timing[key].as_u64();
        for stage in STAGES {
            self.took(STAGE, &[("stage", stage)], us(stage));
        }
        self.took("kiln_job_run_seconds", &[], us("run"));
        self.took("kiln_scan_seconds", &[], us("scan"));
        self.took("kiln_queue_wait_seconds", &[], us("queue_wait"));
        let ours = us("total").map(|total| total - us("run").unwrap_or(0));
        self.took("kiln_job_latency_seconds", &[("class", class)], ours);
        let ours = us("run")
            .and(ours)
            .map(|ours| ours - us("queue_wait").unwrap_or(0));
        self.took("kiln_job_overhead_seconds", &[], ours);
    }

    fn count(&mut self, name: &str, labels: &[(&str, &str)]) {
        *self.counters.entry(series(name, labels)).or_default() += 1;
    }

    fn took(&mut self, name: &str, labels: &[(&str, &str)], us: Option<u64>) {
        self.histograms
            .entry(series(name, labels))
            .or_default()
            .extend(us);
    }

    /// How many outcomes were added.
    pub fn jobs(&self) -> u64 {
        self.jobs
    }

    /// How many outcomes have this status.
    pub fn with_status(&self, status: &str) -> u64 {
        let label = format!("status=\"{status}\"");
        let of = self
            .counters
            .iter()
            .filter(|((name, labels), _)| name == COUNTERS[0] && labels.contains(&label));
        of.map(|(_, count)| count).sum()
    }

    /// How many series of a page of metrics were judged, and each that says something else.
    pub fn differences(&self, page: &str) -> (usize, Vec<String>) {
        let mut wrong = Vec::new();
        let mut seen = BTreeSet::new();
        let mut judged = 0;
        for line in page.lines().filter(|line| !line.starts_with('#')) {
            let Some((key, value)) = line.rsplit_once(' ') else {
                continue;
            };
            let value: f64 = value.parse().unwrap_or(f64::NAN);
            let Some(expected) = self.expected(key, &mut seen) else {
                continue;
            };
            judged += 1;
            if (value - expected).abs() > 1e-6 * expected.max(1.0) {
                wrong.push(format!("{key} is {value}, and {expected} happened"));
            }
        }
        let timed = self
            .histograms
            .iter()
            .filter(|(_, values)| !values.is_empty());
        let known = self.counters.keys().chain(timed.map(|(series, _)| series));
        let absent = known.filter(|series| !seen.contains(*series));
        wrong.extend(absent.map(|(name, labels)| format!("{name}{{{labels}}} is not there")));
        (judged, wrong)
    }

    /// What a series should say, where it is of a family that is judged.
    fn expected(&self, key: &str, seen: &mut BTreeSet<Series>) -> Option<f64> {
        let (name, labels) = key
            .trim_end_matches('}')
            .split_once('{')
            .unwrap_or((key, ""));
        if COUNTERS.contains(&name) {
            let series = (name.to_owned(), labels.to_owned());
            let count = self.counters.get(&series).copied().unwrap_or(0);
            seen.insert(series);
            return Some(figure(count));
        }
        let ends = ["_bucket", "_count", "_sum"];
        let (family, end) = ends
            .iter()
            .find_map(|end| Some((name.strip_suffix(end)?, *end)))?;
        let (le, rest): (Vec<_>, Vec<_>) = labels
            .split(',')
            .filter(|it| !it.is_empty())
            .partition(|it| it.starts_with("le=\""));
        let series = (family.to_owned(), rest.join(","));
        let known = HISTOGRAMS.contains(&family)
            || (family == STAGE && self.histograms.contains_key(&series));
        if !known {
            return None;
        }
        let none = Vec::new();
        let values = self.histograms.get(&series).unwrap_or(&none);
        seen.insert(series);
        Some(match end {
            "_sum" => values.iter().map(|us| seconds(*us)).sum(),
            "_count" => figure(values.len() as u64),
            _ => {
                let bound = le.first()?.strip_prefix("le=\"")?.strip_suffix('"')?;
                let bound = if bound == "+Inf" {
                    f64::INFINITY
                } else {
                    bound.parse().ok()?
                };
                let within = values.iter().filter(|us| seconds(**us) <= bound);
                figure(within.count() as u64)
            }
        })
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn series(name: &str, labels: &[(&str, &str)]) -> Series {
    let labels: Vec<_> = labels
        .iter()
        .map(|(name, word)| format!("{name}=\"{word}\""))
        .collect();
    (name.to_owned(), labels.join(","))
}

/// As the worker turns them into seconds: at the bound of a bucket the last bit counts.
fn seconds(us: u64) -> f64 {
    Duration::from_micros(us).as_secs_f64()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and microseconds of a test are far below 2^52"
)]
fn figure(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tally() -> Tally {
        let mut tally = Tally::default();
        let outcome = json!({
            "status": "succeeded", "reason": null, "duplicate_of": null,
            "artifacts": [{"state": "released", "verdict": "clean"}],
            "warnings": [{"code": "pids"}],
            "timing_us": {"run": 3000, "total": 5000, "acquire": 100, "scan": null},
            "sandbox": {"start": "warm"},
        });
        tally.add("batch", "bash", &outcome);
        tally
    }

    const PAGE: &str = "# HELP kiln_jobs_total x\n\
        kiln_jobs_total{class=\"batch\",profile=\"bash\",status=\"failed\"} 0\n\
        kiln_jobs_total{class=\"batch\",profile=\"bash\",status=\"succeeded\"} 1\n\
        kiln_artifacts_total{state=\"released\"} 1\n\
        kiln_scan_total{verdict=\"clean\"} 1\n\
        kiln_limits_hit_total{limit=\"pids\"} 1\n\
        kiln_pool_acquire_total{profile=\"bash\",start=\"warm\"} 1\n\
        kiln_job_run_seconds_bucket{le=\"0.0025\"} 0\n\
        kiln_job_run_seconds_bucket{le=\"0.005\"} 1\n\
        kiln_job_run_seconds_bucket{le=\"+Inf\"} 1\n\
        kiln_job_run_seconds_sum 0.003\n\
        kiln_job_run_seconds_count 1\n\
        kiln_job_latency_seconds_count{class=\"batch\"} 1\n\
        kiln_job_overhead_seconds_sum 0.002\n\
        kiln_job_stage_seconds_count{stage=\"acquire\"} 1\n\
        kiln_job_stage_seconds_count{stage=\"publish\"} 9\n\
        kiln_pool_acquire_seconds_count 1\n\
        kiln_slots 4\n";

    #[test]
    fn a_page_that_says_what_happened_has_no_differences() {
        let (judged, wrong) = tally().differences(PAGE);
        assert_eq!(judged, 15);
        let absent = |it: &&String| !it.ends_with("is not there");
        assert!(wrong.iter().find(absent).is_none(), "{wrong:?}");
    }

    #[test]
    fn one_more_and_one_less_and_one_missing_are_found() {
        let lines: Vec<_> = PAGE
            .lines()
            .filter(|it| !it.starts_with('#') && !it.contains("publish") && !it.contains("slots"))
            .collect();
        for line in lines {
            let (key, value) = line.rsplit_once(' ').expect("a value");
            let value: f64 = value.parse().expect("a number");
            for other in [value + 1.0, value - 1.0] {
                let (_, wrong) =
                    tally().differences(&PAGE.replace(line, &format!("{key} {other}")));
                assert!(
                    wrong.iter().any(|it| it.starts_with(&format!("{key} is"))),
                    "{key}"
                );
            }
        }
        let without = PAGE.replace("kiln_limits_hit_total{limit=\"pids\"} 1\n", "");
        let (_, wrong) = tally().differences(&without);
        assert!(wrong.contains(&"kiln_limits_hit_total{limit=\"pids\"} is not there".to_owned()));
    }
}
