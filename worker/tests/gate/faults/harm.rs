//! How is a process that scans harmed, or kept poor?

use super::Fault::{self, Kill, Other, Short, Stop};
use super::{Dice, TIME};
use crate::{file, gate};
use kiln::collect::RawFile;
use kiln::screen::scanner::Grouping;
use kiln::screen::{Gate, GateOptions, Outputs};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Does it, where it is done by a signal; false where the process was gone before.
pub(super) fn harm(fault: Fault, pid: Pid) -> bool {
    let signal = match fault {
        Kill => Signal::KILL,
        Stop => Signal::STOP,
        _ => return true,
    };
    match kill_process(pid, signal) {
        Ok(()) => true,
        Err(Errno::SRCH) => false,
        Err(error) => panic!("a process of ours cannot be harmed: {error}"),
    }
}

/// A file that is not what is said of it.
pub(super) fn spoilt(fault: Fault, number: u64) -> Option<RawFile> {
    let text = format!("a,b\n{number},2\n");
    let mut spoilt = file("spoilt.csv", text.as_bytes());
    match fault {
        Short => spoilt.bytes += 1,
        Other => spoilt.sha256 = "0".repeat(64),
        _ => return None,
    }
    Some(spoilt)
}

/// The gate with the least that its processes start with.
pub(super) async fn starved(with: impl Fn(u64) -> GateOptions) -> Gate {
    for mib in (4..1_024).step_by(4) {
        let gate = gate(GateOptions {
            processes: 1,
            time: TIME,
            ..with(mib)
        });
        if gate.scanner().prove().await.is_ok() {
            return gate;
        }
    }
    panic!("it does not start with any memory");
}

/// So much address space, by a limit that was there before.
pub(super) fn little_space(folder: &Path, mib: u64) -> GateOptions {
    let program = folder.join("starved");
    let kiln = env!("CARGO_BIN_EXE_kiln");
    let script = format!("#!/bin/sh\nulimit -v {}\nexec {kiln} \"$@\"\n", mib << 10);
    std::fs::write(&program, script).expect("scratch");
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("ours");
    GateOptions {
        program: Some(program),
        grouping: grouping(1 << 30),
        ..GateOptions::default()
    }
}

/// Control groups of this test's own, with so much memory.
pub(super) fn grouping(memory_bytes: u64) -> Grouping {
    Grouping {
        parent: format!("/kiln-faults-{}", std::process::id()),
        memory_bytes,
        needed: true,
    }
}

/// So much memory in its control group.
pub(super) fn little_memory(mib: u64) -> GateOptions {
    GateOptions {
        grouping: grouping(mib << 20),
        ..GateOptions::default()
    }
}

/// Screens with rules that are broken in one of the ways there are: nothing has a word then, and
/// nothing leaves.
pub(super) async fn broken_rules(outputs: Outputs, dice: &mut Dice) {
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
        ..GateOptions::default()
    });
    let error = gate.screen(outputs).await.expect_err("nobody may scan");
    let told = kiln::fault::chain(&error);
    assert!(told.contains("broken.yar"), "`{text}`: {told}");
}
