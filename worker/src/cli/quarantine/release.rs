//! When does a file that was withheld come free?
//!
//! It is judged anew. What today's rules and policy would let out leaves; what they hold to be
//! suspicious leaves where an operator vouches for it; what harms, or cannot be scanned, does not.

use super::{Common, Kept, Place};
use crate::cli::escape;
use crate::cli::exit::Exit;
use crate::cli::link::print;
use crate::cli::stop::Stop;
use crate::screen::scanner::{Source, Thing};
use crate::screen::table::{Fate, may_be_released};
use crate::screen::word::Word;
use crate::screen::{Gate, Kind};
use crate::store::ledger::{Act, Audit};
use kiln_protocol::id::JobId;
use kiln_protocol::outcome::ArtifactReport;
use serde_json::json;
use std::sync::Arc;

/// Let files of a job out that today's rules and policy would let out, on record.
///
/// They are scanned anew. The outcome stays as it was committed; the file lies in `artifacts/` under
/// the rest of its name. Exit: 0 all are out, 1 one is not there or may not leave, 69 one could not
/// be judged.
#[derive(Debug, clap::Args)]
pub(super) struct ReleaseArgs {
    /// The job
    #[arg(value_name = "ID")]
    id: JobId,
    /// Its files, as the outcome names them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    reason: String,
    /// Let out what is held to be suspicious, too: you vouch for it
    #[arg(long)]
    vouch: bool,
    /// Only say what would come out
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

fn reason(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("say in some words why".to_owned());
    }
    Ok(text.to_owned())
}

/// What is done with a file that was judged anew.
enum Judged {
    LetOut { vouched: bool },
    Kept(String),
}

impl Place {
    pub(super) async fn release(&self, args: &ReleaseArgs) -> Result<Exit, Stop> {
        let kept = self.kept(std::slice::from_ref(&args.id)).await?;
        let gate = Gate::open(self.config.gate_by_hand());
        let (mut exit, mut wrong) = (Exit::Succeeded, Vec::new());
        for path in &args.paths {
            let found = kept.iter().find_map(|one| {
                let artifact = one.artifact.as_ref()?;
                (artifact.path == *path).then_some((one, artifact))
            });
            let ended = match found {
                Some((one, artifact)) => self.one(args, &gate, one, artifact).await?,
                None => Err((Exit::Failed, "it is not in quarantine".to_owned())),
            };
            let ended = ended.unwrap_or_else(|(exit, why)| {
                let job = &args.id;
                wrong.push(format!(
                    "release `{}` of `{job}`: {why}",
                    escape::name(path)
                ));
                exit
            });
            exit = exit.max(ended);
        }
        if wrong.is_empty() {
            return Ok(exit);
        }
        Err(Stop::new(exit, wrong))
    }

    /// Judges one, and lets it out if it may leave; or why nothing could be said of it.
    async fn one(
        &self,
        args: &ReleaseArgs,
        gate: &Gate,
        one: &Kept,
        artifact: &ArtifactReport,
    ) -> Result<Result<Exit, (Exit, String)>, Stop> {
        let name = escape::name(&artifact.path);
        let held = self
            .ledger
            .held(&one.at.object, &artifact.sha256, artifact.bytes)
            .await
            .map_err(|error| self.failed(&error))?;
        let Some(file) = held.map(Arc::new) else {
            let why = "it is not in quarantine any more".to_owned();
            return Ok(Err((Exit::Failed, why)));
        };
        let thing = Thing {
            name: &artifact.path,
            kind: Kind::File,
            source: Source::File(&file),
            bytes: artifact.bytes,
            sha256: Some(&artifact.sha256),
        };
        let judged = gate.judge(thing).await;
        let (word, fate) = judged.map_err(|error| Stop::unavailable(&error))?;
        if !word.is_final() {
            let why = format!("it is not judged: {}", escape::name(&word.why()));
            return Ok(Err((Exit::Unavailable, why)));
        }
        let mut told = one.told();
        told["now"] = json!(word.told());
        told["why"] = json!(word.why());
        let (state, exit) = match decide(&word, fate, args.vouch) {
            Judged::Kept(why) => {
                told["state"] = json!("withheld");
                (why, Exit::Failed)
            }
            Judged::LetOut { vouched } => {
                let audit = Audit {
                    now: Some(word.told().as_str().to_owned()),
                    vouched,
                    reason: Some(args.reason.clone()),
                    ..one.audit(Act::Release)
                };
                told["state"] = json!(if args.dry_run { "withheld" } else { "released" });
                if args.dry_run {
                    ("would come out".to_owned(), Exit::Succeeded)
                } else {
                    let (bytes, media) = (artifact.bytes, word.media_type());
                    let out = self.ledger.release(&audit, file, bytes, media).await;
                    let object = out.map_err(|error| self.failed(&error))?;
                    told["object"] = json!(object);
                    ("released".to_owned(), Exit::Succeeded)
                }
            }
        };
        if args.common.json {
            print(&told.to_string())?;
        } else {
            let (then, now) = (artifact.verdict.as_str(), word.told().as_str());
            print(&format!("{} {name}: {then}, now {now}: {state}", args.id))?;
        }
        Ok(Ok(exit))
    }
}

fn decide(word: &Word, fate: Fate, vouch: bool) -> Judged {
    if fate == Fate::Release {
        return Judged::LetOut { vouched: false };
    }
    let why = escape::name(&word.why());
    if !may_be_released(word.verdict()) {
        return Judged::Kept(format!(
            "stays, and nobody can let it out as long as it is judged so ({why})"
        ));
    }
    if vouch {
        return Judged::LetOut { vouched: true };
    }
    Judged::Kept(format!("stays ({why}); --vouch lets it out all the same"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use artifact_scanner::Verdict;

    #[test]
    fn nobody_lets_out_what_harms_or_was_not_scanned() {
        let out = |verdict, fate, vouch| {
            let judged = decide(&Word::for_test(verdict), fate, vouch);
            match judged {
                Judged::LetOut { vouched } => Some(vouched),
                Judged::Kept(_) => None,
            }
        };
        let (release, withhold) = (Fate::Release, Fate::Withhold);
        assert_eq!(out(Verdict::Clean, release, false), Some(false));
        assert_eq!(out(Verdict::Clean, release, true), Some(false));
        for verdict in [Verdict::Clean, Verdict::Active, Verdict::Suspicious] {
            assert_eq!(out(verdict, withhold, false), None, "{verdict:?}");
            assert_eq!(out(verdict, withhold, true), Some(true), "{verdict:?}");
        }
        for verdict in [Verdict::Malicious, Verdict::Unscannable, Verdict::Unscanned] {
            assert_eq!(out(verdict, withhold, true), None, "{verdict:?}");
        }
    }
}
