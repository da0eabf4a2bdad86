//! What exactly is started: the argument vector and the whole environment of a job.

use kiln_keeper::spec::Program;
use kiln_keeper::wire::EGRESS_PORT;
use kiln_protocol::job::{Job, Payload};
use kiln_protocol::limits::Limits;
use kiln_warden::profile::Interpreter;
use std::collections::BTreeMap;

/// The folder a job runs in.
pub const JOB_FOLDER: &str = "/job";

/// The program of a job. `interpreter` is the profile's; a job with code has one, or was refused.
#[must_use]
pub fn program(
    job: &Job,
    interpreter: Option<&Interpreter>,
    limits: &Limits,
    network: bool,
) -> Program {
    let argv = match (&job.payload, interpreter) {
        (Payload::Code(_), Some(interpreter)) => interpreter
            .argv
            .iter()
            .cloned()
            .chain([format!("{JOB_FOLDER}/{}", interpreter.main)])
            .chain(job.args.iter().cloned())
            .collect(),
        (Payload::Command(command), _) => command.clone(),
        (Payload::Code(_), None) => Vec::new(),
    };
    let mut env = environment(limits);
    if network {
        env.extend(proxied());
    }
    env.extend(job.env.clone());
    Program {
        argv: argv.into_iter().map(String::into_bytes).collect(),
        env: env
            .into_iter()
            .map(|(name, value)| format!("{name}={value}").into_bytes())
            .collect(),
    }
}

/// What a job with a network finds there too: where its proxy is. Both cases, for programs read
/// the one or the other.
fn proxied() -> impl Iterator<Item = (String, String)> {
    let proxy = format!("http://127.0.0.1:{EGRESS_PORT}");
    let here = "localhost,127.0.0.1,::1".to_owned();
    [
        ("HTTP_PROXY", proxy.clone()),
        ("HTTPS_PROXY", proxy),
        ("NO_PROXY", here),
    ]
    .into_iter()
    .flat_map(|(name, value)| {
        [
            (name.to_owned(), value.clone()),
            (name.to_lowercase(), value),
        ]
    })
}

/// What every job finds in its environment: what runtimes need, and nothing of ours.
fn environment(limits: &Limits) -> BTreeMap<String, String> {
    let threads = limits.cpus_whole().to_string();
    let fixed = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("HOME", "/home/job"),
        ("USER", "job"),
        ("LOGNAME", "job"),
        ("LANG", "C.UTF-8"),
        ("TZ", "UTC"),
        ("TMPDIR", "/tmp"),
        ("PYTHONUNBUFFERED", "1"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("MPLBACKEND", "Agg"),
        ("MPLCONFIGDIR", "/home/job/.config/matplotlib"),
    ];
    // Libraries that start a thread for each CPU of the machine would meet the job's limits.
    let counts = [
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_MAX_THREADS",
        "LOKY_MAX_CPU_COUNT",
    ];
    fixed
        .into_iter()
        .chain(counts.into_iter().map(|name| (name, threads.as_str())))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
