//! Which bytes may be handed out under a job's id and a path?

use hyper::body::Bytes;
use kiln_protocol::id::JobId;
use kiln_protocol::outcome::{ArtifactReport, ArtifactState, Outcome};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

/// Bytes of an outcome at most.
const OUTCOME_MAX: u64 = 64 << 20;

/// A store, or the folder of one run.
pub(crate) struct Shelf(OwnedFd);

/// An artifact that was let out, and all of it.
pub(crate) struct Found {
    pub(crate) artifact: ArtifactReport,
    pub(crate) bytes: Bytes,
}

/// Why nothing is handed out.
pub(crate) enum Missing {
    /// There is no such job or artifact, or it is not to be shown.
    Unknown,
    /// It was let out, and is not there any more.
    TakenBack,
    Broken(&'static str),
}

impl Shelf {
    pub(crate) fn open(folder: &str) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(folder, flags, Mode::empty())?))
    }

    /// An artifact of a job, by the path that the job gave it.
    pub(crate) fn find(&self, id: &str, path: &str) -> Result<Found, Missing> {
        let id: JobId = id.parse().map_err(|_| Missing::Unknown)?;
        let outcome = self.outcome(&id)?.ok_or(Missing::Unknown)?;
        let named = |one: &ArtifactReport| one.path == path;
        let artifact = outcome.artifacts.into_iter().find(named);
        let mut artifact = artifact.ok_or(Missing::Unknown)?;
        let object = artifact.object.as_deref().ok_or(Missing::Unknown)?;
        let (object, absent) = match artifact.state {
            ArtifactState::Released => (object.to_owned(), Missing::TakenBack),
            // It lies here where an operator let it out, and is to be saved then.
            ArtifactState::Withheld => match object.strip_prefix("quarantine/") {
                Some(rest) => (format!("artifacts/{rest}"), Missing::Unknown),
                None => return Err(Missing::Unknown),
            },
        };
        if artifact.state == ArtifactState::Withheld {
            artifact.serve = None;
        }
        if !object.starts_with("artifacts/") {
            return Err(Missing::Unknown);
        }
        let bytes = match self.read(&object, artifact.bytes) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Err(absent),
            Err(_) => return Err(Missing::Broken("the store cannot be read\n")),
        };
        // What was scanned is shown, or nothing.
        let same = bytes.len() as u64 == artifact.bytes
            && kiln_protocol::digest::hex(&Sha256::digest(&bytes)) == artifact.sha256;
        if !same {
            return Err(Missing::Broken("the store holds something else\n"));
        }
        let bytes = bytes.into();
        Ok(Found { artifact, bytes })
    }

    fn outcome(&self, id: &JobId) -> Result<Option<Outcome>, Missing> {
        let broken = Missing::Broken("the outcome cannot be read\n");
        for name in [format!("results/{id}.json"), "outcome.json".to_owned()] {
            match self.read(&name, OUTCOME_MAX) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    return match serde_json::from_slice::<Outcome>(&text) {
                        Ok(outcome) => Ok((outcome.job_id == *id).then_some(outcome)),
                        Err(_) => Err(broken),
                    };
                }
                Err(_) => return Err(broken),
            }
        }
        Ok(None)
    }

    /// A regular file below the folder, by no link, and one byte more than it may have at most.
    fn read(&self, name: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let below = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let file = match openat2(&self.0, name, flags, Mode::empty(), below) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        if !file.metadata()?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut bytes = Vec::new();
        file.take(bytes_max + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }
}
