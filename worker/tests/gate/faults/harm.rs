//! How is a process that scans harmed, or kept poor?

use super::order::{Dice, Fault};
use super::tally::Row;
use super::{LONG, TIME};
use crate::{file, gate, group};
use kiln::collect::RawFile;
use kiln::screen::scanner::Grouping;
use kiln::screen::{Gate, GateOptions, Outputs};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Command;

/// Does it, where it is done by a signal. Whoever is gone by now is not met.
pub(super) fn harm(fault: Fault, pid: Pid) {
    let signal = match fault {
        Fault::Kill => Signal::KILL,
        Fault::Stop => Signal::STOP,
        _ => return,
    };
    match kill_process(pid, signal) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => panic!("a process of ours cannot be harmed: {error}"),
    }
}

/// A file that is not what is said of it.
pub(super) fn spoilt(fault: Fault, number: &str) -> Option<RawFile> {
    let text = format!("a,b\n{number},2\n");
    let mut spoilt = file("spoilt.csv", text.as_bytes());
    match fault {
        Fault::Short => spoilt.bytes += 1,
        Fault::Other => spoilt.sha256 = "0".repeat(64),
        _ => return None,
    }
    Some(spoilt)
}

/// The gate with the least memory, in MiB, that its processes start with, and how many lines are
/// too many for it.
pub(super) async fn starved(with: impl Fn(u64) -> Grouping) -> (Gate, usize) {
    let open = |mib| {
        gate(GateOptions {
            processes: 1,
            time: LONG,
            grouping: with(mib),
            ..GateOptions::default()
        })
    };
    let (mut low, mut high) = (1_u64, 4_096);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if open(middle).scanner().prove().await.is_ok() {
            high = middle;
        } else {
            low = middle;
        }
    }
    // Chance has a part in it.
    for mib in high..high + 8 {
        let gate = open(mib);
        if gate.scanner().prove().await.is_ok() {
            let lines = too_many(&gate).await;
            return (gate, lines);
        }
    }
    panic!("it does not start with {high} MiB, nor with a little more");
}

/// What it took to start leaves room for some.
async fn too_many(gate: &Gate) -> usize {
    let mut lines = 100_000;
    loop {
        let text = format!("a,b\n{lines},2\n").repeat(lines);
        let files = vec![file("a.csv", text.as_bytes())];
        let outputs = Outputs::of([b"", b""], files, Vec::new());
        let before = gate.scanner().lost();
        gate.screen(outputs).await.expect("it is screened");
        if gate.scanner().lost() > before {
            return lines + lines / 4;
        }
        lines += lines / 2;
        assert!(lines < 10_000_000, "there is memory for anything");
    }
}

/// Lines of a file that malloc always maps anew, whatever has become free of what it has: 32 MiB
/// and more.
pub(super) const NEVER_OF_THE_HEAP: usize = 2_600_000;

/// Leaves everybody in the groups below one the address space that they have by now.
pub(super) fn cramp(parent: &str) {
    for pid in group::members(parent) {
        let path = format!("/proc/{}/statm", pid.as_raw_nonzero());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let pages = text.split_whitespace().next().map(str::parse::<u64>);
        let Some(Ok(pages)) = pages else { continue };
        let most = pages * rustix::param::page_size() as u64 + (256 << 10);
        // As the one that they are: root may have no right to the limits of others.
        let words = [
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "prlimit",
        ];
        let limited = Command::new("setpriv")
            .args(words)
            .args([format!("--as={most}:{most}"), "--pid".to_owned()])
            .arg(pid.to_string())
            .status();
        assert!(
            limited.expect("setpriv is there").success(),
            "a process of ours cannot be limited"
        );
    }
}

/// Whoever signals go to, whoever has no address space left, and others: groups of their own.
pub(super) fn parent(lane: u64, name: &str) -> String {
    format!("/kiln-faults-{}-{lane}-{name}", std::process::id())
}

/// Screens with rules that are broken in one of the ways there are: nothing has a word then, and
/// nothing leaves.
pub(super) async fn broken_rules(outputs: Outputs, parent: String, dice: &mut Dice, row: &mut Row) {
    let sound = "rule sound { strings: $a = \"needle\" condition: $a }";
    let cut = 1 + dice.roll(sound.len() - 2);
    let broken = [
        "rule a {".to_owned(),
        "rule a { condition: nothing }".to_owned(),
        format!("{sound}\n{sound}"),
        "rule a { strings: $a = /(/ condition: $a }".to_owned(),
        "\u{0}\u{1}\u{2}".to_owned(),
        sound[..cut].to_owned(),
    ];
    let text = broken[dice.roll(broken.len())].clone();
    let gate = gate(GateOptions {
        rules: vec![
            ("sound.yar".to_owned(), sound.replace("sound", "other")),
            ("broken.yar".to_owned(), text.clone()),
        ],
        processes: 1,
        time: TIME,
        grouping: Grouping {
            parent,
            ..Grouping::default()
        },
        ..GateOptions::default()
    });
    row.struck = 1;
    match gate.screen(outputs).await {
        Ok(cleared) => {
            for (path, word, _) in cleared.files() {
                row.clean(format!("`{path}` is {word:?} by `{text}`"));
            }
        }
        Err(error) => {
            let told = kiln::fault::chain(&error);
            if !told.contains("broken.yar") {
                row.wrong(format!("`{text}`: {told}"));
            }
            row.broke_off = 1;
        }
    }
}
