//! The system from outside: runs the built `kiln` program and judges what it answers and what it leaves behind.
//!
//! # Layout
//! - [`kiln`]: one program through `kiln run`, and what came of it
//! - [`batch`]: many jobs through one `kiln batch`, sent and awaited one by one
//! - [`check`]: `check(program, limits, expect)`, one call a test
//! - [`outside`]: what jobs may reach or not: a name server and sites of our own
//! - [`leftovers`]: what of Kiln is on this machine now, and whether two looks agree
//! - [`gate`]: what an outcome must say of a job that makes all that may leave and all that may not
//! - [`hostile`]: the hostile probes, by the index, with their verdicts
//! - [`programs`]: 164 small programs with their own assertions
//! - [`stack`]: private servers for the queue worker, and a client of it
//! - [`faults`], [`seed`], [`history`]: what can befall them, when, and whether every promise was kept
//! - [`places`]: where the cases, the probes and the program are
//!
//! Nothing here knows Kiln's code: all is taken from its command line and its outcome.

pub mod batch;
pub mod check;
pub mod dashboards;
pub mod drill;
pub mod faults;
pub mod gate;
pub mod history;
pub mod hostile;
pub mod kiln;
pub mod leftovers;
pub mod marker;
pub mod outside;
pub mod places;
pub mod programs;
pub mod seed;
pub mod stack;
pub mod tally;
pub mod tmpfs;
