//! Are profiles read as they are meant, and is every mistake in them named with its key?

use super::*;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};

const MIB: u64 = 1 << 20;

fn parse(text: &str) -> Profiles {
    Document::parse(Path::new("kiln.toml"), text)
        .and_then(|document| Profiles::of(&document))
        .map_err(|e| e.to_string())
        .expect("it is a good configuration")
}

fn refused(text: &str) -> Vec<String> {
    Document::parse(Path::new("kiln.toml"), text)
        .and_then(|document| Profiles::of(&document))
        .expect_err("it is a bad configuration")
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn default(profiles: &Profiles, name: &str, limit: LimitName) -> u64 {
    profiles
        .get(name)
        .expect("it exists")
        .limits
        .get(limit)
        .default
}

#[test]
fn those_without_a_configuration() {
    let all = Profiles::load(None).expect("nothing can be wrong");
    assert_eq!(
        all.names(),
        ["bash", "command", "node", "python", "python-data"]
    );
    for (name, program, main) in [
        ("python", "/usr/bin/python3", "main.py"),
        ("python-data", "/usr/bin/python3", "main.py"),
        ("bash", "/bin/bash", "main.sh"),
        ("node", "/usr/bin/node", "main.js"),
    ] {
        let profile = all.get(name).expect("it is built in");
        let interpreter = profile.interpreter.as_ref().expect("it runs code");
        assert_eq!(
            (interpreter.argv[0].as_str(), interpreter.main.as_str()),
            (program, main)
        );
        assert!(profile.limits.contradictions().is_empty(), "{name}");
    }
    assert_eq!(
        all.get("command").expect("it is built in").interpreter,
        None
    );
    assert_eq!(default(&all, "python", LimitName::Memory), 512 * MIB);
    assert_eq!(default(&all, "python-data", LimitName::Memory), 1024 * MIB);
}

#[test]
fn a_built_in_one_is_changed_and_another_builds_on_it() {
    let all = parse(
        r#"
        [amqp]
        anything = "is not looked at"

        [profiles.python]
        limits = { memory = "256MiB", wall = "1.5s", cpus = 0.5, open_files = 64 }

        [profiles.lab]
        base = "python"
        image = "dir:/srv/lab"
        interpreter = ["/opt/bin/python3", "-I"]
        ceilings = { pids = 100 }
        isolation = "strict"
        reuse = "never"
        max_uses = 5
        max_age = "10m"
        network = { allow = ["example.com:443"] }
        [profiles.lab.pool]
        min = 1
        max = 2

        [profiles.named]
        host_extra = ["/usr/local"]
        "#,
    );
    let lab = all.get("lab").expect("it was named");
    assert_eq!(lab.name, "lab");
    assert_eq!(lab.image, ImageSource::Dir("/srv/lab".into()));
    let interpreter = lab.interpreter.as_ref().expect("it has one");
    assert_eq!(interpreter.argv, ["/opt/bin/python3", "-I"]);
    assert_eq!(interpreter.main, "main.py", "the base's");
    assert_eq!(
        default(&all, "lab", LimitName::Memory),
        256 * MIB,
        "the base's, as changed"
    );
    assert_eq!(default(&all, "lab", LimitName::Wall), 1_500);
    assert_eq!(default(&all, "lab", LimitName::Cpus), 500);
    assert_eq!(lab.limits.get(LimitName::Pids).ceiling, 100);
    assert_eq!(
        (lab.isolation, lab.reuse),
        (Isolation::Strict, Reuse::Never)
    );
    assert_eq!((lab.pool.min, lab.pool.max), (Some(1), Some(2)));
    assert_eq!((lab.max_uses, lab.max_age), (5, Duration::from_mins(10)));
    assert_eq!(lab.network_allow, ["example.com:443"]);
    assert_eq!(
        default(&all, "python-data", LimitName::Wall),
        60_000,
        "it has no base"
    );
    let extra = vec!["/usr/local".to_owned()];
    assert_eq!(
        all.get("named").expect("named").image,
        ImageSource::Host { extra }
    );
}

#[test]
fn all_mistakes_are_named_at_once_with_their_keys() {
    let mistakes = refused(
        r#"
        [profiles.python]
        limts = {}
        image = "hots"
        limits = { memory = 512, wall = "60", memory_bytes = 1, cpus = "two", disk = true }
        ceilings = { memory = "5GiB", stdout = "1KiB" }
        isolation = "strickt"
        max_age = "0s"
        pool = { min = 3, max = 2, mx = 1 }
        network = { allow = ["example.com"] }
        [profiles.b]
        base = "pythn"
        [profiles.c]
        interpreter = ["/usr/bin/perl"]
        host_extra = ["/root"]
        [profiles.d]
        image = "dir:relative"
        main = "../main.py"
        [profiles."E"]
        "#,
    );
    for expected in [
        "take `profiles.python.limts`: `limts` is not known here; did you mean `limits`?",
        "take `profiles.python.image`: `hots` is not known here; did you mean `host`?",
        "take `profiles.python.limits.memory`: `512` has no unit: write it as `512B`, `512KiB` or `512MiB`",
        "take `profiles.python.limits.wall`: `60` has no unit: write it as `60ms` or `60s`",
        "take `profiles.python.limits.memory_bytes`: write it as `memory`, with a unit",
        "take `profiles.python.limits.cpus`: `two` is not a number",
        "take `profiles.python.limits.disk`: it must be a number, or a text with a unit, not true or false",
        "take `profiles.python.ceilings.memory`: 5 GiB is not between 16 MiB and 4 GiB, the bounds of this limit",
        "take `profiles.python.ceilings.stdout`: 1 KiB is below the default of 1 MiB; set `limits` too",
        "take `profiles.python.isolation`: `strickt` is not known here; did you mean `strict`?",
        "take `profiles.python.max_age`: 0 ms is not between 1 s and 24 h",
        "take `profiles.python.pool.min`: 3 is above `pool.max`, which is 2",
        "take `profiles.python.pool.mx`: `mx` is not known here; did you mean `max`?",
        "take `profiles.python.network.allow`: \"example.com\" is not `host:port`",
        "take `profiles.b.base`: `pythn` is not known here; did you mean `python`?",
        "take `profiles.c.main`: an interpreter needs the name of its file",
        "take `profiles.d.image`: the folder's path must be absolute: `dir:/path`",
        "take `profiles.d.main`: it must be a plain file name such as `main.py`",
    ] {
        assert!(
            mistakes.iter().any(|m| m == expected),
            "{expected}\nis not in {mistakes:#?}"
        );
    }
    assert!(
        mistakes
            .iter()
            .any(|m| m.starts_with("take `profiles.c.host_extra`: `/root`"))
    );
    assert!(
        mistakes
            .iter()
            .any(|m| m.starts_with("take `profiles.E`: "))
    );
    assert_eq!(mistakes.len(), 20, "{mistakes:#?}");
}

#[test]
fn defaults_lie_between_the_bounds() {
    assert_eq!(
        refused("[profiles.python]\nlimits = { memory = '8MiB', pids = 2000 }"),
        [
            "take `profiles.python.limits.memory`: 8 MiB is not between the minimum of 16 MiB and the ceiling of 4 GiB",
            "take `profiles.python.limits.pids`: 2000 is not between the minimum of 1 and the ceiling of 1024",
        ]
    );
}

#[test]
fn a_circle_of_bases_is_refused_and_a_built_in_one_can_be_its_own() {
    let mistakes = refused("[profiles.a]\nbase = 'b'\n[profiles.b]\nbase = 'a'");
    assert_eq!(
        mistakes,
        ["take `profiles.b.base`: the profiles build on each other: a -> b -> a"]
    );
    assert_eq!(refused("[profiles.a]\nbase = 'a'").len(), 1);
    let all = parse("[profiles.bash]\nbase = 'bash'\nmax_uses = 2");
    assert_eq!(all.get("bash").expect("it is built in").max_uses, 2);
}

#[test]
fn reuse_is_the_callers_where_nothing_is_said() {
    let mut all = parse(
        "[profiles.bash]\nreuse = 'tenant'\n[profiles.a]\nbase = 'bash'\n[profiles.b]\nbase = 'node'",
    );
    let reuse = |all: &Profiles| {
        ["bash", "a", "b", "python"].map(|name| all.get(name).expect("it exists").reuse)
    };
    assert_eq!(reuse(&all), [Reuse::Tenant; 4]);
    all.set_default_reuse(Reuse::Any);
    assert_eq!(
        reuse(&all),
        [Reuse::Tenant, Reuse::Tenant, Reuse::Any, Reuse::Any]
    );
}

#[test]
fn what_is_not_toml_is_named_with_its_line() {
    let mistakes = refused("[profiles.a]\n\nbase = ");
    assert!(
        mistakes[0].starts_with("parse `kiln.toml`, line 3: "),
        "{mistakes:?}"
    );
    assert_eq!(
        refused("profiles = 1"),
        ["take `profiles`: it must be a table: `[profiles.<name>]`"]
    );
}

/// Needs root, who owns what it makes.
#[test]
fn a_file_that_others_can_change_is_refused() {
    assert!(rustix::process::geteuid().is_root(), "this test needs root");
    let folder = std::env::temp_dir().join(format!("kiln-profile-{}", std::process::id()));
    fs::create_dir(&folder).expect("the name is free");
    let path = folder.join("kiln.toml");
    fs::write(&path, "[profiles.mine]\nbase = 'bash'\n").expect("root may");
    let load = |path: &Path| Profiles::load(Some(path)).map_err(|e| e.to_string());
    let mode = |mode| fs::set_permissions(&path, Permissions::from_mode(mode)).expect("root may");

    mode(0o644);
    assert!(load(&path).expect("root's own").get("mine").is_some());
    for bad in [0o664, 0o646] {
        mode(bad);
        let said = load(&path).expect_err("others can write");
        assert!(said.contains("others than its owner can write"), "{said}");
    }
    mode(0o600);
    chown(&path, Some(1000), None).expect("root may");
    let said = load(&path).expect_err("another's");
    assert!(said.contains("belongs to uid 1000"), "{said}");
    chown(&path, Some(0), None).expect("root may");
    symlink(&path, folder.join("link")).expect("root may");
    let said = load(&folder.join("link")).expect_err("a link");
    assert!(said.contains("it is a symbolic link"), "{said}");
    assert!(
        load(&folder)
            .expect_err("a folder")
            .contains("not a regular file")
    );
    let said = load(&folder.join("absent")).expect_err("absent");
    assert!(said.starts_with("read the configuration: open `"), "{said}");
    fs::remove_dir_all(&folder).expect("root may");
}
