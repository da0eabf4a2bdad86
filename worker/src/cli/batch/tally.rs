//! What became of all the jobs of a batch, in one line?

use crate::cli::exit::Exit;
use std::fmt::Write as _;

/// The answers of one run of a batch, counted.
#[derive(Debug, Default)]
pub(super) struct Tally {
    succeeded: u64,
    failed: u64,
    refused: u64,
    platform_errors: u64,
    /// Those that have their answer from an earlier run.
    skipped: u64,
    /// Those that ran when the batch was ended.
    cut: u64,
}

impl Tally {
    /// A job has its answer.
    pub(super) fn answered(&mut self, exit: Exit) {
        match exit {
            Exit::Succeeded => self.succeeded += 1,
            Exit::Failed => self.failed += 1,
            Exit::Usage => self.refused += 1,
            Exit::Unavailable | Exit::Config => self.platform_errors += 1,
        }
    }

    /// A job had its answer before.
    pub(super) fn skipped(&mut self) {
        self.skipped += 1;
    }

    /// A job was ended without an answer.
    pub(super) fn cut(&mut self) {
        self.cut += 1;
    }

    /// Everything but what there was none of; the first two always.
    pub(super) fn line(&self) -> String {
        let done = self.succeeded + self.failed + self.refused + self.platform_errors;
        let mut line = format!(
            "{done} done: {} succeeded, {} failed",
            self.succeeded, self.failed
        );
        for (before, count, after) in [
            (", ", self.refused, " refused"),
            (", ", self.platform_errors, " broken by the platform"),
            ("; ", self.skipped, " skipped (already in results)"),
            ("; ", self.cut, " ended without a result"),
        ] {
            if count > 0 {
                write!(line, "{before}{count}{after}").expect("a string takes whatever is written");
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_was_is_counted() {
        let mut tally = Tally::default();
        assert_eq!(tally.line(), "0 done: 0 succeeded, 0 failed");
        for _ in 0..18 {
            tally.answered(Exit::Succeeded);
        }
        for _ in 0..2 {
            tally.answered(Exit::Failed);
        }
        for _ in 0..7 {
            tally.skipped();
        }
        assert_eq!(
            tally.line(),
            "20 done: 18 succeeded, 2 failed; 7 skipped (already in results)"
        );
        tally.answered(Exit::Usage);
        tally.answered(Exit::Unavailable);
        tally.cut();
        assert_eq!(
            tally.line(),
            "22 done: 18 succeeded, 2 failed, 1 refused, 1 broken by the platform; 7 skipped \
             (already in results); 1 ended without a result"
        );
    }
}
