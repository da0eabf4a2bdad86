//! Is nothing ever clean that was not scanned to its end, whatever happens to who scans?
//!
//! Each round screens harmless and hostile files while one fault is done to a process that scans,
//! to what it is handed, to a clamd beside it, to the rules, or to the store. The hostile files may
//! be what they are or unscannable, the harmless ones clean or unscannable, and every file has a
//! word and, where the store is part of it, a place.

mod clamd;
mod harm;
mod store;

use super::{Folder, eicar, file, gate, group};
use artifact_scanner::Verdict;
use clamd::Liar;
use harm::{harm, spoilt, starved};
use kiln::collect::RawFile;
use kiln::screen::table::Fate;
use kiln::screen::{Cleared, Gate, GateOptions, Outputs};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;
use store::SmallStore;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Fault {
    /// SIGKILL to a process that scans.
    Kill,
    /// SIGSTOP to it.
    Stop,
    /// It has not the address space that a large file takes.
    AddressSpace,
    /// Its control group has not the memory, and the kernel kills it.
    GroupMemory,
    /// Fewer bytes are there than were said.
    Short,
    /// Other bytes are there than were hashed.
    Other,
    /// Nobody listens where clamd should be.
    ClamdDead,
    /// It hears the file and says nothing in time.
    ClamdSlow,
    /// It says something that is no answer.
    ClamdNonsense,
    /// A rule file is broken.
    BrokenRule,
    /// The disk of the store is full, for a while.
    FullStore,
}

use Fault::{
    AddressSpace, BrokenRule, ClamdDead, ClamdNonsense, ClamdSlow, FullStore, GroupMemory, Kill,
    Other, Short, Stop,
};

/// One after the other, and again. A stop costs its time limit: there is one.
const FAULTS: [Fault; 40] = [
    Kill,
    AddressSpace,
    ClamdNonsense,
    Kill,
    Short,
    FullStore,
    Kill,
    GroupMemory,
    Kill,
    Other,
    ClamdDead,
    Kill,
    ClamdNonsense,
    Kill,
    Short,
    Kill,
    BrokenRule,
    GroupMemory,
    Kill,
    Other,
    Kill,
    ClamdNonsense,
    Stop,
    FullStore,
    Kill,
    Short,
    Kill,
    ClamdSlow,
    AddressSpace,
    Kill,
    ClamdDead,
    Other,
    Kill,
    GroupMemory,
    Kill,
    ClamdNonsense,
    Kill,
    FullStore,
    Short,
    Kill,
];

/// The time limit of one file, and when its process is killed.
const TIME: (Duration, Duration) = (Duration::from_secs(2), Duration::from_millis(100));

/// A number that looks random, and is the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

fn said(name: &str, otherwise: u64) -> u64 {
    let text = std::env::var(name);
    text.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Who screens, with and without what a fault takes.
struct Gates {
    whole: Gate,
    /// With a little address space, and with a little memory.
    poor: [Gate; 2],
    liar: Liar,
    beside_liar: Gate,
    store: SmallStore,
}

impl Gates {
    async fn open(folder: &Path) -> Self {
        let options = GateOptions {
            processes: 2,
            time: TIME,
            grouping: harm::grouping(1 << 30),
            ..GateOptions::default()
        };
        let whole = gate(options.clone());
        whole.scanner().prove().await.expect("it scans");
        let liar = Liar::listen(&folder.join("clamd.ctl"));
        let beside_liar = gate(GateOptions {
            clamd: Some(liar.address()),
            clamd_wait: clamd::WAIT,
            ..options
        });
        Self {
            whole,
            poor: [
                starved(|mib| harm::little_space(folder, mib)).await,
                starved(harm::little_memory).await,
            ],
            liar,
            beside_liar,
            store: SmallStore::mount(&folder.join("store")).await,
        }
    }

    /// Processes that broke off in the middle of something.
    fn lost(&self) -> u64 {
        let [space, memory] = &self.poor;
        let gates = [&self.whole, space, memory, &self.beside_liar];
        gates.iter().map(|gate| gate.scanner().lost()).sum()
    }

    /// Does one fault, and judges what came of it; false where it met nobody.
    async fn round(&self, number: u64, fault: Fault, dice: &mut Dice) -> bool {
        let (outputs, made) = outputs(number, fault, dice);
        let gate = match fault {
            AddressSpace => &self.poor[0],
            GroupMemory => &self.poor[1],
            ClamdDead | ClamdSlow | ClamdNonsense => {
                self.liar.will(fault, dice);
                &self.beside_liar
            }
            BrokenRule => {
                harm::broken_rules(outputs, dice).await;
                return true;
            }
            Kill | Stop | Short | Other | FullStore => &self.whole,
        };
        let delay = Duration::from_micros(u64::try_from(dice.roll(3_000)).expect("small"));
        let pids = group::members(&harm::grouping(0).parent);
        let victim = (!pids.is_empty()).then(|| pids[dice.roll(pids.len())]);
        let hand = async {
            tokio::time::sleep(delay).await;
            victim.is_some_and(|pid| harm(fault, pid))
        };
        let (screened, met) = tokio::join!(gate.screen(outputs), hand);
        let cleared = screened.unwrap_or_else(|e| panic!("round {number}, {fault:?}: {e:?}"));
        judge(number, fault, &made, &cleared);
        if fault == FullStore {
            self.store.keep(number, cleared, &made, dice).await;
        }
        met
    }
}

/// What a job made: paths and bytes, as they were before anything was done to them.
type Made = BTreeMap<String, Vec<u8>>;

fn outputs(number: u64, fault: Fault, dice: &mut Dice) -> (Outputs, Made) {
    // Content that was never seen: what is remembered would hide the fault.
    let lines = match fault {
        AddressSpace | GroupMemory => 1_000_000,
        _ => 1 + dice.roll(4_000),
    };
    let clean = format!("a,b\n{number},2\n").repeat(lines);
    let hostile = [&eicar(), format!("\n{number}").as_bytes()].concat();
    let made = Made::from([
        ("a.csv".to_owned(), clean.clone().into()),
        ("b.com".to_owned(), hostile),
        (
            "c.csv".to_owned(),
            format!("=cmd|'/c calc {number}'!A1\n").into(),
        ),
        ("d/d.csv".to_owned(), clean.clone().into()),
    ]);
    let mut files: Vec<RawFile> = made.iter().map(|(path, bytes)| file(path, bytes)).collect();
    files.extend(spoilt(fault, number));
    let secret = format!("x\nkey={}{number}\n", super::token());
    let outputs = Outputs::of([clean.as_bytes(), secret.as_bytes()], files, Vec::new());
    (outputs, made)
}

fn judge(number: u64, fault: Fault, made: &Made, cleared: &Cleared) {
    let told = format!("round {number}, {fault:?}");
    let clamd = matches!(fault, ClamdDead | ClamdSlow | ClamdNonsense);
    let mut seen = 0;
    for (path, word, fate) in cleared.files() {
        seen += 1;
        let verdict = word.verdict();
        let honest = match path {
            "a.csv" | "d/d.csv" if clamd => verdict == Verdict::Unscannable,
            "a.csv" | "d/d.csv" => matches!(verdict, Verdict::Clean | Verdict::Unscannable),
            "spoilt.csv" => verdict == Verdict::Unscannable,
            _ => verdict >= Verdict::Suspicious,
        };
        assert!(honest, "{told}: `{path}` is {word:?}");
        assert_eq!(fate == Fate::Release, verdict == Verdict::Clean, "{path}");
    }
    let spoilt = matches!(fault, Short | Other);
    assert_eq!(
        seen,
        made.len() + usize::from(spoilt),
        "{told}: a file is lost"
    );
    let [out, err] = cleared.streams();
    assert!(out.1 == Fate::Release || out.0.verdict() == Verdict::Unscannable);
    assert_eq!(err.1, Fate::Withhold, "{told}");
    assert!(!String::from_utf8_lossy(err.2).contains("ghp_"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_make_nothing_clean() {
    let wanted = said("KILN_FAULTS", 120);
    let seed = said("KILN_SEED", 7);
    let folder = Folder::new();
    let gates = Gates::open(&folder.0).await;
    let mut dice = Dice(seed);
    let mut done: BTreeMap<Fault, u64> = BTreeMap::new();
    let (mut met, mut number) = (0, 0);
    while met < wanted {
        let at = usize::try_from(met).expect("a figure") % FAULTS.len();
        number += 1;
        assert!(number < 2 * wanted + 100, "faults meet nobody: {done:?}");
        if gates.round(number, FAULTS[at], &mut dice).await {
            met += 1;
            *done.entry(FAULTS[at]).or_default() += 1;
        }
    }
    let lost = gates.lost();
    assert!(lost > wanted / 20, "only {lost} faults met a scan");
    assert!(
        gates.poor.iter().all(|it| it.scanner().lost() > 0),
        "there was memory enough"
    );
    drop(gates);
    group::gone(&harm::grouping(0).parent).await;
    let mut told = format!("{met} faults, seed {seed}: {lost} scans broke off, none is clean\n");
    for (fault, times) in &done {
        writeln!(told, "  {fault:?} {times}").expect("a text takes it");
    }
    let mut stderr = std::io::stderr();
    stderr.write_all(told.as_bytes()).expect("stderr");
}
