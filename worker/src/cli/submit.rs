//! `kiln submit`: jobs to the queue, and the answers where they are waited for.

use super::batch::results::exit_of;
use super::client::Client;
use super::exit::Exit;
use super::stop::Stop;
use super::{config, summary};
use crate::config::{Amqp, Config};
use crate::egress::allow::Ceiling;
use crate::unserved::Offer;
use kiln_protocol::admission::{Admission, IdRule, TenantRule};
use kiln_protocol::decode::{Accepted, decode};
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::job::Job;
use kiln_protocol::outcome::Outcome;
use kiln_protocol::topology::jobs_key;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of all jobs of one call.
const JOBS_BYTES_MAX: u64 = 1 << 30;
/// Jobs that are told by name.
const TOLD_MAX: usize = 20;
/// How often a wait looks whether it was given up.
const LOOK: Duration = Duration::from_secs(1);

/// Send jobs to the queue.
///
/// Every job is checked before the first is sent. Prints the id of each job, or with --wait its
/// outcome as it comes. Exit: 0, or with --wait that of the worst outcome (1 did not succeed, 2 was
/// refused, 69 the platform failed); 2 for a job that is wrong, 69 where the broker is away.
#[derive(Debug, clap::Args)]
pub(super) struct SubmitArgs {
    /// One job; - reads it from standard input
    #[arg(
        value_name = "JOB.json",
        required_unless_present = "jobs",
        conflicts_with = "jobs"
    )]
    job: Option<PathBuf>,
    /// Many jobs, one JSON a line
    #[arg(long, value_name = "FILE")]
    jobs: Option<PathBuf>,
    /// Wait for the outcomes
    #[arg(long)]
    wait: bool,
    /// Print JSON lines
    #[arg(long)]
    json: bool,
    /// The configuration
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
}

pub(super) fn run(args: &SubmitArgs) -> Result<Exit, Stop> {
    let config = config::load(args.config.as_deref())?;
    let amqp = config::amqp(&config)?;
    let jobs = read(args, &config)?;
    super::runtime()?.block_on(send(args, &amqp, jobs))
}

/// All jobs, each of them right.
fn read(args: &SubmitArgs, config: &Config) -> Result<Vec<Job>, Stop> {
    let (path, many) = match (&args.job, &args.jobs) {
        (Some(path), _) => (path, false),
        (None, Some(path)) => (path, true),
        (None, None) => unreachable!("clap wants one of the two"),
    };
    let text = text(path)?;
    let lines: Vec<(usize, &[u8])> = if many {
        text.split(|byte| *byte == b'\n')
            .enumerate()
            .filter(|(_, line)| !line.trim_ascii().is_empty())
            .collect()
    } else {
        vec![(0, &text)]
    };
    let mut ids = HashSet::new();
    let mut jobs = Vec::new();
    let mut wrong = Vec::new();
    for (number, line) in lines {
        let at = if many {
            format!("{}, line {}", path.display(), number + 1)
        } else {
            path.display().to_string()
        };
        match admit(line, config) {
            Ok(job) if !ids.insert(job.id.clone()) => {
                wrong.push(format!("{at}: /id: `{}` is another line's already", job.id));
            }
            Ok(job) => jobs.push(job),
            Err(why) => wrong.push(format!("{at}: {why}")),
        }
    }
    if jobs.is_empty() && wrong.is_empty() {
        wrong.push(format!("{}: there is no job in it", path.display()));
    }
    if wrong.is_empty() {
        Ok(jobs)
    } else {
        wrong.push("nothing was sent".to_owned());
        Err(Stop::new(Exit::Usage, wrong))
    }
}

fn text(path: &Path) -> Result<Vec<u8>, Stop> {
    let wrong = |error: io::Error| {
        let line = format!("read `{}`: {error}", path.display());
        Stop::new(Exit::Usage, vec![line])
    };
    let source: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(wrong)?)
    };
    let mut text = Vec::new();
    source
        .take(JOBS_BYTES_MAX + 1)
        .read_to_end(&mut text)
        .map_err(wrong)?;
    if text.len() as u64 > JOBS_BYTES_MAX {
        return Err(wrong(io::ErrorKind::FileTooLarge.into()));
    }
    Ok(text)
}

/// A job as a worker with this configuration would take it.
fn admit(line: &[u8], config: &Config) -> Result<Job, String> {
    let id = JobId::try_from(uuid::Uuid::now_v7().to_string()).map_err(|e| e.to_string())?;
    let admission = Admission {
        profiles: &config.profiles,
        id: IdRule::Given(id),
        tenant: TenantRule::Default(Tenant::default()),
        class: None,
    };
    let accepted = decode(line, &admission).map_err(|rejection| rejection.main.to_string())?;
    let Accepted { job, warnings, .. } = accepted;
    for warning in warnings {
        tracing::warn!(job_id = %job.id, warning.message);
    }
    let offer = Offer {
        network: Ceiling::of(&config.profiles, &job),
        secrets: &config.secrets,
        proven: true,
        store: true,
    };
    match crate::unserved::first(&job, offer) {
        None => Ok(job),
        Some(refusal) => Err(refusal.to_string()),
    }
}

async fn send(args: &SubmitArgs, amqp: &Amqp, jobs: Vec<Job>) -> Result<Exit, Stop> {
    let mut client = Client::connect(amqp).await?;
    if args.wait {
        client.listen(amqp).await?;
    }
    let mut awaited = HashSet::new();
    for job in &jobs {
        let key = key(job);
        client
            .job(&key, job.id.as_str(), job.to_json().as_bytes())
            .await?;
        awaited.insert(job.id.clone());
        if !args.wait {
            let id = &job.id;
            print(&if args.json {
                format!("{{\"job_id\":\"{id}\"}}")
            } else {
                id.to_string()
            })?;
        }
    }
    let waited = if args.wait {
        tell_sent(&jobs);
        let waited = wait(args, &mut client, &mut awaited).await;
        waited.map_err(|stop| stop.and(unknown(&awaited)))
    } else {
        Ok(Exit::Succeeded)
    };
    client.close().await;
    waited
}

/// Waits for every outcome; the exit code of the worst.
async fn wait(
    args: &SubmitArgs,
    client: &mut Client,
    awaited: &mut HashSet<JobId>,
) -> Result<Exit, Stop> {
    let mut exit = Exit::Succeeded;
    while !awaited.is_empty() {
        let Some(answer) = client.next(LOOK).await? else {
            continue;
        };
        let outcome: Outcome = match serde_json::from_slice(&answer) {
            Ok(outcome) => outcome,
            Err(error) => {
                tracing::warn!(%error, "an answer is not understood");
                continue;
            }
        };
        if !awaited.remove(&outcome.job_id) {
            continue;
        }
        exit = exit.max(exit_of(outcome.status));
        if args.json {
            print(&String::from_utf8_lossy(&answer))?;
        } else if args.jobs.is_some() {
            print(&line(&outcome))?;
            // The line has said what became of it, whether or not anybody reads this.
            drop(io::stderr().write_all(summary::warnings(&outcome).as_bytes()));
        } else {
            show(&outcome)?;
        }
    }
    Ok(exit)
}

/// What is on its way is said at once: whoever is interrupted knows what to ask for.
fn tell_sent(jobs: &[Job]) {
    let mut stderr = io::stderr().lock();
    for job in jobs.iter().take(TOLD_MAX) {
        // The outcomes say it too, where nobody reads this.
        drop(writeln!(stderr, "sent {}", job.id));
    }
    if let Some(more) = jobs.len().checked_sub(TOLD_MAX).filter(|more| *more > 0) {
        drop(writeln!(stderr, "sent {more} more"));
    }
}

/// How to learn what became of jobs that were sent.
fn unknown(awaited: &HashSet<JobId>) -> Vec<String> {
    let ids = awaited.iter().take(TOLD_MAX);
    ids.map(|id| format!("sent, its outcome is not known: `kiln result {id}`"))
        .collect()
}

/// What one job printed, and what became of it, as `kiln run` does.
fn show(outcome: &Outcome) -> Result<(), Stop> {
    show_on(&mut io::stdout().lock(), &mut io::stderr().lock(), outcome)
}

fn show_on(
    stdout: &mut impl io::Write,
    stderr: &mut impl io::Write,
    outcome: &Outcome,
) -> Result<(), Stop> {
    stdout
        .write_all(outcome.stdout.text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|error| Stop::output(&error))?;
    // The exit code says what is most wanted, whether or not anybody reads this.
    drop(stderr.write_all(outcome.stderr.text.as_bytes()));
    drop(writeln!(stderr, "{}", line(outcome)));
    drop(stderr.write_all(summary::notes(outcome).as_bytes()));
    Ok(())
}

/// Where the job belongs: its class's queue, or its tenant's own of that class.
fn key(job: &Job) -> String {
    let own = job.tenant != Tenant::default();
    jobs_key(job.class, own.then_some(&job.tenant))
}

/// An outcome in one line.
fn line(outcome: &Outcome) -> String {
    let status = outcome.status.as_str();
    match &outcome.message {
        Some(message) => format!("{} {status}: {message}", outcome.job_id),
        None => format!("{} {status}", outcome.job_id),
    }
}

fn print(line: &str) -> Result<(), Stop> {
    writeln!(io::stdout().lock(), "{line}").map_err(|error| Stop::output(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::answer::Unrun;
    use kiln_protocol::outcome::Warning;

    #[test]
    fn what_is_withheld_is_told_as_by_run() {
        let id = "j".parse().expect("an id");
        let mut outcome = Outcome::from(Unrun::expired(id, 1_500, "w"));
        outcome.stdout.text = "out\n".into();
        outcome.warnings = vec![Warning {
            code: "artifact_withheld".into(),
            message: "`a\x1b.txt` is withheld: suspicious, a token".into(),
            pointer: None,
        }];
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        show_on(&mut stdout, &mut stderr, &outcome).expect("to memory");
        let told = String::from_utf8_lossy(&stderr);
        assert_eq!(stdout, b"out\n");
        let wanted = "kiln: warning: `a\\x1b.txt` is withheld: suspicious, a token\n";
        assert!(told.contains(wanted), "{told}");
        let run = summary::render(&outcome, Path::new("out"));
        assert!(run.contains(wanted), "{run}");
        assert_eq!(
            summary::warnings(&outcome),
            "kiln: j: warning: `a\\x1b.txt` is withheld: suspicious, a token\n"
        );
    }
}
