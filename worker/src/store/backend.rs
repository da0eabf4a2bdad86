//! What a store can do, be it a folder of this machine or S3.
//!
//! Whatever waits for a disk runs on a thread that may wait.

use super::files::Files;
use super::objects::Objects;
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::SystemTime;

/// Where everything lies.
#[derive(Clone, Debug)]
pub(super) enum Backend {
    Files(Arc<Files>),
    Objects(Objects),
}

/// Whether something may be there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Create,
    Replace,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    Made,
    /// Something was there, and is still.
    Exists,
}

/// When a write to a folder is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durable {
    /// When it is answered.
    Now,
    /// Its bytes when it is answered, its name when its folders are synced.
    Content,
    /// When somebody syncs it, or when the kernel likes.
    Later,
}

/// Something in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) modified: SystemTime,
}

/// Why the store did not do something.
#[derive(Debug, thiserror::Error)]
pub(super) enum BackendError {
    #[error(transparent)]
    Files(#[from] io::Error),
    /// Each error of the client tells its sources itself, so it is one here.
    #[error("{}", told_once(.0))]
    Objects(object_store::Error),
    #[error("the bucket is not there")]
    NoBucket,
    /// What was to be written cannot be read, or what was read not be written here.
    #[error("use a file of our own")]
    Local(#[source] io::Error),
    /// There is something of that name, but nothing that can be read as an object.
    #[error("it is no file, or its name is none")]
    NoFile,
    #[error("it is larger than {bytes_max} bytes")]
    TooLarge { bytes_max: u64 },
}

/// Where a download goes: a file, with its digest and what it may still take.
pub(super) struct Sink {
    file: File,
    hash: Sha256,
    bytes_max: u64,
    bytes: u64,
}

/// What a client's error says, with its deepest source where that is not in it.
fn told_once(error: &object_store::Error) -> String {
    let said = error.to_string();
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let deepest = deepest.to_string();
    if said.contains(&deepest) {
        said
    } else {
        format!("{said}: {deepest}")
    }
}

impl Sink {
    pub(super) fn new(file: File, bytes_max: u64) -> Self {
        Self {
            file,
            hash: Sha256::new(),
            bytes_max,
            bytes: 0,
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), BackendError> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        if self.bytes > self.bytes_max {
            let bytes_max = self.bytes_max;
            return Err(BackendError::TooLarge { bytes_max });
        }
        self.hash.update(bytes);
        self.file.write_all(bytes).map_err(BackendError::Local)
    }

    pub(super) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// The file, and the digest of what is in it.
    pub(super) fn end(self) -> (File, String) {
        let sha256 = kiln_protocol::digest::hex(&self.hash.finalize());
        (self.file, sha256)
    }
}

impl Backend {
    /// Writes a document.
    pub(super) async fn put(
        &self,
        key: &str,
        document: Arc<[u8]>,
        rule: Rule,
        durable: Durable,
    ) -> Result<Put, BackendError> {
        match self {
            Self::Objects(objects) => objects.put(key, &document, rule).await,
            Self::Files(files) => {
                let (files, key) = (Arc::clone(files), key.to_owned());
                let write = move |to: &mut File| to.write_all(&document);
                blocking(move || Ok(files.put(&key, write, rule, durable)?)).await
            }
        }
    }

    /// Writes a new document to be durable later, and reads another: for a folder one way to a
    /// thread that may wait, and back.
    pub(super) async fn put_and_get(
        &self,
        key: &str,
        document: Arc<[u8]>,
        (other, bytes_max): (&str, u64),
    ) -> Result<(Put, Option<Vec<u8>>), BackendError> {
        match self {
            Self::Objects(objects) => {
                let put = objects.put(key, &document, Rule::Create);
                tokio::try_join!(put, objects.get(other, bytes_max))
            }
            Self::Files(files) => {
                let files = Arc::clone(files);
                let (key, other) = (key.to_owned(), other.to_owned());
                blocking(move || {
                    let write = move |to: &mut File| to.write_all(&document);
                    let put = files.put(&key, write, Rule::Create, Durable::Later)?;
                    Ok((put, files.get(&other, bytes_max)?))
                })
                .await
            }
        }
    }

    /// Makes durable what was written to be so later.
    pub(super) async fn sync(&self, key: &str) -> Result<(), BackendError> {
        let Self::Files(files) = self else {
            return Ok(());
        };
        let (files, key) = (Arc::clone(files), key.to_owned());
        blocking(move || Ok(files.sync(&key)?)).await
    }

    /// Writes a new document to be durable with another, which may be there, and with all that is
    /// logged.
    pub(super) async fn commit(
        &self,
        key: &str,
        document: Arc<[u8]>,
        other: &str,
    ) -> Result<Put, BackendError> {
        match self {
            Self::Files(files) if files.has_log() => {
                let files = Arc::clone(files);
                let (key, other) = (key.to_owned(), other.to_owned());
                blocking(move || Ok(files.commit(&key, &document, &other)?)).await
            }
            _ => {
                let put = self.put(key, document, Rule::Create, Durable::Now);
                let (synced, put) = tokio::join!(self.sync(other), put);
                synced.and(put)
            }
        }
    }

    /// Commits by a log from here on, where this is a folder.
    pub(super) async fn log_ahead(&self) -> Result<(), BackendError> {
        let Self::Files(files) = self else {
            return Ok(());
        };
        let files = Arc::clone(files);
        let made = move || {
            files.log_ahead();
            Ok(())
        };
        blocking(made).await
    }

    /// Whether a file of so many bytes is durable with the next commit, its name too.
    pub(super) fn is_logged(&self, bytes: u64) -> bool {
        match self {
            Self::Files(files) => files.is_logged(bytes),
            Self::Objects(_) => false,
        }
    }

    /// Makes the names in some folders durable.
    pub(super) async fn sync_folders(
        &self,
        folders: &Arc<BTreeSet<String>>,
    ) -> Result<(), BackendError> {
        let Self::Files(files) = self else {
            return Ok(());
        };
        let (files, folders) = (Arc::clone(files), Arc::clone(folders));
        blocking(move || Ok(files.sync_all(&folders)?)).await
    }

    /// A document, where it is there.
    pub(super) async fn get(
        &self,
        key: &str,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>, BackendError> {
        match self {
            Self::Objects(objects) => objects.get(key, bytes_max).await,
            Self::Files(files) => {
                let (files, key) = (Arc::clone(files), key.to_owned());
                blocking(move || match files.get(&key, bytes_max) {
                    Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                        Err(BackendError::TooLarge { bytes_max })
                    }
                    found => Ok(found?),
                })
                .await
            }
        }
    }

    /// Writes `bytes` of a file of ours, which may be large; whatever was there is replaced. It is
    /// durable with the next commit where [`Self::is_logged`] says so, else its name is when
    /// [`Self::sync_folders`] says that.
    pub(super) async fn upload(
        &self,
        key: &str,
        from: &Arc<File>,
        bytes: u64,
        media_type: &str,
    ) -> Result<(), BackendError> {
        let from = Arc::clone(from);
        match self {
            Self::Objects(objects) => objects.upload(key, from, bytes, media_type).await,
            Self::Files(files) => {
                let (files, key) = (Arc::clone(files), key.to_owned());
                if files.is_logged(bytes) {
                    let put = move || {
                        let mut content = Vec::new();
                        copy(&from, bytes, &mut content)?;
                        Ok(files.put_logged(&key, &content)?)
                    };
                    return blocking(put).await;
                }
                let write = move |to: &mut File| copy(&from, bytes, to);
                let put = move || files.put(&key, write, Rule::Replace, Durable::Content);
                blocking(move || Ok(put().map(drop)?)).await
            }
        }
    }

    /// Reads something that may be large; `None` where it is not there.
    pub(super) async fn download(
        &self,
        key: &str,
        mut sink: Sink,
    ) -> Result<Option<Sink>, BackendError> {
        match self {
            Self::Objects(objects) => objects.download(key, sink).await,
            Self::Files(files) => {
                let (files, key) = (Arc::clone(files), key.to_owned());
                blocking(move || {
                    let Some(mut from) = files.open_file(&key).map_err(no_file)? else {
                        return Ok(None);
                    };
                    let mut buffer = vec![0; 128 * 1024];
                    loop {
                        match io::Read::read(&mut from, &mut buffer)? {
                            0 => return Ok(Some(sink)),
                            n => sink.write(&buffer[..n])?,
                        }
                    }
                })
                .await
            }
        }
    }

    /// Everything beneath a folder.
    pub(super) async fn list(&self, folder: &str) -> Result<Vec<Entry>, BackendError> {
        match self {
            Self::Objects(objects) => objects.list(folder).await,
            Self::Files(files) => {
                let (files, folder) = (Arc::clone(files), folder.to_owned());
                blocking(move || Ok(files.list(&folder)?)).await
            }
        }
    }

    /// Removes something; what is not there is no failure.
    pub(super) async fn delete(&self, key: &str) -> Result<(), BackendError> {
        match self {
            Self::Objects(objects) => objects.delete(key).await,
            Self::Files(files) => {
                let (files, key) = (Arc::clone(files), key.to_owned());
                blocking(move || Ok(files.delete(&key)?)).await
            }
        }
    }

    /// Bytes that the store may still take, where that is known.
    pub(super) fn free_bytes(&self) -> io::Result<Option<u64>> {
        match self {
            Self::Files(files) => files.free_bytes().map(Some),
            Self::Objects(_) => Ok(None),
        }
    }
}

/// Tells what somebody put in a file's place from a disk that fails.
fn no_file(error: io::Error) -> BackendError {
    let refused = [Errno::LOOP, Errno::XDEV, Errno::NAMETOOLONG, Errno::NXIO];
    let errno = Errno::from_io_error(&error);
    // Of what we open ourselves, this is our word for anything but a regular file.
    let other = error.kind() == io::ErrorKind::InvalidInput;
    if other || errno.is_some_and(|errno| refused.contains(&errno)) {
        BackendError::NoFile
    } else {
        BackendError::Files(error)
    }
}

/// Copies the first `bytes` of a file, whatever its own position is.
fn copy(from: &File, bytes: u64, to: &mut impl io::Write) -> io::Result<()> {
    let mut buffer = vec![0; usize::try_from(bytes.min(128 * 1024)).unwrap_or(0)];
    let mut at = 0;
    while at < bytes {
        let want = usize::try_from(bytes - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        let n = from.read_at(&mut buffer[..want], at)?;
        if n == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        to.write_all(&buffer[..n])?;
        at += n as u64;
    }
    Ok(())
}

/// Runs what waits for a disk on a thread that may wait.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackendError> + Send + 'static,
) -> Result<T, BackendError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panic) => Err(BackendError::Local(io::Error::other(panic))),
    }
}
