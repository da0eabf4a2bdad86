//! What an operator can see: counters, and whether the worker is alive and ready.
//!
//! # Layout
//!
//! - [`metric`]: what is counted; `names`: under which name, `counted` how; `silent`: not at all; `pool`, `process`, [`holdings`]:
//!   figures that are not told one by one
//! - [`engines`]: whether who else looks at files is there
//! - `event`: what is both logged and counted, one struct for each happening
//! - `neighbours`: how it stands with what is not asked by the worker's own loop
//! - [`readiness`]: does this worker take jobs, and is its loop alive
//! - [`recent`]: what happened in the last five minutes; [`status`]: one worker, whole, for people;
//!   [`verdict`]: what to know of it first
//! - [`wide`]: the one event that is logged of each job; `log`: how it is written
//! - [`trace`]: where the time of a job went, for a collector of OpenTelemetry
//! - [`http`]: the listener that says so; `page`: how a browser shows it

#[cfg(not(feature = "uncounted"))]
mod counted;
pub mod engines;
pub mod event;
pub mod holdings;
pub mod http;
pub(crate) mod log;
pub mod metric;
mod names;
mod neighbours;
mod page;
mod pool;
mod process;
pub mod readiness;
pub mod recent;
#[cfg(feature = "uncounted")]
mod silent;
pub mod status;
pub mod trace;
pub mod verdict;
pub mod wide;
