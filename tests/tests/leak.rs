//! Can a job see anything of the worker: its environment, arguments, descriptors, files, memory?

use acceptance::kiln::command;
use acceptance::{batch, places};
use serde_json::Value;
use std::process::Stdio;

/// Looks for a text everywhere a job can look. It is given backwards, so that the job's own copy is not found.
const SEEK: &str = r"
import os, sys
mark = sys.argv[1][::-1].encode()
hits, looked = [], 0
def scan(path, limit=1 << 22):
    global looked
    try:
        with open(path, 'rb') as f:
            looked += 1
            if mark in f.read(limit): hits.append(path)
    except OSError: pass
def link(path):
    global looked
    try:
        looked += 1
        if mark in os.readlink(path).encode(): hits.append('link ' + path)
    except OSError: pass
for pid in [p for p in os.listdir('/proc') if p.isdigit()] + ['self', 'thread-self']:
    for name in ('environ', 'cmdline', 'mountinfo', 'mounts', 'maps', 'comm', 'cgroup', 'status', 'stat', 'auxv', 'limits', 'net/unix'):
        scan(f'/proc/{pid}/{name}')
    for name in ('exe', 'cwd', 'root'): link(f'/proc/{pid}/{name}')
    try: fds = os.listdir(f'/proc/{pid}/fd')
    except OSError: fds = []
    for fd in fds: link(f'/proc/{pid}/fd/{fd}')
if any(mark in f'{k}={v}'.encode() for k, v in os.environ.items()): hits.append('environment')
own = [(l.split()[0], l) for l in open('/proc/self/maps') if l.split()[1].startswith('r') and '[v' not in l]
again = mark
del mark
mark_back = again[::-1]
found = 0
with open('/proc/self/mem', 'rb', 0) as mem:
    for span, line in own:
        a, b = (int(x, 16) for x in span.split('-'))
        if 'heap' in line or 'stack' in line or '/' not in line: continue
        try: mem.seek(a); found += mem.read(b - a).count(again)
        except (OSError, OverflowError, ValueError): pass
if found: hits.append('a mapping')
mark = again
for root, dirs, files in os.walk('/'):
    dirs[:] = [d for d in dirs if os.path.join(root, d) not in ('/proc', '/sys', '/usr')]
    for f in files:
        p = os.path.join(root, f)
        if mark in p.encode(): hits.append('name ' + p)
        if p != '/job/main.py' and os.path.isfile(p) and not p.startswith('/dev/'): scan(p)
print('looked', looked > 30, 'hits', hits, 'fds', sorted(os.listdir('/proc/self/fd'))[:3])
";

#[test]
fn nothing_of_the_worker_is_seen_from_a_job() {
    let mark = "WORKER-MARK-7f3a9c51";
    let folder = places::scratch();
    let inside = folder.path().join(mark);
    std::fs::create_dir(&inside).expect("writable");
    std::fs::write(inside.join("secret.txt"), mark).expect("writable");
    std::fs::write(inside.join("seek.py"), SEEK).expect("writable");
    let kiln = places::kiln();
    // Descriptors 7 and 8 are open on a marked file and a marked folder when kiln starts, and are not close-on-exec.
    let script = "exec 7<secret.txt 8<. && exec \"$0\" \"$@\"";
    let backwards: String = mark.chars().rev().collect();
    let mut shell = command(&inside);
    shell
        .args(["-c", script])
        .arg(kiln)
        .args(["run", "--json", "seek.py", "--", &backwards]);
    let mut shell = rename(&shell);
    shell
        .env("KILN_TEST_SECRET", mark)
        .env("AWS_SECRET_ACCESS_KEY", mark)
        .env("LISTEN_FDS", "5")
        .env("LISTEN_PID", "1");
    shell.stdin(Stdio::null());
    let output = shell.output().expect("sh is there");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let outcome: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{stderr}"));
    assert_eq!(
        batch::text(&outcome, "stdout"),
        "looked True hits [] fds ['0', '1', '2']\n",
        "{outcome:#}\n{stderr}"
    );
}

/// The same words and folder, for `sh` in place of `kiln`.
fn rename(kiln: &std::process::Command) -> std::process::Command {
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(kiln.get_args()).env_clear();
    for (name, value) in kiln.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    shell.current_dir(kiln.get_current_dir().expect("it has a folder"));
    shell
}

#[test]
fn the_seeker_finds_what_is_there() {
    let folder = places::scratch();
    std::fs::write(
        folder.path().join("seek.py"),
        SEEK.replace("'/usr')", "'/usr') and root == '/'"),
    )
    .expect("writable");
    let output = std::process::Command::new("/usr/bin/python3")
        .arg(folder.path().join("seek.py"))
        .arg("KRAM-TNALP")
        .env("SOME_NAME", "PLANT-MARK")
        .output()
        .expect("python3 is there");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("environment") && said.contains("/environ"),
        "{said} {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
