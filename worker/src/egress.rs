//! How does a job reach a host outside, and nothing else?
//!
//! ```text
//!   cell ── 127.0.0.1:3128 ──► proxy (no privileges) ── a judged address ──► host
//!             │ the listener is made in the cell and accepted from outside
//!             └ it is the job's identity: no header says who asks
//! ```
//!
//! # Layout
//!
//! - `allow`: what a job asks for, and how far its profile lets it
//! - `target`, `address`: hosts and addresses, each in its one spelling, and which are forbidden
//! - `head`, `body`: the one parser of requests, and what is sent on in their place; `hello`: whom
//!   a tunnel's first bytes name
//! - `resolve`: names to judged addresses; `pump`: bytes, bounded
//! - `proxy`: the confined process; `wire`: what it and the worker say to each other
//! - [`client`]: the worker's side: a proxy that is there when it is needed, and again if it dies
//! - `credential`, `tls`: what is attached to a job's requests, and over what
//! - [`tally`]: what a job's outcome says of its attempts

pub(crate) mod address;
pub(crate) mod allow;
mod body;
pub mod client;
pub(crate) mod credential;
mod head;
mod hello;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod hostile;
pub(crate) mod proxy;
mod pump;
pub(crate) mod resolve;
pub mod tally;
pub(crate) mod target;
mod tls;
mod wire;
