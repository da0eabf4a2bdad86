//! What a keeper is, as far as a job must not have changed it.
//!
//! Taken once, after the keeper has locked itself down and before its first job: the golden
//! manifest. Taken again at each reset and compared; see [`super::clean`].

use super::process::{LookError, Namespaces, Process};
use super::status::Status;
use crate::wire::{Residue, ResidueKind};
use std::fmt::Debug;

/// A keeper's mounts, descriptors, namespaces, mappings, posture, limits and groups.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) status: Status,
    pub(crate) namespaces: Namespaces,
    descriptors: Vec<(u32, String)>,
    mounts: String,
    /// All of them; those that are executable or shared count, by address, right and file.
    mappings: String,
    limits: String,
    groups: String,
    folders: [String; 2],
}

impl Manifest {
    pub(crate) fn take(keeper: &Process) -> Result<Self, LookError> {
        let manifest = Self {
            status: keeper.status()?,
            namespaces: keeper.namespaces()?,
            descriptors: keeper.descriptors()?,
            mounts: keeper.mounts()?,
            mappings: keeper.read("maps")?,
            limits: keeper.limits()?.into_text(),
            groups: keeper.groups()?,
            folders: [keeper.link("cwd")?, keeper.link("root")?],
        };
        keeper.alive()?;
        Ok(manifest)
    }

    /// Whether the keeper holds what it held, and has no child: it has let go of a spent cell.
    pub(crate) fn is_settled(&self, keeper: &Process) -> Result<bool, LookError> {
        let held = self.descriptors.iter().map(|(number, _)| *number);
        // One that is not settled holds the cell's files still: that look comes first.
        Ok(keeper.descriptor_numbers()?.into_iter().eq(held) && keeper.children()?.is_empty())
    }

    /// What `now` has otherwise than this manifest.
    pub(crate) fn compare(&self, now: &Self) -> Vec<Residue> {
        let mut residue = Vec::new();
        let mut differ = |kind, detail: Option<String>| {
            residue.extend(detail.map(|detail| Residue { kind, detail }));
        };
        differ(
            ResidueKind::Posture,
            changed("posture", &self.status, &now.status),
        );
        differ(
            ResidueKind::Namespace,
            changed("namespaces", &self.namespaces, &now.namespaces),
        );
        differ(
            ResidueKind::Descriptor,
            listed("descriptors", &self.descriptors, &now.descriptors),
        );
        differ(
            ResidueKind::Mount,
            text("mounts", &self.mounts, &now.mounts, |_| true),
        );
        differ(
            ResidueKind::Memory,
            text("mappings", &self.mappings, &now.mappings, is_lasting),
        );
        differ(
            ResidueKind::Limit,
            text("limits", &self.limits, &now.limits, |_| true),
        );
        differ(
            ResidueKind::Cgroup,
            text("control groups", &self.groups, &now.groups, |_| true),
        );
        differ(
            ResidueKind::Posture,
            listed("folders", &self.folders, &now.folders),
        );
        residue
    }
}

/// Whether a mapping can be executed or is shared; private data may grow and shrink.
fn is_lasting(mapping: &str) -> bool {
    let rights = mapping.split(' ').nth(1).unwrap_or("??xs");
    rights.contains('x') || rights.contains('s')
}

fn changed<T: PartialEq + Debug>(what: &str, golden: &T, now: &T) -> Option<String> {
    (golden != now).then(|| format!("{what}: wanted {golden:?}, found {now:?}"))
}

/// The lines that count and that only one of the two texts has.
fn text(what: &str, golden: &str, now: &str, counts: fn(&str) -> bool) -> Option<String> {
    // As good as always: nothing has to be taken apart then.
    if golden == now {
        return None;
    }
    let [golden, now] =
        [golden, now].map(|text| text.lines().filter(|line| counts(line)).collect::<Vec<_>>());
    listed(what, &golden, &now)
}

/// The entries that only one of the two lists has.
fn listed<T: PartialEq + Debug>(what: &str, golden: &[T], now: &[T]) -> Option<String> {
    if golden == now {
        return None;
    }
    let lost: Vec<_> = golden.iter().filter(|entry| !now.contains(entry)).collect();
    let new: Vec<_> = now.iter().filter(|entry| !golden.contains(entry)).collect();
    Some(format!("{what}: gone {lost:?}, new {new:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, ChildStdout, Command, Stdio};

    type Change = fn(&mut Manifest);

    /// A shell that does what it is told: this process has other threads, which open and close.
    struct Shell {
        child: Child,
        said: BufReader<ChildStdout>,
        process: Process,
    }

    impl Shell {
        fn start() -> Self {
            let mut child = Command::new("/bin/sh")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("spawn");
            let process = Process::open(child.id().cast_signed()).expect("open");
            let said = BufReader::new(child.stdout.take().expect("stdout"));
            let mut shell = Self {
                child,
                said,
                process,
            };
            shell.tell(":");
            shell
        }

        fn tell(&mut self, command: &str) {
            let stdin = self.child.stdin.as_mut().expect("stdin");
            writeln!(stdin, "{command}; echo done").expect("write");
            let mut line = String::new();
            self.said.read_line(&mut line).expect("read");
            assert_eq!(line, "done\n");
        }

        fn manifest(&self) -> Manifest {
            Manifest::take(&self.process).expect("take")
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            self.child.kill().expect("kill");
            self.child.wait().expect("wait");
        }
    }

    #[test]
    fn each_difference_is_residue_of_its_kind() {
        let shell = Shell::start();
        let golden = shell.manifest();
        assert_eq!(golden.compare(&shell.manifest()), []);
        let cases: [(Change, ResidueKind); 8] = [
            (|m| m.status.bounding ^= 1, ResidueKind::Posture),
            (|m| m.status.filters += 1, ResidueKind::Posture),
            (|m| m.folders[0].push('x'), ResidueKind::Posture),
            (|m| m.descriptors.clear(), ResidueKind::Descriptor),
            (|m| m.mounts.push_str("new"), ResidueKind::Mount),
            (|m| m.mappings.push_str("new"), ResidueKind::Memory),
            (|m| m.limits.clear(), ResidueKind::Limit),
            (|m| m.groups.clear(), ResidueKind::Cgroup),
        ];
        for (change, kind) in cases {
            let mut now = shell.manifest();
            change(&mut now);
            let residue = golden.compare(&now);
            assert_eq!(residue.len(), 1, "{residue:?}");
            assert_eq!(residue[0].kind, kind);
        }
    }

    #[test]
    fn what_a_process_opens_and_changes_is_seen() {
        let mut shell = Shell::start();
        let golden = shell.manifest();
        assert!(golden.is_settled(&shell.process).expect("look"));
        for (command, kind) in [
            ("exec 9</etc/passwd", ResidueKind::Descriptor),
            ("ulimit -c 0", ResidueKind::Limit),
            ("cd /usr", ResidueKind::Posture),
            ("trap : USR1", ResidueKind::Posture),
        ] {
            let before = golden.compare(&shell.manifest());
            shell.tell(command);
            let after = golden.compare(&shell.manifest());
            assert!(
                after.len() > before.len() && after.iter().any(|r| r.kind == kind),
                "{command}: {after:?}"
            );
        }
        assert!(!golden.is_settled(&shell.process).expect("look"));
    }

    #[test]
    fn only_lasting_mappings_count() {
        let maps = "1-2 r-xp 0 0:0 0 /k\n2-3 rw-p 0 0:0 0 [heap]\n3-4 rw-s 0 0:0 0 /dev/zero\n";
        assert_eq!(maps.lines().filter(|line| is_lasting(line)).count(), 2);
    }
}
