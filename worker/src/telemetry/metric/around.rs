//! How does it stand with what the worker leans on: Redis, the store, the kernel, the disks?

use super::{Canary, Direction, Disk, Holding, Metrics, forget, gauge};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

impl Metrics {
    /// A canary came back whole just now.
    pub fn canary(&self, kind: Canary) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let figure = self.names.canary.with_label_values(&[kind.as_str()]);
        figure.set(now.unwrap_or_default().as_secs_f64());
    }

    /// Not told where nothing is tracked: then there is no such figure.
    pub fn redis_up(&self, up: bool) {
        self.neighbours.redis_up(up);
        self.names
            .redis_up
            .with_label_values::<&str>(&[])
            .set(i64::from(up));
    }

    /// Not told where no clamd is asked.
    pub fn clamd_up(&self, up: bool) {
        self.neighbours.clamd_up(up);
        self.names
            .clamd_up
            .with_label_values::<&str>(&[])
            .set(i64::from(up));
    }

    /// One call to Redis.
    pub fn redis_command(&self, call: &'static str, took: Duration) {
        let figure = self.names.redis_command.with_label_values(&[call]);
        figure.observe(took.as_secs_f64());
    }

    /// How long the record has lacked something; news that was given up on since the start.
    pub fn redis_behind(&self, lag: Duration, dropped: u64) {
        let none: [&str; 0] = [];
        self.names
            .redis_lag
            .with_label_values(&none)
            .set(lag.as_secs_f64());
        let known = self.names.redis_dropped.get();
        self.names
            .redis_dropped
            .inc_by(dropped.saturating_sub(known));
    }

    /// Whether the store answers and has room.
    pub fn store_up(&self, up: bool) {
        self.names.store_up.set(i64::from(up));
    }

    /// Bytes that went to the store or came from it.
    pub fn store_bytes(&self, direction: Direction, bytes: u64) {
        let figure = self
            .names
            .store_bytes
            .with_label_values(&[direction.as_str()]);
        figure.inc_by(bytes);
    }

    /// Outcomes that are stored, and that the broker does not take.
    pub fn results_pending(&self, outcomes: usize) {
        self.names.results_pending.set(gauge(outcomes));
    }

    /// What the worker has of the kernel's; none where it cannot be counted.
    pub fn holds(&self, kind: Holding, count: Option<usize>) {
        match count {
            Some(count) => {
                let figure = self.names.resources.with_label_values(&[kind.as_str()]);
                figure.set(gauge(count));
            }
            None => forget(&self.names.resources, &[kind.as_str()]),
        }
    }

    /// Free bytes and the size of the disk under a folder; none where nobody can say.
    pub fn disk(&self, disk: Disk, room: Option<(u64, u64)>) {
        let label = [disk.as_str()];
        let figures = [&self.names.disk_free, &self.names.disk_size];
        match room {
            Some((free, size)) => {
                for (figure, bytes) in figures.into_iter().zip([free, size]) {
                    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
                    figure.with_label_values(&label).set(bytes);
                }
            }
            None => figures
                .into_iter()
                .for_each(|figure| forget(figure, &label)),
        }
    }

    /// One request to the store; `op` such as `put`, `result` is `ok` or `error`.
    pub fn store_request(&self, op: &'static str, ok: bool, took: Duration) {
        let result = if ok { "ok" } else { "error" };
        let request = self.names.store_request.with_label_values(&[op, result]);
        request.observe(took.as_secs_f64());
    }
}
