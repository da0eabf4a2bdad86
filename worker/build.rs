//! Which compiler makes this? `kiln_build_info` says it; cargo tells only a build script.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=KILN_RUSTC={}", rustc());
}

/// Its version, such as `1.94.0`; cargo runs this again when the compiler is another one.
fn rustc() -> String {
    let asked = env::var_os("RUSTC").map(|rustc| Command::new(rustc).arg("--version").output());
    let said = match asked {
        Some(Ok(output)) if output.status.success() => output.stdout,
        _ => Vec::new(),
    };
    let said = String::from_utf8_lossy(&said);
    let version = said.split_ascii_whitespace().nth(1);
    version.unwrap_or("unknown").to_owned()
}
