//! Do pools, shared memory and stray processes work while the job runs, and end with it?

use crate::limits::two_steps;
use acceptance::batch;
use acceptance::check::{Expect, check};
use acceptance::kiln::Program;
use serde_json::json;

#[test]
fn c069_mp_primitives() {
    let expect = Expect::succeeded()
        .stdout(r"value 2 queue \['hi', 'hi'\] event True manager 2 arr \[1, 2\]");
    check(
        &Program::case("cases/069-mp-primitives"),
        &["pids=32", "wall=20s"],
        &expect,
    );
}

#[test]
fn c070_shared_memory_200mb() {
    let expect = Expect::succeeded().stdout("filled 200");
    check(
        &Program::case("cases/070-shared-memory-200mb"),
        &["memory=512MiB", "wall=20s"],
        &expect,
    );
}

#[test]
fn c073_orphans_200_two_steps() {
    for _ in 0..3 {
        let [first, second] = two_steps(
            "cases/073-orphans-200-two-steps",
            &json!({"pids": 512, "wall_ms": 20_000}),
        );
        assert_eq!(
            batch::text(&first, "stdout"),
            "made 200 orphans\n",
            "{first:#}"
        );
        assert_eq!(
            batch::text(&second, "stdout"),
            "zombies 0 fork 0\n",
            "{second:#}"
        );
    }
}

#[test]
fn c078_daemon_holds_stdout() {
    let expect = Expect::succeeded()
        .stdout_exact("main is done\n")
        .within(5.0);
    check(
        &Program::case("cases/078-daemon-holds-stdout"),
        &["wall=60s"],
        &expect,
    );
}

#[test]
fn c080_setsid_survivor_two_steps() {
    let [first, second] = two_steps(
        "cases/080-setsid-survivor-two-steps",
        &json!({"wall_ms": 10_000}),
    );
    assert_eq!(
        batch::text(&first, "stdout"),
        "launched a detached survivor\n"
    );
    assert!(
        first["usage"]["wall_us"]
            .as_u64()
            .is_some_and(|wall| wall < 3_000_000),
        "{first:#}"
    );
    assert_eq!(
        batch::text(&second, "stdout"),
        "strangers []\nbeat grows False\n"
    );
}

#[test]
fn c093_leave_junk_two_steps() {
    let [first, second] = two_steps(
        "cases/093-leave-junk-two-steps",
        &json!({"wall_ms": 20_000}),
    );
    assert!(
        batch::text(&first, "stdout").contains("left /tmp/junk_marker/secret.txt"),
        "{first:#}"
    );
    assert_eq!(batch::text(&second, "stdout"), "no residue\n", "{second:#}");
}
