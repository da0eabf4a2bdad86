//! How are artifacts shown so that nothing in them can act on anybody? A server to copy from.
//!
//! ```text
//! cargo run -p kiln --example serve -- STORE [LISTEN [APPLICATION]]
//! GET /<job id>/<path>       as the outcome's `serve` says
//! GET /<job id>/<path>?raw   the same file, for the frame of its own page
//! ```
//!
//! STORE is the folder of a `file://` store, or that of one `kiln run`. LISTEN is `127.0.0.1:8411`
//! where it is left out, and belongs to an origin on which nothing else is. APPLICATION is the
//! origin that may show artifacts in frames. Nothing but outcomes and `artifacts/` is ever opened.
//!
//! Before this goes to the network it wants TLS, and a look at who asks: whoever knows the id of a
//! job sees what it made.

mod heads;
mod shelf;

use heads::Heads;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use kiln_protocol::outcome::Serve;
use shelf::{Found, Missing, Shelf};
use std::convert::Infallible;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// How long whoever asks may take to say what for.
const HEAD_MAX: Duration = Duration::from_secs(5);
/// The same, and to take the answer.
const WHOLE_MAX: Duration = Duration::from_mins(5);

type Answer = Response<Full<Bytes>>;

struct Server {
    shelf: Shelf,
    heads: Heads,
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(store) = args.next() else {
        return complain("usage: serve STORE [LISTEN [APPLICATION]]", 2);
    };
    let listen = args.next().unwrap_or_else(|| "127.0.0.1:8411".to_owned());
    let heads = match Heads::new(args.next().as_deref()) {
        Ok(heads) => heads,
        Err(why) => return complain(&why, 2),
    };
    let shelf = match Shelf::open(&store) {
        Ok(shelf) => shelf,
        Err(error) => return complain(&format!("failed to open `{store}`: {error}"), 69),
    };
    let served = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(serve(&listen, Server { shelf, heads })));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&format!("failed to listen on `{listen}`: {error}"), 69),
    }
}

fn complain(line: &str, code: u8) -> ExitCode {
    writeln!(io::stderr(), "{line}").map_or(ExitCode::from(70), |()| ExitCode::from(code))
}

async fn serve(listen: &str, server: Server) -> io::Result<()> {
    let listener = TcpListener::bind(listen).await?;
    writeln!(io::stdout(), "http://{}/", listener.local_addr()?)?;
    let server = Arc::new(server);
    loop {
        let (stream, _) = listener.accept().await?;
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let server = Arc::clone(&server);
                // A disk may let us wait, and others must not wait with us.
                let answered = tokio::task::spawn_blocking(move || server.answer(&request));
                async move {
                    let failed = |_| heads::plain(StatusCode::INTERNAL_SERVER_ERROR, "it broke\n");
                    Ok::<_, Infallible>(answered.await.unwrap_or_else(failed))
                }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_MAX)
                .serve_connection(TokioIo::new(stream), service);
            // Whoever goes away, or takes too long, is not waited for.
            drop(tokio::time::timeout(WHOLE_MAX, connection).await);
        });
    }
}

impl Server {
    fn answer(&self, request: &Request<Incoming>) -> Answer {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return heads::plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        }
        let Some((id, path)) = heads::asked(request.uri().path()) else {
            return heads::plain(StatusCode::NOT_FOUND, "ask for /<job id>/<path>\n");
        };
        let found = match self.shelf.find(&id, &path) {
            Ok(found) => found,
            Err(Missing::Unknown) => {
                return heads::plain(StatusCode::NOT_FOUND, "there is no such artifact\n");
            }
            Err(Missing::TakenBack) => {
                return heads::plain(StatusCode::GONE, "it was taken back\n");
            }
            Err(Missing::Broken(why)) => {
                return heads::plain(StatusCode::INTERNAL_SERVER_ERROR, why);
            }
        };
        let Found { artifact, bytes } = found;
        let dest = request.headers().get("sec-fetch-dest");
        let dest = dest.and_then(|it| it.to_str().ok());
        let raw = request.uri().query() == Some("raw");
        match artifact.serve {
            // It may move by itself, so it is shown in a frame that leads nowhere, and its scripts,
            // where they are allowed, run there alone.
            Some(Serve::Sandbox) => match (raw, dest) {
                (true, Some("iframe")) => self.heads.framed(&artifact, bytes),
                (false, Some("document" | "iframe")) => self.heads.page(&id, &path),
                _ => self.heads.quiet(&artifact, bytes),
            },
            Some(Serve::Inline) => self.heads.quiet(&artifact, bytes),
            Some(Serve::Attachment) | None => self.heads.saved(&artifact, bytes),
        }
    }
}
