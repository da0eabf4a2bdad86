//! Which small programs are there? 164 functions with assertions, in the manner of code benchmarks.

use crate::places;

/// One program.
#[derive(Debug, Clone)]
pub struct Small {
    /// Its name; the last line it prints is `ok <name>`.
    pub name: String,
    /// Its Python text.
    pub code: String,
}

/// All of them, in order of file and place.
///
/// # Panics
/// When `programs/` cannot be read.
pub fn all() -> Vec<Small> {
    let folder = places::home().join("programs");
    let entries = std::fs::read_dir(&folder).expect("the programs are in the crate");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    files.sort();
    files
        .iter()
        .flat_map(|file| parse(&std::fs::read_to_string(file).expect("a program file is text")))
        .collect()
}

fn parse(text: &str) -> Vec<Small> {
    let blocks = text.split("\n#: ").skip(1);
    let programs = blocks.map(|block| {
        let (name, body) = block.split_once('\n').expect("a program has a body");
        Small {
            name: name.to_owned(),
            code: format!("{}\nprint(\"ok {name}\")\n", body.trim_end()),
        }
    });
    programs.collect()
}

#[cfg(test)]
mod tests {
    use super::all;
    use std::collections::BTreeSet;

    #[test]
    fn there_are_164_and_they_differ() {
        let programs = all();
        assert_eq!(programs.len(), 164);
        assert_eq!(
            programs
                .iter()
                .map(|one| &one.name)
                .collect::<BTreeSet<_>>()
                .len(),
            164
        );
        let bodies: BTreeSet<_> = programs
            .iter()
            .map(|one| one.code.replace(&one.name, "f"))
            .collect();
        assert_eq!(bodies.len(), 164);
        assert!(programs.iter().all(|one| one.code.contains("assert ")));
    }

    #[test]
    fn each_runs_with_a_plain_interpreter() {
        for program in all() {
            let run = std::process::Command::new("/usr/bin/python3")
                .args(["-I", "-c", &program.code])
                .output();
            let run = run.expect("python3 is there");
            let end = format!("ok {}\n", program.name);
            assert!(
                run.status.success() && run.stdout.ends_with(end.as_bytes()),
                "{}: {}",
                program.name,
                String::from_utf8_lossy(&run.stderr)
            );
        }
    }
}
