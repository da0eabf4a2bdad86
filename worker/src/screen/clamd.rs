//! What does a clamd say of a file, beside our own scanner?
//!
//! Only the exact answer `stream: OK` is none against it. `FOUND` is malicious; everything else (a
//! limit, an error, nonsense, silence, nobody there) is a check that did not finish.

use super::word::Word;
use crate::config::ClamdAddress;
use crate::execute::memfd;
use artifact_scanner::Unscannable;
use kiln_protocol::outcome::Finding;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

/// One file takes this long at most, the way to clamd included.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Bytes of an answer at most.
const ANSWER_BYTES_MAX: u64 = 4 << 10;
const CHUNK: usize = 64 << 10;

/// A clamd, which may be away.
#[derive(Clone, Debug)]
pub struct Clamd {
    address: ClamdAddress,
    wait: Duration,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClamdError {
    #[error("connect to clamd at `{0}`")]
    Connect(ClamdAddress, #[source] io::Error),
    #[error("speak to clamd")]
    Speak(#[source] io::Error),
    #[error("read the file for clamd")]
    Read(#[source] io::Error),
    #[error("hear from clamd within {} s", .0.as_secs())]
    Late(Duration),
    #[error("understand clamd: `{0}`")]
    Nonsense(String),
}

/// What it says of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Ok,
    /// By this name.
    Found(String),
}

impl Clamd {
    #[must_use]
    pub fn new(address: ClamdAddress) -> Self {
        Self {
            address,
            wait: ANSWER_MAX,
        }
    }

    /// One that is waited for so long.
    #[must_use]
    pub(super) fn within(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Its word on a file; one that changes nothing where it has nothing against it.
    pub(crate) async fn word(&self, file: &File, bytes: u64) -> Option<Word> {
        let finding = |rule: &str, severity: &str, message| Finding {
            rule: rule.to_owned(),
            severity: severity.to_owned(),
            place: None,
            message,
        };
        match self.scan(file, bytes).await {
            Ok(Answer::Ok) => None,
            Ok(Answer::Found(name)) => {
                let message = format!("clamd knows it as `{name}`");
                Some(Word::found(finding("clamd.found", "malicious", message)))
            }
            Err(error) => {
                let reason = match error {
                    ClamdError::Late(_) => Unscannable::Timeout,
                    _ => Unscannable::EngineError,
                };
                let why = crate::fault::chain(&error);
                tracing::warn!(error = why, "clamd gives no verdict");
                let message = format!("clamd gave no verdict: failed to {}", printable(&why));
                let failed = finding("clamd.failed", "info", message);
                Some(Word::unscannable(reason).with(failed))
            }
        }
    }

    /// Asks about a file.
    pub async fn scan(&self, file: &File, bytes: u64) -> Result<Answer, ClamdError> {
        let answer = self.ask(Question::Scan(file, bytes)).await?;
        understood(&answer)
    }

    /// Asks about bytes.
    pub async fn says(&self, bytes: &[u8]) -> Result<Answer, ClamdError> {
        let file = memfd::sealed("clamd", bytes).map_err(ClamdError::Read)?;
        self.scan(&File::from(file), bytes.len() as u64).await
    }

    /// What it says of itself: its version, and that and the date of its database.
    pub async fn version(&self) -> Result<String, ClamdError> {
        let answer = self.ask(Question::Version).await?;
        let text = answer.trim_end_matches('\0').to_owned();
        if text.starts_with("ClamAV ") {
            Ok(text)
        } else {
            Err(ClamdError::Nonsense(printable(&text)))
        }
    }

    async fn ask(&self, question: Question<'_>) -> Result<String, ClamdError> {
        let asked = async {
            let away = |error| ClamdError::Connect(self.address.clone(), error);
            match &self.address {
                ClamdAddress::Unix(path) => {
                    let socket = UnixStream::connect(path).await.map_err(away)?;
                    question.put(socket).await
                }
                ClamdAddress::Tcp(address) => {
                    let socket = TcpStream::connect(address).await.map_err(away)?;
                    question.put(socket).await
                }
            }
        };
        let answered = tokio::time::timeout(self.wait, asked).await;
        answered.map_err(|_| ClamdError::Late(self.wait))?
    }
}

enum Question<'a> {
    Version,
    Scan(&'a File, u64),
}

impl Question<'_> {
    async fn put(
        &self,
        mut socket: impl AsyncRead + AsyncWrite + Unpin,
    ) -> Result<String, ClamdError> {
        let sent = match self {
            Self::Version => socket
                .write_all(b"zVERSION\0")
                .await
                .map_err(ClamdError::Speak),
            Self::Scan(file, bytes) => stream(&mut socket, file, *bytes).await,
        };
        let mut answer = Vec::new();
        let heard = socket
            .take(ANSWER_BYTES_MAX)
            .read_to_end(&mut answer)
            .await
            .map_err(ClamdError::Speak);
        // One that has heard enough says why, and closes: of a file that it has not seen whole no
        // answer counts, but the reason is worth telling.
        if let Err(error) = sent.and(heard.map(drop)) {
            if matches!(error, ClamdError::Speak(_)) && !answer.is_empty() {
                let said = printable(&String::from_utf8_lossy(&answer));
                return Err(ClamdError::Nonsense(said));
            }
            return Err(error);
        }
        String::from_utf8(answer).map_err(|error| {
            ClamdError::Nonsense(printable(&String::from_utf8_lossy(error.as_bytes())))
        })
    }
}

/// Sends exactly the bytes of a file.
async fn stream(
    socket: &mut (impl AsyncWrite + Unpin),
    file: &File,
    bytes: u64,
) -> Result<(), ClamdError> {
    socket
        .write_all(b"zINSTREAM\0")
        .await
        .map_err(ClamdError::Speak)?;
    let mut buffer = vec![0; CHUNK + 4];
    let mut at = 0;
    while at < bytes {
        let most = CHUNK.min(usize::try_from(bytes - at).unwrap_or(CHUNK));
        let n = match rustix::io::pread(file, &mut buffer[4..4 + most], at) {
            Ok(0) => return Err(ClamdError::Read(io::ErrorKind::UnexpectedEof.into())),
            Ok(n) => n,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(ClamdError::Read(error.into())),
        };
        let length = u32::try_from(n).expect("a chunk is far shorter");
        buffer[..4].copy_from_slice(&length.to_be_bytes());
        socket
            .write_all(&buffer[..4 + n])
            .await
            .map_err(ClamdError::Speak)?;
        at += n as u64;
    }
    socket.write_all(&[0; 4]).await.map_err(ClamdError::Speak)?;
    socket.flush().await.map_err(ClamdError::Speak)
}

/// An answer, to the letter: half of one is none.
fn understood(answer: &str) -> Result<Answer, ClamdError> {
    let nonsense = || ClamdError::Nonsense(printable(answer));
    let line = answer.strip_suffix('\0').ok_or_else(nonsense)?;
    if line == "stream: OK" {
        return Ok(Answer::Ok);
    }
    let name = line
        .strip_prefix("stream: ")
        .and_then(|rest| rest.strip_suffix(" FOUND"))
        .filter(|name| !name.is_empty() && !name.contains('\0'))
        .ok_or_else(nonsense)?;
    Ok(Answer::Found(printable(name)))
}

fn printable(text: &str) -> String {
    let text = text.trim_end_matches('\0').chars().take(200);
    text.map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
#[path = "clamd/tests.rs"]
mod tests;
