//! Scans a labelled corpus and prints what was found in each family:
//! `cargo run -p artifact-scanner --example corpus -- DIR`.

#[path = "../corpus/table.rs"]
mod table;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> std::io::Result<ExitCode> {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        writeln!(
            std::io::stderr(),
            "usage: corpus DIR (with labels.tsv beside files/ or samples/)"
        )?;
        return Ok(ExitCode::from(2));
    };
    let outcomes = table::run(table::read(&dir)?);
    write!(std::io::stdout(), "{}", table::Table(&outcomes))?;
    let bad = outcomes
        .iter()
        .any(|outcome| outcome.is_missed() || outcome.is_false());
    Ok(if bad {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
