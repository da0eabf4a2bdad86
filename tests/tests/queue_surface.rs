//! What does a queue worker hold of root's rights while it serves: nothing where it has a user of its own, else what it uses?

use acceptance::batch::text;
use acceptance::leftovers::{descendants, helpers};
use acceptance::stack::world::{SOON, World, bash};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::process::Command;
use std::time::Duration;

/// A user that nobody else is.
const USER: u32 = 61_234;
/// What a worker that stays root keeps: `DAC_OVERRIDE`, `KILL`, `SETGID`, `SETUID`, `SETPCAP`, `NET_BIND_SERVICE`,
/// `SYS_PTRACE`, `SYS_ADMIN`.
const KEPT: u64 = 1 << 1 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 19 | 1 << 21;
const GRANT: &str = "[profiles.bash.network]\nallow = ['ok.test:443']\n";

/// The lines of a process's status.
fn status(pid: u32) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .map(|(name, value)| {
            (
                name.to_owned(),
                value.split_whitespace().collect::<Vec<_>>().join(" "),
            )
        })
        .collect()
}

fn capabilities(status: &BTreeMap<String, String>) -> [u64; 5] {
    ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]
        .map(|name| u64::from_str_radix(&status[name], 16).expect("a mask"))
}

/// Whether a command of the worker's user does what it is to do.
fn as_user(words: &[&str]) -> bool {
    let user = USER.to_string();
    let mut command = Command::new("/usr/bin/setpriv");
    command
        .args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"])
        .args(words);
    command.output().expect("setpriv is there").status.success()
}

/// Jobs that use all that a worker does: files and streams that are scanned, a limit, the proxy, a sandbox of one's own.
fn serve_everything(world: &World) {
    let made = world.serve(&bash("echo a,b > made.csv; echo said"));
    assert_eq!(made["artifacts"][0]["state"], "released", "{made:#}");
    assert_eq!(text(&made, "stdout"), "said\n");
    let mut late = bash("sleep 60");
    late["limits"] = json!({"wall_ms": 100});
    assert_eq!(world.serve(&late)["reason"], "wall_time");
    let mut refused = bash(
        "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test:443\\r\\n\\r\\n' >&3; head -1 <&3",
    );
    refused["network"] = json!({"allow": ["ok.test:443"]});
    let refused = world.serve(&refused);
    assert!(
        text(&refused, "stdout").starts_with("HTTP/1.1 403 "),
        "{refused:#}"
    );
    let mut strict = bash("echo alone");
    strict["isolation"] = json!("strict");
    let strict = world.serve(&strict);
    assert_eq!(
        (&strict["status"], &strict["sandbox"]["uses"]),
        (&json!("succeeded"), &json!(1))
    );
}

/// The uids of what the worker started of itself, and of who those started.
fn uids(pid: u32) -> Vec<Value> {
    let own = helpers(pid);
    let of = own
        .iter()
        .map(|pid| json!(status(*pid)["Uid"].split(' ').next()));
    of.collect()
}

#[test]
fn a_worker_with_a_user_of_its_own_has_nothing_of_root() {
    let mut world = World::new();
    let worker = world.add("a", |setup| {
        setup.more = GRANT.to_owned();
        setup.env = vec![("KILN_WORKER__USER".to_owned(), USER.to_string())];
    });
    chown(worker.state(), Some(USER), Some(USER)).expect("it is ours");
    worker.up();
    world.client.wait_bound();
    serve_everything(&world);
    let pid = world.workers[0].process().pid();
    let held = status(pid);
    let user = [USER.to_string().as_str(); 4].join(" ");
    assert_eq!((&held["Uid"], &held["Gid"]), (&user, &user));
    assert_eq!(
        (held["Groups"].as_str(), held["NoNewPrivs"].as_str()),
        ("", "1")
    );
    assert_eq!(capabilities(&held), [0; 5]);
    // What it starts is its user's too, but for the warden, which it cannot touch.
    let uids = uids(pid);
    assert!(
        uids.contains(&json!("0")) && uids.contains(&json!(USER.to_string())),
        "{uids:?}"
    );
    let warden = helpers(pid)
        .into_iter()
        .find(|pid| status(*pid)["Uid"].starts_with("0 "));
    let warden = warden.expect("there is a warden").to_string();
    assert!(!as_user(&["/bin/kill", "-KILL", &warden]));
    // Nor does another process of that user look into it.
    let own = std::fs::metadata(format!("/proc/{pid}/environ")).expect("it lives");
    assert_eq!(own.uid(), 0, "it can be looked into");
    assert!(!as_user(&["/bin/cat", &format!("/proc/{pid}/environ")]));
    assert!(
        as_user(&["/bin/cat", &format!("/proc/{pid}/status")]),
        "it asks nothing"
    );
    let stored = world.store().metadata().expect("it was made");
    assert_eq!((stored.uid(), stored.mode() & 0o7777), (USER, 0o750));
    world.assert_ends();
}

#[test]
fn a_worker_that_stays_root_keeps_what_it_uses_and_no_more() {
    let world = World::with(|setup| setup.more = GRANT.to_owned());
    serve_everything(&world);
    let pid = world.workers[0].process().pid();
    let held = status(pid);
    assert_eq!(held["Uid"], "0 0 0 0");
    assert_eq!(capabilities(&held), [0, KEPT, KEPT, KEPT, 0]);
    assert_eq!(held["NoNewPrivs"], "1");
    // Those that look at what a job made have become nobody, and the proxy somebody of its own.
    let uids = uids(pid);
    assert!(uids.contains(&json!("65534")), "{uids:?}");
    let proxy = (world.scope().uids.0 - 1).to_string();
    assert!(uids.contains(&json!(proxy)), "{uids:?}");
    // The warden has what it had.
    let whole = descendants(pid)
        .into_iter()
        .map(|pid| capabilities(&status(pid))[3]);
    assert!(whole.max() > Some(KEPT));
}

#[test]
fn a_folder_of_somebody_else_is_told_and_not_taken() {
    let mut world = World::new();
    let worker = world.add("a", |setup| {
        setup.env = vec![("KILN_WORKER__USER".to_owned(), USER.to_string())];
    });
    worker.start();
    assert_eq!(worker.exit(SOON), Some(78), "{}", worker.last_words());
    let said = worker.logs();
    let wanted = format!("`chown -R {USER}:{USER}` it");
    assert!(
        said.contains("take `worker.state`: `") && said.contains(&wanted),
        "{said}"
    );
    assert_eq!(worker.state().metadata().expect("it is there").uid(), 0);
    world.assert_nothing_left(Duration::from_secs(5));
}
