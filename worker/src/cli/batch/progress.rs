//! How far is the batch? Shown on a terminal, on stderr, and nowhere else.

use crate::cli::exit::Exit;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;

/// Bytes of JOBS that are read once more to count its lines.
const COUNTED_BYTES_MAX: u64 = 256 << 20;

/// The bar, hidden where it would be in the way.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    failed: u64,
}

impl Progress {
    /// `results_apart` tells that the results do not go to the same terminal.
    pub(super) fn start(results_apart: bool, total: Option<u64>) -> Self {
        let own_terminal =
            io::stderr().is_terminal() && (results_apart || !io::stdout().is_terminal());
        let target = if own_terminal {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(total, target);
        let template = if total.is_some() {
            "{wide_bar} {pos}/{len} jobs, {msg}{per_sec}, {eta} left"
        } else {
            "{spinner} {pos} jobs, {msg}{per_sec}"
        };
        bar.set_style(
            ProgressStyle::with_template(template).expect("the template is a constant that parses"),
        );
        if own_terminal {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, failed: 0 }
    }

    /// A job has its answer.
    pub(super) fn step(&mut self, exit: Exit) {
        if exit != Exit::Succeeded {
            self.failed += 1;
            self.bar
                .set_message(format!("{} did not succeed, ", self.failed));
        }
        self.bar.inc(1);
    }

    /// A line for the person, beside the bar.
    pub(super) fn say(&self, line: &str) {
        self.bar.suspend(|| {
            // Whoever does not read stderr misses a remark, no answer.
            drop(writeln!(io::stderr().lock(), "kiln: {line}"));
        });
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// How many jobs there will be, where JOBS is a file that can be counted.
pub(super) fn total(jobs: &Path) -> Option<u64> {
    let meta = jobs.metadata().ok()?;
    if !meta.is_file() || meta.len() > COUNTED_BYTES_MAX || !io::stderr().is_terminal() {
        return None;
    }
    count(&mut BufReader::new(File::open(jobs).ok()?))
}

/// Line feeds, and a last line without one.
fn count(source: &mut impl BufRead) -> Option<u64> {
    let mut lines = 0;
    let mut last = b'\n';
    loop {
        let chunk = source.fill_buf().ok()?;
        let Some(end) = chunk.last() else {
            return Some(lines + u64::from(last != b'\n'));
        };
        last = *end;
        let feeds = chunk.split(|byte| *byte == b'\n').count() - 1;
        lines += u64::try_from(feeds).expect("a buffer's length is a u64");
        let used = chunk.len();
        source.consume(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_with_and_without_a_last_feed() {
        for (text, wanted) in [("", 0), ("a\n", 1), ("a\nb", 2), ("a\nb\n", 2)] {
            assert_eq!(count(&mut text.as_bytes()), Some(wanted), "{text:?}");
        }
    }

    #[test]
    fn a_pipe_is_not_counted() {
        assert_eq!(total(Path::new("/dev/null")), None);
    }
}
