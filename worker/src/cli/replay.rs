//! `kiln replay`: the same job again, from the store, and the two outcomes side by side.

use super::config;
use super::exit::Exit;
use super::run::{engine_stop, shut_down};
use super::stop::Stop;
use super::unkept::store_stop_at;
use crate::egress::allow::Ceiling;
use crate::engine::{Delivered, Engine, EngineOptions, Place, Submission};
use crate::report::faulted;
use crate::store::ledger::Ledger;
use crate::telemetry::metric::Metrics;
use crate::unserved::{self, Offer};
use kiln_protocol::admission::{Admission, IdRule, TenantRule};
use kiln_protocol::decode::decode;
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::job::Job;
use kiln_protocol::outcome::Outcome;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::PathBuf;

/// Run a job of the store again, here, and compare.
///
/// Today's profiles and limits hold. Exit: 0 where the outcomes agree, 1 where they differ, where
/// the job is unknown or was never answered; 2 where it is refused today.
#[derive(Debug, clap::Args)]
pub(super) struct ReplayArgs {
    /// The job
    #[arg(value_name = "ID")]
    id: String,
    /// Whose job it must be
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// The folder for what it makes now [default: kiln-out/<job id>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The configuration
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Whose {
    #[serde(default)]
    tenant: Tenant,
}

pub(super) fn run(args: &ReplayArgs) -> Result<Exit, Stop> {
    let unknown = |line: String| Stop::new(Exit::Failed, vec![line]);
    let id = JobId::try_from(args.id.clone()).map_err(|error| unknown(error.to_string()))?;
    let config = config::load(args.config.as_deref())?;
    let runtime = super::runtime()?;
    let failed = |error| store_stop_at(&config.store, &error);
    let ledger = Ledger::open_to_read(&config.store, Metrics::new()).map_err(failed)?;
    let (document, first) = runtime
        .block_on(async { Ok((ledger.job(&id).await?, ledger.result(&id).await?)) })
        .map_err(failed)?;
    let (Some(document), Some(first)) = (document, first) else {
        return Err(unknown(format!(
            "no job `{id}` that has ended is in the store"
        )));
    };
    let broken =
        |error: serde_json::Error| unknown(format!("read what is stored of `{id}`: {error}"));
    let Whose { tenant } = serde_json::from_slice(&document).map_err(broken)?;
    if args
        .tenant
        .as_ref()
        .is_some_and(|named| named != tenant.as_str())
    {
        return Err(unknown(format!(
            "no job `{id}` that has ended is in the store"
        )));
    }
    let first: Outcome = serde_json::from_slice(&first).map_err(broken)?;
    let admission = Admission {
        profiles: &config.profiles,
        id: IdRule::Given(id.clone()),
        tenant: TenantRule::Default(tenant),
        class: None,
    };
    let accepted = decode(&document, &admission).map_err(|why| {
        Stop::new(
            Exit::Usage,
            vec![format!("today it is refused: {}", why.main)],
        )
    })?;
    let mut job = accepted.job;
    let offer = Offer {
        network: Ceiling::of(&config.profiles, &job),
        secrets: &config.secrets,
        proven: true,
        store: true,
    };
    if let Some(why) = unserved::first(&job, offer) {
        let line = format!("today it is refused: {why}");
        return Err(Stop::new(Exit::Usage, vec![line]));
    }
    // It was of use then; whether it is now is for whoever replays it.
    job.deadline_unix_ms = None;
    super::doctor::preflight()?;
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("kiln-out").join(id.as_str()));
    let _claim = super::claim::job(&out).map_err(|error| Stop::usage(&error))?;
    let options = EngineOptions {
        single: true,
        ..config.engine(1, vec![(job.profile.clone(), 1)])
    };
    let second = runtime.block_on(again(options, job, ledger, &out))?;
    let differences = differences(&first, &second);
    print(args, &second, &differences, &out)?;
    Ok(if differences.is_empty() {
        Exit::Succeeded
    } else {
        Exit::Failed
    })
}

async fn again(
    options: EngineOptions,
    job: Job,
    ledger: Ledger,
    out: &std::path::Path,
) -> Result<Outcome, Stop> {
    let worker = options.worker.clone();
    let engine = Engine::start(options)
        .await
        .map_err(|error| engine_stop(&error))?;
    let id = job.id.clone();
    let submission = Submission {
        job,
        inputs: Vec::new(),
        stdin: None,
        place: Place::Replay {
            folder: out.to_owned(),
            inputs: ledger,
        },
        warnings: Vec::new(),
        delivery: Delivered::default(),
    };
    let never = Box::pin(std::future::pending());
    let finished = engine.run(submission, None, never, None).await;
    shut_down(engine).await;
    Ok(match finished {
        Ok(finished) => finished.outcome,
        Err(fault) => faulted::outcome(id, &fault, &worker),
    })
}

fn put(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// What a program could tell apart, field by field: `(field, then, now)`.
fn differences(first: &Outcome, second: &Outcome) -> Vec<(String, Value, Value)> {
    let told = |outcome: &Outcome| {
        let artifacts: Vec<Value> = outcome
            .artifacts
            .iter()
            .map(|file| json!([file.path, file.sha256]))
            .collect();
        [
            ("status", json!(outcome.status)),
            ("reason", json!(outcome.reason)),
            ("exit_code", json!(outcome.exit_code)),
            ("signal", json!(outcome.signal)),
            ("stdout.sha256", json!(outcome.stdout.sha256)),
            ("stderr.sha256", json!(outcome.stderr.sha256)),
            ("artifacts", json!(artifacts)),
        ]
    };
    told(first)
        .into_iter()
        .zip(told(second))
        .filter(|((_, then), (_, now))| then != now)
        .map(|((field, then), (_, now))| (field.to_owned(), then, now))
        .collect()
}

fn print(
    args: &ReplayArgs,
    second: &Outcome,
    differences: &[(String, Value, Value)],
    out: &std::path::Path,
) -> Result<(), Stop> {
    let mut stdout = std::io::stdout().lock();
    let written = if args.json {
        let list: Vec<Value> = differences
            .iter()
            .map(|(field, then, now)| json!({"field": field, "then": then, "now": now}))
            .collect();
        let document = json!({"same": list.is_empty(), "differences": list, "outcome": second});
        writeln!(stdout, "{document}")
    } else {
        let mut text = super::summary::render(second, out);
        for (field, then, now) in differences {
            put(
                &mut text,
                &format!("differs: {field}: {then} then, {now} now"),
            );
        }
        if differences.is_empty() {
            put(&mut text, "the outcomes agree");
        }
        stdout.write_all(text.as_bytes())
    };
    written.map_err(|error| Stop::output(&error))
}
