//! One connection of a job: what it asks for is judged, and then carried or refused.
//!
//! ```text
//!   head ─► request ─► granted? ─► addresses, judged ─► connected ─► a tunnel to the host, or one request
//!     └────────┴─────────┴──────────────┴────────────────┴──► refusal, and the end
//! ```
//!
//! A connection carries one tunnel or one request: nothing of a second request can be mistaken
//! for a part of the first.

use super::Shared;
use super::lease::Lease;
use super::refusal::Refusal;
use super::tunnel::{self, Unopened};
use crate::egress::body::{self, Source};
use crate::egress::credential;
use crate::egress::head::{self, Bad, Plain, Request};
use crate::egress::pump::{self, Stop};
use crate::egress::target::{Host, Target};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use zeroize::Zeroizing;

/// A job has this long to say what it wants, however slowly it speaks.
pub(super) const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// A refused job may go on speaking for so long, so that it hears the refusal.
const LINGER: Duration = Duration::from_secs(1);
/// And for so many bytes.
const LINGER_BYTES: u64 = 256 * 1024;
/// Bytes that are read at once of a head.
const PART: usize = 4 * 1024;

/// The ports that a `Host` need not say.
const HTTP: u16 = 80;
const HTTPS: u16 = 443;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Serves one connection to its end.
pub(super) async fn serve(mut near: TcpStream, lease: Arc<Lease>, shared: Arc<Shared>) {
    let (mut request, mut rest) = match timeout(HEAD_WITHIN, hear(&mut near)).await {
        Ok(Ok(Some(request))) => request,
        Ok(Ok(None)) => return,
        Ok(Err(bad)) => return refuse(near, &lease, None, &Refusal::Bad(bad)).await,
        Err(_) => return refuse(near, &lease, None, &Refusal::TimedOut).await,
    };
    let attached = match &mut request {
        Request::Connect(_) => Ok(None),
        Request::Plain(plain) => credential::attach(&lease.credentials, plain),
    };
    let attached = match attached {
        Ok(attached) => attached,
        Err(bad) => return refuse(near, &lease, None, &Refusal::Bad(bad)).await,
    };
    let target = match &request {
        Request::Connect(target) => target,
        Request::Plain(plain) => &plain.target,
    };
    let far = match reach(target, &lease, &shared).await {
        Ok(far) => far,
        Err(refusal) => return refuse(near, &lease, Some(target), &refusal).await,
    };
    if let Request::Connect(_) = &request {
        match tunnel::open(&mut near, target, &mut rest, &shared).await {
            Ok(()) => {}
            Err(Unopened::Refused(refusal)) => {
                return refuse(near, &lease, Some(target), &refusal).await;
            }
            Err(Unopened::Stop(stop)) => {
                tracing::debug!(lease = lease.id, %target, error = crate::fault::chain(&stop), "not opened");
                return lease.allowed(target);
            }
        }
    }
    lease.allowed(target);
    let carried = match (&request, attached) {
        (Request::Connect(_), _) => tunnel::carry(&mut near, far, &rest, &lease, &shared).await,
        (Request::Plain(plain), None) => {
            let head = plain.write(HTTP, None);
            forward(&mut near, far, (plain, head), rest, &lease, &shared).await
        }
        (Request::Plain(plain), Some(credential)) => {
            let far = match secure(&shared, &plain.target, far).await {
                Ok(far) => far,
                Err(error) => {
                    let refusal = Refusal::Insecure(target, error);
                    return refuse(near, &lease, Some(target), &refusal).await;
                }
            };
            let head = plain.write(HTTPS, Some((&credential.field, credential.value.reveal())));
            forward(&mut near, far, (plain, head), rest, &lease, &shared).await
        }
    };
    if let Err(stop) = carried {
        if matches!(stop, Stop::Budget) {
            lease.refused(Some(target), &Refusal::TooManyBytes(lease.bytes));
        }
        tracing::debug!(lease = lease.id, %target, error = crate::fault::chain(&stop), "cut");
    }
}

/// Reads a request, and what came after its head.
async fn hear(near: &mut TcpStream) -> Result<Option<(Request, Vec<u8>)>, Bad> {
    let mut bytes = Vec::with_capacity(PART);
    loop {
        if let Some(end) = head::end(&bytes)? {
            let rest = bytes.split_off(end);
            return Ok(Some((head::parse(&bytes)?, rest)));
        }
        let most = head::HEAD_BYTES_MAX - bytes.len();
        let read = near.take(most as u64).read_buf(&mut bytes).await;
        // Who went before it said anything asked for nothing.
        if !read.is_ok_and(|n| n > 0) {
            return Ok(None);
        }
    }
}

/// Connects to a target, if the job may.
async fn reach<'a>(
    target: &'a Target,
    lease: &'a Lease,
    shared: &Shared,
) -> Result<TcpStream, Refusal<'a>> {
    if !lease.grant.allows(target) {
        return Err(Refusal::NotListed(target, &lease.grant));
    }
    if lease.budget.is_spent() {
        return Err(Refusal::TooManyBytes(lease.bytes));
    }
    let addresses = lease
        .addresses(shared, &target.host)
        .await
        .map_err(|unfit| Refusal::Unfit(target, unfit))?;
    match connect(&addresses, target.port, shared.connect).await {
        Ok(far) => Ok(far),
        Err(error) => {
            tracing::debug!(%target, %error, "not reached");
            lease.unpin(&target.host);
            Err(Refusal::Unreachable(target))
        }
    }
}

/// Connects to the first address that answers; all of them together have `within`.
async fn connect(addresses: &[IpAddr], port: u16, within: Duration) -> io::Result<TcpStream> {
    let each = within / u32::try_from(addresses.len().max(1)).unwrap_or(1);
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses {
        let address = SocketAddr::new(*address, port);
        match timeout(each, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

/// Speaks TLS to a host that has shown that it is the target.
async fn secure(
    shared: &Shared,
    target: &Target,
    far: TcpStream,
) -> io::Result<TlsStream<TcpStream>> {
    let (Some(tls), Host::Name(name)) = (&shared.tls, &target.host) else {
        return Err(io::ErrorKind::Unsupported.into());
    };
    timeout(shared.connect, tls.connect(name, far))
        .await
        .map_err(|_| io::ErrorKind::TimedOut)?
}

/// Sends one request on, written anew, and carries the response back.
async fn forward<F>(
    near: &mut TcpStream,
    far: F,
    (plain, head): (&Plain, Vec<u8>),
    rest: Vec<u8>,
    lease: &Lease,
    shared: &Shared,
) -> Result<(), Stop>
where
    F: AsyncRead + AsyncWrite + Unpin,
{
    near.set_nodelay(true)?;
    let head = Zeroizing::new(head);
    let (mut near_read, mut near_write) = near.split();
    let (mut far_read, mut far_write) = tokio::io::split(far);
    if plain.expects && rest.is_empty() {
        pump::write(&mut near_write, CONTINUE, shared.idle).await?;
    }
    let send = async {
        lease.budget.take(head.len())?;
        pump::write(&mut far_write, &head, shared.idle).await?;
        let mut source = Source::new(&mut near_read, rest, shared.idle);
        body::carry(plain.body, &mut source, &mut far_write, &lease.budget).await?;
        Ok(far_write.flush().await?)
    };
    let receive = pump::one_way(&mut far_read, &mut near_write, &lease.budget, shared.idle);
    tokio::pin!(send, receive);
    let mut whole = false;
    loop {
        tokio::select! {
            received = &mut receive => return received,
            done = &mut send, if !whole => match done {
                // A host that stops reading may have answered already.
                Ok(()) | Err(Stop::Io(_)) => whole = true,
                Err(stop) => return Err(stop),
            },
        }
    }
}

/// Tells the job no, and the worker of it.
async fn refuse(near: TcpStream, lease: &Lease, target: Option<&Target>, refusal: &Refusal<'_>) {
    lease.refused(target, refusal);
    turn_away(near, refusal.response()).await;
}

/// Sends a response and ends, once the job has heard it: a socket that is closed with bytes
/// unread takes back what it has sent.
pub(super) async fn turn_away(mut near: TcpStream, response: Vec<u8>) {
    let told = timeout(LINGER, async {
        near.write_all(&response).await?;
        near.shutdown().await?;
        tokio::io::copy(&mut near.take(LINGER_BYTES), &mut tokio::io::sink()).await
    });
    if !matches!(told.await, Ok(Ok(_))) {
        tracing::trace!("a refusal was not heard out");
    }
}
