//! Do several `kiln run` at once leave each other alone?

use acceptance::kiln::{Program, start};
use acceptance::leftovers::{Snapshot, assert_gone};
use std::time::Duration;

const PROGRAM: &str = r"
import os, socket, sys, time
name = sys.argv[1]
found = [p for p in ('/tmp/mark', '/dev/shm/mark', '/home/job/mark', 'mark') if os.path.exists(p)]
for p in ('/tmp/mark', '/dev/shm/mark', '/home/job/mark', 'mark'): open(p, 'w').write(name)
s = socket.socket(); s.bind(('127.0.0.1', 4242)); s.listen()
a = socket.socket(socket.AF_UNIX); a.bind('\0same-name'); a.listen()
time.sleep(3)
others = [p for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())]
same = all(open(p).read() == name for p in ('/tmp/mark', '/dev/shm/mark', '/home/job/mark', 'mark'))
print(name, found, others, same)
";

#[test]
fn alone_five_at_once_do_not_see_each_other() {
    let before = Snapshot::take();
    let names = ["a", "b", "c", "d", "e"];
    let started: Vec<_> = names
        .iter()
        .map(|&name| start(&Program::python(PROGRAM).args(&[name]), &[]))
        .collect();
    for (name, started) in names.iter().zip(started) {
        let run = started.end();
        assert_eq!(run.exit, Some(0), "{run:#?}");
        assert_eq!(
            run.text("/stdout/text"),
            format!("{name} [] [] True\n"),
            "{:#}",
            run.outcome
        );
        assert_eq!(run.artifacts(), ["mark"]);
    }
    assert_gone(&before, Duration::from_secs(5));
}

#[test]
fn alone_a_start_does_not_sweep_what_runs() {
    let long = start(
        &Program::python("import time\ntime.sleep(4)\nprint('whole')"),
        &[],
    );
    for _ in 0..4 {
        let run = start(&Program::python("print('short')"), &[]).end();
        assert_eq!(run.text("/status"), "succeeded", "{run:#?}");
    }
    let run = long.end();
    assert_eq!(run.text("/stdout/text"), "whole\n", "{run:#?}");
}
