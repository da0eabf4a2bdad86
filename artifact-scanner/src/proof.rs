//! Which engines must have finished before a file may be called clean.
//!
//! A [`Proof`] can only be made here, by running an engine to its end; [`Proofs`] holds one of each;
//! and only [`crate::Report::conclude`] makes the word `clean`, out of [`Proofs`].

use crate::Unscannable;
use std::marker::PhantomData;

/// The name of the view was judged.
#[derive(Debug)]
pub(crate) enum Names {}
/// The rules ran over the view.
#[derive(Debug)]
pub(crate) enum Rules {}
/// The view was searched for secrets.
#[derive(Debug)]
pub(crate) enum Secrets {}
/// The content was read to its end by the reader of its type.
#[derive(Debug)]
pub(crate) enum Content {}
/// Everything within was scanned in turn.
#[derive(Debug)]
pub(crate) enum Within {}

/// Engine `E` ran to its end.
#[derive(Debug)]
pub(crate) struct Proof<E>(PhantomData<E>);

impl<E> Proof<E> {
    /// Runs an engine; that it returned `Ok` is the proof.
    pub(crate) fn of(
        engine: impl FnOnce() -> Result<(), Unscannable>,
    ) -> Result<Self, Unscannable> {
        engine().map(|()| Self(PhantomData))
    }
}

/// Every required engine ran to its end over one view, and over all views within it.
#[derive(Debug)]
#[expect(dead_code, reason = "a proof is held, never looked at")]
pub(crate) struct Proofs(Required);

#[derive(Debug)]
#[expect(dead_code, reason = "a proof is held, never looked at")]
enum Required {
    File {
        names: Proof<Names>,
        rules: Proof<Rules>,
        secrets: Proof<Secrets>,
        content: Proof<Content>,
        within: Proof<Within>,
    },
    /// What a program printed is shown as text alone, and has no name.
    Stream(Proof<Secrets>),
}

impl Proofs {
    /// All of them, or the first reason why not.
    pub(crate) fn all(
        names: Result<Proof<Names>, Unscannable>,
        rules: Result<Proof<Rules>, Unscannable>,
        secrets: Result<Proof<Secrets>, Unscannable>,
        content: Result<Proof<Content>, Unscannable>,
        within: Result<Proof<Within>, Unscannable>,
    ) -> Result<Self, Unscannable> {
        Ok(Self(Required::File {
            content: content?,
            within: within?,
            names: names?,
            rules: rules?,
            secrets: secrets?,
        }))
    }

    /// What a stream needs.
    pub(crate) fn of_stream(
        secrets: Result<Proof<Secrets>, Unscannable>,
    ) -> Result<Self, Unscannable> {
        secrets.map(|secrets| Self(Required::Stream(secrets)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_engine_that_did_not_finish_is_no_proof() {
        let rules = Proof::of(|| Err(Unscannable::EngineError));
        let proofs = Proofs::all(
            Proof::of(|| Ok(())),
            rules,
            Proof::of(|| Ok(())),
            Proof::of(|| Ok(())),
            Proof::of(|| Ok(())),
        );
        assert_eq!(proofs.err(), Some(Unscannable::EngineError));
    }
}
