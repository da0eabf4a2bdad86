//! The door of a job with a network: how a listener on the cell's loopback gets out of the cell.
//!
//! The waiter makes it, just before it becomes the job: it is in the cell's network namespace
//! already, and a socket stays in the namespace it was made in. Whoever holds the other end of
//! `exit` accepts on it from outside; nothing of what passes there goes through the keeper. The
//! job gets no descriptor of it.

use crate::sys::{Errno, socket};
use kiln_keeper::wire::EGRESS_PORT;
use std::os::fd::{AsFd, OwnedFd};

/// Connections that wait to be accepted.
const BACKLOG: libc::c_int = 128;

/// Makes the listener and hands it out; keeps nothing.
pub(crate) fn hand_out(exit: &OwnedFd) -> Result<(), Errno> {
    let listener = socket::listen_on_loopback(EGRESS_PORT, BACKLOG)?;
    socket::send(exit.as_fd(), &[0], &[listener.as_fd()], 0)
}
