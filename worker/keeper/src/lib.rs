//! What the keeper, the warden and the worker say to each other, and nothing else.
//!
//! The keeper itself is the program in `main.rs`; this library is its wire format, without
//! IO and without `unsafe`, so that both ends of every socket use one definition.

#![forbid(unsafe_code)]

pub mod calls;
pub mod collect;
pub mod guard;
pub mod spec;
pub mod stage;
pub mod step;
pub mod wire;
