//! Does a job with a network find a listener that is accepted from outside, and no way to it but that?

use crate::harness::{SECOND, Sandbox, Streams, read};
use crate::sys;
use kiln_keeper::spec::Program;
use kiln_keeper::wire::{Cause, EGRESS_PORT, FromWorker};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;

/// Starts a shell with a door; gives its streams and our end of the door.
fn start(sandbox: &Sandbox, script: &str) -> (Streams, OwnedFd) {
    let words = ["bash", "-c", script];
    let program = Program {
        argv: words.map(|word| word.as_bytes().to_vec()).to_vec(),
        env: vec![b"PATH=/usr/bin".to_vec()],
    };
    let program = sys::memfd(&program.encode().expect("a program"));
    let stdin: OwnedFd = std::fs::File::open("/dev/null").expect("open").into();
    let (stdout, to_stdout) = sys::pipe();
    let (stderr, to_stderr) = sys::pipe();
    let (ours, theirs) = sys::pair();
    let message = FromWorker::Start {
        generation: sandbox.generation,
        wall_ns: 10 * SECOND,
        cpu_ns: 10 * SECOND,
        cpus_milli: 1000,
        affinity: 0,
        egress: true,
    };
    let fds = [&program, &stdin, &to_stdout, &to_stderr, &theirs];
    sandbox.say(message, &fds);
    (Streams { stdout, stderr }, ours)
}

#[test]
fn a_listener_comes_out_of_the_cell_and_is_accepted_from_outside() {
    let mut sandbox = Sandbox::new();
    let mut waiting = sandbox.prepare();
    waiting.stage = None;
    let script = format!(
        "exec 9<>/dev/tcp/127.0.0.1/{EGRESS_PORT}; echo hello >&9; cat <&9; ls /proc/self/fd"
    );
    let (streams, door) = start(&sandbox, &script);
    let (bytes, mut fds) = sys::receive(&door);
    assert_eq!((bytes.len(), fds.len()), (1, 1));
    let listener = TcpListener::from(fds.remove(0));
    let address = listener.local_addr().expect("it is bound");
    assert_eq!(address.to_string(), format!("127.0.0.1:{EGRESS_PORT}"));
    // Nothing of this machine's own network is behind that port.
    let (mut job, from) = listener.accept().expect("the job connects");
    assert!(from.ip().is_loopback());
    let mut word = [0; 6];
    job.read_exact(&mut word).expect("it speaks");
    assert_eq!(&word, b"hello\n");
    job.write_all(b"outside\n").expect("it hears");
    drop(job);
    let ended = sandbox.ended();
    assert_eq!((ended.cause, ended.status), (Cause::Exited, Some(0)));
    let (bytes, _) = sys::receive(&door);
    assert!(bytes.is_empty(), "the job has no end of the door");
    // The shell's own connection and what `ls` opens are all there is beside the streams.
    assert_eq!(read(streams.stdout), "outside\n0\n1\n2\n3\n9\n");
    assert_eq!(read(streams.stderr), "");
    sandbox.finish(&waiting);
}

#[test]
fn a_start_without_a_door_makes_no_listener() {
    let mut sandbox = Sandbox::new();
    let script = format!("exec 9<>/dev/tcp/127.0.0.1/{EGRESS_PORT}");
    let (ended, _, stderr) = sandbox.run(&["bash", "-c", &script]);
    assert_eq!(ended.status, Some(1 << 8));
    assert!(stderr.contains("Connection refused"), "{stderr}");
}

#[test]
fn a_door_that_is_promised_and_not_there_ends_the_sandbox() {
    let null: OwnedFd = std::fs::File::open("/dev/null").expect("open").into();
    let start = |egress| FromWorker::Start {
        generation: 1,
        wall_ns: SECOND,
        cpu_ns: SECOND,
        cpus_milli: 1000,
        affinity: 0,
        egress,
    };
    for (egress, count) in [(true, 4), (false, 5)] {
        let mut sandbox = Sandbox::new();
        let waiting = sandbox.prepare();
        sandbox.say(start(egress), &vec![&null; count]);
        let code = sandbox.process.wait().expect("wait").code();
        assert_eq!(code, Some(2), "{egress} with {count}");
        drop(waiting);
    }
}
