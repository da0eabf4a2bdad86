//! What do the dashboards, rules and runbooks of the repository say?

use crate::places::repository;
use regex::Regex;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The folder of dashboards and rules.
pub fn folder() -> PathBuf {
    repository().join("dashboards")
}

/// A file of the repository.
///
/// # Panics
/// When it is not there.
pub fn read(path: &str) -> String {
    let path = repository().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One query of a panel.
#[derive(Debug, Clone)]
pub struct Query {
    /// `<dashboard>: <panel>`.
    pub panel: String,
    /// As Grafana has it, with its variables.
    pub expr: String,
}

impl Query {
    /// As Prometheus has it: every worker, and a window of so many seconds.
    pub fn plain(&self, window: u32) -> String {
        let window = format!("{window}s");
        let all = ["$instance", "$profile", "$class"];
        let whole = self.expr.replace("$__rate_interval", &window);
        all.iter()
            .fold(whole, |expr, name| expr.replace(name, ".*"))
    }
}

/// Every dashboard, by its name.
///
/// # Panics
/// When one is no JSON.
pub fn dashboards() -> BTreeMap<String, Value> {
    let entries = std::fs::read_dir(folder().join("grafana")).expect("there are dashboards");
    let parsed = entries.map(|entry| {
        let path = entry.expect("readable").path();
        let text = std::fs::read_to_string(&path).expect("readable");
        let value: Value = serde_json::from_str(&text).expect("it is JSON");
        let name = value["uid"].as_str().expect("it has a uid").to_owned();
        (name, value)
    });
    parsed.collect()
}

/// Every panel but the headings, as `<dashboard>: <panel>`.
///
/// # Panics
/// When a dashboard is none.
pub fn panels() -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for (uid, dashboard) in dashboards() {
        let panels = dashboard["panels"].as_array().expect("it has panels");
        for panel in panels.iter().filter(|panel| panel["type"] != "row") {
            let title = panel["title"].as_str().expect("it has a title");
            all.push((format!("{uid}: {title}"), panel.clone()));
        }
    }
    all
}

/// Every query of every panel.
///
/// # Panics
/// When a panel has none.
pub fn queries() -> Vec<Query> {
    let mut all = Vec::new();
    for (panel, value) in panels() {
        let targets = value["targets"].as_array().expect("it has queries");
        for target in targets {
            let expr = target["expr"].as_str().expect("it has an expression");
            all.push(Query {
                panel: panel.clone(),
                expr: expr.to_owned(),
            });
        }
    }
    all
}

/// What the generator says of alerts and of panels that may be empty.
///
/// # Panics
/// When it is no JSON.
pub fn index() -> Value {
    serde_json::from_str(&read("dashboards/rules/alerts.json")).expect("it is JSON")
}

/// The names of all alerts.
///
/// # Panics
/// When there are none.
pub fn alerts() -> BTreeSet<String> {
    let index = index();
    let alerts = index["alerts"].as_object().expect("there are alerts");
    alerts.keys().cloned().collect()
}

/// The metrics that a worker has, by the table of the documentation, which is tested against the code.
pub fn documented() -> BTreeSet<String> {
    names(&read("worker/docs/telemetry.md"), r"\| `(kiln_[a-z_]+)` \|")
}

/// The metrics that an expression, or a text, names: without the endings of histograms.
pub fn metrics(text: &str) -> BTreeSet<String> {
    let found = names(
        text,
        r"(?:^|[^:a-zA-Z_])((?:kiln|process)_[a-z_]+)\b(?:[^:a-zA-Z_]|$)",
    );
    let known = documented();
    let base = |name: String| {
        let ends = ["_bucket", "_count", "_sum"];
        let shorter = ends.iter().find_map(|end| name.strip_suffix(end));
        match shorter {
            Some(shorter) if !known.contains(&name) => shorter.to_owned(),
            _ => name,
        }
    };
    found.into_iter().map(base).collect()
}

fn names(text: &str, pattern: &str) -> BTreeSet<String> {
    let pattern = Regex::new(pattern).expect("a pattern");
    let mut found = BTreeSet::new();
    let mut from = 0;
    // Overlapping ends: what follows one name may stand before the next.
    while let Some(captures) = pattern.captures_at(text, from) {
        let name = captures.get(1).expect("it has one group");
        found.insert(name.as_str().to_owned());
        from = name.end();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_found_in_expressions() {
        let expr = "sum(rate(kiln_store_request_seconds_bucket{a=\"kiln.jobs\"}[5m])) / kiln_slots \
                    + instance:kiln_pool_cold:ratio_rate5m + kiln_jobs_total";
        let found: Vec<_> = metrics(expr).into_iter().collect();
        assert_eq!(
            found,
            [
                "kiln_jobs_total",
                "kiln_slots",
                "kiln_store_request_seconds"
            ]
        );
    }
}
