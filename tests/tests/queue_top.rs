//! Does `kiln top` show a worker and a fleet, on a terminal, in a narrow one, in a pipe, and to a program?

use acceptance::leftovers::wait_for;
use acceptance::places;
use acceptance::stack::redis::Redis;
use acceptance::stack::world::{SOON, World, bash, id, ids, sleeper};
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// What `kiln top` draws on a terminal of this size, where somebody presses these keys after a second.
fn on_a_terminal(world: &World, size: (u16, u16), env: &[(&str, &str)], keys: &str) -> Output {
    let config = world.workers[0].config();
    let (columns, rows) = size;
    let words = format!(
        "trap : INT; stty cols {columns} rows {rows}; before=$(stty -g); {} top --every 1 --config {}; code=$?; \
         [ \"$(stty -g)\" = \"$before\" ] || exit 99; exit $code",
        places::kiln().display(),
        config.display()
    );
    let mut script = Command::new("script")
        .args(["-qefc", &words, "/dev/null"])
        .env_clear()
        .envs([
            ("PATH", "/usr/bin:/bin"),
            ("TERM", "xterm"),
            ("LANG", "C.UTF-8"),
        ])
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`script` is there");
    let mut stdin = script.stdin.take().expect("a pipe");
    let keys = keys.to_owned();
    std::thread::spawn(move || {
        wait_for(Duration::from_millis(2_500), || false);
        stdin.write_all(keys.as_bytes()).ok();
        // Closed, it would end the terminal and what is on it.
        wait_for(Duration::from_secs(20), || false);
    });
    script.wait_with_output().expect("it ends")
}

#[test]
fn one_worker_is_shown_as_it_is() {
    let mut world = World::up(2);
    let jobs: Vec<_> = (0..5).map(|_| bash("echo hello")).collect();
    world.submit(&jobs);
    world.wait_all(&ids(&jobs), SOON);
    let long = sleeper(30_000);
    world.submit(std::slice::from_ref(&long));
    world.wait_started(&id(&long));

    // A pipe gets one picture, without a word to a terminal.
    let once = world.worker().kiln(&["top"]);
    let text = String::from_utf8(once.stdout).expect("text");
    assert_eq!(once.status.code(), Some(0), "{text}");
    for wanted in [
        "✓ takes jobs",
        "1 of 2 busy",
        "5 succeeded",
        "✓ broker       up",
        "– redis        not configured",
    ] {
        assert!(text.contains(wanted), "`{wanted}` is not in:\n{text}");
    }
    assert!(
        !text.contains('\u{1b}') && !text.contains(&id(&long)),
        "{text}"
    );

    let json = world.worker().kiln(&["top", "--json"]);
    let status: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(status["schema"], "kiln.status.v1");
    assert_eq!(
        (&status["busy"], &status["ready"]),
        (&1.into(), &true.into())
    );

    let address = format!("http://127.0.0.1:{}", world.worker().telemetry());
    let other = world.worker().kiln(&["top", "--url", &address]);
    assert_eq!(other.status.code(), Some(0), "{other:?}");
    let nobody = world.worker().kiln(&["top", "--url", "http://127.0.0.1:9"]);
    assert_eq!(nobody.status.code(), Some(69), "{nobody:?}");
    let fleet = world.worker().kiln(&["top", "--fleet"]);
    assert_eq!(fleet.status.code(), Some(78), "{fleet:?}");
}

#[test]
fn a_terminal_is_borrowed_and_given_back() {
    let world = World::up(1);
    let seen = on_a_terminal(&world, (100, 40), &[], "xq");
    let text = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert_eq!(seen.status.code(), Some(0), "{text}");
    let (borrow, back) = ("\u{1b}[?1049h\u{1b}[?25l", "\u{1b}[?25h\u{1b}[?1049l");
    assert!(
        text.contains(borrow) && text.trim_end().ends_with(back),
        "{text:?}"
    );
    assert!(
        text.contains("\u{1b}[1;34m✓ takes jobs\u{1b}[0m"),
        "{text:?}"
    );
    assert!(
        text.matches("takes jobs").count() >= 2,
        "it was painted again: {text:?}"
    );

    // Ctrl-C in a small terminal without colour: no row is longer, and none too many.
    let seen = on_a_terminal(&world, (30, 8), &[("NO_COLOR", "1")], "\u{3}");
    let text = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert_eq!(seen.status.code(), Some(0), "{text}");
    assert!(!text.contains("\u{1b}[1;"), "{text:?}");
    let picture = text.split("\u{1b}[H").nth(1).expect("it was painted");
    let picture = picture.split("\u{1b}[J").next().unwrap_or_default();
    let rows: Vec<_> = picture
        .split("\u{1b}[K")
        .map(|row| row.trim_start_matches(['\r', '\n']))
        .collect();
    // The last is what follows the end of the last row.
    assert_eq!(rows.len(), 8 + 1, "{rows:?}");
    assert!(rows.iter().all(|row| row.chars().count() <= 30), "{rows:?}");
    assert!(
        rows.iter().any(|row| row.contains("lines more")),
        "{rows:?}"
    );
}

#[test]
fn a_fleet_is_shown_from_redis() {
    let redis = Redis::start();
    let mut world = World::with(|setup| setup.redis = Some(redis.url()));
    let url = redis.url();
    world.add("b", |setup| setup.redis = Some(url)).up();
    let shown = wait_for(SOON, || {
        let fleet = world.workers[0].kiln(&["top", "--fleet", "--once"]);
        let text = String::from_utf8_lossy(&fleet.stdout).into_owned();
        text.contains("2 live, 0 draining, 0 stale") && text.contains("0 of 4 busy")
    });
    let fleet = world.workers[0].kiln(&["top", "--fleet", "--json"]);
    let told: Value = serde_json::from_slice(&fleet.stdout).expect("JSON");
    assert!(shown, "{told:#}");
    let names: Vec<_> = told["workers"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| &it["worker"])
        .collect();
    assert_eq!(names, ["a", "b"]);
    redis.kill9();
    let away = world.workers[0].kiln(&["top", "--fleet"]);
    assert_eq!(away.status.code(), Some(69), "{away:?}");
}
