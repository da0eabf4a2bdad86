//! What do real programs meet under both filters, on the machine's own kernel?
//!
//! A program is started below the keeper's filter and a job's, as in a cell, and a loop answers
//! the notifications as the keeper would. Needs no root: `no_new_privs` is on.

use super::{job_filter, keeper_filter, name};
use kiln_keeper::spec::Filter;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How a program ended, and what it was noted for.
#[derive(Debug)]
struct Seen {
    status: ExitStatus,
    stdout: String,
    stderr: String,
    noted: Vec<&'static str>,
    install: Duration,
}

/// A filter where the kernel can read it.
fn loaded(filter: &Filter) -> Vec<libc::sock_filter> {
    let insn = |bytes: &[u8; 8]| {
        let [c0, c1, jt, jf, k0, k1, k2, k3] = *bytes;
        libc::sock_filter {
            code: u16::from_le_bytes([c0, c1]),
            jt,
            jf,
            k: u32::from_le_bytes([k0, k1, k2, k3]),
        }
    };
    filter.instructions.iter().map(insn).collect()
}

/// Installs a filter on this thread; with the flag for a listener the answer is its descriptor.
fn install(program: &[libc::sock_filter], flags: libc::c_ulong) -> io::Result<i32> {
    let fprog = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: program.as_ptr().cast_mut(),
    };
    #[expect(unsafe_code, reason = "no safe wrapper of seccomp(2) is at hand")]
    // SAFETY: `fprog` and the instructions it points to live across the call, which only reads.
    let got = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const fprog,
        )
    };
    match i32::try_from(got) {
        Ok(got) if got >= 0 => Ok(got),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Locks this process as a job is locked and sends the listener away.
fn lock(
    keeper: &[libc::sock_filter],
    job: &[libc::sock_filter],
    to: BorrowedFd<'_>,
) -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    install(keeper, 0)?;
    let start = Instant::now();
    let listener = install(job, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
    let micros = u32::try_from(start.elapsed().as_micros()).unwrap_or(u32::MAX);
    #[expect(unsafe_code, reason = "the kernel hands out a number")]
    // SAFETY: the descriptor was just made by `install` and nobody else owns it.
    let listener = unsafe { OwnedFd::from_raw_fd(listener) };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [listener.as_fd()];
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let word = micros.to_le_bytes();
    sendmsg(to, &[IoSlice::new(&word)], &mut control, SendFlags::empty())?;
    Ok(())
}

/// The listener, and how long the job's filter took to install.
fn receive(from: BorrowedFd<'_>) -> (OwnedFd, Duration) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut word = [0; 4];
    recvmsg(
        from,
        &mut [IoSliceMut::new(&mut word)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )
    .expect("the child sends before it executes");
    let listener = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    let install = Duration::from_micros(u32::from_le_bytes(word).into());
    (listener.expect("a listener"), install)
}

/// Answers every notification with `EPERM` until no process has the filter any more.
fn answer(listener: &OwnedFd) -> Vec<&'static str> {
    let mut noted = Vec::new();
    loop {
        let mut fds = [PollFd::new(listener, PollFlags::IN)];
        let wait = Timespec {
            tv_sec: 60,
            tv_nsec: 0,
        };
        assert_ne!(poll(&mut fds, Some(&wait)).expect("poll"), 0, "it hangs");
        if !fds[0].revents().contains(PollFlags::IN) {
            return noted;
        }
        if let Some(nr) = refuse_one(listener) {
            noted.push(name(nr).unwrap_or("?"));
        }
    }
}

/// One notification, refused; none where its caller died meanwhile.
fn refuse_one(listener: &OwnedFd) -> Option<u32> {
    #[expect(
        unsafe_code,
        reason = "no safe wrapper of the listener's ioctls is at hand"
    )]
    // SAFETY: both structures are plain numbers, so zeroes are valid; each call is given the
    // structure that its number names, and both live across it.
    unsafe {
        let mut asked: libc::seccomp_notif = std::mem::zeroed();
        let mut told: libc::seccomp_notif_resp = std::mem::zeroed();
        // `SECCOMP_IOCTL_NOTIF_RECV` and `_SEND`: both ways, 80 and 24 bytes, `!` 0 and 1.
        if libc::ioctl(listener.as_raw_fd(), 0xc050_2100, &raw mut asked) != 0 {
            return None;
        }
        told.id = asked.id;
        told.error = -libc::EPERM;
        libc::ioctl(listener.as_raw_fd(), 0xc018_2101, &raw mut told);
        u32::try_from(asked.data.nr).ok()
    }
}

fn under_the_filters(program: &str, args: &[&str]) -> Seen {
    let (keeper, job) = (loaded(&keeper_filter()), loaded(&job_filter()));
    let (ours, theirs) = socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .expect("a pair");
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[expect(
        unsafe_code,
        clippy::disallowed_methods,
        reason = "the filters must be on before the program is"
    )]
    // SAFETY: between fork and exec `lock` makes system calls only, on memory that was allocated
    // before the fork.
    unsafe {
        command.pre_exec(move || lock(&keeper, &job, theirs.as_fd()));
    }
    let child = command.spawn().expect("the program is there");
    let (listener, install) = receive(ours.as_fd());
    let answers = std::thread::spawn(move || answer(&listener));
    let output = child.wait_with_output().expect("it ends");
    Seen {
        status: output.status,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        noted: answers.join().expect("all answered"),
        install,
    }
}

/// The program succeeds and is noted for nothing.
fn ordinary(program: &str, args: &[&str]) {
    let seen = under_the_filters(program, args);
    assert!(
        seen.status.success() && seen.noted.is_empty(),
        "{program}: {}, noted {:?}\n{}",
        seen.status,
        seen.noted,
        seen.stderr
    );
}

/// Calls each number and prints the errno of each.
const CALLS: &str = "\
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
for nr in map(int, sys.argv[1:]):
    ctypes.set_errno(0)
    libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(0)] * 6)
    print(nr, ctypes.get_errno())
";

#[test]
fn noted_calls_are_told_although_the_keepers_filter_refuses_them_too() {
    let calls = [
        "321", "101", "165", "175", "298", "425", "435", "162", "440", "500",
    ];
    let seen = under_the_filters("python3", &[&["-I", "-c", CALLS], &calls[..]].concat());
    assert!(seen.status.success(), "{seen:?}");
    assert_eq!(
        seen.noted,
        ["bpf", "ptrace", "mount", "init_module", "perf_event_open"]
    );
    let wanted = "321 1\n101 1\n165 1\n175 1\n298 1\n425 38\n435 38\n162 0\n440 38\n500 38\n";
    assert_eq!(seen.stdout, wanted);
}

#[test]
fn another_convention_ends_the_process() {
    let x32 = (0x4000_0000 + libc::SYS_getpid).to_string();
    let seen = under_the_filters("python3", &["-I", "-c", CALLS, &x32]);
    assert_eq!(seen.status.signal(), Some(libc::SIGSYS), "{seen:?}");
}

#[test]
fn python_is_ordinary() {
    ordinary(
        "python3",
        &[
            "-I",
            "-c",
            "\
import asyncio, concurrent.futures, ctypes, decimal, fcntl, hashlib, json, mmap, multiprocessing
import os, pathlib, random, resource, select, shutil, signal, socket, sqlite3, ssl, subprocess
import sys, tempfile, threading, time, urllib.request, uuid, zipfile
print(json.dumps({'a': uuid.uuid4().hex, 'b': random.random()}))
subprocess.run(['true'], check=True)
subprocess.run('echo a | cat | sort', shell=True, check=True, start_new_session=True)
threads = [threading.Thread(target=time.sleep, args=(0.01,)) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname()); server.accept()
a, b = socket.socketpair(); a.send(b'x'); b.recv(1)
try: socket.getaddrinfo('localhost', 80)
except OSError: pass
try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
except OSError: pass
async def ran(): return await (await asyncio.create_subprocess_exec('true')).wait()
assert asyncio.run(ran()) == 0
with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
with concurrent.futures.ProcessPoolExecutor(2) as pool: list(pool.map(abs, [-3]))
with tempfile.TemporaryDirectory() as d:
    p = pathlib.Path(d, 'x'); p.write_text('hi'); os.utime(p); os.chmod(p, 0o600)
    os.link(p, d + '/y'); os.symlink('x', d + '/z'); os.mkfifo(d + '/f'); shutil.copy(p, d + '/c')
    sqlite3.connect(d + '/db').execute('create table t(x)')
    with open(p, 'r+b') as f: fcntl.flock(f, fcntl.LOCK_EX); mmap.mmap(f.fileno(), 0); os.fsync(f)
os.sched_setaffinity(0, os.sched_getaffinity(0)); os.nice(1); os.getloadavg(); os.sync()
resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
signal.setitimer(signal.ITIMER_REAL, 5); signal.setitimer(signal.ITIMER_REAL, 0)
mp = multiprocessing.get_context('spawn').Process(target=print, args=('spawned',))
mp.start(); mp.join(); assert mp.exitcode == 0
os.memfd_create('m'); os.posix_spawn('/bin/true', ['true'], {}); os.wait()
",
        ],
    );
}

#[test]
fn shells_and_tools_are_ordinary() {
    for script in [
        "for i in 1 2 3; do echo $i; done | sort -r | head -1; (sleep 0.01 &) ; wait",
        "d=$(mktemp -d) && cd $d && echo hi >a && cp -a a b && mv b c && ln -s a l && tar czf t.tgz a c \
         && tar tzf t.tgz && find . -type f | xargs cat && ls -la && sed -i s/h/j/ a && rm -r $d",
        "df -h / ; ps ; id ; date ; uname -a ; nproc ; free ; stat / ; du -s /bin/sh ; sync; true",
    ] {
        ordinary("bash", &["-c", script]);
    }
}

/// Needs node, git, gcc, and numpy, pandas, matplotlib for the system's python3.
#[test]
fn larger_programs_are_ordinary() {
    ordinary(
        "/usr/bin/node",
        &[
            "-e",
            "\
const cp = require('child_process'), fs = require('fs'), net = require('net'), os = require('os');
const { Worker } = require('worker_threads');
cp.execSync('true'); fs.readFileSync('/etc/passwd'); fs.promises.readdir('/').then(() => 0);
const s = net.createServer().listen(0, '127.0.0.1', () => s.close());
new Worker('1', { eval: true }); os.cpus(); setTimeout(() => 0, 10);
fs.watch('/tmp').close(); require('crypto').randomBytes(8); console.log(process.memoryUsage());
",
        ],
    );
    ordinary("bash", &["-c", "\
set -e; d=$(mktemp -d); cd $d; trap 'rm -rf $d' EXIT; git --version; git init -q r; cd r
git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git gc -q; git log --oneline; cd ..
echo 'int main(void){return 0;}' >a.c; gcc -pipe -O1 a.c -o a; ./a; g++ -x c++ a.c -o b; ./b; strip b
"]);
    ordinary(
        "/usr/bin/python3.11",
        &[
            "-c",
            "\
import numpy as np, pandas as pd, matplotlib; matplotlib.use('Agg')
import matplotlib.pyplot as plt, tempfile, os
a = np.random.default_rng(1).random((300, 300)); np.linalg.svd(a @ a)
d = tempfile.mkdtemp(); pd.DataFrame(a).describe().to_csv(d + '/x.csv'); pd.read_csv(d + '/x.csv')
plt.plot(a[0]); plt.savefig(d + '/x.png')
",
        ],
    );
}

#[test]
fn installing_the_jobs_filter_is_quick() {
    let seen: Vec<Seen> = (0..9).map(|_| under_the_filters("true", &[])).collect();
    let mut times: Vec<Duration> = seen.iter().map(|seen| seen.install).collect();
    times.sort();
    // A linear list of as many instructions takes well over a millisecond.
    assert!(times[4] < Duration::from_millis(1), "{times:?}");
}
