//! The contract between Kiln and its clients: what a job is, what an outcome is, and what is refused.
//!
//! Nothing here reads a file, opens a socket or holds a policy: limits and profiles are handed in
//! by whoever admits jobs, and the answer is a value.
//!
//! # Layout
//!
//! * [`job`], [`outcome`], [`limits`], [`id`], [`units`]: the words of the contract.
//! * [`decode`](decode()): a message becomes a [`Job`], or a [`Rejection`] that says where and why.
//! * [`admission`]: what whoever admits jobs must know for that.
//! * [`refusal`]: one thing that is wrong with a job.
//! * [`preview`](preview()), [`glob`], [`digest`]: the three computations that the contract defines.
//! * [`topology`], [`control`]: exchanges and queues, and what is said on the control exchange.
//! * [`schema`], [`asyncapi`]: the JSON Schemas and the `AsyncAPI` document, made from all of these.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod admission;
mod artifact;
pub mod asyncapi;
pub mod control;
pub mod decode;
pub mod digest;
mod document;
mod fields;
pub mod glob;
pub mod id;
pub mod job;
mod json;
pub mod limits;
pub mod outcome;
mod paths;
mod pointer;
pub mod preview;
mod reason;
pub mod refusal;
mod rejection;
pub mod schema;
mod suggest;
pub mod topology;
pub mod units;

pub use admission::{Admission, IdRule, ProfileSource, ProfileView, TenantRule};
pub use decode::{Accepted, decode};
pub use id::{JobId, Tenant};
pub use job::{Class, Content, InputFile, Isolation, JOB_SCHEMA, Job, Payload};
pub use limits::{LimitName, LimitRange, LimitRequest, LimitTable, LimitUnit, Limits};
pub use outcome::{
    ArtifactReport, ArtifactState, Fault, Finding, OUTCOME_SCHEMA, Outcome, Reason, SandboxReport,
    Serve, SkipReason, Skipped, Start, Status, StreamReport, TimingUs, Usage, Verdict, Warning,
};
pub use preview::preview;
pub use refusal::{Refusal, RefusalReason};
pub use rejection::Rejection;
