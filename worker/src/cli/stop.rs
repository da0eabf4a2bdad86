//! Why does a command end before it has an answer, and who has to act?

use crate::cli::exit::Exit;
use crate::fault::chain;
use crate::plain::plain;
use std::error::Error;
use std::io::Write as _;

/// A reason to end the command, with the exit code that names who has to act.
#[derive(Debug)]
pub(crate) struct Stop {
    exit: Exit,
    /// One line each.
    lines: Vec<String>,
}

impl Stop {
    /// The call is wrong.
    pub(crate) fn usage(why: &dyn Error) -> Self {
        Self::new(Exit::Usage, vec![chain(why)])
    }

    /// The platform failed, or the machine does not allow it.
    pub(crate) fn unavailable(why: &dyn Error) -> Self {
        Self::new(Exit::Unavailable, vec![chain(why)])
    }

    /// Stdout does not take what it should. A reader that is gone, as with `| head`, has what it
    /// wanted and is told nothing.
    pub(crate) fn output(why: &std::io::Error) -> Self {
        match why.kind() {
            std::io::ErrorKind::BrokenPipe => Self::new(Exit::Failed, Vec::new()),
            _ => Self::unavailable(why),
        }
    }

    /// The same, with more to say.
    pub(crate) fn and(mut self, lines: Vec<String>) -> Self {
        self.lines.extend(lines);
        self
    }

    pub(crate) fn new(exit: Exit, lines: Vec<String>) -> Self {
        Self { exit, lines }
    }

    /// What it says.
    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Prints the lines on stderr and gives the exit code.
    pub(crate) fn report(self) -> Exit {
        let mut stderr = std::io::stderr().lock();
        for line in self.lines {
            // Nobody is left to tell when stderr is gone; the exit code still says it.
            drop(writeln!(stderr, "error: {}", one_line(&line)));
        }
        self.exit
    }
}

/// A message on one line, without control characters that a name might have brought in.
fn one_line(text: &str) -> String {
    plain(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_break_the_line() {
        assert_eq!(one_line("`a\nb\u{1b}[31m`"), "`a\\nb\\u{1b}[31m`");
    }

    #[test]
    fn the_chain_is_printed_once_in_full() {
        let source = std::io::Error::other("disk on fire");
        let error = Outer { source };
        assert_eq!(chain(&error), "read `x`: disk on fire");
    }

    #[derive(Debug, thiserror::Error)]
    #[error("read `x`")]
    struct Outer {
        source: std::io::Error,
    }
}
