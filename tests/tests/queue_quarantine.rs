//! Does what is held in quarantine come out by an operator's act alone, and go by one, in files and over S3?

use acceptance::gate::artifact;
use acceptance::stack::shelf::{Said, Shelf};
use acceptance::stack::world::{World, bash, id};
use serde_json::{Value, json};

/// Half of a token, so that no scanner takes this file.
const TOKEN: &str = "x9K2mQ7vB4nR8tW1pL5j";

/// A store with a worker on it.
struct Held {
    world: World,
    shelf: Shelf,
}

impl Held {
    fn on(shelf: Shelf, more: &str) -> Self {
        let world = World::with(|setup| {
            setup.slots = 1;
            more.clone_into(&mut setup.more);
            let env = [
                ("SEALED", "not-for-others"),
                ("KILN_AMQP__TRUST_TENANT", "true"),
            ];
            let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
            setup.env.extend(env);
            shelf.serve(setup);
        });
        Self { world, shelf }
    }

    fn serve(&self, job: &Value) -> (Value, String) {
        let outcome = self.world.serve(job);
        assert_eq!(outcome["status"], "succeeded", "{outcome:#}");
        (outcome, id(job))
    }

    /// With today's rules, or with one against `needle`.
    fn quarantine(&self, rule: bool, words: &[&str]) -> Said {
        self.shelf.command(rule, &[&["quarantine"], words].concat())
    }

    /// The exit code, and the state of the first that is told of.
    fn release(&self, rule: bool, job: &str, words: &[&str]) -> (Option<i32>, Value, String) {
        let all = [&["release", job, "--reason", "seen by hand"], words].concat();
        let said = self.quarantine(rule, &all);
        let state = said
            .lines
            .first()
            .map_or(Value::Null, |it| it["state"].clone());
        (said.exit, state, said.words)
    }

    fn purge(&self, words: &[&str]) -> (Option<i32>, usize) {
        let said = self.quarantine(false, &[&["purge"], words].concat());
        (said.exit, said.lines.len())
    }
}

/// What became of it.
fn assert_is(said: (Option<i32>, Value, String), exit: i32, state: impl Into<Value>) {
    assert_eq!((said.0, said.1), (Some(exit), state.into()), "{}", said.2);
}

fn objects(outcome: &Value, paths: &[&str]) -> Vec<String> {
    let object = |path: &&str| {
        artifact(outcome, path)["object"]
            .as_str()
            .map(str::to_owned)
    };
    paths
        .iter()
        .map(|path| object(path).expect("kept"))
        .collect()
}

/// Files: what rules hold against them, what an operator says, and the record of it.
fn files(shelf: Shelf) {
    let held = Held::on(shelf, "");
    let (outcome, job) = held.serve(&bash(
        "echo needle,1 > a.csv; echo needle,2 > b.csv
         printf '%s%s' 'X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR' \
         '-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*' > bad.com",
    ));
    let at = objects(&outcome, &["a.csv", "b.csv", "bad.com"]);
    let there = |object: &str| held.shelf.has(object);
    assert!(there(&at[0]) && there(&at[2]));
    assert_eq!(held.shelf.command(true, &["rescan"]).exit, Some(1));
    let listed = held.quarantine(true, &["ls"]).lines;
    let mut paths: Vec<_> = listed.iter().filter_map(|it| it["path"].as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["a.csv", "b.csv", "bad.com"]);
    assert_eq!(held.quarantine(true, &["ls", "another"]).lines.len(), 0);

    // What the rules still hold against stays, unless somebody vouches; what harms stays anyway.
    assert_is(held.release(true, &job, &["a.csv"]), 1, "withheld");
    assert_is(
        held.release(true, &job, &["bad.com", "--vouch"]),
        1,
        "withheld",
    );
    assert_is(held.release(true, &job, &["none.csv"]), 1, Value::Null);
    let wordless = ["release", &job, "a.csv", "--reason", " "];
    assert_eq!(held.quarantine(true, &wordless).exit, Some(2));
    assert_is(
        held.release(false, &job, &["a.csv", "--dry-run"]),
        0,
        "withheld",
    );
    assert!(!there(&at[0]) && !there(&at[1]));
    let shown = held.quarantine(true, &["show", &job]).lines;
    assert!(shown.iter().all(|it| it["act"].is_null()), "{shown:#?}");

    // A rule was wrong: the file comes out. It was right, and is vouched for: that lasts.
    assert_is(held.release(false, &job, &["a.csv"]), 0, "released");
    assert_is(
        held.release(true, &job, &["b.csv", "--vouch"]),
        0,
        "released",
    );
    assert_eq!(held.shelf.text(&at[0]).as_deref(), Some("needle,1\n"));
    assert_eq!(held.shelf.text(&at[1]).as_deref(), Some("needle,2\n"));
    let again = held.shelf.command(true, &["rescan"]);
    assert_eq!((again.exit, again.lines.len()), (Some(1), 2), "{again:?}");
    assert_eq!(again.lines[0]["path"], "a.csv");
    assert!(!there(&at[0]) && there(&at[1]));

    // Each act is on record, with who and why.
    let shown = held.quarantine(false, &["show", &job]);
    assert_eq!(shown.exit, Some(0));
    let acts: Vec<_> = shown
        .lines
        .iter()
        .filter(|it| it["act"] == "release")
        .collect();
    assert_eq!(acts.len(), 2, "{shown:#?}");
    assert_eq!(
        (&acts[1]["path"], &acts[1]["vouched"]),
        (&"b.csv".into(), &true.into())
    );
    assert_eq!(
        (&acts[1]["reason"], &acts[1]["uid"]),
        (&"seen by hand".into(), &0.into())
    );

    assert_eq!(
        held.purge(&[]).0,
        Some(2),
        "nobody empties it by leaving words out"
    );
    assert_eq!(held.purge(&["--older-than", "1"]), (Some(0), 0));
    assert_eq!(held.purge(&[&job, "--dry-run"]), (Some(0), 2));
    assert!(there(&at[2]));
    assert_eq!(held.purge(&[&job]), (Some(0), 2));
    assert!(!there(&at[2]));
    assert_eq!(held.purge(&[&job]), (Some(1), 0));
}

/// Streams: they are told of by their names, and come out and go as files do.
fn streams(shelf: Shelf) {
    let held = Held::on(shelf, "");
    let text = format!("before\nkey=ghp_{TOKEN}{TOKEN}\nafter\n");
    let code = format!(
        "echo here > stdout
         for to in 1 2; do printf 'before\\nkey=ghp_%s%s\\nafter\\n' {TOKEN} {TOKEN} >&$to; done"
    );
    let (outcome, job) = held.serve(&bash(&code));
    let listed = held.quarantine(false, &["ls", &job]).lines;
    let mut names: Vec<_> = listed
        .iter()
        .filter_map(|it| it["stream"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["stderr", "stdout"], "{listed:#?}");
    for one in &listed {
        let name = one["stream"].as_str().expect("a name");
        assert_eq!(
            (&one["verdict"], &one["path"]),
            (&"suspicious".into(), &Value::Null)
        );
        assert_eq!(
            (&one["bytes"], &one["sha256"]),
            (&text.len().into(), &outcome[name]["sha256"])
        );
        assert!(
            one["why"].as_str().is_some_and(|why| why.contains("token")),
            "{one:#}"
        );
        let object = one["object"].as_str().expect("kept");
        assert_eq!(held.shelf.text(object).as_deref(), Some(&*text));
    }
    let run = listed[0]["object"]
        .as_str()
        .and_then(|it| it.split('/').nth(2))
        .expect("a run");
    let log = |name: &str| format!("logs/{job}/{run}/{name}");

    // A file's name is not a stream's. What holds a secret needs somebody who vouches.
    let (exit, _, words) = held.release(false, &job, &["stderr"]);
    assert_eq!(exit, Some(1));
    assert!(words.contains("--stream stderr"), "{words}");
    assert_is(
        held.release(false, &job, &["--stream", "stdout"]),
        1,
        "withheld",
    );
    let dry = ["--stream", "stdout", "--vouch", "--dry-run"];
    assert_is(held.release(false, &job, &dry), 0, "withheld");
    assert!(!held.shelf.has(&log("stdout")) && !held.shelf.has(&log("stderr")));
    let told = held.world.workers[0].kiln(&["result", &job]);
    assert!(
        !String::from_utf8_lossy(&told.stdout).contains("let out since"),
        "{told:?}"
    );

    assert_is(
        held.release(false, &job, &["--stream", "stdout", "--vouch"]),
        0,
        "released",
    );
    assert_eq!(held.shelf.text(&log("stdout")).as_deref(), Some(&*text));
    assert!(!held.shelf.has(&log("stderr")));
    let told = held.world.workers[0].kiln(&["result", &job]);
    let told = String::from_utf8_lossy(&told.stdout);
    let line = format!("kiln: let out since: stdout, as `{}`\n", log("stdout"));
    assert!(told.contains(&line), "{told}");
    let (exit, _, words) = held.release(false, &job, &["--stream", "stdout", "--vouch"]);
    assert_eq!(exit, Some(1));
    assert!(words.contains("not in quarantine any more"), "{words}");
    let shown = held.quarantine(false, &["show", &job]).lines;
    let act = shown
        .iter()
        .find(|it| it["act"] == "release")
        .expect("it is on record");
    assert_eq!(
        (&act["stream"], &act["path"]),
        (&"stdout".into(), &Value::Null)
    );
    assert_eq!(
        (&act["vouched"], &act["sha256"]),
        (&true.into(), &outcome["stdout"]["sha256"])
    );

    assert_eq!(held.purge(&[&job]), (Some(0), 1));
    let gone = listed
        .iter()
        .all(|it| !held.shelf.has(it["object"].as_str().expect("kept")));
    assert!(gone && held.shelf.has(&log("stdout")));
    let shown = held.quarantine(false, &["show", &job]).lines;
    let act = shown
        .iter()
        .find(|it| it["act"] == "purge")
        .expect("it is on record");
    assert_eq!(act["stream"], "stderr");
}

/// What a job's own secret may be in comes out by vouching alone: nobody knows the secret any more.
fn own_secrets(shelf: Shelf) {
    let held = Held::on(
        shelf,
        "[secrets.sealed]\nenvironment = \"SEALED\"\ntenants = [\"default\"]\nprofiles = [\"bash\"]\n",
    );
    let mut job = bash("echo \"$KEY,1\" > own.csv; echo \"$KEY\"");
    job["secrets"] = json!({"KEY": "sealed"});
    let (outcome, job) = held.serve(&job);
    let at = objects(&outcome, &["own.csv"]).remove(0);
    assert!(at.starts_with("quarantine/"), "{outcome:#}");
    for what in [&["own.csv"][..], &["--stream", "stdout"]] {
        assert_is(held.release(false, &job, what), 1, "withheld");
        let vouched = [what, &["--vouch"]].concat();
        assert_is(held.release(false, &job, &vouched), 0, "released");
    }
    let out = at.replacen("quarantine/", "artifacts/", 1);
    assert_eq!(held.shelf.text(&out).as_deref(), Some("not-for-others,1\n"));
}

/// What was released and may not leave any more is taken back.
fn rescans(shelf: Shelf) {
    let held = Held::on(shelf, "");
    let (outcome, _) = held.serve(&bash("echo needle,1 > a.csv; echo hay,1 > b.csv"));
    let object = objects(&outcome, &["a.csv"]).remove(0);
    assert!(held.shelf.has(&object));
    let rescan = |more: &[&str]| {
        let said = held.shelf.command(true, &[&["rescan"], more].concat());
        (said.exit, said.lines)
    };
    let (exit, told) = rescan(&["--dry-run"]);
    assert_eq!(exit, Some(1), "{told:?}");
    assert!(held.shelf.has(&object), "nothing is taken");
    let (exit, told) = rescan(&[]);
    assert_eq!((exit, told.len()), (Some(1), 2), "{told:?}");
    assert_eq!(told[0]["path"], "a.csv");
    assert_eq!(
        (&told[0]["then"], &told[0]["now"]),
        (&"clean".into(), &"suspicious".into())
    );
    let kept = object.replacen("artifacts/", "quarantine/", 1);
    assert_eq!(told[0]["object"], kept);
    assert_eq!(
        (&told[1]["scanned"], &told[1]["taken_back"]),
        (&2.into(), &1.into())
    );
    assert!(!held.shelf.has(&object));
    assert_eq!(held.shelf.text(&kept).as_deref(), Some("needle,1\n"));
    let (exit, told) = rescan(&[]);
    assert_eq!(exit, Some(0), "{told:?}");
    assert_eq!(
        (&told[0]["gone"], &told[0]["scanned"]),
        (&1.into(), &1.into())
    );
}

macro_rules! plays {
    ($($files:ident $s3:ident $play:ident)*) => {$(
        #[test]
        fn $files() {
            $play(Shelf::files());
        }
        #[test]
        fn $s3() {
            $play(Shelf::objects());
        }
    )*};
}

plays! {
    files_come_out_by_an_operators_act_alone files_do_over_s3 files
    streams_come_out_as_files_do streams_do_over_s3 streams
    new_rules_take_back_what_was_released they_do_over_s3 rescans
    a_jobs_own_secret_is_vouched_for it_is_over_s3 own_secrets
}

#[test]
fn a_stream_that_was_not_withheld_or_not_kept_is_said_to_be_so() {
    let row = "[[scanner.table]]\ntype = \"stream\"\nverdict = \"suspicious\"\naction = \"drop\"\n";
    let held = Held::on(Shelf::files(), row);
    let code = format!("echo hello; printf 'key=ghp_%s%s\\n' {TOKEN} {TOKEN} >&2");
    let (_, job) = held.serve(&bash(&code));
    assert_eq!(held.quarantine(false, &["ls", &job]).lines.len(), 0);
    for (name, why) in [("stdout", "not withheld"), ("stderr", "not kept")] {
        let (exit, _, words) = held.release(false, &job, &["--stream", name, "--vouch"]);
        assert_eq!(exit, Some(1));
        assert!(words.contains(why), "{words}");
    }
}
