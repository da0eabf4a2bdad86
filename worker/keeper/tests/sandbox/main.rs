//! One keeper in a sandbox, from outside: the test is its warden and its worker.
//!
//! Needs root, and cgroup v1 hierarchies beside a v2 tree (a hybrid host). Without them every test
//! fails. `KILN_TEST_KEEPER` names another build of the keeper to test.

mod egress;
mod endings;
mod files;
mod filters;
mod harness;
mod measure;
mod posture;
mod sys;
