//! The process that scans: confined before it reads, it answers questions until nobody asks.
//!
//! ```text
//! exec (empty environment, fd 0 = socket) ─► in its group ─► confined ─► setup ─► ready ─┐
//!                                                  question ─► answers ◄─┴─ ... ─► end of file
//! ```
//!
//! It has no way to say that something failed but to end: whoever waits for an answer and gets
//! none knows that nothing was scanned.

use super::wire::{
    self, Ask, FINDINGS_MAX, Hello, Item, Kind, LINES_MAX, MESSAGE_MAX, Setup, TEXT_MAX, Told,
};
use artifact_scanner::check::secrets::Own;
use artifact_scanner::{Budget, Limits, Policy, Report, Rules, Subject, Unscannable};
use kiln_warden::confine::{self, Confinement};
use kiln_warden::socket;
use rustix::process::{Resource, Rlimit};
use rustix::time::ClockId;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The word after `kiln` that makes it such a process; not for people.
pub const WORD: &str = "scan-process";

/// Its address space, program included: a file of the most bytes that are scanned, a member of
/// each level within, and what the readers make of them.
pub(super) const MEMORY_BYTES: u64 = 1 << 30;
/// CPU time beyond the wall time of a file, after which the kernel ends it by itself.
const CPU_SECONDS_MORE: u64 = 5;
/// The command line is wrong, or nobody is on the other end of descriptor 0.
const EX_USAGE: u8 = 64;
/// Something broke, and no answer was given.
const EX_SOFTWARE: u8 = 70;

/// Why the process ends before it is told to.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("confine the process")]
    Confine(#[source] confine::ConfineError),
    #[error("use the socket")]
    Socket(#[source] io::Error),
    #[error("read what was handed over")]
    Read(#[source] io::Error),
    #[error("understand the gate")]
    Nonsense,
    #[error("{0}")]
    Rules(#[source] artifact_scanner::RulesError),
}

/// The program. To be called before any thread exists and any descriptor above 2 is owned.
pub fn main() -> ExitCode {
    // A panic is caught and becomes an answer; its words could hold what a job wrote.
    std::panic::set_hook(Box::new(|_| ()));
    let gate = io::stdin();
    let gate = gate.as_fd();
    let kind = rustix::net::sockopt::socket_type(gate);
    if !matches!(kind, Ok(rustix::net::SocketType::SEQPACKET)) {
        return ExitCode::from(EX_USAGE);
    }
    match run(gate) {
        Ok(()) => ExitCode::SUCCESS,
        Err(broken) => {
            // Before the first question this can still be told; afterwards silence tells it.
            drop(tell(gate, &Hello::Refused(crate::fault::chain(&broken))));
            ExitCode::from(EX_SOFTWARE)
        }
    }
}

fn run(gate: BorrowedFd<'_>) -> Result<(), Broken> {
    confine::begin().map_err(Broken::Confine)?;
    // Nothing of a job's is in the first message: the doors of the group, and what to work by.
    let mut buffer = vec![0; MESSAGE_MAX];
    let first = socket::receive(gate, &mut buffer).map_err(Broken::Socket)?;
    let Some((_, mut doors)) = first else {
        return Ok(());
    };
    if doors.is_empty() {
        return Err(Broken::Nonsense);
    }
    let setup_file = doors.remove(0);
    confine::enter(&doors).map_err(Broken::Confine)?;
    drop(doors);
    // The first look at this clock asks the kernel where it is; later that would be too late.
    allow_cpu(Duration::MAX).map_err(Broken::Read)?;
    let held = confine::confine(Confinement {
        memory_bytes: MEMORY_BYTES,
    })
    .map_err(Broken::Confine)?;
    let setup = setup(&setup_file)?;
    let sources = setup
        .rules
        .iter()
        .map(|(name, source)| (&**name, &**source));
    let rules = Rules::with(sources).map_err(Broken::Rules)?;
    let ready = Hello::Ready {
        held,
        rules: rules.count(),
    };
    let policy = Policy::preset(setup.preset, rules);
    let limits = Limits {
        wall: Duration::from_millis(setup.wall_ms),
        ..Limits::default()
    };
    rehearse(&policy, limits);
    tell(gate, &ready)?;
    while let Some((length, descriptors)) =
        socket::receive(gate, &mut buffer).map_err(Broken::Socket)?
    {
        let (ask, inline) = wire::parts(&buffer[..length]).ok_or(Broken::Nonsense)?;
        answer(gate, &ask, inline, descriptors, &policy, limits)?;
    }
    Ok(())
}

/// Scans what is harmless: what is made at its first use is there when it counts.
fn rehearse(policy: &Policy, limits: Limits) {
    for (name, kind) in [("a.csv", Kind::File), ("stdout", Kind::Stream)] {
        let bytes = b"a,b\n1,key=2\n";
        let item = Item {
            name: name.to_owned(),
            kind,
            bytes: bytes.len() as u64,
            inline: true,
        };
        drop(scan(&item, bytes, policy, limits));
    }
}

fn setup(file: &OwnedFd) -> Result<Setup, Broken> {
    let size = rustix::fs::fstat(file).map_err(|e| Broken::Read(e.into()))?;
    let bytes = read(file, u64::try_from(size.st_size).unwrap_or(u64::MAX));
    let bytes = bytes.map_err(Broken::Read)?;
    serde_json::from_slice(&bytes).map_err(|_| Broken::Nonsense)
}

fn tell(gate: BorrowedFd<'_>, answer: &impl serde::Serialize) -> Result<(), Broken> {
    let bytes = serde_json::to_vec(answer).expect("texts and numbers always serialise");
    socket::send(gate, &bytes, &[]).map_err(Broken::Socket)
}

/// Answers for each item in turn.
fn answer(
    gate: BorrowedFd<'_>,
    ask: &Ask,
    mut inline: &[u8],
    descriptors: Vec<OwnedFd>,
    policy: &Policy,
    limits: Limits,
) -> Result<(), Broken> {
    let mut take = |length: usize| {
        let (taken, rest) = inline.split_at_checked(length).ok_or(Broken::Nonsense)?;
        inline = rest;
        Ok(taken)
    };
    let mut secrets = Vec::with_capacity(ask.secrets.len());
    for length in &ask.secrets {
        secrets.push(take(*length)?);
    }
    let own;
    let policy = if secrets.is_empty() {
        policy
    } else {
        let ready = Own::new(&secrets).map_err(|_| Broken::Nonsense)?;
        own = Policy {
            own_secrets: Some(Arc::new(ready)),
            ..policy.clone()
        };
        &own
    };
    let mut descriptors = descriptors.into_iter();
    for (index, item) in ask.items.iter().enumerate() {
        allow_cpu(limits.wall).map_err(Broken::Read)?;
        let (report, lines) = if item.inline {
            let length = usize::try_from(item.bytes).map_err(|_| Broken::Nonsense)?;
            scan(item, take(length)?, policy, limits)
        } else {
            let file = descriptors.next().ok_or(Broken::Nonsense)?;
            if item.bytes > limits.size_bytes {
                let report = artifact_scanner::too_large(&item.name, item.bytes);
                (report, Vec::new())
            } else {
                match read(&file, item.bytes) {
                    Ok(bytes) => scan(item, &bytes, policy, limits),
                    Err(_) => (unread(item), Vec::new()),
                }
            }
        };
        let report = report.shortened(FINDINGS_MAX, TEXT_MAX);
        let lines = if lines.len() > LINES_MAX {
            &[]
        } else {
            &*lines
        };
        let told = Told {
            seq: ask.seq,
            index,
            report: &report,
            lines,
        };
        tell(gate, &told)?;
    }
    Ok(())
}

fn scan(item: &Item, bytes: &[u8], policy: &Policy, limits: Limits) -> (Report, Vec<Range<usize>>) {
    let mut budget = Budget::new(limits);
    match item.kind {
        Kind::File => {
            let name = &item.name;
            let report = artifact_scanner::scan(Subject { name, bytes }, policy, &mut budget);
            (report, Vec::new())
        }
        Kind::Stream => {
            let passage = artifact_scanner::scan_stream(bytes, policy, &mut budget);
            (passage.report, passage.lines)
        }
    }
}

/// The report on what could not be read whole.
fn unread(item: &Item) -> Report {
    artifact_scanner::unscannable(&item.name, item.bytes, Unscannable::EngineError)
}

/// Exactly so many bytes from the start of a file that others may hold too.
fn read(file: &OwnedFd, size: u64) -> io::Result<Vec<u8>> {
    let size = usize::try_from(size).map_err(io::Error::other)?;
    let mut bytes = vec![0; size];
    let mut at = 0;
    while at < size {
        match rustix::io::pread(file, &mut bytes[at..], at as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => at += n,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let mut more = [0];
    match rustix::io::pread(file, &mut more, at as u64)? {
        0 => Ok(bytes),
        _ => Err(io::Error::other("it is longer than was said")),
    }
}

/// Lets the kernel end this process where the next file takes far more CPU time than it may:
/// then nobody may be left who would.
fn allow_cpu(wall: Duration) -> io::Result<()> {
    let used = rustix::time::clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    let used = u64::try_from(used).map_err(io::Error::other)?;
    let wanted = used.saturating_add(wall.as_secs().saturating_add(CPU_SECONDS_MORE));
    let maximum = rustix::process::getrlimit(Resource::Cpu).maximum;
    let limit = Rlimit {
        current: Some(maximum.map_or(wanted, |most| most.min(wanted))),
        maximum,
    };
    Ok(rustix::process::setrlimit(Resource::Cpu, limit)?)
}
