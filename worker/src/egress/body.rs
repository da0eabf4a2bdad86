//! How is the body of a request carried, in the one framing that was announced?
//!
//! A chunked body is read and framed anew, so that what the host reads is what was read here:
//! chunk extensions are refused, trailers are dropped.

use super::head::Body;
use super::pump::{self, Budget, Stop};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// Bytes of the line of a chunk's size at most.
const SIZE_LINE_MAX: usize = 18;
/// Bytes of all trailers at most.
const TRAILERS_MAX: usize = 8 * 1024;
/// Bytes that are carried at once.
const PART: usize = 16 * 1024;

/// What is read of the job, first what came with the head.
pub(crate) struct Source<'a, R> {
    from: &'a mut R,
    buffer: Vec<u8>,
    idle: Duration,
}

impl<'a, R: AsyncRead + Unpin> Source<'a, R> {
    pub(crate) fn new(from: &'a mut R, already: Vec<u8>, idle: Duration) -> Self {
        Self {
            from,
            buffer: already,
            idle,
        }
    }

    async fn more(&mut self) -> Result<(), Stop> {
        let mut part = vec![0; PART];
        match pump::read(self.from, &mut part, self.idle).await? {
            0 => Err(Stop::Body("it ends too early")),
            n => {
                self.buffer.extend_from_slice(&part[..n]);
                Ok(())
            }
        }
    }

    /// At most so many bytes, and at least one.
    async fn some(&mut self, most: u64) -> Result<Vec<u8>, Stop> {
        if self.buffer.is_empty() {
            self.more().await?;
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let rest = self.buffer.split_off(most.min(self.buffer.len()));
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    /// A line without its end, of at most so many bytes.
    async fn line(&mut self, most: usize) -> Result<Vec<u8>, Stop> {
        loop {
            if let Some(at) = self.buffer.iter().position(|b| *b == b'\n') {
                let rest = self.buffer.split_off(at + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.truncate(at);
                return match line.pop() {
                    Some(b'\r') if line.len() <= most && !line.contains(&b'\r') => Ok(line),
                    _ => Err(Stop::Body("a line of it is not one")),
                };
            }
            if self.buffer.len() > most + 2 {
                return Err(Stop::Body("a line of it is too long"));
            }
            self.more().await?;
        }
    }
}

/// Carries a body to its end.
pub(crate) async fn carry<R, W>(
    body: Body,
    source: &mut Source<'_, R>,
    to: &mut W,
    budget: &Budget,
) -> Result<(), Stop>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    match body {
        Body::Length(length) => exactly(length, source, to, budget).await,
        Body::Chunked => chunks(source, to, budget).await,
    }
}

async fn exactly<R, W>(
    mut left: u64,
    source: &mut Source<'_, R>,
    to: &mut W,
    budget: &Budget,
) -> Result<(), Stop>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    while left > 0 {
        let part = source.some(left).await?;
        budget.take(part.len())?;
        pump::write(to, &part, source.idle).await?;
        left -= part.len() as u64;
    }
    Ok(())
}

async fn chunks<R, W>(source: &mut Source<'_, R>, to: &mut W, budget: &Budget) -> Result<(), Stop>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    loop {
        let size = size(&source.line(SIZE_LINE_MAX).await?)?;
        if size == 0 {
            break;
        }
        let head = format!("{size:x}\r\n");
        budget.take(head.len() + 2)?;
        pump::write(to, head.as_bytes(), source.idle).await?;
        exactly(size, source, to, budget).await?;
        if !source.line(0).await?.is_empty() {
            return Err(Stop::Body("a chunk of it is longer than it says"));
        }
        pump::write(to, b"\r\n", source.idle).await?;
    }
    let mut trailers = 0;
    loop {
        let line = source.line(TRAILERS_MAX).await?;
        trailers += line.len() + 2;
        if trailers > TRAILERS_MAX {
            return Err(Stop::Body("its trailers are too long"));
        }
        if line.is_empty() {
            return pump::write(to, b"0\r\n\r\n", source.idle).await;
        }
    }
}

/// The size of a chunk: hexadecimal digits and nothing else.
fn size(line: &[u8]) -> Result<u64, Stop> {
    let plain = (1..=15).contains(&line.len()) && line.iter().all(u8::is_ascii_hexdigit);
    std::str::from_utf8(line)
        .ok()
        .filter(|_| plain)
        .and_then(|text| u64::from_str_radix(text, 16).ok())
        .ok_or(Stop::Body("the size of a chunk is not one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn carried(body: Body, already: usize, text: &str) -> Result<(String, String), Stop> {
        let (first, mut rest) = text.as_bytes().split_at(already.min(text.len()));
        let idle = Duration::from_secs(5);
        let mut source = Source::new(&mut rest, first.to_vec(), idle);
        let mut to = Vec::new();
        carry(body, &mut source, &mut to, &Budget::new(1000)).await?;
        let left = String::from_utf8(source.buffer).expect("text");
        Ok((String::from_utf8(to).expect("text"), left))
    }

    #[tokio::test]
    async fn a_body_is_framed_anew() {
        for already in [0, 1, 5, 100] {
            let length = carried(Body::Length(3), already, "abc")
                .await
                .expect("whole");
            assert_eq!(length.0, "abc");
            let text = "3\r\nabc\r\n0a\r\n0123456789\r\n0\r\nX: trailer\r\n\r\n";
            let chunked = carried(Body::Chunked, already, text).await.expect("whole");
            assert_eq!(chunked.0, "3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n");
        }
        let (sent, left) = carried(Body::Length(3), 100, "abcGET / HTTP/1.1")
            .await
            .expect("whole");
        assert_eq!((sent.as_str(), left.as_str()), ("abc", "GET / HTTP/1.1"));
    }

    #[tokio::test]
    async fn what_could_be_read_in_two_ways_is_refused() {
        for text in [
            "3\nabc\r\n0\r\n\r\n",
            "3\r\nabc\n0\r\n\r\n",
            "3\r\nabcd\r\n0\r\n\r\n",
            "3\r\nab\r\n0\r\n\r\n",
            "3;x=1\r\nabc\r\n0\r\n\r\n",
            "3 \r\nabc\r\n0\r\n\r\n",
            " 3\r\nabc\r\n0\r\n\r\n",
            "+3\r\nabc\r\n0\r\n\r\n",
            "-1\r\nabc\r\n0\r\n\r\n",
            "0x3\r\nabc\r\n0\r\n\r\n",
            "\r\nabc\r\n0\r\n\r\n",
            "10000000000000003\r\nabc\r\n0\r\n\r\n",
            "3\r\r\nabc\r\n0\r\n\r\n",
            "3\r\nabc\r\n0\r\nX: y\n\r\n",
            "3\r\nabc\r\n0\r\n",
            "3\r\nabc",
            "ff\r\nabc\r\n",
        ] {
            assert!(carried(Body::Chunked, 0, text).await.is_err(), "{text:?}");
        }
        assert!(carried(Body::Length(4), 0, "abc").await.is_err());
        let long = format!("0\r\n{}\r\n", "X: y\r\n".repeat(2000));
        assert!(carried(Body::Chunked, 0, &long).await.is_err());
        let spent = carried(Body::Length(1001), 0, &"a".repeat(1001)).await;
        assert!(matches!(spent, Err(Stop::Budget)));
    }
}
