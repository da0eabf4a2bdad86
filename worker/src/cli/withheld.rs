//! What does an outcome say of what the gate did not let out?
//!
//! An artifact has a row of its own. A stream has a warning, which says why and where its bytes
//! are: in the outcome of a withheld stream `object` is null.

use crate::store::ledger::taken_back;
use kiln_protocol::outcome::{ArtifactReport, ArtifactState, Outcome, StreamReport};

/// The code of the warning.
const CODE: &str = "stream_withheld";
/// What stands between why and where.
const KEPT: &str = "; it is kept as `";

/// A stream that was withheld.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    /// `stdout` or `stderr`.
    pub(super) name: &'static str,
    pub(super) verdict: String,
    pub(super) why: String,
    /// Where it is; nothing where it was dropped.
    pub(super) object: Option<String>,
    /// Of the bytes that were kept, and all that were written.
    pub(super) sha256: String,
    pub(super) total_bytes: u64,
    pub(super) truncated: bool,
}

/// The artifact that an object is, whether the gate withheld it or a rescan took it back.
pub(super) fn artifact(outcome: &Outcome, object: &str) -> Option<ArtifactReport> {
    let is = |one: &&ArtifactReport| {
        one.object.as_deref().is_some_and(|at| {
            at == object || taken_back(at).is_some_and(|taken_back| taken_back == object)
        })
    };
    outcome.artifacts.iter().find(is).cloned()
}

/// The streams of a job that were withheld.
pub(super) fn streams(outcome: &Outcome) -> impl Iterator<Item = Stream> {
    let both = [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)];
    both.into_iter()
        .filter_map(|(name, report)| stream(outcome, name, report))
}

/// The names of what was withheld, and where it is.
pub(super) fn all(outcome: &Outcome) -> Vec<(String, String)> {
    let streams = streams(outcome).filter_map(|one| Some((one.name.to_owned(), one.object?)));
    let files = outcome.artifacts.iter();
    let files = files.filter(|one| one.state == ArtifactState::Withheld);
    let files = files.filter_map(|one| Some((one.path.clone(), one.object.clone()?)));
    streams.chain(files).collect()
}

fn stream(outcome: &Outcome, name: &'static str, report: &StreamReport) -> Option<Stream> {
    let begin = format!("what was written to {name} is withheld: ");
    let mut warned = outcome.warnings.iter().filter(|it| it.code == CODE);
    let said = warned.find_map(|it| it.message.strip_prefix(&begin))?;
    let (because, object) = match said.rsplit_once(KEPT) {
        Some((because, object)) => (because, object.strip_suffix('`')),
        None => (said, None),
    };
    let (verdict, why) = because.split_once(", ").unwrap_or((because, ""));
    Some(Stream {
        name,
        verdict: verdict.to_owned(),
        why: why.to_owned(),
        object: object.map(str::to_owned),
        sha256: report.sha256.clone(),
        total_bytes: report.total_bytes,
        truncated: report.truncated,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::answer::Unrun;
    use kiln_protocol::outcome::{Reason, Warning};

    fn warned(code: &str, message: &str) -> Vec<Stream> {
        let id = "j".parse().expect("an id");
        let mut outcome = Outcome::from(Unrun::platform_error(id, Reason::Store, "m".into(), "w"));
        outcome.warnings = vec![Warning {
            code: code.to_owned(),
            message: message.to_owned(),
            pointer: None,
        }];
        outcome.stderr = StreamReport::withheld(b"key", 9, b"cut");
        streams(&outcome).collect()
    }

    #[test]
    fn a_warning_says_why_a_stream_stayed_and_where() {
        let why = "what was written to stderr is withheld: suspicious, holds a key, a long one";
        let kept = warned(
            CODE,
            &format!("{why}; it is kept as `quarantine/j/r/~stderr`"),
        );
        assert_eq!(
            kept,
            [Stream {
                name: "stderr",
                verdict: "suspicious".to_owned(),
                why: "holds a key, a long one".to_owned(),
                object: Some("quarantine/j/r/~stderr".to_owned()),
                sha256: kiln_protocol::digest::sha256_hex(b"key"),
                total_bytes: 9,
                truncated: true,
            }]
        );
        let dropped = warned(CODE, &format!("{why}; it is not kept"));
        assert_eq!(dropped[0].object, None);
        assert_eq!(warned("artifact_withheld", why), []);
    }
}
