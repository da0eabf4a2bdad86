//! Groups A and E: can a probe reach anything of the host, in a new sandbox, a used one, or one whose job was killed?

use crate::{args, limits};
use acceptance::batch::{self, Batch, sandbox};
use acceptance::hostile::{Canary, Findings, Probe, index, judged};
use acceptance::places;
use serde_json::{Value, json};

/// A slow probe walks the file system for twenty seconds.
fn patient() -> Value {
    let mut limits = limits();
    limits["wall_ms"] = json!(60_000);
    limits
}

/// The probes of one job.
fn probes() -> impl Iterator<Item = Probe> {
    let both = index('A').into_iter().chain(index('E'));
    both.filter(|probe| !probe.two_step)
}

/// What the surface probes are told of the host.
fn host(canary: &Canary) -> Vec<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("/proc is there");
    args(&[
        format!("CANARY={}", canary.path.display()),
        format!("HOST={}", name.trim_end()),
    ])
}

#[test]
fn canary_a_as_the_first_job_of_a_sandbox() {
    let canary = Canary::start();
    let built = places::scratch();
    let mut findings = Findings::default();
    for probe in probes() {
        let mut batch = Batch::start(1, &[]);
        let outcome = batch.run(&probe.job("first", &host(&canary), &patient(), built.path()));
        assert_eq!(sandbox(&outcome).1, 1, "not a first job: {outcome:#}");
        findings.note(&probe.file, "first", judged(&probe, &outcome));
    }
    findings.settle();
}

#[test]
fn canary_a_as_the_second_job_of_a_sandbox() {
    let canary = Canary::start();
    let built = places::scratch();
    let mut findings = Findings::default();
    let mut batch = Batch::start(1, &[]);
    for probe in probes() {
        let before = batch.run(&batch::python(
            &format!("before-{}", probe.name),
            "open('/tmp/x', 'w').write('x')",
        ));
        let outcome = batch.run(&probe.job(&probe.name, &host(&canary), &patient(), built.path()));
        let ((id, uses), (same, next)) = (sandbox(&before), sandbox(&outcome));
        assert_eq!((id, uses + 1), (same, next), "another sandbox: {outcome:#}");
        findings.note(&probe.file, "second", judged(&probe, &outcome));
    }
    findings.settle();
}

#[test]
fn canary_a_after_a_job_that_was_killed() {
    let canary = Canary::start();
    let built = places::scratch();
    let mut findings = Findings::default();
    let mut batch = Batch::start(1, &[]);
    for probe in probes() {
        let mut killed = batch::python(&format!("killed-{}", probe.name), "while True: pass");
        killed["limits"] = json!({"wall_ms": 250});
        let killed = batch.run(&killed);
        assert_eq!(killed["reason"], "wall_time", "{killed:#}");
        let outcome = batch.run(&probe.job(&probe.name, &host(&canary), &patient(), built.path()));
        findings.note(&probe.file, "after a kill", judged(&probe, &outcome));
    }
    findings.settle();
}
