//! Kiln runs code that nobody reviewed, as jobs, in sandboxes that are already warm.
//!
//! # Layout
//!
//! - [`pipeline`]: the life of one job, one line per step. Read it first
//! - [`engine`]: the parts put together for one process: warden, pool, store
//! - [`pool`]: warm sandboxes per profile, and the pure rule of their phases
//! - [`sandbox`]: what may be done to a sandbox, by the state it is in
//! - [`execute`]: inputs in, the program started, its streams read, its end seen
//! - [`egress`]: the way out of a job that may reach a host, and who guards it
//! - [`collect`]: what the job made, taken out by descriptor and copied once
//! - [`screen`]: the gate between the sandbox and the store
//! - [`store`]: where outcomes, logs and artifacts are kept
//! - [`intake`]: messages of the broker, each with the duty to answer it once; whose turn it is
//! - [`secrets`]: what jobs may refer to, and what that stands for
//! - [`service`]: the queue worker: what a message means, and how it is answered
//! - [`isolation`]: whether the posture holds here, as tried by real jobs
//! - [`journal`]: which jobs run here, for whoever comes after a crash
//! - [`registry`]: the record of all sandboxes and workers in Redis
//! - [`telemetry`]: metrics, and whether the worker is alive and ready
//! - [`config`]: what the configuration says
//! - [`stages`]: when each stage of a job began and ended
//! - [`report`]: the one place where a job's fate is decided and put into words
//! - [`cli`]: the command line, and what the exit codes say

mod backoff;
pub mod checkpoint;
pub mod cli;
pub mod collect;
pub mod config;
pub mod egress;
pub mod engine;
pub mod execute;
pub mod fault;
mod heavy;
#[cfg(any(test, feature = "fuzzing"))]
pub mod hostile_bytes;
pub mod intake;
pub mod isolation;
pub mod journal;
pub mod pipeline;
mod plain;
pub mod pool;
pub mod registry;
pub mod report;
pub mod sandbox;
pub mod screen;
pub mod secrets;
pub mod service;
pub mod stages;
pub mod store;
pub mod telemetry;
mod tls;
mod unserved;
