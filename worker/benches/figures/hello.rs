//! What `kiln run` of a hello costs over bare python3: process start to exit, with an empty pool.

use crate::stats::{line, ms};
use crate::{Failure, rounds};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

pub(crate) fn run() -> Result<(), Failure> {
    let folder = std::env::temp_dir().join(format!("kiln-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let hello = folder.join("hello.py");
    std::fs::write(&hello, "print('hello')\n")?;
    let kiln = program()?;
    let (mut bare, mut whole, mut differences) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds(30) {
        let python = timed(Command::new("/usr/bin/python3").arg(&hello))?;
        let run = timed(
            Command::new(&kiln)
                .arg("run")
                .arg("--out")
                .arg(folder.join("out"))
                .arg(&hello),
        )?;
        bare.push(python);
        whole.push(run);
        differences.push(run - python);
    }
    line("python3 hello.py", bare);
    line("kiln run hello.py, empty pool", whole);
    line("difference, paired (goal <= 60)", differences);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn timed(command: &mut Command) -> Result<f64, Failure> {
    let began = Instant::now();
    let output = command.stdin(Stdio::null()).output()?;
    let took = ms(began.elapsed());
    if output.status.success() && output.stdout == b"hello\n" {
        Ok(took)
    } else {
        Err(format!("{command:?}: {output:?}").into())
    }
}

/// The release build of `kiln`, which `cargo bench` makes beside this one.
fn program() -> Result<PathBuf, Failure> {
    let path = Path::new(env!("CARGO_BIN_EXE_kiln"));
    if path.exists() {
        Ok(path.to_owned())
    } else {
        Err("build kiln first".into())
    }
}
