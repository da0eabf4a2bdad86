//! `kiln cancel`: a job is to end, wherever it is.

use super::client::Client;
use super::config;
use super::exit::Exit;
use super::stop::Stop;
use super::unkept::store_stop;
use crate::fault::chain;
use crate::registry::fleet::Fleet;
use crate::report::answer::now_unix_ms;
use crate::store::StoreError;
use crate::store::ledger::{Ledger, Tombstone};
use crate::telemetry::metric::Metrics;
use kiln_protocol::control::{Cancellation, ControlAnswer, ControlState};
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::outcome::{Outcome, Status};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long workers have to say that they run the job.
const WORKERS: Duration = Duration::from_secs(2);
/// How long the outcome of a job that is being ended may take.
const OUTCOME: Duration = Duration::from_secs(10);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(50);

/// Cancel a job that waits or runs.
///
/// Says what became of it: `cancelled`, `already ended`, or `pending` where no worker has it: a job
/// of this id, and of the tenant that is named, will not start. Exit: 0, or 1 for an id that is
/// none; 69 where broker or store are away.
#[derive(Debug, clap::Args)]
pub(super) struct CancelArgs {
    /// The job
    #[arg(value_name = "ID")]
    id: String,
    /// Whose job it must be
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The configuration
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
}

pub(super) fn run(args: &CancelArgs) -> Result<Exit, Stop> {
    let wrong = |line: String| Stop::new(Exit::Failed, vec![line]);
    let id = JobId::try_from(args.id.clone()).map_err(|error| wrong(error.to_string()))?;
    let tenant = args.tenant.clone().map(Tenant::try_from).transpose();
    let tenant = tenant.map_err(|error| Stop::usage(&error))?;
    let config = config::load(args.config.as_deref())?;
    let amqp = config::amqp(&config)?;
    let word = super::runtime()?.block_on(async {
        let ledger = Ledger::open(&config.store, Metrics::new())
            .await
            .map_err(|error| store_stop(&error))?;
        if let Some(word) = ended(&ledger, &id).await? {
            return Ok(word);
        }
        let tombstone = Tombstone {
            job_id: id.clone(),
            tenant: tenant.clone(),
            asked_unix_ms: now_unix_ms(),
        };
        ledger
            .cancel(&tombstone)
            .await
            .map_err(|error| store_stop(&error))?;
        if let Some(redis) = &config.redis {
            let left = async { Fleet::connect(redis).await?.cancel(&id).await }.await;
            if let Err(error) = left {
                // The store has it too.
                tracing::warn!(error = chain(&error), "Redis has no tombstone");
            }
        }
        let mut client = Client::connect(&amqp).await?;
        client.listen(&amqp).await?;
        let wish = Cancellation::of(id.clone(), tenant);
        client
            .control(id.as_str(), wish.to_json().as_bytes())
            .await?;
        let word = heard(&mut client, &ledger, &id).await;
        client.close().await;
        word
    })?;
    let line = if args.json {
        serde_json::json!({ "job_id": id, "cancel": word }).to_string()
    } else {
        word.to_owned()
    };
    writeln!(std::io::stdout().lock(), "{line}").map_err(|error| Stop::output(&error))?;
    Ok(Exit::Succeeded)
}

/// What became of the wish.
async fn heard(client: &mut Client, ledger: &Ledger, id: &JobId) -> Result<&'static str, Stop> {
    let began = Instant::now();
    let mut patience = WORKERS;
    while began.elapsed() < patience {
        if let Some(answer) = client.next(LOOK).await?
            && let Ok(answer) = serde_json::from_slice::<ControlAnswer>(&answer)
            && answer.cancel == *id
            && answer.state == ControlState::Ending
        {
            patience = OUTCOME;
        }
        if let Some(word) = ended(ledger, id).await? {
            return Ok(word);
        }
    }
    Ok("pending")
}

/// How the job ended, if it has.
async fn ended(ledger: &Ledger, id: &JobId) -> Result<Option<&'static str>, Stop> {
    let result = ledger.result(id).await;
    let result = result.map_err(|error: StoreError| store_stop(&error))?;
    Ok(result.map(|document| {
        let outcome = serde_json::from_slice::<Outcome>(&document);
        match outcome {
            Ok(outcome) if outcome.status == Status::Cancelled => "cancelled",
            _ => "already ended",
        }
    }))
}
