//! How is it with one worker, as its own listener says?

use super::frame::{Frame, Ink, Line};
use super::{ink, meter};
use crate::cli::escape::name;
use crate::cli::exit::Exit;
use crate::cli::stop::Stop;
use crate::config::Config;
use crate::telemetry::recent::{Bar, Stage, Who};
use crate::telemetry::status::{Dependency, Profile, STATUS_SCHEMA, State, Status};
use crate::telemetry::verdict::Grade;
use crate::tls;
use kiln_protocol::units::format_duration_ms;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 256 * 1_024;
const PATIENCE: Duration = Duration::from_secs(3);
/// Sandboxes of a profile that are drawn one by one.
const DRAWN_MAX: u64 = 40;

/// A worker that can be asked.
pub(super) struct Worker {
    client: reqwest::Client,
    url: String,
}

/// Why a worker did not answer.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("ask `{url}`")]
    Ask { url: String, source: reqwest::Error },
    #[error("ask `{url}`: it answered {status}")]
    Refused {
        url: String,
        status: reqwest::StatusCode,
    },
    #[error("read the answer of `{url}`: it is longer than {ANSWER_BYTES_MAX} bytes")]
    Long { url: String },
    #[error("read the answer of `{url}`: is it a worker of this version?")]
    Other {
        url: String,
        source: serde_json::Error,
    },
}

/// The address of a listener.
pub(super) fn address(text: &str) -> Result<String, String> {
    let bare = text.trim_end_matches('/');
    let rest = bare.strip_prefix("http://").unwrap_or_default();
    let plain = !rest.is_empty() && !rest.contains(['/', '?', '#', '@', ' ']);
    if plain {
        Ok(bare.to_owned())
    } else {
        Err("it is written as `http://host:9464`".to_owned())
    }
}

impl Worker {
    pub(super) fn of(config: &Config) -> Result<Self, Stop> {
        let Some(listen) = config.telemetry.listen else {
            let line = "ask the worker: `telemetry.listen` is `off`; `--fleet` asks Redis";
            return Err(Stop::new(Exit::Config, vec![line.to_owned()]));
        };
        Self::at(format!("http://{}", here(listen)))
    }

    pub(super) fn at(url: String) -> Result<Self, Stop> {
        tls::install();
        let client = reqwest::Client::builder()
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| Stop::unavailable(&error))?;
        Ok(Self { client, url })
    }

    pub(super) async fn json(&self) -> Result<String, Stop> {
        let status = self
            .ask()
            .await
            .map_err(|error| Stop::unavailable(&error))?;
        Ok(serde_json::to_string(&status).expect("texts and figures are JSON"))
    }

    pub(super) async fn frame(&self) -> Result<Frame, Stop> {
        let status = self.ask().await;
        Ok(frame(&status.map_err(|error| Stop::unavailable(&error))?))
    }

    async fn ask(&self) -> Result<Status, AskError> {
        let url = || self.url.clone();
        let failed = |source| AskError::Ask { url: url(), source };
        let asked = self.client.get(format!("{}/status.json", self.url));
        let mut answer = asked.send().await.map_err(failed)?;
        if !answer.status().is_success() {
            let (url, status) = (url(), answer.status());
            return Err(AskError::Refused { url, status });
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(AskError::Long { url: url() });
            }
            body.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&body).map_err(|source| AskError::Other { url: url(), source })
    }
}

/// Where a listener of this machine is asked.
fn here(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

pub(super) fn frame(status: &Status) -> Frame {
    debug_assert_eq!(status.schema, STATUS_SCHEMA);
    let mut frame = Frame::default();
    let up = format_duration_ms(status.uptime_ms / 1_000 * 1_000);
    frame.push(
        Line::default()
            .and(Ink::Bold, &status.worker)
            .and(Ink::Dim, format!("  Kiln {}, up for {up}", status.version)),
    );
    let (mark, colour) = match status.verdict.grade {
        Grade::Good => ("✓", Ink::Good),
        Grade::Warn => ("!", Ink::Warn),
        Grade::Bad => ("✕", Ink::Bad),
    };
    let says = Line::default().and(colour, format!("{mark} {}", status.verdict.says));
    frame.push(if status.verdict.more.is_empty() {
        says
    } else {
        says.plain(format!("  {}", status.verdict.more))
    });
    frame.gap();
    jobs(&mut frame, status);
    frame.gap();
    for need in &status.dependencies {
        frame.push(dependency(need));
    }
    frame.gap();
    pool(&mut frame, status);
    frame.gap();
    stages(&mut frame, &status.recent.stages);
    frame.gap();
    failures(&mut frame, status);
    frame
}

fn jobs(frame: &mut Frame, status: &Status) {
    let (load, ended) = (status.load, &status.recent.ended);
    frame.push(
        Line::default()
            .and(
                Ink::Bold,
                format!("{} jobs/s", rate(ended, status.recent.bar_ms)),
            )
            .plain(format!("  slots {} ", meter(load.busy, load.slots, 10)))
            .and(Ink::Bold, format!("{} of {} busy", load.busy, load.slots))
            .plain(format!("  {} taken", load.in_flight)),
    );
    frame.push(
        Line::default()
            .and(Ink::Good, spark(ended))
            .and(Ink::Dim, "  5 min"),
    );
    let sum = |of: fn(&Bar) -> u64| ended.iter().map(of).sum::<u64>();
    let ours = sum(|bar| bar.ours);
    let line = Line::default()
        .plain(format!("{} succeeded, ", sum(|bar| bar.succeeded)))
        .plain(format!(
            "{} failed by job, limit or policy, ",
            sum(|bar| bar.theirs)
        ));
    let by_us = format!("{ours} failed by the platform");
    frame.push(line.and(if ours > 0 { Ink::Bad } else { Ink::Plain }, by_us));
}

/// Jobs a second in the last half minute that is over.
fn rate(ended: &[Bar], bar_ms: u64) -> String {
    let over = match ended {
        [before @ .., _] if !before.is_empty() => &before[before.len().saturating_sub(6)..],
        all => all,
    };
    let jobs: u64 = over.iter().map(all).sum();
    let tenths = jobs * 10_000 / (over.len() as u64 * bar_ms).max(1);
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn all(bar: &Bar) -> u64 {
    bar.succeeded + bar.theirs + bar.ours
}

/// A column for each bar, the newest last.
fn spark(ended: &[Bar]) -> String {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = ended.iter().map(all).max().unwrap_or(0).max(1);
    let level = |bar: &Bar| {
        let level = (all(bar) * 8).div_ceil(most);
        LEVELS[usize::try_from(level).map_or(8, |level| level.min(8))]
    };
    ended.iter().map(level).collect()
}

fn dependency(need: &Dependency) -> Line {
    let (mark, says) = match need.state {
        State::Up => ("✓", "up".to_owned()),
        State::Unknown => ("…", "not known yet".to_owned()),
        State::Off => ("–", "not configured".to_owned()),
        State::Down => {
            let since = need.since_ms.map_or_else(String::new, |ms| {
                format!(" for {}", format_duration_ms(ms / 1_000 * 1_000))
            });
            let why = need.why.as_deref().unwrap_or_default();
            ("✕", format!("down{since}: {why}"))
        }
    };
    let good = matches!(need.state, State::Up | State::Off);
    let bad = need.state == State::Down && need.needed;
    Line::default()
        .and(ink(good, bad), mark)
        .plain(format!(" {:13}{says}", need.name))
}

fn pool(frame: &mut Frame, status: &Status) {
    let names = status.pool.iter().map(|row| name(&row.profile));
    let widest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    let width = widest.max("profile".len());
    let mut head = Line::default().and(Ink::Dim, format!("{:width$}", "profile"));
    for (phase, _) in Profile::default().phases() {
        head = head.and(Ink::Dim, format!("{phase:>10}"));
    }
    frame.push(head);
    for row in &status.pool {
        let mut line = Line::default().plain(format!("{:width$}", name(&row.profile)));
        for (_, count) in row.phases() {
            line = line.plain(format!("{count:>10}"));
        }
        frame.push(line.plain("  ").and(Ink::Good, picture(row)));
    }
    let starts = status.recent.starts;
    let line = format!(
        "{} jobs found a warm sandbox, {} waited for one",
        starts.warm, starts.cold
    );
    frame.push(Line::default().and(Ink::Dim, line));
}

/// A sign for each sandbox, where they are few.
fn picture(row: &Profile) -> String {
    let total: u64 = row.phases().iter().map(|(_, count)| count).sum();
    if total > DRAWN_MAX {
        return meter(row.running + row.leased, total, 20);
    }
    let signs = ["·", "□", "◧", "■", "▒"].into_iter().zip(row.phases());
    signs
        .rev()
        .map(|(sign, (_, count))| sign.repeat(usize::try_from(count).unwrap_or(0)))
        .collect()
}

fn stages(frame: &mut Frame, stages: &[Stage]) {
    let head = format!("{:12}{:>10}{:>10}{:>10}", "stage", "p50", "p95", "p99");
    frame.push(Line::default().and(Ink::Dim, head));
    for stage in stages {
        let label = match stage.stage.as_str() {
            "overhead" => "Kiln's part",
            stage => stage,
        };
        let [p50, p95, p99] = [stage.p50_us, stage.p95_us, stage.p99_us].map(time);
        frame.push(Line::default().plain(format!("{label:12}{p50:>10}{p95:>10}{p99:>10}")));
    }
}

fn failures(frame: &mut Frame, status: &Status) {
    if status.recent.failures.is_empty() {
        frame.push(Line::default().and(Ink::Dim, "no failure since the start"));
        return;
    }
    let head = format!(
        "{:16}{:14}{:10}{:>8}{:>12}",
        "failure", "reason", "who", "count", "last"
    );
    frame.push(Line::default().and(Ink::Dim, head));
    for it in &status.recent.failures {
        let (who, colour) = match it.who {
            Who::Sender => ("sender", Ink::Plain),
            Who::Operator => ("operator", Ink::Bad),
        };
        let last = time(Some(it.last_ms.saturating_mul(1_000)));
        frame.push(
            Line::default()
                .plain(format!("{:16}{:14}", it.what, it.reason))
                .and(colour, format!("{who:10}"))
                .plain(format!("{:>8}{last:>8} ago", it.count)),
        );
    }
}

/// Short, in one unit.
fn time(us: Option<u64>) -> String {
    let tenths = |us: u64, unit: u64| format!("{}.{}", us / unit, us % unit * 10 / unit);
    match us {
        None => "–".to_owned(),
        Some(us @ 0..1_000) => format!("{us} µs"),
        Some(us @ 1_000..1_000_000) => format!("{} ms", tenths(us, 1_000)),
        Some(us @ 1_000_000..120_000_000) => format!("{} s", tenths(us, 1_000_000)),
        Some(us @ 120_000_000..7_200_000_000) => format!("{} min", us / 60_000_000),
        Some(us @ 7_200_000_000..172_800_000_000) => format!("{} h", us / 3_600_000_000),
        Some(us) => format!("{} d", us / 86_400_000_000),
    }
}

#[cfg(test)]
#[path = "one/tests.rs"]
mod tests;
