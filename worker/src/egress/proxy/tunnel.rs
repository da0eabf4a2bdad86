//! A job's tunnel: opened when its first words are for the host that it was granted, then carried.
//!
//! ```text
//!   established ─► first words ─► TLS, and names the host? ─► carried both ways
//!                                  └─► cut: the host has heard nothing
//! ```

use super::lease::Lease;
use super::refusal::Refusal;
use super::{Shared, connection};
use crate::egress::hello;
use crate::egress::pump::{self, Stop};
use crate::egress::target::{Host, Target};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Says that there is a tunnel, and waits for the words that show whom it is for; they are added
/// to what was `said`. Nothing is waited for where anything may be said.
pub(super) async fn open<'a>(
    near: &mut TcpStream,
    target: &'a Target,
    said: &mut Vec<u8>,
    shared: &Shared,
) -> Result<(), Unopened<'a>> {
    near.set_nodelay(true).map_err(Stop::Io)?;
    pump::write(near, ESTABLISHED, shared.idle).await?;
    let Host::Name(name) = &target.host else {
        // An address is granted with all that it serves.
        return Ok(());
    };
    if shared.plain_tunnels.iter().any(|own| own.covers(target)) {
        return Ok(());
    }
    match timeout(connection::HEAD_WITHIN, hear(near, name, said)).await {
        Ok(heard) => heard.map_err(|unopened| match unopened {
            Heard::Stop(stop) => Unopened::Stop(stop),
            Heard::Unlike(unlike) => Unopened::Refused(Refusal::Misnamed(target, unlike)),
        }),
        Err(_) => Err(Unopened::Refused(Refusal::TimedOut)),
    }
}

/// Why nothing is carried.
pub(super) enum Unopened<'a> {
    Refused(Refusal<'a>),
    Stop(Stop),
}

impl From<Stop> for Unopened<'_> {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

enum Heard {
    Unlike(hello::Unlike),
    Stop(Stop),
}

/// Reads until what was said begins TLS for the name.
async fn hear(near: &mut TcpStream, name: &str, said: &mut Vec<u8>) -> Result<(), Heard> {
    while hello::names(said, name).map_err(Heard::Unlike)?.is_none() {
        let most = hello::SAID_BYTES_MAX.saturating_sub(said.len()).max(1);
        let read = near.take(most as u64).read_buf(said).await;
        if read.map_err(|error| Heard::Stop(error.into()))? == 0 {
            return Err(Heard::Stop(Stop::Silent));
        }
    }
    Ok(())
}

/// Carries whatever is said both ways.
pub(super) async fn carry(
    near: &mut TcpStream,
    mut far: TcpStream,
    said: &[u8],
    lease: &Lease,
    shared: &Shared,
) -> Result<(), Stop> {
    lease.budget.take(said.len())?;
    pump::write(&mut far, said, shared.idle).await?;
    pump::both_ways(near, &mut far, &lease.budget, shared.idle).await
}
