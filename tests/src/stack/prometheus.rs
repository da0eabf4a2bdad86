//! A Prometheus of its own that asks workers by the repository's rules, at a drill's pace.

use crate::dashboards;
use crate::leftovers::wait_for;
use crate::stack::folder::Folder;
use crate::stack::http;
use crate::stack::ports::Ports;
use crate::stack::process::{Plan, Process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;
use std::time::Duration;

/// A server with the rules of `dashboards/`.
#[derive(Debug)]
pub struct Prometheus {
    server: Process,
    ports: Ports,
    folder: Folder,
}

/// An alert that fires.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Firing {
    /// Its name.
    pub alert: String,
    /// Whether it wakes somebody.
    pub page: bool,
}

impl Prometheus {
    /// Starts one that asks these workers, by name and port, each second; rules go `pace` times as fast as in life,
    /// and at a pace of 1 all is as in life: it asks each 15 s.
    ///
    /// # Panics
    /// When it is not installed, or does not answer within half a minute.
    pub fn start(workers: &[(String, u16)], pace: u32) -> Self {
        let (folder, ports) = (Folder::new(), Ports::take());
        let made = Command::new(dashboards::folder().join("build"))
            .args(["--pace", &pace.to_string(), "--out"])
            .arg(folder.path())
            .status();
        assert!(made.is_ok_and(|status| status.success()), "no rules");
        let (every, back) = if pace == 1 {
            ("15s", "5m")
        } else {
            ("1s", "5s")
        };
        let mut config = format!(
            "global: {{scrape_interval: {every}, evaluation_interval: {every}}}\n\
             rule_files: [rules/kiln.yml]\nscrape_configs:\n- job_name: kiln\n  static_configs:\n",
        );
        for (name, port) in workers {
            let target =
                format!("  - {{targets: ['127.0.0.1:{port}'], labels: {{instance: {name}}}}}");
            writeln!(config, "{target}").expect("a string takes it");
        }
        let file = folder.path().join("prometheus.yml");
        std::fs::write(&file, config).expect("the folder is ours");
        let listen = format!("--web.listen-address=127.0.0.1:{}", ports.at(0));
        let config = format!("--config.file={}", file.display());
        let data = format!(
            "--storage.tsdb.path={}",
            folder.path().join("data").display()
        );
        let server = Plan {
            name: "prometheus",
            words: [
                "/usr/bin/prometheus",
                &listen,
                &config,
                &data,
                &format!("--query.lookback-delta={back}"),
            ]
            .map(str::to_owned)
            .to_vec(),
            env: Vec::new(),
            folder: folder.path(),
        }
        .start();
        let this = Self {
            server,
            ports,
            folder,
        };
        let up = wait_for(Duration::from_secs(30), || {
            http::get(this.port(), "/-/ready").is_some_and(|said| said.status == 200)
        });
        assert!(up, "{}", this.server.last_words());
        this
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.ports.at(0)
    }

    /// The folder with its rules, as they were made for its pace.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The series of an expression now, each with its labels and its value; or what is wrong with it.
    pub fn query(&self, expr: &str) -> Result<Vec<Value>, String> {
        let path = format!("/api/v1/query?query={}", escaped(expr));
        let said = http::get(self.port(), &path).ok_or("no answer")?;
        let body: Value = serde_json::from_str(&said.body).map_err(|error| error.to_string())?;
        match body["data"]["result"].as_array() {
            Some(series) if body["status"] == "success" => Ok(series.clone()),
            _ => Err(body["error"].as_str().unwrap_or("no result").to_owned()),
        }
    }

    /// The sum of the values of an expression; nought where it has none.
    ///
    /// # Panics
    /// When it is none.
    pub fn sum(&self, expr: &str) -> f64 {
        let series = self
            .query(expr)
            .unwrap_or_else(|why| panic!("{expr}: {why}"));
        let value = |one: &Value| {
            one["value"][1]
                .as_str()
                .and_then(|it| it.parse::<f64>().ok())
        };
        series.iter().filter_map(value).sum()
    }

    /// The alerts that fire now.
    ///
    /// # Panics
    /// When it cannot be asked.
    pub fn firing(&self) -> BTreeSet<Firing> {
        let series = self.query("ALERTS{alertstate=\"firing\"}");
        let series = series.unwrap_or_else(|why| panic!("the alerts: {why}"));
        let one = |series: &Value| Firing {
            alert: series["metric"]["alertname"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            page: series["metric"]["severity"] == "page",
        };
        series.iter().map(one).collect()
    }
}

fn escaped(text: &str) -> String {
    let mut found = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            found.push(char::from(byte));
        } else {
            write!(found, "%{byte:02X}").expect("a string takes it");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn an_expression_fits_in_an_address() {
        assert_eq!(
            escaped("up{a=\"b c\"} > 0"),
            "up%7Ba%3D%22b%20c%22%7D%20%3E%200"
        );
    }
}
