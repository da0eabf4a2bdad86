//! Private servers for one test: a broker, a Redis, an S3, workers, a client; torn down when dropped.
//!
//! # Layout
//! - [`world`]: all of it together, and the verbs a test is written with
//! - [`worker`]: one `kiln worker` with a configuration of its own
//! - [`broker`], [`redis`], [`objects`], [`clamd`]: the servers it leans on
//! - [`shelf`]: a store of either kind, and what lies in it
//! - [`prometheus`]: who asks the workers, and by whose rules
//! - [`client`], [`letter`]: who submits jobs and hears the outcomes
//! - [`browser`], [`collector`]: who looks at the worker's page, and hears its traces
//! - [`process`], [`folder`], [`ports`], [`http`]: what all of them are made of
//!
//! Every server is bound to 127.0.0.1 below the ephemeral ports (a client that retries a port of that range can connect
//! to itself), has a data folder of its own, and is killed by the kernel when the test that started it dies.

pub mod broker;
pub mod browser;
pub mod clamd;
pub mod client;
pub mod collector;
pub mod folder;
pub mod http;
pub mod letter;
pub mod objects;
pub mod ports;
pub mod process;
pub mod prometheus;
pub mod redis;
pub mod shelf;
pub mod worker;
pub mod world;
