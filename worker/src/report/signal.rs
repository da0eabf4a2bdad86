//! What does a wait status say, and what is a signal called?

use std::borrow::Cow;

/// How the main program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MainEnd {
    Exited(i32),
    Signalled(u32),
    /// It was killed with its cell before its own end was seen, or what was seen is no end.
    Unseen,
}

impl MainEnd {
    /// Reads what `waitpid` gave.
    pub(super) fn of(status: Option<u32>) -> Self {
        let Some(status) = status else {
            return Self::Unseen;
        };
        match (status & 0x7f, (status >> 8) & 0xff) {
            (0, code) => Self::Exited(i32::from(
                u8::try_from(code).expect("a code is eight bits of the status"),
            )),
            (0x7f, _) => Self::Unseen,
            (number, _) => Self::Signalled(number),
        }
    }
}

/// Linux's names, from 1 on, with what they mean where a program gets them by its own doing.
const SIGNALS: [(&str, &str); 31] = [
    ("SIGHUP", ""),
    ("SIGINT", ""),
    ("SIGQUIT", ""),
    ("SIGILL", "an instruction that this CPU does not have"),
    ("SIGTRAP", ""),
    ("SIGABRT", "the program aborted itself"),
    ("SIGBUS", "a bad memory access"),
    ("SIGFPE", "an arithmetic error such as a division by zero"),
    ("SIGKILL", "sent from within the job: no limit was reached"),
    ("SIGUSR1", ""),
    ("SIGSEGV", "a bad memory access"),
    ("SIGUSR2", ""),
    ("SIGPIPE", "a write to a pipe that nobody reads"),
    ("SIGALRM", "a timer of its own"),
    ("SIGTERM", "sent from within the job"),
    ("SIGSTKFLT", ""),
    ("SIGCHLD", ""),
    ("SIGCONT", ""),
    ("SIGSTOP", ""),
    ("SIGTSTP", ""),
    ("SIGTTIN", ""),
    ("SIGTTOU", ""),
    ("SIGURG", ""),
    ("SIGXCPU", "a limit that the program set itself"),
    ("SIGXFSZ", "a limit that the program set itself"),
    ("SIGVTALRM", "a timer of its own"),
    ("SIGPROF", "a timer of its own"),
    ("SIGWINCH", ""),
    ("SIGIO", ""),
    ("SIGPWR", ""),
    ("SIGSYS", "a bad system call"),
];

/// The first signal of the real-time range, as programs see it.
const RT_MIN: u32 = 34;

fn entry(number: u32) -> Option<(&'static str, &'static str)> {
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    SIGNALS.get(index).copied()
}

/// The name of a signal, such as `SIGSEGV`.
pub(super) fn name(number: u32) -> String {
    let name: Cow<'_, str> = match (entry(number), number) {
        (Some((name, _)), _) => name.into(),
        (None, RT_MIN) => "SIGRTMIN".into(),
        (None, RT_MIN..=64) => format!("SIGRTMIN+{}", number - RT_MIN).into(),
        (None, _) => format!("signal {number}").into(),
    };
    name.into_owned()
}

/// What a signal means where the program got it by its own doing.
pub(super) fn meaning(number: u32) -> Option<&'static str> {
    entry(number)
        .map(|(_, meaning)| meaning)
        .filter(|meaning| !meaning.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_numbers_have_their_names() {
        for (number, wanted) in [
            (1, "SIGHUP"),
            (6, "SIGABRT"),
            (9, "SIGKILL"),
            (11, "SIGSEGV"),
            (15, "SIGTERM"),
            (24, "SIGXCPU"),
            (31, "SIGSYS"),
            (34, "SIGRTMIN"),
            (40, "SIGRTMIN+6"),
            (33, "signal 33"),
            (0, "signal 0"),
        ] {
            assert_eq!(name(number), wanted);
        }
    }

    #[test]
    fn a_wait_status_is_read_as_the_kernel_writes_it() {
        for (status, wanted) in [
            (Some(0), MainEnd::Exited(0)),
            (Some(137 << 8), MainEnd::Exited(137)),
            (Some(255 << 8), MainEnd::Exited(255)),
            (Some(9), MainEnd::Signalled(9)),
            (Some(0x8b), MainEnd::Signalled(11)),
            (Some(0x137f), MainEnd::Unseen),
            (Some(0xffff), MainEnd::Unseen),
            (None, MainEnd::Unseen),
        ] {
            assert_eq!(MainEnd::of(status), wanted, "{status:?}");
        }
    }
}
