//! What may be said of a file that an untrusted program made.
//!
//! # Layout
//!
//! - [`scan`]: one file, and everything within it, to a [`Report`]
//! - [`scan_as`]: the same, of bytes that something else says are of a type
//! - [`members`]: the names of what an archive holds
//! - [`scan_stream`]: what a program printed, searched for secrets
//! - [`Verdict`], [`Unscannable`]: the words, and how they fold
//! - [`Finding`], [`Severity`]: one thing that was seen, and how bad it is
//! - [`Notes`], [`Part`]: what a check writes down: findings, and bytes to be looked at in turn
//! - [`Budget`], [`Limits`]: how much may be unpacked, opened and spent
//! - [`Policy`], [`Rules`]: what an operator chooses
//! - [`Kind`]: what a file is, by its content; [`MEDIA_TYPES`]: what it may be served as
//! - [`check`]: one module for each kind of content that acts, pure functions from bytes to notes
//! - `archive`, `format`: readers of containers and of data, to the last byte
//! - `proof`: what `clean` is made of
//!
//! A caller that does not scan has exactly one word to use: [`Verdict::Unscanned`].
//!
//! ```
//! use artifact_scanner::{Budget, Limits, Policy, Rules, Subject, Verdict, scan};
//!
//! let policy = Policy::standard(Rules::own());
//! let subject = Subject { name: "table.csv", bytes: b"1,2\n" };
//! let report = scan(subject, &policy, &mut Budget::new(Limits::default()));
//! assert_eq!(report.verdict(), Verdict::Clean);
//! ```

#![forbid(unsafe_code)]

mod archive;
mod budget;
mod bytes;
pub mod check;
mod content;
mod finding;
mod format;
mod kind;
mod media;
mod name;
mod notes;
mod policy;
mod proof;
mod report;
mod rules;
mod scan;
mod shown;
mod stream;
mod text;
mod verdict;

pub use archive::members;
pub use budget::{Budget, Limits};
pub use finding::{Finding, Severity};
pub use kind::Kind;
pub use media::{MEDIA_TYPES, Serve};
pub use notes::{Notes, Part};
pub use policy::{Policy, Preset, UnknownTypes};
pub use report::Report;
pub use rules::{Rules, RulesError};
pub use scan::{Subject, scan, scan_as, too_large, unscannable};
pub use stream::{Passage, scan_stream};
pub use verdict::{Limit, Unscannable, Verdict};
