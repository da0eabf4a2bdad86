//! The warden from outside: a test plays the worker. Needs root.

mod confine;
mod death;
mod dirty;
mod inherited;
mod life;
mod limits;
mod pace;
mod quotas;
mod sandbox;
mod traps;
mod worker;
