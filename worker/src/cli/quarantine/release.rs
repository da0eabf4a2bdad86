//! When does something that was withheld come free?
//!
//! It is judged anew. What today's rules and policy would let out leaves; what they hold to be
//! suspicious leaves where an operator vouches for it, and so does what was made by a job with
//! secrets, for these are not known any more; what harms, or cannot be scanned, does not.

use super::kept::{Kept, What};
use super::{Common, Place};
use crate::cli::exit::Exit;
use crate::cli::link::print;
use crate::cli::stop::Stop;
use crate::cli::{escape, withheld};
use crate::screen::scanner::{Source, Thing};
use crate::screen::table::{Fate, may_be_released};
use crate::screen::word::Word;
use crate::screen::{Gate, Kind};
use crate::store::ledger::{Act, Audit};
use kiln_protocol::id::JobId;
use kiln_protocol::outcome::Outcome;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

/// Let files or streams of a job out that today's rules and policy would let out, on record.
///
/// They are scanned anew. The outcome stays as it was committed; a file lies in `artifacts/` under
/// the rest of its name, a stream in `logs/` as `stdout` or `stderr`. Exit: 0 all are out, 1 one is
/// not there or may not leave, 69 one could not be judged.
#[derive(Debug, clap::Args)]
pub(super) struct ReleaseArgs {
    /// The job
    #[arg(value_name = "ID")]
    id: JobId,
    /// Its files, as the outcome names them
    #[arg(required_unless_present = "stream", value_name = "PATH")]
    paths: Vec<String>,
    /// What it printed, with the secrets that are cut out of the outcome
    #[arg(long, value_name = "NAME")]
    stream: Vec<StreamName>,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    reason: String,
    /// Let out what is held to be suspicious, or may hold a secret of its job: you vouch for it
    #[arg(long)]
    vouch: bool,
    /// Only say what would come out
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum StreamName {
    Stdout,
    Stderr,
}

impl StreamName {
    fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

fn reason(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("say in some words why".to_owned());
    }
    Ok(text.to_owned())
}

/// What is done with something that was judged anew.
enum Judged {
    LetOut { vouched: bool },
    Kept(String),
}

/// The one field of a job's document that is asked for here.
#[derive(Deserialize)]
struct Given {
    #[serde(default)]
    secrets: BTreeMap<String, String>,
}

/// Who judges, and whether it looks for everything that the gate looked for then.
struct Judge {
    gate: Gate,
    /// The job had secrets.
    blind: bool,
}

impl Place {
    pub(super) async fn release(&self, args: &ReleaseArgs) -> Result<Exit, Stop> {
        let kept = self.kept(std::slice::from_ref(&args.id)).await?;
        let judge = Judge {
            gate: Gate::open(self.config.gate_by_hand()),
            blind: self.had_secrets(&args.id).await?,
        };
        let file = |path: &str| {
            let is = |one: &&Kept| one.file().is_some_and(|it| it.path == path);
            kept.iter().find(is)
        };
        let stream = |name: &str| {
            let is = |one: &&Kept| matches!(&one.what, What::Stream(it) if it.name == name);
            kept.iter().find(is)
        };
        let mut wanted = Vec::new();
        for path in &args.paths {
            let absent = match stream(path) {
                Some(_) => format!("it is no file; `--stream {path}` is what was printed"),
                None => "it is not in quarantine".to_owned(),
            };
            wanted.push((path.as_str(), file(path), absent));
        }
        for name in args.stream.iter().map(|name| name.as_str()) {
            let found = stream(name);
            let absent = match found {
                Some(_) => String::new(),
                None => self.why_absent(&args.id, name).await?,
            };
            wanted.push((name, found, absent));
        }
        let (mut exit, mut wrong) = (Exit::Succeeded, Vec::new());
        for (name, found, absent) in wanted {
            let ended = match found {
                Some(one) => self.one(args, &judge, one).await?,
                None => Err((Exit::Failed, absent)),
            };
            let ended = ended.unwrap_or_else(|(exit, why)| {
                let job = &args.id;
                wrong.push(format!(
                    "release `{}` of `{job}`: {why}",
                    escape::name(name)
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

    /// Whether a job had secrets, which nobody can look for any more; one that is forgotten may
    /// have had some.
    async fn had_secrets(&self, id: &JobId) -> Result<bool, Stop> {
        let job = self.ledger.job(id).await;
        let job = job.map_err(|error| self.failed(&error))?;
        Ok(job.is_none_or(|job| may_have_had_secrets(&job)))
    }

    /// Why a stream is not in quarantine.
    async fn why_absent(&self, id: &JobId, name: &str) -> Result<String, Stop> {
        let text = self.ledger.result(id).await;
        let text = text.map_err(|error| self.failed(&error))?;
        let outcome = text.and_then(|text| serde_json::from_slice::<Outcome>(&text).ok());
        let Some(outcome) = outcome else {
            return Ok("the job has no outcome".to_owned());
        };
        let held = withheld::streams(&outcome).find(|one| one.name == name);
        Ok(match held.map(|one| one.object) {
            None => "it was not withheld; the outcome says where it is".to_owned(),
            Some(None) => "it was not kept: the policy has such streams dropped".to_owned(),
            Some(Some(_)) => "it is not in quarantine any more".to_owned(),
        })
    }

    /// Judges one, and lets it out if it may leave; or why nothing could be said of it.
    async fn one(
        &self,
        args: &ReleaseArgs,
        judge: &Judge,
        one: &Kept,
    ) -> Result<Result<Exit, (Exit, String)>, Stop> {
        let (kind, sha256, bytes_max) = match &one.what {
            What::File(artifact) => (Kind::File, &artifact.sha256, artifact.bytes),
            What::Stream(stream) => (Kind::Stream, &stream.sha256, stream.total_bytes),
            What::Unnamed => {
                let why = "no outcome says what it is".to_owned();
                return Ok(Err((Exit::Failed, why)));
            }
        };
        // What lies there now is what the outcome tells of, or it is not touched.
        let held = self.ledger.held(&one.at.object, sha256, bytes_max).await;
        let Some(file) = held.map_err(|error| self.failed(&error))?.map(Arc::new) else {
            let why = "it is not in quarantine any more".to_owned();
            return Ok(Err((Exit::Failed, why)));
        };
        let Ok(bytes) = file.metadata().map(|it| it.len()) else {
            let why = "it is not judged: its length cannot be read".to_owned();
            return Ok(Err((Exit::Unavailable, why)));
        };
        let thing = Thing {
            name: one.name(),
            kind,
            source: Source::File(&file),
            bytes,
            sha256: (kind == Kind::File).then_some(sha256),
        };
        let judged = judge.gate.judge(thing).await;
        let (word, fate) = judged.map_err(|error| Stop::unavailable(&error))?;
        if !word.is_final() {
            let why = format!("it is not judged: {}", escape::name(&word.why()));
            return Ok(Err((Exit::Unavailable, why)));
        }
        let mut told = one.told();
        told["now"] = json!(word.told());
        told["why"] = json!(word.why());
        let (state, exit) = match decide(&word, fate, args.vouch, judge.blind) {
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
                    let object = self.let_out(&audit, file, bytes, &word).await?;
                    told["object"] = json!(object);
                    (format!("released, as `{object}`"), Exit::Succeeded)
                }
            }
        };
        if args.common.json {
            print(&told.to_string())?;
        } else {
            let (id, name) = (&args.id, escape::name(one.name()));
            let (then, now) = (one.verdict().unwrap_or_default(), word.told().as_str());
            print(&format!("{id} {name}: {then}, now {now}: {state}"))?;
        }
        Ok(Ok(exit))
    }

    async fn let_out(
        &self,
        audit: &Audit,
        file: Arc<File>,
        bytes: u64,
        word: &Word,
    ) -> Result<String, Stop> {
        let out = self.ledger.release(audit, file, bytes, word.media_type());
        out.await.map_err(|error| self.failed(&error))
    }
}

/// What cannot be read may say that it had some.
fn may_have_had_secrets(job: &[u8]) -> bool {
    serde_json::from_slice::<Given>(job).map_or(true, |given| !given.secrets.is_empty())
}

fn decide(word: &Word, fate: Fate, vouch: bool, blind: bool) -> Judged {
    if fate == Fate::Release && !blind {
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
    if fate == Fate::Release {
        let why = "stays: its job had secrets, which nobody can look for any more";
        return Judged::Kept(format!("{why}; --vouch lets it out all the same"));
    }
    Judged::Kept(format!("stays ({why}); --vouch lets it out all the same"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use artifact_scanner::Verdict;

    #[test]
    fn nobody_lets_out_what_harms_or_was_not_scanned() {
        let judged = |verdict, fate, vouch, blind| {
            let judged = decide(&Word::for_test(verdict), fate, vouch, blind);
            match judged {
                Judged::LetOut { vouched } => Some(vouched),
                Judged::Kept(_) => None,
            }
        };
        let (release, withhold) = (Fate::Release, Fate::Withhold);
        let out = |verdict, fate, vouch| judged(verdict, fate, vouch, false);
        assert_eq!(out(Verdict::Clean, release, false), Some(false));
        assert_eq!(out(Verdict::Clean, release, true), Some(false));
        for verdict in [Verdict::Clean, Verdict::Active, Verdict::Suspicious] {
            assert_eq!(out(verdict, withhold, false), None, "{verdict:?}");
            assert_eq!(out(verdict, withhold, true), Some(true), "{verdict:?}");
        }
        for verdict in [Verdict::Malicious, Verdict::Unscannable, Verdict::Unscanned] {
            assert_eq!(out(verdict, withhold, true), None, "{verdict:?}");
            assert_eq!(judged(verdict, release, true, true), None, "{verdict:?}");
        }
        // A secret of its job may be in what is clean today.
        assert_eq!(judged(Verdict::Clean, release, false, true), None);
        assert_eq!(judged(Verdict::Clean, release, true, true), Some(true));
    }

    #[test]
    fn a_job_that_is_not_understood_may_have_had_secrets() {
        for (job, wanted) in [
            (r#"{"id":"j"}"#, false),
            (r#"{"secrets":{}}"#, false),
            (r#"{"secrets":{"KEY":"ref"}}"#, true),
            (r#"{"secrets":["KEY"]}"#, true),
            ("", true),
        ] {
            assert_eq!(may_have_had_secrets(job.as_bytes()), wanted, "{job}");
        }
    }
}
