//! A program that is nothing but a warden: what the tests start in place of `kiln`.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The first argument is the command's name, `warden`.
    kiln_warden::main(std::env::args_os().skip(2))
}
