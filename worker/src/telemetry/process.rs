//! What does this process use, as its operating system says when it is asked?
//!
//! The names are those of every Prometheus client: they have no prefix. What cannot be read is
//! left out, for nought would be a lie.

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Counter, Gauge};
use rustix::process::Resource;
use std::fs;
use std::sync::{Mutex, PoisonError};

/// Asks `/proc` at each scrape.
#[derive(Debug)]
pub(super) struct Process(Mutex<Figures>);

#[derive(Debug)]
struct Figures {
    cpu: Counter,
    start: Gauge,
    resident: Gauge,
    virtual_memory: Gauge,
    open_fds: Gauge,
    max_fds: Gauge,
}

impl Process {
    pub(super) fn new() -> Self {
        let gauge = |name: &str, help: &str| Gauge::new(name, help).expect("names are plain words");
        let cpu = Counter::new(
            "process_cpu_seconds_total",
            "Total user and system CPU time spent in seconds",
        );
        Self(Mutex::new(Figures {
            cpu: cpu.expect("names are plain words"),
            start: gauge(
                "process_start_time_seconds",
                "Start time of the process since unix epoch in seconds",
            ),
            resident: gauge(
                "process_resident_memory_bytes",
                "Resident memory size in bytes",
            ),
            virtual_memory: gauge(
                "process_virtual_memory_bytes",
                "Virtual memory size in bytes",
            ),
            open_fds: gauge("process_open_fds", "Number of open file descriptors"),
            max_fds: gauge("process_max_fds", "Maximum number of open file descriptors"),
        }))
    }
}

impl Collector for Process {
    fn desc(&self) -> Vec<&Desc> {
        // A registry only compares them; there is one process in ours.
        Vec::new()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Vec::new();
        let mut gauge = |gauge: &Gauge, value: Option<f64>| {
            if let Some(value) = value {
                gauge.set(value);
                all.extend(gauge.collect());
            }
        };
        let stat = fs::read_to_string("/proc/self/stat")
            .ok()
            .and_then(|text| Stat::parse(&text));
        let page = float(rustix::param::page_size() as u64);
        gauge(
            &figures.resident,
            stat.as_ref().map(|it| float(it.resident_pages) * page),
        );
        gauge(
            &figures.virtual_memory,
            stat.as_ref().map(|it| float(it.virtual_bytes)),
        );
        gauge(&figures.open_fds, open_fds());
        let max_fds = rustix::process::getrlimit(Resource::Nofile).current;
        gauge(&figures.max_fds, max_fds.map(float));
        let booted = fs::read_to_string("/proc/stat")
            .ok()
            .and_then(|text| boot_time(&text));
        let begun = stat.as_ref().zip(booted);
        gauge(
            &figures.start,
            begun.map(|(it, boot)| float(boot) + seconds(it.start_ticks)),
        );
        if let Some(stat) = stat {
            figures.cpu.reset();
            figures.cpu.inc_by(seconds(stat.cpu_ticks));
            all.extend(figures.cpu.collect());
        }
        all
    }
}

/// What `/proc/self/stat` says.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    cpu_ticks: u64,
    start_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The name in brackets may itself hold brackets and blanks.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // By its manual the state, the first field here, is the third.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            cpu_ticks: field(14)?.checked_add(field(15)?)?,
            start_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

/// When the machine started, in seconds since 1970.
fn boot_time(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

/// Without the one that counts them.
fn open_fds() -> Option<f64> {
    let open = fs::read_dir("/proc/self/fd").ok()?.count();
    Some(float(open.saturating_sub(1) as u64))
}

fn seconds(ticks: u64) -> f64 {
    float(ticks) / float(rustix::param::clock_ticks_per_second())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "figures of a process are far below 2^53, and a rounded one is as good"
)]
fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let text = "7 (a) b (c) S 1 7 7 0 -1 4194560 99 0 0 0 30 12 0 0 20 0 3 0 5000 8192 17 \
                    18446744073709551615 1 1";
        let stat = Stat {
            cpu_ticks: 42,
            start_ticks: 5_000,
            virtual_bytes: 8_192,
            resident_pages: 17,
        };
        assert_eq!(Stat::parse(text), Some(stat));
        assert_eq!(Stat::parse("7 (a) S 1"), None);
        assert_eq!(Stat::parse(""), None);
        assert_eq!(boot_time("cpu 1\nbtime 170\n"), Some(170));
        assert_eq!(boot_time("cpu 1\n"), None);
    }

    #[test]
    fn this_process_is_seen() {
        let process = Process::new();
        let families = process.collect();
        assert_eq!(families.len(), 6);
        let figures = process.0.lock().expect("nobody else has it");
        assert!(figures.resident.get() > 1e6, "more than a megabyte");
        assert!(figures.open_fds.get() >= 3.0 && figures.max_fds.get() >= figures.open_fds.get());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let age = now.expect("it is past 1970").as_secs_f64() - figures.start.get();
        assert!((-5.0..86_400.0).contains(&age), "started {age} s ago");
    }
}
