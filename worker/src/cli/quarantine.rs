//! `kiln quarantine`: what was withheld, and what an operator does with it?

mod kept;
mod release;

use super::exit::Exit;
use super::link::print;
use super::stop::Stop;
use super::unkept::{open_existing, store_stop_at};
use super::{config, escape};
use crate::config::Config;
use crate::store::StoreError;
use crate::store::ledger::{Act, Audit, Ledger};
use crate::telemetry::metric::Metrics;
use clap::Subcommand;
use kept::{Kept, What};
use kiln_protocol::id::JobId;
use kiln_protocol::outcome::Outcome;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Look at what was withheld, let out what is judged otherwise now, or remove it.
#[derive(Debug, clap::Args)]
pub(super) struct QuarantineArgs {
    #[command(subcommand)]
    command: QuarantineCommand,
}

#[derive(Debug, Subcommand)]
enum QuarantineCommand {
    /// List it, the oldest first: job, path or stream, verdict, age, why
    ///
    /// Exit: 1 where there is nothing of one of the jobs.
    Ls {
        /// Of these jobs alone
        #[arg(value_name = "ID")]
        ids: Vec<JobId>,
        #[command(flatten)]
        common: Common,
    },
    /// Show what is known of what was withheld of a job, with every finding and every act
    ///
    /// Exit: 1 where there is nothing of it.
    Show {
        /// The job
        #[arg(value_name = "ID")]
        id: JobId,
        #[command(flatten)]
        common: Common,
    },
    Release(release::ReleaseArgs),
    /// Remove it for good, on record
    ///
    /// Exit: 1 where there is nothing of the kind.
    Purge {
        /// Of these jobs alone
        #[arg(value_name = "ID", required_unless_present = "older_than")]
        ids: Vec<JobId>,
        /// What was withheld so many days ago or longer
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
        /// Why, for the record
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Only say what would go
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Debug, clap::Args)]
struct Common {
    /// Print a line of JSON for each
    #[arg(long)]
    json: bool,
    /// The configuration
    #[arg(long, value_name = "KILN.TOML")]
    config: Option<PathBuf>,
}

/// The configuration and its store.
struct Place {
    config: Config,
    ledger: Ledger,
}

pub(super) fn run(args: &QuarantineArgs) -> Result<Exit, Stop> {
    let common = match &args.command {
        QuarantineCommand::Ls { common, .. }
        | QuarantineCommand::Show { common, .. }
        | QuarantineCommand::Purge { common, .. } => common,
        QuarantineCommand::Release(release) => &release.common,
    };
    let config = config::load(common.config.as_deref())?;
    super::runtime()?.block_on(async {
        let changes = !matches!(
            args.command,
            QuarantineCommand::Ls { .. } | QuarantineCommand::Show { .. }
        );
        let ledger = if changes {
            open_existing(&config.store).await
        } else {
            Ledger::open_to_read(&config.store, Metrics::new())
        };
        let ledger = ledger.map_err(|error| store_stop_at(&config.store, &error))?;
        let place = Place { config, ledger };
        match &args.command {
            QuarantineCommand::Ls { ids, .. } => place.list(ids, common).await,
            QuarantineCommand::Show { id, .. } => place.show(id, common).await,
            QuarantineCommand::Release(args) => place.release(args).await,
            QuarantineCommand::Purge {
                ids,
                older_than,
                reason,
                dry_run,
                ..
            } => {
                let choice = (ids.as_slice(), *older_than);
                place.purge(choice, reason.as_ref(), *dry_run, common).await
            }
        }
    })
}

fn nothing_of(id: &JobId) -> String {
    format!("nothing of `{id}` is in quarantine")
}

impl Place {
    fn failed(&self, error: &StoreError) -> Stop {
        store_stop_at(&self.config.store, error)
    }

    /// What there is of some jobs, or of all.
    async fn kept(&self, ids: &[JobId]) -> Result<Vec<Kept>, Stop> {
        let failed = |error: StoreError| self.failed(&error);
        let mut held = Vec::new();
        if ids.is_empty() {
            held = self.ledger.withheld(None).await.map_err(failed)?;
        }
        for id in ids {
            held.extend(self.ledger.withheld(Some(id)).await.map_err(failed)?);
        }
        let mut outcomes: BTreeMap<JobId, Option<Outcome>> = BTreeMap::new();
        let mut kept = Vec::with_capacity(held.len());
        for at in held {
            if !outcomes.contains_key(&at.job) {
                let text = self.ledger.result(&at.job).await.map_err(failed)?;
                let outcome = text.and_then(|text| serde_json::from_slice(&text).ok());
                outcomes.insert(at.job.clone(), outcome);
            }
            let outcome = outcomes.get(&at.job).and_then(Option::as_ref);
            let what = What::of(outcome, &at.object);
            kept.push(Kept { at, what });
        }
        Ok(kept)
    }

    async fn list(&self, ids: &[JobId], common: &Common) -> Result<Exit, Stop> {
        let kept = self.kept(ids).await?;
        for one in &kept {
            if common.json {
                print(&one.told().to_string())?;
            } else {
                print(&one.line())?;
            }
        }
        let absent = ids
            .iter()
            .filter(|id| kept.iter().all(|it| it.at.job != **id));
        let absent: Vec<_> = absent.map(nothing_of).collect();
        if !absent.is_empty() {
            return Err(Stop::new(Exit::Failed, absent));
        }
        if kept.is_empty() {
            let line = format!("kiln: nothing is withheld in `{}`", self.config.store);
            // The empty list says it too.
            drop(writeln!(io::stderr(), "{line}"));
        }
        Ok(Exit::Succeeded)
    }

    async fn show(&self, id: &JobId, common: &Common) -> Result<Exit, Stop> {
        let kept = self.kept(std::slice::from_ref(id)).await?;
        let audits = self.ledger.audits(id).await;
        let audits = audits.map_err(|error| self.failed(&error))?;
        for one in &kept {
            if common.json {
                print(&one.told().to_string())?;
                continue;
            }
            print(&one.line())?;
            for finding in one.file().iter().flat_map(|it| &it.findings) {
                let place = finding.place.as_deref().map(|place| format!(" [{place}]"));
                let (rule, message) = (&finding.rule, &finding.message);
                let text = format!("{rule}: {message}{}", place.unwrap_or_default());
                print(&format!("  {}", escape::name(&text)))?;
            }
        }
        for audit in &audits {
            let text = serde_json::to_string(audit).expect("texts and figures always serialise");
            print(&text)?;
        }
        if kept.is_empty() && audits.is_empty() {
            return Err(Stop::new(Exit::Failed, vec![nothing_of(id)]));
        }
        Ok(Exit::Succeeded)
    }

    async fn purge(
        &self,
        (ids, older_than): (&[JobId], Option<u32>),
        reason: Option<&String>,
        dry_run: bool,
        common: &Common,
    ) -> Result<Exit, Stop> {
        let age = older_than.map(|days| Duration::from_hours(24) * days);
        let old = |one: &Kept| {
            let held = SystemTime::now().duration_since(one.at.since);
            age.is_none_or(|age| held.is_ok_and(|held| held >= age))
        };
        let kept = self.kept(ids).await?;
        let mut gone = 0;
        for one in kept.iter().filter(|one| old(one)) {
            let audit = Audit {
                reason: reason.cloned(),
                ..one.audit(Act::Purge)
            };
            if !dry_run {
                let purged = self.ledger.purge(&audit).await;
                purged.map_err(|error| self.failed(&error))?;
            }
            gone += 1;
            let state = if dry_run { "would go" } else { "gone" };
            if common.json {
                let mut told = one.told();
                told["state"] = json!(if dry_run { "withheld" } else { "purged" });
                print(&told.to_string())?;
            } else {
                print(&format!("{}: {state}", one.line()))?;
            }
        }
        if gone == 0 && older_than.is_none() {
            let line = "nothing of these jobs is in quarantine".to_owned();
            return Err(Stop::new(Exit::Failed, vec![line]));
        }
        Ok(Exit::Succeeded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::scratch::Folder;

    fn call(command: QuarantineCommand) -> Result<Exit, (Vec<String>, Exit)> {
        run(&QuarantineArgs { command }).map_err(|stop| (stop.lines().to_vec(), stop.report()))
    }

    fn common(dir: &Folder, store: &str) -> Common {
        let path = dir.path().join("kiln.toml");
        let url = format!("file://{}/{store}", dir.path().display());
        std::fs::write(&path, format!("[store]\nurl = '{url}'\n")).expect("scratch");
        Common {
            json: false,
            config: Some(path),
        }
    }

    #[test]
    fn a_list_says_of_whom_there_is_nothing() {
        let dir = Folder::new();
        let held = dir.path().join("store/quarantine/j-1/r");
        std::fs::create_dir_all(&held).expect("scratch");
        let ls = |ids: &[&str]| {
            call(QuarantineCommand::Ls {
                ids: ids.iter().map(|id| id.parse().expect("an id")).collect(),
                common: common(&dir, "store"),
            })
        };
        assert_eq!(ls(&[]), Ok(Exit::Succeeded));
        std::fs::write(held.join("a.txt"), "x").expect("scratch");
        assert_eq!(ls(&["j-1"]), Ok(Exit::Succeeded));
        let line = "nothing of `j-2` is in quarantine".to_owned();
        assert_eq!(ls(&["j-1", "j-2"]), Err((vec![line], Exit::Failed)));
    }

    #[test]
    fn nothing_makes_a_store() {
        let dir = Folder::new();
        let purge = QuarantineCommand::Purge {
            ids: vec!["j-1".parse().expect("an id")],
            older_than: None,
            reason: None,
            dry_run: false,
            common: common(&dir, "absent"),
        };
        let (lines, exit) = call(purge).expect_err("there is no store");
        assert_eq!(exit, Exit::Unavailable);
        assert!(lines[0].contains("/absent"), "{lines:?}");
        assert!(!dir.path().join("absent").exists());
    }
}
