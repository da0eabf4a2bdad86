//! What each kind of content is searched for: pure functions from bytes to [`Notes`].
//!
//! A check looks at one view: the file itself, a member of an archive, or a [`Part`] that another
//! check dug out. It charges the [`Budget`] as it goes, writes findings and parts into the notes
//! (places are relative to the view), and returns `Err` where it could not finish: what it noted
//! before stands. Text checks get text that was decoded (BOM, UTF-16, Latin-1) for them.
//!
//! [`Notes`]: crate::Notes
//! [`Part`]: crate::Part
//! [`Budget`]: crate::Budget

pub mod csv;
mod decode;
#[cfg(test)]
mod hostile;
pub mod html;
pub mod loaders;
pub mod mail;
pub mod markdown;
mod markup;
pub mod notebook;
pub mod office;
pub mod pdf;
pub mod pickle;
pub(crate) mod rtf;
mod script;
pub mod secrets;
pub(crate) mod share;
pub(crate) mod startup;
pub mod svg;
pub(crate) mod terminal;
pub mod xml;
