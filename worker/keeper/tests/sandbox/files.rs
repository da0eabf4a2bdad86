//! What goes into a cell and what comes out of it.

use crate::harness::{self, SECOND, Sandbox, stage};
use crate::sys;
use kiln_keeper::collect::{DEPTH_MAX, Entry, Kind, Message};
use kiln_keeper::stage::Input;
use kiln_keeper::wire::{Cause, FromWarden, ToWarden};
use std::io::Read;
use std::os::fd::OwnedFd;

fn input(path: &str, read_only: bool, executable: bool) -> Input {
    Input {
        read_only,
        executable,
        path: path.as_bytes().to_vec(),
    }
}

#[test]
fn inputs_are_there_and_read_only_ones_stay() {
    let mut sandbox = Sandbox::new();
    let mut waiting = sandbox.prepare();
    let socket = waiting.stage.take().expect("a staging socket");
    let plain = stage(&socket, &input("d/plain.txt", false, false), b"plain");
    assert_eq!((plain.errno, plain.size, plain.mode), (0, 5, 0o100_644));
    let run = stage(
        &socket,
        &input("run.sh", false, true),
        b"#!/bin/sh\necho ran\n",
    );
    assert_eq!(run.mode, 0o100_755);
    let fixed = stage(&socket, &input("d/e/fixed.txt", true, false), b"fixed");
    assert_eq!((fixed.errno, fixed.mode), (0, 0o100_444));
    for (path, errno) in [
        ("../out", libc::EINVAL),
        ("/out", libc::EINVAL),
        ("d//x", libc::EINVAL),
        ("run.sh/x", libc::ENOTDIR),
        ("run.sh", libc::EEXIST),
    ] {
        let refused = stage(&socket, &input(path, false, false), b"");
        assert_eq!(refused.errno, errno.cast_unsigned(), "{path}");
    }
    let large = stage(&socket, &input("large", false, false), &vec![1; 17 << 20]);
    assert_eq!(large.errno, libc::ENOSPC.cast_unsigned());
    drop(socket);
    let script = "./run.sh; cat d/plain.txt d/e/fixed.txt; echo; echo more >> d/plain.txt
        rm -f d/e/fixed.txt; mv d/e d/f; chmod 644 d/e/fixed.txt; echo x > d/e/fixed.txt; mv d d2
        touch d/e/mine && rm d/e/mine
        stat -c '%n %a %u %g' . d d/e d/plain.txt d/e/fixed.txt run.sh; ls";
    let streams = sandbox.start(&["sh", "-c", script], 10 * SECOND, 10 * SECOND);
    let ended = sandbox.ended();
    assert_eq!(ended.cause, Cause::Exited);
    assert_eq!(
        harness::read(streams.stdout),
        "ran\nplainfixed\n\
         . 1777 1001 1001\nd 1777 1001 1001\nd/e 1777 1001 1001\nd/plain.txt 644 1000 1000\n\
         d/e/fixed.txt 444 1001 1001\nrun.sh 755 1000 1000\nd\nrun.sh\n"
    );
    let (entries, _, collector) = sandbox.collect();
    let of = |path: &str| {
        entries
            .iter()
            .find(|e| e.path == path.as_bytes())
            .expect("listed")
    };
    let untouched = of("d/e/fixed.txt");
    assert_eq!(
        (
            untouched.ino,
            untouched.mtime_ns,
            untouched.ctime_ns,
            untouched.size
        ),
        (fixed.ino, fixed.mtime_ns, fixed.ctime_ns, fixed.size)
    );
    assert_ne!(of("d/plain.txt").ctime_ns, plain.ctime_ns);
    drop(collector);
    sandbox.finish(&waiting);
}

#[test]
fn inputs_that_are_still_queued_at_the_start_are_there() {
    let mut sandbox = Sandbox::new();
    let mut waiting = sandbox.prepare();
    let socket = waiting.stage.take().expect("a staging socket");
    let content = sys::memfd(&vec![7; 4 << 20]);
    for n in 0..3 {
        let input = input(&format!("f{n}"), false, false).encode();
        sys::send(&socket, &input, &[std::os::fd::AsFd::as_fd(&content)]).expect("send");
    }
    // The socket stays open: the job starts all the same.
    let streams = sandbox.start(&["wc", "-c", "f0", "f1", "f2"], 10 * SECOND, 10 * SECOND);
    assert_eq!(sandbox.ended().status, Some(0));
    let out = harness::read(streams.stdout);
    assert!(out.ends_with("12582912 total\n"), "{out}");
    sandbox.finish(&waiting);
}

fn open(socket: &OwnedFd, path: &[u8]) -> (Message, Vec<OwnedFd>) {
    let path = path.to_vec();
    sys::send(socket, &Message::Open { path }.encode(), &[]).expect("send Open");
    let (bytes, fds) = sys::receive(socket);
    (Message::decode(&bytes).expect("an answer"), fds)
}

#[test]
fn every_kind_of_entry_is_listed_and_only_files_open() {
    let mut sandbox = Sandbox::new();
    let mut waiting = sandbox.prepare();
    waiting.stage = None;
    let script = r#"
        mkdir -p a/b; echo text > a/b/f; ln -s /proc/1/environ a/link; ln -s b a/blink
        mkfifo a/fifo; touch 'a/ odd
name'; echo secret > a/none; chmod 000 a/none
        mkdir a/locked; echo deep > a/locked/in; chmod 000 a/locked
        perl -e 'use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("a/sock"))'
        d=deep; i=0; while [ $i -lt 80 ]; do d=$d/x; i=$((i+1)); done; mkdir -p $d
        perl -e 'for (1..30) { mkdir "y" x 250; chdir "y" x 250 } open(F, ">z")'
        echo x > "$(printf '\377\001')"; ln a/b/f hard"#;
    let streams = sandbox.start(&["sh", "-c", script], 10 * SECOND, 10 * SECOND);
    assert_eq!(sandbox.ended().cause, Cause::Exited);
    assert_eq!(harness::read(streams.stderr), "");
    let (entries, truncated, socket) = sandbox.collect();
    assert!(!truncated);
    let kind = |path: &[u8]| {
        let found = entries.iter().find(|e| e.path == path);
        found.map(|e: &Entry| e.kind)
    };
    for (path, expected) in [
        (&b"a"[..], Kind::Directory),
        (b"a/b/f", Kind::File),
        (b"a/link", Kind::Symlink),
        (b"a/fifo", Kind::Fifo),
        (b"a/sock", Kind::Socket),
        (b"a/ odd\nname", Kind::File),
        (b"a/none", Kind::File),
        (b"a/locked/in", Kind::File),
        (b"\xff\x01", Kind::File),
    ] {
        assert_eq!(kind(path), Some(expected), "{}", path.escape_ascii());
    }
    let deep = entries.iter().filter(|e| e.path.starts_with(b"deep"));
    let deepest = deep.max_by_key(|e| e.path.len()).expect("deep");
    let slashes = deepest
        .path
        .iter()
        .map(|&byte| usize::from(byte == b'/'))
        .sum::<usize>();
    assert_eq!((deepest.kind, slashes), (Kind::TooDeep, DEPTH_MAX as usize));
    let long = entries.iter().filter(|e| e.path.starts_with(b"yyy"));
    let longest = long.max_by_key(|e| e.path.len()).expect("long");
    assert_eq!(longest.kind, Kind::TooDeep);

    for (path, errno) in [
        (&b"a/link"[..], libc::ELOOP),
        (b"a/blink/f", libc::ELOOP),
        (b"a", libc::EISDIR),
        (b"a/fifo", libc::EINVAL),
        (b"a/sock", libc::ENXIO),
        (b"../home", libc::EXDEV),
        (b"/etc", libc::EXDEV),
        (b"absent", libc::ENOENT),
    ] {
        let (answer, fds) = open(&socket, path);
        let expected = Message::Opened {
            errno: errno.cast_unsigned(),
            size: 0,
            mode: 0,
        };
        assert_eq!(answer, expected, "{}", path.escape_ascii());
        assert!(fds.is_empty());
    }
    for (path, content) in [(&b"a/none"[..], "secret\n"), (b"a/locked/in", "deep\n")] {
        let (_, mut fds) = open(&socket, path);
        let mut text = String::new();
        let mut file = std::fs::File::from(fds.pop().expect("a descriptor"));
        file.read_to_string(&mut text).expect("read");
        assert_eq!(text, content);
    }
    sandbox.finish(&waiting);
    assert_eq!(
        sandbox
            .run(&["ls", "-A", "/job", "/tmp", "/dev/shm", "/home/job"])
            .1
            .lines()
            .filter(|l| !l.is_empty() && !l.ends_with(':'))
            .count(),
        0
    );
}

#[test]
fn twenty_thousand_files_are_listed_quickly() {
    let mut sandbox = Sandbox::new();
    let mut waiting = sandbox.prepare_with(256 << 20, 200 << 20);
    waiting.stage = None;
    let script = "for (1..20000) { open(F, '>', 'file-with-a-name-' . $_) or die }";
    let streams = sandbox.start(&["perl", "-e", script], 30 * SECOND, 30 * SECOND);
    assert_eq!(sandbox.ended().status, Some(0));
    drop(streams);
    let start = std::time::Instant::now();
    let (entries, truncated, _socket) = sandbox.collect();
    assert_eq!((entries.len(), truncated), (20_000, false));
    assert!(start.elapsed().as_secs() < 3);
    sandbox.finish(&waiting);
}

#[test]
fn a_listing_of_long_paths_is_cut() {
    const BYTES_MAX: usize = 16 << 20;
    let mut sandbox = Sandbox::new();
    let mut waiting = sandbox.prepare_with(256 << 20, 200 << 20);
    waiting.stage = None;
    let script = "for (1..15) { my $d = 'y' x 250; mkdir $d; chdir $d }
        for (1..6000) { open(F, '>', $_) or die }";
    let streams = sandbox.start(&["perl", "-e", script], 30 * SECOND, 30 * SECOND);
    assert_eq!(sandbox.ended().status, Some(0));
    drop(streams);
    let (entries, truncated, _socket) = sandbox.collect();
    let bytes: usize = entries.iter().map(Entry::encoded_len).sum();
    assert!(truncated);
    assert!(
        (BYTES_MAX - 4096..=BYTES_MAX).contains(&bytes),
        "{bytes} bytes of {} entries",
        entries.len()
    );
    sandbox.finish(&waiting);
}

#[test]
fn the_disk_of_a_waiting_cell_can_be_resized() {
    let mut sandbox = Sandbox::new();
    let mut waiting = sandbox.prepare();
    waiting.stage = None;
    let disk = |scratch: &OwnedFd| {
        let stat = sys::file_system(scratch);
        (stat.f_blocks * stat.f_bsize.cast_unsigned(), stat.f_files)
    };
    assert_eq!(disk(&waiting.scratch), (16 << 20, 40_000));
    let resize = FromWarden::Resize {
        disk_bytes: 1 << 20,
        inodes: 100,
    };
    let bytes = kiln_keeper::wire::to_bytes(&resize.encode());
    sys::send(&sandbox.warden, &bytes, &[]).expect("send Resize");
    assert_eq!(sandbox.answer().0, ToWarden::Resized);
    assert_eq!(disk(&waiting.scratch), (1 << 20, 100));
    let script = "df -B1 --output=size,itotal /tmp | tail -1; head -c 2000000 /dev/zero > big";
    let streams = sandbox.start(&["sh", "-c", script], 10 * SECOND, 10 * SECOND);
    assert_eq!(sandbox.ended().status, Some(256));
    let out = harness::read(streams.stdout);
    assert_eq!(
        out.split_whitespace().collect::<Vec<_>>(),
        ["1048576", "100"]
    );
    sandbox.finish(&waiting);
}
