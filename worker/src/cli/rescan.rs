//! `kiln rescan`: what do today's rules say of what was let out before?

use super::exit::Exit;
use super::stop::Stop;
use super::unkept::store_stop_at;
use super::{config, escape};
use crate::fault::chain;
use crate::screen::scanner::{Source, Thing};
use crate::screen::table::{Fate, may_be_released};
use crate::screen::{Gate, Kind};
use crate::store::StoreError;
use crate::store::ledger::{Ledger, let_out};
use crate::telemetry::metric::Metrics;
use futures_util::future::join_all;
use kiln_protocol::id::JobId;
use kiln_protocol::outcome::{ArtifactReport, ArtifactState, Outcome};
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

/// Files that are on their way at once.
const AT_ONCE: usize = 8;

/// Scan again what was released, the newest first, and take back what may not leave any more.
///
/// To be called when rules, policy or version have changed. What is taken back lies in
/// `quarantine/` then; the outcome of its job stays as it is. Exit: 0 nothing was taken back, 1
/// something was, 69 a file could not be judged or the store is away.
#[derive(Debug, clap::Args)]
pub(super) struct RescanArgs {
    /// These jobs alone
    #[arg(value_name = "ID")]
    ids: Vec<JobId>,
    /// Say what would be taken back, and take nothing
    #[arg(long)]
    dry_run: bool,
    /// Print a line of JSON for each change, and one with the counts
    #[arg(long)]
    json: bool,
    /// The configuration
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
}

/// What came of it.
#[derive(Debug, Default)]
struct Counts {
    jobs: usize,
    scanned: usize,
    changed: usize,
    taken_back: usize,
    gone: usize,
    failed: usize,
}

/// What became of one file.
enum Seen {
    Same,
    Gone,
    Failed(String),
    /// Another verdict; withheld now, or still to be let out.
    Changed(Value),
}

pub(super) fn run(args: &RescanArgs) -> Result<Exit, Stop> {
    let config = config::load(args.config.as_deref())?;
    super::runtime()?.block_on(async {
        let failed = |error: StoreError| store_stop_at(&config.store, &error);
        let read = Ledger::open_to_read(&config.store, Metrics::new());
        let mut ledger = read.map_err(failed)?;
        let gate = Gate::open(config.gate_by_hand());
        gate.scanner()
            .prove()
            .await
            .map_err(|error| Stop::unavailable(&error))?;
        let ids = if args.ids.is_empty() {
            ledger.answered().await.map_err(failed)?
        } else {
            args.ids.clone()
        };
        // Where there is nothing to look at nothing is made, either.
        if !args.dry_run && !ids.is_empty() {
            let opened = Ledger::open(&config.store, Metrics::new()).await;
            ledger = opened.map_err(failed)?;
        }
        let mut counts = Counts::default();
        for id in &ids {
            let Some(document) = ledger.result(id).await.map_err(failed)? else {
                continue;
            };
            // A copy names what another job made.
            let outcome = serde_json::from_slice::<Outcome>(&document);
            let Some(outcome) = outcome.ok().filter(|it| it.duplicate_of.is_none()) else {
                continue;
            };
            counts.jobs += 1;
            job(args, &ledger, &gate, &outcome, &mut counts).await?;
        }
        let store = config.store.to_string();
        put(args, &sum(&counts, &store), || told(&counts, &store))?;
        Ok(match counts {
            Counts { failed: 1.., .. } => Exit::Unavailable,
            Counts {
                taken_back: 1.., ..
            } => Exit::Failed,
            _ => Exit::Succeeded,
        })
    })
}

/// All that a job was let keep.
async fn job(
    args: &RescanArgs,
    ledger: &Ledger,
    gate: &Gate,
    outcome: &Outcome,
    counts: &mut Counts,
) -> Result<(), Stop> {
    // What was withheld is looked at where an operator let it out.
    let files = outcome.artifacts.iter().filter_map(|artifact| {
        let object = artifact.object.as_deref()?;
        let out = match artifact.state {
            ArtifactState::Released => object.to_owned(),
            ArtifactState::Withheld => let_out(object)?,
        };
        Some((artifact, out))
    });
    let files: Vec<_> = files.collect();
    for some in files.chunks(AT_ONCE) {
        let asked: Vec<_> = some
            .iter()
            .map(|(artifact, out)| {
                again(args.dry_run, (ledger, gate), &outcome.job_id, artifact, out)
            })
            .collect();
        for ((artifact, _), seen) in some.iter().zip(join_all(asked).await) {
            let name = escape::name(&artifact.path);
            let id = &outcome.job_id;
            match seen {
                Seen::Gone if artifact.state == ArtifactState::Withheld => {}
                Seen::Gone => counts.gone += 1,
                Seen::Same => counts.scanned += 1,
                Seen::Failed(why) => {
                    counts.failed += 1;
                    tracing::error!(job_id = %id, path = %name, why, "a file is not judged");
                }
                Seen::Changed(mut change) => {
                    counts.scanned += 1;
                    counts.changed += 1;
                    counts.taken_back += usize::from(change["state"] == "withheld");
                    change["job_id"] = json!(id);
                    put(args, &change, || {
                        let text = |key: &str| change[key].as_str().unwrap_or_default();
                        let (then, now, why) = (text("then"), text("now"), text("why"));
                        format!("{id} {name}: {then}, now {now} ({why}): {}", text("state"))
                    })?;
                }
            }
        }
    }
    Ok(())
}

/// Judges one file anew, and takes it back where it may not leave any more.
async fn again(
    dry_run: bool,
    (ledger, gate): (&Ledger, &Gate),
    id: &JobId,
    artifact: &ArtifactReport,
    object: &str,
) -> Seen {
    let file = ledger
        .released(object, &artifact.sha256, artifact.bytes)
        .await;
    let file = match file {
        Ok(Some(file)) => Arc::new(file),
        Ok(None) => return Seen::Gone,
        Err(error) => return Seen::Failed(chain(&error)),
    };
    let thing = Thing {
        name: &artifact.path,
        kind: Kind::File,
        source: Source::File(&file),
        bytes: artifact.bytes,
        sha256: Some(&artifact.sha256),
    };
    let (word, fate) = match gate.judge(thing).await {
        Ok(judged) => judged,
        Err(error) => return Seen::Failed(chain(&error)),
    };
    if !word.is_final() {
        // A scan that did not finish says nothing new of what was scanned before.
        return Seen::Failed(word.why());
    }
    let then = artifact.verdict.as_str();
    let now = word.told().as_str();
    let mut change = json!({
        "path": artifact.path, "then": then, "now": now, "why": word.why(), "state": "released",
        "object": object,
    });
    if fate != Fate::Release && may_be_released(word.verdict()) {
        match ledger.is_vouched(id, object, &artifact.sha256).await {
            Ok(true) => return Seen::Same,
            Ok(false) => {}
            Err(error) => return Seen::Failed(chain(&error)),
        }
    }
    if fate != Fate::Release {
        change["state"] = json!("withheld");
        if !dry_run {
            match ledger.take_back(object, file, artifact.bytes).await {
                Ok(held) => change["object"] = json!(held),
                Err(error) => return Seen::Failed(chain(&error)),
            }
        }
    } else if then == now {
        return Seen::Same;
    }
    Seen::Changed(change)
}

fn sum(counts: &Counts, store: &str) -> Value {
    json!({
        "jobs": counts.jobs, "scanned": counts.scanned, "changed": counts.changed,
        "taken_back": counts.taken_back, "gone": counts.gone, "failed": counts.failed,
        "store": store,
    })
}

fn told(counts: &Counts, store: &str) -> String {
    format!(
        "{} files of {} jobs in {store} scanned: {} changed, {} taken back, {} gone before, {} not judged",
        counts.scanned, counts.jobs, counts.changed, counts.taken_back, counts.gone, counts.failed
    )
}

fn put(args: &RescanArgs, value: &Value, text: impl FnOnce() -> String) -> Result<(), Stop> {
    let line = if args.json { value.to_string() } else { text() };
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}").map_err(|error| Stop::output(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::scratch::Folder;

    #[test]
    fn a_store_that_is_not_there_is_told_and_not_made() {
        let dir = Folder::new();
        let (path, store) = (dir.path().join("kiln.toml"), dir.path().join("absent"));
        let text = format!("[store]\nurl = 'file://{}'\n", store.display());
        std::fs::write(&path, text).expect("scratch");
        for dry_run in [false, true] {
            let args = RescanArgs {
                ids: Vec::new(),
                dry_run,
                json: false,
                config: Some(path.clone()),
            };
            let stop = run(&args).expect_err("there is no store");
            let named = format!("{}", store.display());
            assert!(stop.lines()[0].contains(&named), "{:?}", stop.lines());
            assert_eq!(stop.report(), Exit::Unavailable);
            assert!(!store.exists());
        }
    }

    #[test]
    fn the_counts_name_the_store() {
        let (counts, store) = (Counts::default(), "file:///s");
        assert!(told(&counts, store).starts_with("0 files of 0 jobs in file:///s scanned: "));
        assert_eq!(sum(&counts, store)["store"], store);
    }
}
