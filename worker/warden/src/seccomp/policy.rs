//! What can be said about a system call?

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allow,
    /// An errno that libraries probe for; no trace.
    Quiet(u16),
    /// Told to the keeper, which refuses it with `EPERM`; the outcome names it and the sandbox
    /// retires.
    Noted,
    /// Told to the keeper, which ends the job.
    Fatal,
    /// Refused with `ENOSYS`, and outranked by a notification of another filter: only for the
    /// keeper's own filter, below which the job's must still be able to tell.
    Absent,
    /// `SIGSYS` ends the process: it is not of this calling convention at all.
    Kill,
}

impl Verdict {
    /// `SECCOMP_RET_*`. Where filters differ the kernel takes the least: kill, errno, user
    /// notification, trace, allow.
    pub(super) const fn returned(self) -> u32 {
        match self {
            Self::Kill => 0x8000_0000,
            Self::Quiet(errno) => 0x0005_0000 | errno as u32,
            Self::Noted | Self::Fatal => 0x7fc0_0000,
            // Without a tracer, which needs ptrace, the kernel answers ENOSYS.
            Self::Absent => 0x7ff0_0000,
            Self::Allow => 0x7fff_0000,
        }
    }
}

/// A question about one argument. But for pointers, only the low 32 bits are looked at, because
/// the kernel takes an `int` or `unsigned int` there and drops the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// The argument, masked, is one of the values.
    OneOf(u8, u32, &'static [u32]),
    /// The argument, masked, is none of the values.
    NoneOf(u8, u32, &'static [u32]),
    /// A pointer that is not null, in all 64 bits.
    NotNull(u8),
}

impl Test {
    pub(super) const fn is(argument: u8, values: &'static [u32]) -> Self {
        Self::OneOf(argument, u32::MAX, values)
    }

    pub(super) const fn is_not(argument: u8, values: &'static [u32]) -> Self {
        Self::NoneOf(argument, u32::MAX, values)
    }

    /// Any of the bits is set.
    pub(super) const fn has(argument: u8, bits: u32) -> Self {
        Self::NoneOf(argument, bits, &[0])
    }
}

/// What happens where all of `when` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) when: &'static [Test],
    pub(super) verdict: Verdict,
}

/// The first case that applies decides, else `otherwise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) cases: &'static [Case],
    pub(super) otherwise: Verdict,
}

impl Rule {
    pub(super) const fn always(otherwise: Verdict) -> Self {
        Self {
            cases: &[],
            otherwise,
        }
    }
}

/// A line of a table: calls that are treated alike, and why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) calls: &'static str,
    pub(super) rule: Rule,
    pub(super) reason: &'static str,
}

const fn line(calls: &'static str, rule: Rule, reason: &'static str) -> Line {
    Line {
        calls,
        rule,
        reason,
    }
}

pub(super) const fn allow(calls: &'static str, reason: &'static str) -> Line {
    line(calls, Rule::always(Verdict::Allow), reason)
}

pub(super) const fn quiet(errno: i32, calls: &'static str, reason: &'static str) -> Line {
    line(calls, Rule::always(refuse(errno)), reason)
}

pub(super) const fn noted(calls: &'static str, reason: &'static str) -> Line {
    line(calls, Rule::always(Verdict::Noted), reason)
}

pub(super) const fn fatal(calls: &'static str, reason: &'static str) -> Line {
    line(calls, Rule::always(Verdict::Fatal), reason)
}

/// Allowed but for the cases.
pub(super) const fn but(calls: &'static str, cases: &'static [Case], reason: &'static str) -> Line {
    let rule = Rule {
        cases,
        otherwise: Verdict::Allow,
    };
    line(calls, rule, reason)
}

/// A case of [`but`].
pub(super) const fn when(when: &'static [Test], verdict: Verdict) -> Case {
    Case { when, verdict }
}

/// [`Verdict::Quiet`] with one of libc's numbers.
pub(super) const fn refuse(errno: i32) -> Verdict {
    assert!(errno >= 0 && errno <= 4095, "not an errno");
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "asserted above; `try_from` is not const"
    )]
    Verdict::Quiet(errno as u16)
}
