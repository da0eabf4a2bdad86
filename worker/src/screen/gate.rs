//! Who gives the word on what a job made, and decides by it?

use super::cache::Cache;
use super::clamd::{ANSWER_MAX, Clamd};
use super::scanner::{Grouping, Options, Scanner, Source, Thing};
use super::table::{Fate, Row, Table};
use super::word::Word;
use super::{Cleared, Kind, Outputs, Parts, ScreenError, ScreenedFile, ScreenedStream, cut, wire};
use crate::collect::RawFile;
use crate::config::ClamdAddress;
use crate::execute::{Captured, memfd};
use crate::heavy;
use futures_util::future::join_all;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Files that clamd looks at at once.
const AT_ONCE: usize = 4;
/// A process that is silent for so much longer than it may be will not answer any more.
const LATE: Duration = Duration::from_secs(2);

/// How the gate is set up.
#[derive(Clone, Debug)]
pub struct GateOptions {
    /// The program that scans; this very one where `None`.
    pub program: Option<PathBuf>,
    pub preset: artifact_scanner::Preset,
    /// The operator's rows, before those of the preset.
    pub rows: Vec<Row>,
    /// The operator's rules: name and source.
    pub rules: Vec<(String, String)>,
    /// A clamd that is asked too.
    pub clamd: Option<ClamdAddress>,
    /// How long it may take over one file.
    pub clamd_wait: Duration,
    /// Processes that scan; as many as the machine has CPUs where 0.
    pub processes: usize,
    /// Whether it is for one job alone.
    pub single: bool,
    /// How long one thing may take, and how much later than that its process is killed.
    pub time: (Duration, Duration),
    /// The control groups of the processes that scan.
    pub grouping: Grouping,
}

/// What a configuration that says nothing means.
impl Default for GateOptions {
    fn default() -> Self {
        Self {
            program: None,
            preset: artifact_scanner::Preset::default(),
            rows: Vec::new(),
            rules: Vec::new(),
            clamd: None,
            clamd_wait: ANSWER_MAX,
            processes: 0,
            single: false,
            time: (artifact_scanner::Limits::default().wall, LATE),
            grouping: Grouping::default(),
        }
    }
}

/// The gate of one engine.
#[derive(Debug)]
pub struct Gate {
    scanner: Arc<Scanner>,
    table: Table,
    clamd: Option<Clamd>,
    cache: Cache,
}

impl Gate {
    /// Begins to start what scans.
    #[must_use]
    pub fn open(options: GateOptions) -> Self {
        let cpus = || std::thread::available_parallelism().map_or(1, usize::from);
        let (wall, late) = options.time;
        let setup = wire::Setup {
            preset: options.preset,
            rules: options.rules,
            wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
        };
        Self {
            scanner: Scanner::open(Options {
                program: options.program,
                setup,
                grouping: options.grouping,
                late,
                processes: match options.processes {
                    0 => cpus(),
                    some => some.min(cpus()),
                },
                refill: !options.single,
            }),
            table: Table::new(options.rows, options.preset),
            clamd: options
                .clamd
                .map(|address| Clamd::new(address).within(options.clamd_wait)),
            cache: Cache::default(),
        }
    }

    /// The processes that scan.
    pub fn scanner(&self) -> &Arc<Scanner> {
        &self.scanner
    }

    /// Gives a word on everything that came out, and says what is to be done with it.
    ///
    /// # Errors
    ///
    /// There is nobody who scans: then nothing leaves.
    ///
    /// # Panics
    ///
    /// Never: every thing has a word.
    pub async fn screen(&self, outputs: Outputs) -> Result<Cleared, ScreenError> {
        let Outputs {
            stdout,
            stderr,
            files,
            skipped,
            secrets,
        } = outputs;
        let large = [spooled("stdout", &stdout)?, spooled("stderr", &stderr)?];
        let mut things = Vec::with_capacity(files.len() + 2);
        for (name, captured, file) in [
            ("stdout", &stdout, &large[0]),
            ("stderr", &stderr, &large[1]),
        ] {
            things.extend(match file {
                Some(file) => Some(Thing::large(name, file, captured.bytes.len() as u64)),
                None if captured.bytes.is_empty() => None,
                None => Thing::small(name, &captured.bytes),
            });
        }
        things.extend(files.iter().map(file));
        let (words, others) = tokio::join!(self.words(&things, &secrets), self.others(&files));
        let words = words?;
        let mut words = words.into_iter();
        let mut word = || words.next().expect("every thing has a word");
        let mut streams = [(stdout, "stdout"), (stderr, "stderr")].map(|(captured, name)| {
            let word = if captured.bytes.is_empty() {
                Word::nothing()
            } else {
                word()
            };
            (captured, name, word)
        });
        let files = files.into_iter().zip(others).map(|(raw, other)| {
            let mut word = other.into_iter().fold(word(), Word::and);
            let fate = self.table.of_file(&mut word, raw.bytes);
            ScreenedFile { raw, word, fate }
        });
        let files = files.collect();
        let [out, err] = &mut streams;
        let stdout = self.stream(out, &secrets).await?;
        let stderr = self.stream(err, &secrets).await?;
        Ok(Cleared(Parts {
            stdout,
            stderr,
            files,
            skipped,
        }))
    }

    /// The word on one file or stream, and what would be done with it.
    ///
    /// # Errors
    ///
    /// There is nobody who scans.
    ///
    /// # Panics
    ///
    /// Never: every thing has a word.
    pub async fn judge(&self, thing: Thing<'_>) -> Result<(Word, Fate), ScreenError> {
        let said = self.words(&[thing], &[]).await?;
        let mut word = said.into_iter().next().expect("every thing has a word");
        if thing.kind == Kind::Stream {
            let fate = self.table.of_stream(&mut word, thing.bytes);
            return Ok((word, fate));
        }
        if let (Some(clamd), Source::File(file)) = (&self.clamd, thing.source)
            && let Some(other) = clamd.word(file, thing.bytes).await
        {
            word = word.and(other);
        }
        let fate = self.table.of_file(&mut word, thing.bytes);
        Ok((word, fate))
    }

    /// What another engine has against each of some files.
    async fn others(&self, files: &[RawFile]) -> Vec<Option<Word>> {
        let Some(clamd) = &self.clamd else {
            return files.iter().map(|_| None).collect();
        };
        let mut words = Vec::with_capacity(files.len());
        for some in files.chunks(AT_ONCE) {
            let asked: Vec<_> = some
                .iter()
                .map(|raw| clamd.word(&raw.file, raw.bytes))
                .collect();
            words.extend(join_all(asked).await);
        }
        words
    }

    /// A word on each of some things.
    ///
    /// # Errors
    ///
    /// There is nobody who scans.
    pub async fn words(
        &self,
        things: &[Thing<'_>],
        secrets: &[Vec<u8>],
    ) -> Result<Vec<Word>, ScreenError> {
        // A word that depends on secrets is not remembered, and nor is one on a stream.
        let named = |thing: &Thing<'_>| {
            let file = thing.kind == Kind::File && secrets.is_empty();
            thing.sha256.filter(|_| file).map(str::to_owned)
        };
        let mut words: Vec<Option<Word>> = Vec::with_capacity(things.len());
        for thing in things {
            words.push(named(thing).and_then(|sha256| self.cache.get(&sha256, thing.name)));
        }
        let unknown: Vec<_> = (0..things.len())
            .filter(|at| words[*at].is_none())
            .collect();
        let asked: Vec<_> = unknown.iter().map(|at| things[*at]).collect();
        if !asked.is_empty() {
            let said = self.scanner.words(&asked, secrets).await;
            for (at, word) in unknown.into_iter().zip(said.map_err(ScreenError::Start)?) {
                if let Some(sha256) = named(&things[at]) {
                    self.cache.put(&sha256, things[at].name, &word);
                }
                words[at] = Some(word);
            }
        }
        let missing = || Word::unscannable(artifact_scanner::Unscannable::EngineError);
        Ok(words
            .into_iter()
            .map(|word| word.unwrap_or_else(missing))
            .collect())
    }

    /// Decides about a stream; of one that is not released, what is left when the lines with
    /// secrets are cut out is shown if a scan of its own finds nothing in it.
    async fn stream(
        &self,
        (captured, name, word): &mut (Captured, &'static str, Word),
        secrets: &[Vec<u8>],
    ) -> Result<ScreenedStream, ScreenError> {
        let captured = std::mem::take(captured);
        let fate = self.table.of_stream(word, captured.bytes.len() as u64);
        let shown = match fate {
            Fate::Release => Vec::new(),
            Fate::Withhold | Fate::Drop => self.rest(&captured, name, word, secrets).await?,
        };
        Ok(ScreenedStream {
            captured,
            word: std::mem::replace(word, Word::nothing()),
            fate,
            shown,
        })
    }

    async fn rest(
        &self,
        captured: &Captured,
        name: &'static str,
        word: &Word,
        secrets: &[Vec<u8>],
    ) -> Result<Vec<u8>, ScreenError> {
        let left = Captured {
            bytes: cut::without(&captured.bytes, word.lines()),
            ..Captured::default()
        };
        if !word.lines().is_empty() {
            let large = spooled(name, &left)?;
            let thing = match &large {
                Some(file) => Some(Thing::large(name, file, left.bytes.len() as u64)),
                None => Thing::small(name, &left.bytes),
            };
            let words = self.words(thing.as_slice(), secrets).await?;
            if words.first().map(Word::verdict) == Some(artifact_scanner::Verdict::Clean) {
                return Ok(left.bytes);
            }
        }
        Ok(cut::notice(word))
    }
}

/// A stream that does not go inline, in a sealed file.
fn spooled(name: &'static str, captured: &Captured) -> Result<Option<File>, ScreenError> {
    if captured.bytes.len() <= wire::INLINE_MAX {
        return Ok(None);
    }
    let file = heavy::work(captured.bytes.len(), || {
        memfd::sealed(name, &captured.bytes)
    });
    file.map(|file| Some(file.into()))
        .map_err(|source| ScreenError::Hand { name, source })
}

fn file(raw: &RawFile) -> Thing<'_> {
    Thing {
        name: &raw.path,
        kind: Kind::File,
        source: Source::File(&raw.file),
        bytes: raw.bytes,
        sha256: Some(&raw.sha256),
    }
}
