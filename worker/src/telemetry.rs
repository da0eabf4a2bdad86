//! What an operator can see: counters, and whether the worker is alive and ready.
//!
//! # Layout
//!
//! - [`metric`]: what is counted; `names`: under which name; `pool`, `process`: figures that are
//!   not told one by one
//! - [`readiness`]: does this worker take jobs, and is its loop alive
//! - [`http`]: the listener that says so

pub mod http;
pub mod metric;
mod names;
mod pool;
mod process;
pub mod readiness;
