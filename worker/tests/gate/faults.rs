//! Is nothing ever clean that was not scanned to its end, whatever happens to who scans?
//!
//! Each round scans harmless and hostile files while a fault is done to a process that scans. The
//! hostile ones may be what they are or unscannable, the harmless ones clean or unscannable, and
//! every file has a word.

use super::{eicar, file, gate};
use artifact_scanner::Verdict;
use kiln::collect::RawFile;
use kiln::screen::table::Fate;
use kiln::screen::{Gate, GateOptions, Outputs};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

/// What is done to a process that scans, or to what it is handed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Fault {
    None,
    Kill,
    Stop,
    /// It has not the memory that a large file takes.
    OutOfMemory,
    /// Fewer bytes are there than were said.
    Short,
    /// Other bytes are there than were hashed.
    Other,
}

const FAULTS: [Fault; 10] = [
    Fault::None,
    Fault::Kill,
    Fault::Kill,
    Fault::Kill,
    Fault::OutOfMemory,
    Fault::OutOfMemory,
    Fault::Short,
    Fault::Short,
    Fault::Other,
    Fault::Stop,
];

/// The time limit of one file, and when its process is killed.
const TIME: (Duration, Duration) = (Duration::from_secs(2), Duration::from_millis(100));

/// A number that looks random, and is the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

fn said(name: &str, otherwise: u64) -> u64 {
    let text = std::env::var(name);
    text.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// The processes that scan for this test.
fn children() -> Vec<Pid> {
    let mut found = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").expect("/proc") {
        let path = task.expect("/proc").path().join("children");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        found.extend(
            text.split_whitespace()
                .filter_map(|pid| pid.parse::<i32>().ok()),
        );
    }
    found.into_iter().filter_map(Pid::from_raw).collect()
}

/// A process may be gone when it is its turn.
fn harm(fault: Fault, pid: Pid) {
    let signal = |signal| {
        let sent = kill_process(pid, signal);
        assert!(matches!(sent, Ok(()) | Err(Errno::SRCH)), "{sent:?}");
    };
    match fault {
        Fault::Kill => signal(Signal::KILL),
        Fault::Stop => signal(Signal::STOP),
        Fault::None | Fault::OutOfMemory | Fault::Short | Fault::Other => {}
    }
}

/// A file that is not what is said of it.
fn spoilt(fault: Fault, round: u64) -> Option<RawFile> {
    let text = format!("a,b\n{round},2\n");
    let mut spoilt = file("spoilt.csv", text.as_bytes());
    match fault {
        Fault::Short => spoilt.bytes += 1,
        Fault::Other => spoilt.sha256 = "0".repeat(64),
        _ => return None,
    }
    Some(spoilt)
}

/// A gate whose processes have just the memory that they start with.
async fn starved(folder: &Path) -> Gate {
    let program = folder.join("starved");
    for mib in (32..1_024).step_by(8) {
        let kiln = env!("CARGO_BIN_EXE_kiln");
        let kib = mib << 10;
        let script = format!("#!/bin/sh\nulimit -v {kib}\nexec {kiln} \"$@\"\n");
        std::fs::write(&program, script).expect("scratch");
        std::fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("ours");
        let gate = Gate::open(GateOptions {
            program: Some(program.clone()),
            processes: 1,
            time: TIME,
            ..GateOptions::default()
        });
        if gate.scanner().prove().await.is_ok() {
            return gate;
        }
    }
    panic!("it does not start with any memory");
}

async fn round(gate: &Gate, round: u64, fault: Fault, dice: &mut Dice) {
    // Content that was never seen: what is remembered would hide the fault.
    let lines = match fault {
        Fault::OutOfMemory => 1_000_000,
        _ => 1 + dice.roll(4_000),
    };
    let clean = format!("a,b\n{round},2\n").repeat(lines);
    let hostile = [&eicar(), format!("\n{round}").as_bytes()].concat();
    let mut files = vec![
        file("a.csv", clean.as_bytes()),
        file("b.com", &hostile),
        file("c.csv", format!("=cmd|'/c calc {round}'!A1\n").as_bytes()),
        file("d.csv", clean.as_bytes()),
    ];
    files.extend(spoilt(fault, round));
    let count = files.len();
    let secret = format!("x\nkey={}{round}\n", super::token());
    let outputs = Outputs::of([clean.as_bytes(), secret.as_bytes()], files, Vec::new());
    let delay = Duration::from_micros(u64::try_from(dice.roll(3_000)).expect("small"));
    let pids = children();
    let victim = (!pids.is_empty()).then(|| pids[dice.roll(pids.len())]);
    let hand = async {
        tokio::time::sleep(delay).await;
        if let Some(pid) = victim {
            harm(fault, pid);
        }
    };
    let (screened, ()) = tokio::join!(gate.screen(outputs), hand);
    let cleared = screened.unwrap_or_else(|error| panic!("round {round}, {fault:?}: {error:?}"));
    let mut seen = 0;
    for (path, word, fate) in cleared.files() {
        seen += 1;
        let verdict = word.verdict();
        let honest = match path {
            "a.csv" | "d.csv" => matches!(verdict, Verdict::Clean | Verdict::Unscannable),
            "spoilt.csv" => verdict == Verdict::Unscannable,
            _ => verdict >= Verdict::Suspicious,
        };
        assert!(honest, "round {round}, {fault:?}: `{path}` is {word:?}");
        assert_eq!(fate == Fate::Release, verdict == Verdict::Clean, "{path}");
    }
    assert_eq!(seen, count, "round {round}, {fault:?}: a file is lost");
    let [out, err] = cleared.streams();
    assert!(out.1 == Fate::Release || out.0.verdict() == Verdict::Unscannable);
    assert_eq!(err.1, Fate::Withhold, "round {round}, {fault:?}");
    assert!(
        !String::from_utf8_lossy(err.2).contains("ghp_"),
        "round {round}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_make_nothing_clean() {
    let rounds = said("KILN_FAULTS", 300);
    let seed = said("KILN_SEED", 7);
    let gate = gate(GateOptions {
        processes: 2,
        time: TIME,
        ..GateOptions::default()
    });
    gate.scanner().prove().await.expect("it scans");
    let folder = std::env::temp_dir().join(format!("kiln-starved-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder).expect("scratch");
    let poor = starved(&folder).await;
    let mut dice = Dice(seed);
    let mut stops = 0;
    for number in 0..rounds {
        let fault = match FAULTS[dice.roll(FAULTS.len())] {
            // Each costs the whole time limit: a few show what many would.
            Fault::Stop if stops >= 3 + rounds / 100 => Fault::Kill,
            fault => fault,
        };
        stops += u64::from(fault == Fault::Stop);
        let gate = match fault {
            Fault::OutOfMemory => &poor,
            _ => &gate,
        };
        round(gate, number, fault, &mut dice).await;
    }
    std::fs::remove_dir_all(&folder).expect("scratch");
    assert!(poor.scanner().lost() > 0, "there was memory enough");
    let lost = gate.scanner().lost() + poor.scanner().lost();
    let told = format!("{rounds} rounds, seed {seed}: {lost} scans broke off, none is clean\n");
    std::io::stderr()
        .write_all(told.as_bytes())
        .expect("stderr");
    assert!(lost > rounds / 20, "only {lost} faults met a scan");
}
