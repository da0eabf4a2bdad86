//! What does the host bring for the jobs themselves: memory, folders, interpreters?

use super::Finding;
use kiln_protocol::units::format_size;
use std::path::Path;

/// Where a running instance keeps its lock and sockets unless configured otherwise.
pub(super) const RUNTIME: &str = "/run/kiln";

/// The modules that make `python-data`; the others are used where they are there.
pub(super) const PYTHON_DATA: [&str; 3] = ["numpy", "pandas", "matplotlib"];

/// Memory for one job of the default limit, with room for the sandbox.
const MEMORY_MIN: u64 = 768 << 20;

/// A program of the host image that a profile runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interpreter {
    pub(super) what: &'static str,
    pub(super) program: &'static str,
    needed: &'static str,
    costs: &'static str,
    remedy: &'static str,
}

pub(super) const INTERPRETERS: [Interpreter; 3] = [
    Interpreter {
        what: "python3",
        program: "python3",
        needed: "in /usr/bin",
        costs: "the profiles `python` and `python-data` do not work",
        remedy: "`apt-get install python3`",
    },
    Interpreter {
        what: "bash",
        program: "bash",
        needed: "in /usr/bin",
        costs: "the profile `bash` does not work",
        remedy: "`apt-get install bash`",
    },
    Interpreter {
        what: "node",
        program: "node",
        needed: "in /usr/bin",
        costs: "the profile `node` does not work",
        remedy: "`apt-get install nodejs`",
    },
];

pub(super) fn interpreter(it: Interpreter, path: Option<String>) -> Finding {
    match path {
        Some(path) => Finding::ok(it.what, path, it.needed),
        None => Finding::degraded(it.what, "not there", it.needed, it.costs, it.remedy),
    }
}

/// `there` are the modules that the host's python3 would import.
pub(super) fn python_data(there: &[&'static str]) -> Finding {
    let (what, needed) = ("python-data", "numpy, pandas, matplotlib");
    let absent: Vec<_> = PYTHON_DATA
        .into_iter()
        .filter(|module| !there.contains(module))
        .collect();
    if absent.is_empty() {
        return Finding::ok(what, needed, needed);
    }
    Finding::degraded(
        what,
        format!("without {}", absent.join(", ")),
        needed,
        "jobs of `python-data` cannot import them",
        format!(
            "`apt-get install {}`",
            absent
                .iter()
                .map(|module| format!("python3-{module}"))
                .collect::<Vec<_>>()
                .join(" ")
        ),
    )
}

pub(super) fn memory(meminfo: Option<&str>) -> Finding {
    let (what, needed) = ("memory", "768 MiB for each slot");
    match meminfo.and_then(|text| kib(text, "MemAvailable")) {
        Some(kib) if kib * 1024 >= MEMORY_MIN => Finding::ok(
            what,
            format!("{} available", format_size(kib * 1024)),
            needed,
        ),
        Some(kib) => Finding::degraded(
            what,
            format!("{} available", format_size(kib * 1024)),
            needed,
            "jobs may die for want of memory below their own limits",
            "free memory, or give fewer slots by `--slots`",
        ),
        None => Finding::degraded(
            what,
            "unknown",
            needed,
            "nothing is known of the memory",
            "mount /proc",
        ),
    }
}

/// `tried` is the outcome of writing there.
pub(super) fn runtime(folder: &Path, tried: &Result<(), String>) -> Finding {
    let (what, needed) = ("runtime folder", "a folder that can be made and written");
    match tried {
        Ok(()) => Finding::ok(what, format!("`{}` is writable", folder.display()), needed),
        Err(why) => Finding::missing(
            what,
            why,
            needed,
            "run as root, or set `runtime` in `[worker]` of `kiln.toml` to a folder of your own",
        ),
    }
}

/// A figure of `/proc/meminfo`, in KiB.
pub(super) fn kib(meminfo: &str, name: &str) -> Option<u64> {
    meminfo
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?
        .trim()
        .strip_suffix(" kB")?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn figures_of_meminfo_are_read() {
        let text = "MemTotal:  100 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(kib(text, "MemAvailable"), Some(2048));
        assert_eq!(kib(text, "MemAvail"), None);
        assert_eq!(memory(Some(text)).state, State::Degraded);
        assert_eq!(
            memory(Some("MemAvailable: 1048576 kB\n")).found,
            "1 GiB available"
        );
    }

    #[test]
    fn a_missing_interpreter_costs_its_profile_only() {
        let node = interpreter(INTERPRETERS[2], None);
        assert_eq!(node.state, State::Degraded);
        assert_eq!(node.costs, "the profile `node` does not work");
        let there = interpreter(INTERPRETERS[0], Some("/usr/bin/python3".into()));
        assert_eq!(there.state, State::Ok);
    }

    #[test]
    fn missing_modules_are_named_with_their_packages() {
        let finding = python_data(&["numpy"]);
        assert_eq!(finding.found, "without pandas, matplotlib");
        assert_eq!(
            finding.remedy,
            "`apt-get install python3-pandas python3-matplotlib`"
        );
        assert_eq!(python_data(&PYTHON_DATA).state, State::Ok);
    }

    #[test]
    fn a_runtime_folder_that_cannot_be_written_is_missing() {
        assert_eq!(runtime(Path::new("/r"), &Ok(())).state, State::Ok);
        assert_eq!(
            runtime(Path::new("/r"), &Err("read-only".into())).state,
            State::Missing
        );
    }
}
