//! What does this machine offer to `kiln`, what is missing, what does that cost, and how is it
//! mended?
//!
//! Every check is a function from what was read to a [`Finding`], so that each can be tried
//! without such a machine; [`machine`] is the only place that looks.

mod cgroup;
mod host;
mod isolation;
mod kernel;
mod machine;
mod scanner;
mod services;
mod table;

use crate::cli::exit::Exit;
use crate::cli::services::Services;
use crate::cli::stop::Stop;
use crate::config::Config;
use serde::Serialize;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// What a check says about `kiln run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// As it should be.
    Ok,
    /// Works with less; `costs` says with how much less.
    Degraded,
    /// `kiln run` does not work without it.
    Missing,
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) what: &'static str,
    pub(crate) state: State,
    pub(crate) found: String,
    pub(crate) needed: &'static str,
    /// What does not work for want of it; empty where nothing.
    pub(crate) costs: &'static str,
    /// How to mend it; empty where there is nothing to mend.
    pub(crate) remedy: String,
}

impl Finding {
    fn ok(what: &'static str, found: impl Into<String>, needed: &'static str) -> Self {
        Self {
            what,
            state: State::Ok,
            found: found.into(),
            needed,
            costs: "",
            remedy: String::new(),
        }
    }

    fn missing(
        what: &'static str,
        found: impl Into<String>,
        needed: &'static str,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            state: State::Missing,
            costs: "`kiln run` does not work",
            remedy: remedy.into(),
            ..Self::ok(what, found, needed)
        }
    }

    fn degraded(
        what: &'static str,
        found: impl Into<String>,
        needed: &'static str,
        costs: &'static str,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            state: State::Degraded,
            costs,
            remedy: remedy.into(),
            ..Self::ok(what, found, needed)
        }
    }
}

/// The answer of `kiln doctor --json`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    ready: bool,
    checks: &'a [Finding],
}

/// Say what this machine offers, what is missing, and how it is mended.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Try the walls of the sandbox from inside, with real jobs; exit 1 where one does not hold
    #[arg(long)]
    isolation: bool,
    /// Whose sandboxes are tried
    #[arg(
        long,
        value_name = "NAME",
        default_value = "command",
        requires = "isolation"
    )]
    profile: String,
    /// The configuration
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
}

/// Looks at what was asked for and prints it.
pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, Stop> {
    let config = super::config::load(args.config.as_deref())?;
    if args.isolation {
        return isolation::run(args.json, &args.profile, &config);
    }
    machine_report(args.json, &config)
}

fn machine_report(json: bool, config: &Config) -> Result<Exit, Stop> {
    let mut findings = all(config.worker.runtime.as_deref());
    if config.amqp.is_some() {
        let user = config.worker.user.map(|user| user.uid);
        findings.push(kernel::worker_user(user));
    }
    findings.extend(scanner::all(config)?);
    findings.extend(services::all(&Services::of(config))?);
    let ready = findings.iter().all(|f| f.state != State::Missing);
    let text = if json {
        let report = Report {
            ready,
            checks: &findings,
        };
        let mut text = serde_json::to_string(&report).expect("strings and enums are JSON");
        text.push('\n');
        text
    } else {
        table::render(&findings)
    };
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(|error| Stop::output(&error))?;
    Ok(if ready { Exit::Succeeded } else { Exit::Failed })
}

/// What keeps a job from running here, before anything is started: nothing, or exit 69 and a line
/// for each thing that is missing. Less than all of it is never run with.
pub(crate) fn preflight() -> Result<(), Stop> {
    let lines: Vec<_> = necessary()
        .into_iter()
        .filter(|finding| finding.state == State::Missing)
        .map(|finding| {
            format!(
                "this machine does not allow it: {} is {}, needed: {}; {}",
                finding.what, finding.found, finding.needed, finding.remedy
            )
        })
        .collect();
    if lines.is_empty() {
        Ok(())
    } else {
        Err(Stop::new(Exit::Unavailable, lines))
    }
}

/// The checks that are cheap and that `kiln run` stands on.
fn necessary() -> Vec<Finding> {
    let cgroups = machine::cgroups();
    vec![
        kernel::user(machine::effective_uid()),
        cgroup::version(&cgroups),
        cgroup::controllers(&cgroups),
        kernel::namespaces(&machine::namespaces()),
        kernel::user_namespaces(
            machine::number("/proc/sys/user/max_user_namespaces"),
            machine::number("/proc/sys/kernel/unprivileged_userns_clone"),
            machine::number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        ),
        kernel::seccomp(machine::text("/proc/sys/kernel/seccomp/actions_avail").as_deref()),
        kernel::overlay(machine::text("/proc/filesystems").as_deref()),
    ]
}

fn all(runtime: Option<&Path>) -> Vec<Finding> {
    let runtime = runtime.unwrap_or(Path::new(host::RUNTIME));
    let cgroups = machine::cgroups();
    let meminfo = machine::text("/proc/meminfo");
    let mut findings = necessary();
    findings.extend([
        cgroup::writable(&machine::try_cgroup(&cgroups)),
        cgroup::swap(meminfo.as_deref(), machine::swap_accounting(&cgroups)),
        kernel::release(machine::text("/proc/sys/kernel/osrelease").as_deref()),
        kernel::cores(machine::text("/proc/sys/kernel/core_pattern").as_deref()),
        host::memory(meminfo.as_deref()),
        host::runtime(runtime, &machine::try_folder(runtime)),
    ]);
    findings
        .extend(host::INTERPRETERS.map(|it| host::interpreter(it, machine::program(it.program))));
    findings.push(host::python_data(&machine::python_modules(
        &host::PYTHON_DATA,
    )));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_with_a_remedy_and_what_is_degraded_with_its_cost() {
        for finding in all(None) {
            let (remedy, costs) = (!finding.remedy.is_empty(), !finding.costs.is_empty());
            let mended = finding.state != State::Ok;
            assert_eq!((remedy, costs), (mended, mended), "{finding:?}");
        }
    }
}
