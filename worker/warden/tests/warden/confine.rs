//! What can a process still do that gave everything up?

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};

const SIGSYS: i32 = 31;

fn tried(what: &str) -> (ExitStatus, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_kiln-warden-harness"))
        .args(["confine", what])
        .env("KILN_TEST", "x")
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("text");
    (output.status, text)
}

#[test]
fn it_reads_what_it_was_handed_and_has_memory_up_to_its_limit() {
    assert_eq!(tried("read").0.code(), Some(0));
    assert_eq!(tried("memory").0.code(), Some(0));
    assert_eq!(tried("too much memory").0.code(), Some(1));
}

/// Each of these is a way out, and each ends the process.
#[test]
fn whatever_else_it_tries_ends_it() {
    for what in [
        "open", "list", "write", "tcp", "udp", "unix", "thread", "exec", "signal", "code",
    ] {
        let (status, _) = tried(what);
        assert_eq!(status.signal(), Some(SIGSYS), "{what}: {status}");
    }
}

#[test]
fn root_becomes_nobody_in_a_network_of_its_own() {
    let (status, told) = tried("told");
    assert_eq!(status.code(), Some(0));
    assert!(rustix::process::geteuid().is_root(), "this test needs root");
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["network"], true, "{told}");
    assert_eq!(told["nobody"], true, "{told}");
}
