//! The program `kiln`. The warden is the same program, and is told apart before anything starts.

use std::process::ExitCode;

fn main() -> ExitCode {
    kiln::cli::main(std::env::args_os())
}
