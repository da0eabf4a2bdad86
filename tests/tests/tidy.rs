//! Are the house rules kept: who may say `unsafe`, who may know whom, how files begin and how long they are?

use acceptance::places::repository;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Every Rust file of the repository, as a path from its root, with its text.
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for top in ["protocol", "artifact-scanner", "worker", "tests"] {
        walk(&repository().join(top), &mut found);
    }
    assert!(
        found.len() > 20,
        "the sources are not where they are looked for"
    );
    let named = found.into_iter().map(|path| {
        let text = std::fs::read_to_string(&path).expect("a source is text");
        (
            path.strip_prefix(repository())
                .expect("below the root")
                .display()
                .to_string(),
            text,
        )
    });
    named.collect()
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
        let path = entry.expect("readable").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            walk(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Lines of code with their numbers: comments and texts taken out, as far as one line tells.
fn code(text: &str) -> impl Iterator<Item = (usize, String)> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(n, line)| {
            let mut kept = String::new();
            for (n, part) in line.replace("\\\"", "").split('"').enumerate() {
                if n % 2 == 0 {
                    kept.push_str(part);
                }
            }
            (
                n + 1,
                kept.split(" //").next().unwrap_or_default().to_owned(),
            )
        })
}

fn says(line: &str, word: &str) -> bool {
    acceptance::check::matches(&format!(r"\b{word}\b"), line.as_bytes())
}

/// The places where a rule is broken, as a test failure.
fn judge(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}:\n{}", broken.join("\n"));
}

#[test]
fn unsafe_is_said_only_in_warden_and_keeper() {
    let mut broken = Vec::new();
    for (file, text) in sources() {
        if !file.starts_with("worker/warden/") && !file.starts_with("worker/keeper/") {
            broken.extend(
                code(&text)
                    .filter(|(_, line)| says(line, "unsafe"))
                    .map(|(n, _)| format!("{file}:{n}")),
            );
        }
    }
    judge("`unsafe` outside of warden and keeper", &broken);
}

#[test]
fn nothing_is_left_for_later() {
    let words = [
        concat!("to", "do!"),
        concat!("unimpl", "emented!"),
        concat!("db", "g!"),
        concat!("#[ign", "ore"),
        concat!("#[al", "low("),
    ];
    let mut broken = Vec::new();
    for (file, text) in sources() {
        for (n, line) in code(&text) {
            broken.extend(
                words
                    .iter()
                    .filter(|word| line.contains(**word))
                    // A measurement is no test: it judges nothing, and has its own command.
                    .filter(|word| !(file.ends_with("/measure.rs") && word.starts_with("#[ig")))
                    .map(|word| format!("{file}:{n} {word}")),
            );
        }
    }
    judge("left for later", &broken);
}

#[test]
fn every_file_begins_with_a_sentence() {
    let sentence = |text: &str| {
        let first = text
            .lines()
            .find(|line| !line.starts_with("#!"))
            .unwrap_or_default();
        first
            .strip_prefix("//")
            .is_some_and(|rest| rest.trim_start_matches(['/', '!']).trim().len() > 15)
    };
    let broken: Vec<_> = sources()
        .into_iter()
        .filter(|(_, text)| !sentence(text))
        .map(|(file, _)| file)
        .collect();
    judge(
        "a file begins with a comment that says what question it answers",
        &broken,
    );
}

#[test]
fn no_file_is_longer_than_a_thought() {
    let long = |(file, text): (String, String)| {
        let lines = text.lines().count();
        (lines > 400).then(|| format!("{file}: {lines} lines"))
    };
    judge(
        "more than 400 lines",
        &sources().into_iter().filter_map(long).collect::<Vec<_>>(),
    );
}

#[test]
fn no_result_is_thrown_away() {
    let mut broken = Vec::new();
    for (file, text) in sources()
        .into_iter()
        .filter(|(file, _)| !file.starts_with("tests/"))
    {
        // Unit tests stand at the end of a file.
        let program = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        broken.extend(
            code(program)
                .filter(|(_, line)| line.contains(concat!("let ", "_ =")))
                .map(|(n, _)| format!("{file}:{n}")),
        );
    }
    judge("a result is thrown away", &broken);
}

#[test]
fn the_top_of_the_repository_is_what_it_should_be() {
    let allowed = [
        "Cargo.toml",
        "Cargo.lock",
        "worker",
        "protocol",
        "artifact-scanner",
        "dashboards",
        "tests",
        "README.md",
        "LICENSE",
    ];
    // What is ignored is not part of the repository.
    let ignored = std::fs::read_to_string(repository().join(".gitignore")).expect("there is one");
    let ignored: BTreeSet<_> = ignored.lines().map(|line| line.trim_matches('/')).collect();
    let names = std::fs::read_dir(repository())
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name());
    let names = names.map(|name| name.into_string().expect("text"));
    let stray: Vec<_> = names
        .filter(|name| {
            !name.starts_with('.')
                && !allowed.contains(&name.as_str())
                && !ignored.contains(name.as_str())
        })
        .collect();
    judge("at the top of the repository", &stray);
}

/// Who depends on whom, as `(dependent, dependency)`, by the lock file.
fn edges() -> Vec<(String, String)> {
    let lock = std::fs::read_to_string(repository().join("Cargo.lock")).expect("there is one");
    let mut edges = Vec::new();
    for package in lock.split("[[package]]").skip(1) {
        let name = package
            .lines()
            .find_map(|line| line.strip_prefix("name = "))
            .expect("a package has a name");
        let list = package
            .split_once("dependencies = [")
            .map_or("", |(_, rest)| rest);
        for line in list
            .lines()
            .filter_map(|line| line.trim().strip_prefix('"'))
        {
            let dependency = line.split(['"', ' ']).next().unwrap_or_default();
            edges.push((name.trim_matches('"').to_owned(), dependency.to_owned()));
        }
    }
    edges
}

#[test]
fn only_some_may_know_some() {
    let edges = edges();
    let rules: [(&str, &[&str]); 6] = [
        ("libcontainer", &["kiln-warden"]),
        ("redis", &["kiln"]),
        ("lapin", &["acceptance", "kiln"]),
        ("kiln-keeper", &["kiln", "kiln-warden"]),
        ("kiln-warden", &["kiln"]),
        ("kiln", &["kiln-fuzz"]),
    ];
    let mut broken = Vec::new();
    for (name, wrappers) in rules {
        let others = edges
            .iter()
            .filter(|(from, to)| to == name && !wrappers.contains(&from.as_str()));
        broken.extend(others.map(|(from, to)| format!("{from} depends on {to}")));
    }
    judge("who may know whom", &broken);
    let known = ("kiln-warden".to_owned(), "libcontainer".to_owned());
    assert!(edges.contains(&known), "the rule looks at nothing");
}
