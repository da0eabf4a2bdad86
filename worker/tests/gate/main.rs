//! The gate with the real processes that scan: what it says, and what it says when they are harmed.
//!
//! It needs root: control groups and a small disk are part of it.
//! `tests/gate-faults` is the long form of the faults; `KILN_SEED` asks for the same order again.

mod alike;
mod clamd;
mod faults;
mod group;
mod words;

use kiln::collect::RawFile;
use kiln::execute::memfd;
use kiln::screen::{Gate, GateOptions};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::path::PathBuf;

/// A gate whose processes are the program under test.
fn gate(options: GateOptions) -> Gate {
    Gate::open(GateOptions {
        program: Some(PathBuf::from(env!("CARGO_BIN_EXE_kiln"))),
        ..options
    })
}

/// A file as it is collected.
fn file(path: &str, bytes: &[u8]) -> RawFile {
    RawFile {
        path: path.to_owned(),
        file: File::from(memfd::sealed("artifact", bytes).expect("memory")),
        bytes: bytes.len() as u64,
        sha256: kiln_protocol::digest::hex(&Sha256::digest(bytes)),
    }
}

/// The test string, in two pieces, so that no virus scanner takes this file.
fn eicar() -> Vec<u8> {
    let start = r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR";
    [start, "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"]
        .concat()
        .into()
}

/// A token that is one by its form.
fn token() -> String {
    format!("ghp_{}", "x9K2mQ7vB4nR8tW1pL5j".repeat(2))
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("kiln-gate-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir(&path).expect("scratch");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What a test that failed has mounted there stays.
        drop(std::fs::remove_dir_all(&self.0));
    }
}
