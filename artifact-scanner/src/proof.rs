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
pub(crate) struct Proofs {
    _names: Proof<Names>,
    _rules: Proof<Rules>,
    _secrets: Proof<Secrets>,
    _content: Proof<Content>,
    _within: Proof<Within>,
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
        Ok(Self {
            _content: content?,
            _within: within?,
            _names: names?,
            _rules: rules?,
            _secrets: secrets?,
        })
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
