//! Who scans: a few resident processes, each asked one thing after the other.
//!
//! A batch that a process does not answer to its end is taken up by another where it broke off.
//! The thing it broke off at is asked once more, alone; after that it is `engine_error`, and after
//! a silence `timeout`. So one file that breaks the scanner costs no other file its verdict.

use super::child::{Child, StartError, Starting};
use super::wire::{self, Ask, INLINE_MAX, Item, Kind, MESSAGE_MAX, Setup};
use super::word::{Asked, Word};
use artifact_scanner::Unscannable;
use kiln_warden::cgroup::{CgroupError, ScanGroup, ScanGroups};
use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::JoinHandle;

/// Things after which a process is replaced, and bytes.
const ASKED_MAX: u64 = 2_000;
const BYTES_MAX: u64 = 64 << 20;
/// Things in one message at most, and their names together.
const ITEMS_MAX: usize = 30;
const NAMES_MAX: usize = 48 << 10;
/// Processes that are gone when they are asked, in a row: then it is not chance.
const GONE_MAX: usize = 3;

/// How scans are done.
#[derive(Debug)]
pub struct Options {
    /// The program to run; this very one where `None`.
    pub program: Option<PathBuf>,
    pub(crate) setup: Setup,
    pub grouping: Grouping,
    /// An answer that is later than its time limit by this will not come.
    pub late: Duration,
    /// Processes at most.
    pub processes: usize,
    /// Whether a process that was used up is replaced before it is needed.
    pub refill: bool,
}

/// Which control groups hold the processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouping {
    /// Below which they are made.
    pub parent: String,
    /// What one process may have of memory there, and what the kernel holds for it.
    pub memory_bytes: u64,
    /// Whether nothing is scanned where they cannot be made.
    pub needed: bool,
}

/// What a configuration that says nothing means.
impl Default for Grouping {
    fn default() -> Self {
        Self {
            parent: kiln_warden::start::CGROUP_PARENT.to_owned(),
            memory_bytes: super::process::MEMORY_BYTES,
            needed: true,
        }
    }
}

/// One thing to be scanned.
#[derive(Clone, Copy, Debug)]
pub struct Thing<'a> {
    pub name: &'a str,
    pub kind: Kind,
    pub source: Source<'a>,
    pub bytes: u64,
    /// Of a file.
    pub sha256: Option<&'a str>,
}

/// Where its bytes are.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    Bytes(&'a [u8]),
    /// Sealed, or open for reading alone.
    File(&'a File),
}

/// The processes. To be shared.
#[derive(Debug)]
pub struct Scanner {
    options: Options,
    groups: OnceCell<ScanGroups>,
    idle: Mutex<Vec<Child>>,
    warming: Mutex<VecDeque<JoinHandle<Result<Child, StartError>>>>,
    free: Semaphore,
    seq: AtomicU64,
    lost: AtomicU64,
}

/// How a batch ended that was not answered to its end.
enum Broken {
    /// Nothing was asked: the process was gone before.
    Gone,
    /// An answer did not come in time.
    Late,
    /// It died, or said something else.
    Failed,
}

impl Scanner {
    /// Begins to start the processes; nobody waits for them before something is to be scanned.
    #[must_use]
    pub fn open(options: Options) -> Arc<Self> {
        let processes = options.processes.max(1);
        let scanner = Arc::new(Self {
            options,
            groups: OnceCell::new(),
            idle: Mutex::default(),
            warming: Mutex::default(),
            free: Semaphore::new(processes),
            seq: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        });
        for _ in 0..processes {
            scanner.warm();
        }
        scanner
    }

    /// Waits until a process is ready: how it is confined, and how many rules it runs.
    pub async fn prove(
        self: &Arc<Self>,
    ) -> Result<(kiln_warden::confine::Held, usize), StartError> {
        let child = self.take().await?;
        let proved = (child.held, child.rules);
        locked(&self.idle).push(child);
        Ok(proved)
    }

    /// Processes that were lost in the middle of a scan so far.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// A word on each thing, in their order.
    ///
    /// # Errors
    ///
    /// No process could be started. Everything else that can happen is a word.
    ///
    /// # Panics
    ///
    /// Never: turns are taken as long as it lives.
    pub async fn words(
        self: &Arc<Self>,
        things: &[Thing<'_>],
        secrets: &[Vec<u8>],
    ) -> Result<Vec<Word>, StartError> {
        let mut words: Vec<Word> = Vec::with_capacity(things.len());
        let (mut failed, mut gone) = (false, 0);
        let _turn = self.free.acquire().await.expect("it is never closed");
        while words.len() < things.len() {
            let rest = &things[words.len()..];
            // What a process broke off at goes alone.
            let batch = if failed {
                &rest[..1]
            } else {
                &rest[..fitting(rest, secrets)]
            };
            let mut child = self.take().await?;
            let before = words.len();
            let ended = self.batch(&mut child, batch, secrets, &mut words).await;
            if words.len() > before {
                (failed, gone) = (false, 0);
            }
            match ended {
                Ok(()) => self.give_back(child),
                Err(broken) => {
                    self.lost.fetch_add(1, Ordering::Relaxed);
                    drop(child);
                    self.replace();
                    match broken {
                        Broken::Late => words.push(Word::unscannable(Unscannable::Timeout)),
                        Broken::Gone if gone < GONE_MAX => gone += 1,
                        Broken::Gone | Broken::Failed if failed => {
                            words.push(Word::unscannable(Unscannable::EngineError));
                            failed = false;
                        }
                        Broken::Gone | Broken::Failed => failed = true,
                    }
                }
            }
        }
        Ok(words)
    }

    /// Asks one batch of one process; the answers that came stand, however it ends.
    async fn batch(
        &self,
        child: &mut Child,
        things: &[Thing<'_>],
        secrets: &[Vec<u8>],
        words: &mut Vec<Word>,
    ) -> Result<(), Broken> {
        let seq = self.seq.fetch_add(1, Ordering::Relaxed);
        let mut inline: Vec<&[u8]> = secrets.iter().map(Vec::as_slice).collect();
        let mut descriptors: Vec<BorrowedFd<'_>> = Vec::new();
        let items = things.iter().map(|thing| {
            match thing.source {
                Source::Bytes(bytes) => inline.push(bytes),
                Source::File(file) => descriptors.push(file.as_fd()),
            }
            Item {
                name: thing.name.to_owned(),
                kind: thing.kind,
                bytes: thing.bytes,
                inline: matches!(thing.source, Source::Bytes(_)),
            }
        });
        let ask = Ask {
            seq,
            items: items.collect(),
            secrets: secrets.iter().map(Vec::len).collect(),
        };
        let message = wire::message(&ask, &inline);
        child
            .send(&message, &descriptors)
            .await
            .map_err(|_| Broken::Gone)?;
        let time = Duration::from_millis(self.options.setup.wall_ms) + self.options.late;
        for (index, thing) in things.iter().enumerate() {
            let answer = tokio::time::timeout(time, child.hear())
                .await
                .map_err(|_| Broken::Late)?
                .map_err(|_| Broken::Failed)?;
            let asked = Asked {
                seq,
                index,
                kind: thing.kind,
                bytes: thing.bytes,
                sha256: thing.sha256,
            };
            words.push(Word::heard(&answer, asked).ok_or(Broken::Failed)?);
            child.asked += 1;
            child.bytes += thing.bytes;
        }
        Ok(())
    }

    /// A process that is ready, or the first that will be.
    async fn take(&self) -> Result<Child, StartError> {
        if let Some(child) = locked(&self.idle).pop() {
            return Ok(child);
        }
        let warming = locked(&self.warming).pop_front();
        if let Some(warming) = warming
            && let Ok(Ok(child)) = warming.await
        {
            return Ok(child);
        }
        // What failed once in the background may have been a passing want of memory.
        match self.start().await {
            Err(StartError::Refused(why)) => Err(StartError::Refused(why)),
            Err(_) => self.start().await,
            ready => ready,
        }
    }

    async fn start(&self) -> Result<Child, StartError> {
        let program = self.options.program.as_deref();
        let group = self.group().await?;
        Starting::spawn(program, &self.options.setup, group)
            .await?
            .ready()
            .await
    }

    /// A group for one more process; none where that is not possible, nor needed.
    async fn group(&self) -> Result<Option<ScanGroup>, StartError> {
        let needed = self.options.grouping.needed;
        // Nobody expects one of another user.
        if !needed && !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        match self.made().await {
            Ok(group) => Ok(Some(group)),
            Err(error) if needed => Err(StartError::Group(error)),
            Err(error) => {
                let error = crate::fault::chain(&error);
                tracing::warn!(error, "what scans has no control group of its own");
                Ok(None)
            }
        }
    }

    async fn made(&self) -> Result<ScanGroup, CgroupError> {
        let Grouping {
            parent,
            memory_bytes,
            ..
        } = &self.options.grouping;
        let open = || async { ScanGroups::open(parent, *memory_bytes) };
        self.groups.get_or_try_init(open).await?.make()
    }

    fn give_back(self: &Arc<Self>, child: Child) {
        if child.asked < ASKED_MAX && child.bytes < BYTES_MAX {
            locked(&self.idle).push(child);
        } else {
            drop(child);
            self.replace();
        }
    }

    fn replace(self: &Arc<Self>) {
        if self.options.refill {
            self.warm();
        }
    }

    fn warm(self: &Arc<Self>) {
        let scanner = Arc::clone(self);
        let warming = tokio::spawn(async move { scanner.start().await });
        locked(&self.warming).push_back(warming);
    }
}

/// How many of these go in one message.
fn fitting(things: &[Thing<'_>], secrets: &[Vec<u8>]) -> usize {
    let mut inline: usize = secrets.iter().map(Vec::len).sum();
    let mut names = 0;
    let room = MESSAGE_MAX - NAMES_MAX - 8 * 1024;
    let fits = things.iter().take(ITEMS_MAX).take_while(|thing| {
        if let Source::Bytes(bytes) = thing.source {
            inline += bytes.len();
        }
        // Escapes of JSON make six bytes of one.
        names += 6 * thing.name.len();
        inline <= room && names <= NAMES_MAX
    });
    fits.count().max(1)
}

impl<'a> Thing<'a> {
    /// A stream that is small enough to go along.
    pub(crate) fn small(name: &'a str, bytes: &'a [u8]) -> Option<Self> {
        (bytes.len() <= INLINE_MAX).then_some(Self {
            name,
            kind: Kind::Stream,
            source: Source::Bytes(bytes),
            bytes: bytes.len() as u64,
            sha256: None,
        })
    }

    /// A stream in a file of ours.
    pub(crate) fn large(name: &'a str, file: &'a File, bytes: u64) -> Self {
        Self {
            name,
            kind: Kind::Stream,
            source: Source::File(file),
            bytes,
            sha256: None,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
