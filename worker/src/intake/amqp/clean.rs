//! How is a message that somebody wrote kept from ending the connection that it comes by?
//!
//! lapin ends a connection on which a name is not UTF-8, and the broker hands such a message out
//! again on the next: one message would stop every worker for good. So what the broker says goes
//! by [`mend`], above TLS, before lapin reads it.

mod mend;

use async_rs::traits::{Executor, Reactor, RuntimeKit};
use async_rs::util::Task;
use async_rs::{Runtime, Tokio};
use futures_io::{AsyncRead, AsyncWrite};
use futures_util::Stream;
use lapin::tcp::{AMQPUriTcpExt as _, TLSConfig};
use lapin::uri::AMQPUri;
use lapin::{AsyncTcpStream, Connection, ConnectionProperties, Error};
use mend::Mender;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Bytes that are read at once.
const CHUNK: usize = 32 * 1024;

type Socket = <Tokio as Reactor>::TcpStream;

/// Connects, with TLS where the url says so. The socket comes first: lapin may miss that it was
/// refused, where that is told at once.
pub(super) async fn open(
    uri: &AMQPUri,
    properties: ConnectionProperties,
) -> Result<Connection, Error> {
    let tokio = Runtime::tokio_current();
    let socket = uri.connect_with_config_async(TLSConfig::default(), &tokio);
    let socket = Mutex::new(Some(Mended::new(socket.await?)));
    let once = async move |_, _| {
        let socket = socket.lock().unwrap_or_else(PoisonError::into_inner).take();
        let gone = || Error::from(io::Error::from(io::ErrorKind::NotConnected));
        socket.map(AsyncTcpStream::Plain).ok_or_else(gone)
    };
    let runtime = Runtime::new(Mending(Tokio::current()));
    Connection::connector(uri.clone(), runtime, once, properties).await
}

/// A connection whose incoming half is mended.
struct Mended {
    socket: AsyncTcpStream<Socket>,
    mender: Mender,
    chunk: Box<[u8]>,
}

impl std::fmt::Debug for Mended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mended").finish_non_exhaustive()
    }
}

impl Mended {
    fn new(socket: AsyncTcpStream<Socket>) -> Self {
        Self {
            socket,
            mender: Mender::default(),
            chunk: vec![0; CHUNK].into(),
        }
    }
}

impl AsyncRead for Mended {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        loop {
            let ready = this.mender.take(buffer);
            if ready > 0 || buffer.is_empty() {
                return Poll::Ready(Ok(ready));
            }
            let read = Pin::new(&mut this.socket).poll_read(context, &mut this.chunk);
            match ready!(read)? {
                // What is left of a frame that was cut is of no use to anybody.
                0 => return Poll::Ready(Ok(0)),
                n => this.mender.feed(&this.chunk[..n]),
            }
            if let Some(version) = this.mender.version() {
                tracing::info!(version, "the broker answers");
            }
        }
    }
}

impl AsyncWrite for Mended {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, buffer)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(context, buffers)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_close(context)
    }
}

/// Tokio, with connections that are mended.
#[derive(Clone, Debug)]
struct Mending(Tokio);

impl RuntimeKit for Mending {}

impl Executor for Mending {
    type Task<T: Send + 'static> = <Tokio as Executor>::Task<T>;

    fn block_on<T, F: Future<Output = T>>(&self, future: F) -> T {
        self.0.block_on(future)
    }

    fn spawn<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        future: F,
    ) -> Task<Self::Task<T>> {
        self.0.spawn(future)
    }

    fn spawn_blocking<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(
        &self,
        call: F,
    ) -> Task<Self::Task<T>> {
        self.0.spawn_blocking(call)
    }
}

impl Reactor for Mending {
    type TcpStream = Mended;
    type Sleep = <Tokio as Reactor>::Sleep;

    fn register<H: io::Read + io::Write + Send + 'static>(
        &self,
        _socket: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        // Nobody brings a socket of their own.
        Err::<Mended, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, wait: Duration) -> Self::Sleep {
        self.0.sleep(wait)
    }

    fn interval(&self, wait: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        self.0.interval(wait)
    }

    fn tcp_connect_addr(
        &self,
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::TcpStream>> + Send + 'static {
        let socket = self.0.tcp_connect_addr(address);
        async move { Ok(Mended::new(AsyncTcpStream::Plain(socket.await?))) }
    }
}
