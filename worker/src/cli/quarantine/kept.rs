//! One thing in quarantine, and what its job's outcome says of it.

use crate::cli::escape;
use crate::cli::withheld::{self, Stream};
use crate::store::ledger::{Act, Audit, Withheld, stream};
use kiln_protocol::outcome::{ArtifactReport, Outcome};
use serde_json::{Value, json};
use std::time::UNIX_EPOCH;

pub(super) struct Kept {
    pub(super) at: Withheld,
    pub(super) what: What,
}

/// What it is.
pub(super) enum What {
    File(ArtifactReport),
    Stream(Stream),
    /// No outcome names it: its run came to nothing, or its job is not answered yet.
    Unnamed,
}

impl What {
    /// What an outcome says that an object is.
    pub(super) fn of(outcome: Option<&Outcome>, object: &str) -> Self {
        let Some(outcome) = outcome else {
            return Self::Unnamed;
        };
        let is = |one: &Stream| one.object.as_deref() == Some(object);
        match withheld::artifact(outcome, object) {
            Some(artifact) => Self::File(artifact),
            None => withheld::streams(outcome)
                .find(is)
                .map_or(Self::Unnamed, Self::Stream),
        }
    }
}

impl Kept {
    pub(super) fn file(&self) -> Option<&ArtifactReport> {
        match &self.what {
            What::File(artifact) => Some(artifact),
            What::Stream(_) | What::Unnamed => None,
        }
    }

    /// What the job called it, or where it lies where no outcome says that.
    pub(super) fn name(&self) -> &str {
        let last = || self.at.object.splitn(4, '/').nth(3);
        match &self.what {
            What::File(artifact) => &artifact.path,
            What::Stream(stream) => stream.name,
            What::Unnamed => last().unwrap_or(&self.at.object),
        }
    }

    pub(super) fn verdict(&self) -> Option<&str> {
        match &self.what {
            What::File(artifact) => Some(artifact.verdict.as_str()),
            What::Stream(stream) => Some(&stream.verdict),
            What::Unnamed => None,
        }
    }

    fn why(&self) -> Option<&str> {
        match &self.what {
            What::File(artifact) => artifact.findings.first().map(|it| it.message.as_str()),
            What::Stream(stream) => Some(&stream.why),
            What::Unnamed => None,
        }
    }

    fn since_unix_ms(&self) -> u64 {
        let since = self.at.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn line(&self) -> String {
        let days = self.at.since.elapsed().unwrap_or_default().as_secs() / 86_400;
        let verdict = self.verdict().unwrap_or("of no outcome");
        let why = self.why().filter(|why| !why.is_empty());
        let why = why.map(|why| format!(" ({})", escape::name(why)));
        // A file may be called so too.
        let stream = stream(&self.at.object).map_or("", |_| " (a stream)");
        format!(
            "{} {}{stream}: {verdict}, {days} days{}",
            self.at.job,
            escape::name(self.name()),
            why.unwrap_or_default()
        )
    }

    pub(super) fn told(&self) -> Value {
        let file = self.file();
        let stream_of = match &self.what {
            What::Stream(stream) => Some(stream),
            What::File(_) | What::Unnamed => None,
        };
        // Of one that was cut short nothing says how much of it was kept.
        let written = stream_of
            .filter(|it| !it.truncated)
            .map(|it| it.total_bytes);
        let sha256 = file.map(|it| &it.sha256);
        json!({
            "job_id": self.at.job, "path": file.map(|it| &it.path),
            "stream": stream(&self.at.object), "object": self.at.object,
            "verdict": self.verdict(), "bytes": file.map(|it| it.bytes).or(written),
            "sha256": sha256.or(stream_of.map(|it| &it.sha256)),
            "media_type": file.map(|it| &it.media_type), "why": self.why(),
            "findings": file.map(|it| &it.findings), "since_unix_ms": self.since_unix_ms(),
        })
    }

    /// The record of an act on it.
    pub(super) fn audit(&self, act: Act) -> Audit {
        let (path, sha256) = match &self.what {
            What::File(artifact) => (Some(&artifact.path), Some(&artifact.sha256)),
            What::Stream(stream) => (None, Some(&stream.sha256)),
            What::Unnamed => (None, None),
        };
        Audit {
            path: path.cloned(),
            sha256: sha256.cloned(),
            then: self.verdict().map(str::to_owned),
            ..Audit::of(act, &self.at.job, &self.at.object)
        }
    }
}
