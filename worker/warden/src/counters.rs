//! The kernel's figures about one job, read from descriptors that the warden hands out.
//!
//! The worker reads them by `pread` without asking the warden, before the start (nothing) and
//! after the end of a job. A figure that cannot be read is an error, never nought.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A file of the job's cgroup leaf, by what it tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// v1 `memory.max_usage_in_bytes`, v2 `memory.peak`.
    MemoryPeak,
    /// v1 `memory.oom_control`, v2 `memory.events`: the line `oom_kill N`.
    OomKill,
    /// v1 `cpuacct.usage_user`: nanoseconds.
    CpuUser,
    /// v1 `cpuacct.usage_sys`: nanoseconds.
    CpuSystem,
    /// v2 `cpu.stat`: the lines `user_usec N` and `system_usec N`.
    CpuStat,
    /// `pids.peak`; absent on kernels before 6.1.
    PidsPeak,
    /// `pids.events`: the line `max N`.
    PidsEvents,
    /// `cgroup.procs`, empty where no process is left.
    Processes,
}

/// A counter that could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CounterError {
    #[error("read the counter `{0:?}`")]
    Read(Counter, #[source] io::Error),
    #[error("understand the counter `{0:?}`: it says `{1}`")]
    Parse(Counter, String),
}

impl Counter {
    /// The whole text of the counter now: a text that does not fit is not one of ours.
    fn text(self, file: &File) -> Result<String, CounterError> {
        let mut bytes = [0; 4096];
        let n = self.read(file, &mut bytes)?;
        let text = String::from_utf8_lossy(&bytes[..n]).into_owned();
        if n == bytes.len() {
            return Err(CounterError::Parse(self, text));
        }
        Ok(text)
    }

    fn read(self, file: &File, bytes: &mut [u8]) -> Result<usize, CounterError> {
        loop {
            match file.read_at(bytes, 0) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => return read.map_err(|e| CounterError::Read(self, e)),
            }
        }
    }

    /// A counter that is one number.
    pub fn number(self, file: &File) -> Result<u64, CounterError> {
        let text = self.text(file)?;
        text.trim()
            .parse()
            .map_err(|_| CounterError::Parse(self, text))
    }

    /// The number on the line that begins with `key`.
    pub fn keyed(self, file: &File, key: &str) -> Result<u64, CounterError> {
        let text = self.text(file)?;
        text.lines()
            .find_map(|line| {
                line.strip_prefix(key)?
                    .strip_prefix(' ')?
                    .trim()
                    .parse()
                    .ok()
            })
            .ok_or(CounterError::Parse(self, text))
    }

    /// Whether the counter's file is empty (for [`Counter::Processes`]).
    pub fn is_empty(self, file: &File) -> Result<bool, CounterError> {
        Ok(self.read(file, &mut [0; 16])? == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A file of this text, open and without a name.
    fn file(text: &str) -> File {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("kiln-counter-{}-{count}", std::process::id()));
        fs::write(&path, text).expect("writable");
        let file = File::open(&path).expect("readable");
        fs::remove_file(&path).expect("ours");
        file
    }

    #[test]
    fn a_number_is_read_whole_or_not_at_all() {
        let peak = Counter::MemoryPeak;
        assert_eq!(peak.number(&file("4096\n")).expect("a number"), 4096);
        for text in ["", "max\n", "-1\n", "12 13\n", &"1".repeat(5000)] {
            let read = peak.number(&file(text));
            assert!(matches!(read, Err(CounterError::Parse(..))), "{read:?}");
        }
    }

    #[test]
    fn a_line_is_found_by_its_whole_key() {
        let v1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        let v2 = "low 0\nhigh 0\nmax 9\noom 4\noom_kill 5\noom_group_kill 1\n";
        let kills = |text| Counter::OomKill.keyed(&file(text), "oom_kill");
        assert_eq!(kills(v1).expect("v1"), 3);
        assert_eq!(kills(v2).expect("v2"), 5);
        assert!(
            kills("oom_kill_disable 0\n").is_err(),
            "absent is not nought"
        );
    }

    #[test]
    fn only_an_empty_list_is_empty() {
        let empty = |text| Counter::Processes.is_empty(&file(text)).expect("readable");
        assert!(empty(""));
        assert!(!empty("0\n"));
        assert!(!empty(&"12345\n".repeat(1000)));
    }
}
