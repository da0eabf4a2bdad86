//! A sandbox as a worker uses it: jobs are started, ended and dropped.

use crate::worker::{PATIENCE, wait_readable};
use kiln_keeper::spec::Program;
use kiln_keeper::wire::{self, Ended, FromWorker, ToWorker};
use kiln_warden::socket;
use kiln_warden::wire::{CellLimits, SandboxId};
use rustix::fs::MemfdFlags;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};

/// A sandbox with a cell that waits.
pub(crate) struct Sandbox {
    pub(crate) id: SandboxId,
    pub(crate) control: OwnedFd,
    pub(crate) cell: Option<Cell>,
}

pub(crate) struct Cell {
    pub(crate) generation: u64,
    pub(crate) limits: CellLimits,
    pub(crate) scratch: OwnedFd,
    pub(crate) stage: OwnedFd,
}

/// What a job printed and how it ended.
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) ended: Ended,
}

fn memfd(bytes: &[u8]) -> OwnedFd {
    let fd = rustix::fs::memfd_create("program", MemfdFlags::CLOEXEC).expect("memfd");
    let mut file = File::from(fd);
    file.write_all(bytes).expect("write");
    file.into()
}

fn read_all(fd: OwnedFd) -> String {
    let mut text = String::new();
    File::from(fd).read_to_string(&mut text).expect("read");
    text
}

impl Sandbox {
    pub(crate) fn generation(&self) -> u64 {
        self.cell.as_ref().expect("a cell").generation
    }

    fn tell(&self, message: FromWorker, fds: &[OwnedFd]) {
        let borrowed: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
        socket::send(&self.control, &wire::to_bytes(&message.encode()), &borrowed).expect("send");
    }

    /// Starts a job without waiting for it: its stdout and stderr.
    pub(crate) fn start(&mut self, argv: &[&str]) -> (OwnedFd, OwnedFd) {
        let cell = self.cell.as_mut().expect("a cell");
        let generation = cell.generation;
        // The stager ends, the job may start.
        let (spare, _) = socket::pair().expect("pair");
        drop(std::mem::replace(&mut cell.stage, spare));
        let program = Program {
            argv: argv.iter().map(|a| a.as_bytes().to_vec()).collect(),
            env: vec![b"PATH=/usr/bin:/bin".to_vec()],
        };
        let (out, out_end) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("pipe");
        let (err, err_end) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("pipe");
        let fds = [
            memfd(&program.encode().expect("program")),
            File::open("/dev/null").expect("open").into(),
            out_end,
            err_end,
        ];
        self.tell(
            FromWorker::Start {
                generation,
                wall_ns: 10_000_000_000,
                cpu_ns: 10_000_000_000,
                cpus_milli: 1000,
                affinity: 0,
                egress: false,
            },
            &fds,
        );
        (out, err)
    }

    pub(crate) fn ended(&self) -> Ended {
        assert!(
            wait_readable(&self.control, PATIENCE),
            "the job does not end"
        );
        let mut buffer = [0; wire::BYTES];
        let (n, _) = socket::receive(&self.control, &mut buffer)
            .expect("receive")
            .expect("the keeper is gone");
        let words = wire::from_bytes(&buffer[..n]).expect("a message");
        let ToWorker::Ended(ended) = ToWorker::decode(&words).expect("a message");
        ended
    }

    /// Runs a job and drops its files.
    pub(crate) fn run(&mut self, argv: &[&str]) -> Ran {
        let (out, err) = self.start(argv);
        let ended = self.ended();
        let ran = Ran {
            stdout: read_all(out),
            stderr: read_all(err),
            ended,
        };
        self.finish();
        ran
    }

    pub(crate) fn finish(&self) {
        self.tell(
            FromWorker::Finish {
                generation: self.generation(),
            },
            &[],
        );
    }

    /// Runs a shell's script.
    pub(crate) fn sh(&mut self, script: &str) -> Ran {
        self.run(&["/bin/sh", "-c", script])
    }
}
