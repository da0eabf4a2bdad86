//! What a sandbox costs: every figure as a ratio or a difference against a floor of the same run.
//!
//! `cargo bench -p kiln --bench figures [-- NAME...]` as root; names: overhead, create, cycle,
//! strict, memory, hello. Without a name, all of them. `KILN_BENCH_N` sets how many rounds.

#![expect(clippy::print_stdout, reason = "a benchmark's table is its output")]

mod hello;
mod host;
mod memory;
mod overhead;
mod stats;
mod strict;

use std::process::ExitCode;

type Failure = Box<dyn std::error::Error>;

/// A program of the host image without dynamic libraries, which prints something and ends.
const STATIC_PROGRAM: [&str; 2] = ["/sbin/ldconfig", "--version"];

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    // The warden is this program again: a bench has no other binary to start.
    if args.peek().is_some_and(|first| first == "warden") {
        return kiln_warden::main(args.skip(1));
    }
    let names: Vec<String> = args
        .filter_map(|a| a.into_string().ok())
        .filter(|a| !a.starts_with("--"))
        .collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime for the benchmark");
    let done = runtime.block_on(async {
        if wanted("overhead") {
            overhead::run().await?;
        }
        if wanted("create") {
            host::create().await?;
        }
        if wanted("cycle") {
            host::cycle().await?;
        }
        if wanted("strict") {
            strict::run().await?;
        }
        if wanted("memory") {
            memory::run().await?;
        }
        if wanted("hello") {
            hello::run()?;
        }
        Ok::<(), Failure>(())
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("the benchmark failed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Rounds of a measurement: `KILN_BENCH_N`, else the given number.
fn rounds(usual: usize) -> usize {
    std::env::var("KILN_BENCH_N")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(usual)
}
