//! Runs a command with a broker and an S3 that all its tests share, and ends them with it.
//!
//! `stack COMMAND...` sets, for the command: `KILN_TEST_BROKER` and `KILN_TEST_AMQP` (the same broker, for the tests of
//! the system and for those of the worker's crate) and `KILN_TEST_S3` (the endpoint of an S3).

use acceptance::stack::broker::Broker;
use acceptance::stack::folder;
use acceptance::stack::objects::Objects;
use std::io::Write as _;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let Some(program) = words.next() else {
        let mut stderr = std::io::stderr();
        writeln!(stderr, "usage: stack COMMAND...").ok();
        return ExitCode::from(2);
    };
    folder::sweep(&folder::home());
    let broker = Broker::start("");
    let objects = Objects::start();
    let vhost = broker.vhost();
    // Without its servers the command is of no use: it ends when this is killed.
    let ended = Command::new("/usr/bin/setpriv")
        .args(["--pdeathsig", "TERM", "--"])
        .arg(&program)
        .args(words)
        .env("KILN_TEST_BROKER", broker.name())
        .env("KILN_TEST_AMQP", broker.url(&vhost))
        .env("KILN_TEST_S3", objects.endpoint())
        .status();
    match ended {
        Ok(status) => ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)),
        Err(error) => {
            let mut stderr = std::io::stderr();
            writeln!(stderr, "start `{}`: {error}", program.display()).ok();
            ExitCode::FAILURE
        }
    }
}
