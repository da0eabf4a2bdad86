//! Builds the keeper, and what a doctor runs in its sandboxes, as static programs, so that the
//! warden carries them in its own binary.
//!
//! The keeper starts by `execveat` inside a sandbox whose file system it must not depend on: no
//! loader, no shared library, no relocation. Its cargo has a target folder of its own (two
//! cargos that share one wait for each other without end) and none of the outer cargo's settings.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Variables of the outer cargo that the inner one keeps.
const KEPT: [&str; 2] = ["CARGO_HOME", "CARGO_NET_OFFLINE"];

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("cargo::error={message}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    let manifest = variable("CARGO_MANIFEST_DIR")?;
    let out = PathBuf::from(variable("OUT_DIR")?);
    let target = variable("TARGET")?;
    let keeper = Path::new(&manifest).join("../keeper");
    for path in [
        "src",
        "prober",
        "Cargo.toml",
        "../../Cargo.toml",
        "../../Cargo.lock",
    ] {
        println!("cargo::rerun-if-changed={}", keeper.join(path).display());
    }
    println!("cargo::rerun-if-changed=build.rs");

    let folder = out.join("keeper");
    let mut cargo = Command::new(variable("CARGO")?);
    cargo
        .current_dir(&keeper)
        .args(["build", "--release", "--locked", "--bins"])
        .arg("--target")
        .arg(&target)
        .arg("--target-dir")
        .arg(&folder);
    if env::var_os("CARGO_FEATURE_UNGUARDED").is_some() {
        cargo.args(["--features", "unguarded"]);
    }
    for (name, _) in env::vars_os() {
        if inherited(&name) {
            cargo.env_remove(name);
        }
    }
    cargo
        .env("RUSTC", variable("RUSTC")?)
        .env(
            "RUSTFLAGS",
            "-C target-feature=+crt-static -C relocation-model=static",
        )
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s")
        .env("CARGO_PROFILE_RELEASE_LTO", "true")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
        .env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    let output = cargo
        .output()
        .map_err(|e| format!("failed to start cargo for the keeper: {e}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let text = text.trim().replace('\n', " | ");
        return Err(format!(
            "failed to build the static keeper for {target} (it needs the target's static C \
             runtime, on Debian libc6-dev): {text}"
        ));
    }
    let programs = folder.join(target).join("release");
    for (variable, name) in [
        ("KILN_KEEPER", "kiln-keeper"),
        ("KILN_PROBER", "kiln-prober"),
    ] {
        let program = programs.join(name);
        println!("cargo::rustc-env={variable}={}", program.display());
    }
    Ok(())
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|e| format!("failed to read `{name}` from cargo: {e}"))
}

/// Whether a variable would carry a setting of the outer build into the keeper's.
fn inherited(name: &OsString) -> bool {
    let name = name.to_string_lossy();
    let settings = [
        "CARGO",
        "__CARGO",
        "RUSTC",
        "RUSTFLAGS",
        "RUSTDOC",
        "MAKEFLAGS",
    ];
    settings.iter().any(|prefix| name.starts_with(prefix)) && !KEPT.contains(&name.as_ref())
}
