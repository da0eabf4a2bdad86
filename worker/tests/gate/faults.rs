//! Is nothing ever clean that was not scanned to its end, whatever happens to who scans?
//!
//! Each round screens files while one fault is done to a process that scans, to what it is handed,
//! to a clamd beside it, to the rules, or to the store. All files but one have something to be
//! found, one of them at its very end: whoever calls them clean has not scanned them. Every file
//! has a word and, where the store is part of it, a place. A fault counts where it was seen to
//! strike.

mod clamd;
mod harm;
mod order;
mod store;
mod tally;

use super::{Folder, eicar, file, gate, group};
use artifact_scanner::Verdict;
use clamd::Liar;
use harm::{harm, spoilt, starved};
use kiln::collect::RawFile;
use kiln::screen::scanner::Grouping;
use kiln::screen::table::Fate;
use kiln::screen::{Cleared, Gate, GateOptions, Outputs, ScreenError};
use order::{Dice, Fault};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::SmallStore;
use tally::{Row, Tally};

/// The time limit of one file, and when its process is killed.
const TIME: (Duration, Duration) = (Duration::from_secs(3), Duration::from_millis(100));
/// That of a file that is too large for a poor one: it is not to break off by its time.
const LONG: (Duration, Duration) = (Duration::from_mins(1), Duration::from_millis(100));
/// Tries of one fault.
const TRIES_MAX: u64 = 200;

fn said(name: &str, otherwise: u64) -> u64 {
    let text = std::env::var(name);
    text.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Who screens, with and without what a fault takes.
struct Gates {
    whole: Gate,
    /// Its processes are left no address space when they have something to do.
    cramped: Gate,
    /// With a little memory, and the lines of a file that are too many for it.
    poor: (Gate, usize),
    liar: Liar,
    beside_liar: Gate,
    store: SmallStore,
    lane: u64,
}

/// One try of one fault.
struct Try {
    number: u64,
    at: u64,
    fault: Fault,
    dice: Dice,
}

/// What a job made: paths and bytes, as they were before anything was done to them.
type Made = BTreeMap<String, Vec<u8>>;

impl Gates {
    async fn open(folder: &Path, lane: u64) -> Self {
        let grouping = |name, memory_bytes| Grouping {
            parent: harm::parent(lane, name),
            memory_bytes,
            needed: true,
        };
        let others = |memory_bytes| grouping("others", memory_bytes);
        let options = GateOptions {
            processes: 2,
            time: TIME,
            ..GateOptions::default()
        };
        let whole = gate(GateOptions {
            grouping: grouping("whole", 1 << 30),
            ..options.clone()
        });
        whole.scanner().prove().await.expect("it scans");
        let liar = Liar::listen(&folder.join("clamd.ctl"));
        let beside_liar = gate(GateOptions {
            clamd: Some(liar.address()),
            clamd_wait: clamd::WAIT,
            grouping: others(1 << 30),
            ..options
        });
        Self {
            whole,
            cramped: gate(GateOptions {
                processes: 1,
                time: LONG,
                grouping: grouping("space", 1 << 30),
                ..GateOptions::default()
            }),
            poor: starved(|mib| others(mib << 20)).await,
            liar,
            beside_liar,
            store: SmallStore::mount(&folder.join("store")).await,
            lane,
        }
    }

    fn gate(&self, fault: Fault) -> &Gate {
        match fault {
            Fault::AddressSpace => &self.cramped,
            Fault::GroupMemory => &self.poor.0,
            Fault::ClamdDead | Fault::ClamdSlow | Fault::ClamdNonsense => &self.beside_liar,
            _ => &self.whole,
        }
    }

    /// Does one fault, and tells what came of it.
    async fn round(&self, mut one: Try) -> Row {
        let mut row = Row::default();
        let fault = one.fault;
        if fault == Fault::BrokenRule {
            let (outputs, made) = self.outputs(&mut one, 0);
            row.files = made.len() as u64;
            let parent = harm::parent(self.lane, "others");
            harm::broken_rules(outputs, parent, &mut one.dice, &mut row).await;
            return row;
        }
        if fault.is_clamds() {
            self.liar.will(fault, &mut one.dice);
        }
        let gate = self.gate(fault);
        let before = gate.scanner().lost();
        if matches!(fault, Fault::Kill | Fault::Stop) {
            self.signalled(&mut one, before, &mut row).await;
        } else {
            let (outputs, made) = self.outputs(&mut one, 0);
            if fault == Fault::AddressSpace {
                gate.scanner().prove().await.expect("it scans");
                harm::cramp(&harm::parent(self.lane, "space"));
            }
            let screened = gate.screen(outputs).await;
            let checks = judge(fault, &made, &screened, &mut row);
            match (fault, screened) {
                (Fault::FullStore, Ok(cleared)) => {
                    self.store
                        .keep(one.number, cleared, &made, &mut one.dice, &mut row)
                        .await;
                }
                // Each file was shown to clamd, and of each it was no answer.
                (_, Ok(_)) if fault.is_clamds() => row.broke_off = checks,
                (_, Ok(_)) if fault.is_a_spoilt_file() => row.broke_off = row.unscannable,
                _ => {}
            }
        }
        if !fault.is_clamds() && !fault.is_a_spoilt_file() && fault != Fault::FullStore {
            row.broke_off = gate.scanner().lost() - before;
        }
        // What a gate that fails makes of a fault is no miss.
        row.struck = u64::from(row.broke_off + row.clean + row.lost + row.wrong > 0);
        row.missed = 1 - row.struck;
        row
    }

    fn outputs(&self, one: &mut Try, part: usize) -> (Outputs, Made) {
        let many = match one.fault {
            Fault::AddressSpace => Some(harm::NEVER_OF_THE_HEAP),
            Fault::GroupMemory => Some(self.poor.1),
            _ => None,
        };
        outputs(one, part, many)
    }

    /// Two jobs at once, and a signal to one of the processes in the middle of it. Where that one
    /// had nothing to do just then, whoever asks it next finds out.
    async fn signalled(&self, one: &mut Try, before: u64, row: &mut Row) {
        let gate = &self.whole;
        for part in [0, 2] {
            let (a, b) = (self.outputs(one, part), self.outputs(one, part + 1));
            let delay = Duration::from_micros(u64::try_from(one.dice.roll(3_000)).expect("small"));
            let choice = one.dice.roll(1 << 16);
            let hand = async {
                tokio::time::sleep(delay).await;
                let pids = group::members(&harm::parent(self.lane, "whole"));
                if part == 0 && !pids.is_empty() {
                    harm(one.fault, pids[choice % pids.len()]);
                }
            };
            let (first, second, ()) = tokio::join!(gate.screen(a.0), gate.screen(b.0), hand);
            judge(one.fault, &a.1, &first, row);
            judge(one.fault, &b.1, &second, row);
            if gate.scanner().lost() > before {
                return;
            }
        }
    }
}

/// What one of the jobs of a try made. Content that was never seen: what is remembered would hide
/// the fault.
fn outputs(one: &mut Try, part: usize, many: Option<usize>) -> (Outputs, Made) {
    let few = 1 + one.dice.roll(4_000);
    let number = format!("{}.{}.{part}", one.number, one.at);
    let lines = |count| format!("a,b\n{number},2\n").repeat(count);
    let clean = lines(few);
    let hostile = [&eicar(), format!("\n{number}").as_bytes()].concat();
    let formula = format!("=cmd|'/c calc {number}'!A1\n");
    let made = Made::from([
        ("a.csv".to_owned(), clean.clone().into()),
        ("b.com".to_owned(), hostile),
        ("c.csv".to_owned(), formula.clone().into()),
        // Whoever has not seen all of it has not seen this.
        (
            "d/d.csv".to_owned(),
            (lines(many.unwrap_or(few)) + &formula).into(),
        ),
    ]);
    let mut files: Vec<RawFile> = made.iter().map(|(path, bytes)| file(path, bytes)).collect();
    files.extend(spoilt(one.fault, &number));
    let secret = format!("x\nkey={}{}\n", super::token(), one.number);
    let outputs = Outputs::of([clean.as_bytes(), secret.as_bytes()], files, Vec::new());
    (outputs, made)
}

/// Judges what was let out; gives how many files have a check by clamd that failed.
fn judge(fault: Fault, made: &Made, screened: &Result<Cleared, ScreenError>, row: &mut Row) -> u64 {
    let wanted = made.len() + usize::from(fault.is_a_spoilt_file());
    row.files += wanted as u64;
    let cleared = match screened {
        Ok(cleared) => cleared,
        Err(error) => {
            // Then nothing leaves; but there is somebody who scans, and could have.
            row.wrong(kiln::fault::chain(error));
            return 0;
        }
    };
    let (mut seen, mut checks) = (0, 0);
    for (path, word, fate) in cleared.files() {
        let known = made.contains_key(path) || path == "spoilt.csv";
        seen += usize::from(known);
        let verdict = word.verdict();
        row.unscannable += u64::from(verdict == Verdict::Unscannable);
        let mut rules = word.findings().iter().map(|finding| &*finding.rule);
        checks += u64::from(rules.any(|rule| rule == "clamd.failed"));
        // Nothing is in this one, and it can be scanned to its end: with a clamd that answers.
        let harmless = path == "a.csv" && !fault.is_clamds();
        let clean = verdict == Verdict::Clean || fate == Fate::Release;
        let spoilt = path == "spoilt.csv" && verdict != Verdict::Unscannable;
        if (clean && !(harmless && verdict == Verdict::Clean)) || spoilt {
            row.clean(format!("`{path}` is {word:?}, {fate:?}"));
        } else if !clean && verdict < Verdict::Suspicious {
            row.wrong(format!("`{path}` is {word:?}, {fate:?}"));
        }
    }
    for _ in seen..wanted {
        row.lost("a file has no word".to_owned());
    }
    let [out, err] = cleared.streams();
    if out.1 == Fate::Release && out.0.verdict() != Verdict::Clean {
        row.clean(format!("stdout is {:?}", out.0));
    }
    if err.1 != Fate::Withhold || String::from_utf8_lossy(err.2).contains("ghp_") {
        row.clean(format!("stderr is {:?}", err.0));
    }
    checks
}

fn tell(text: &str) {
    let mut stderr = std::io::stderr();
    stderr.write_all(text.as_bytes()).expect("stderr");
}

/// Does faults one after the other until there are no more to be done.
async fn lane(lane: u64, (wanted, seed): (u64, u64), next: Arc<AtomicU64>) -> Tally {
    let folder = Folder::new();
    let gates = Gates::open(&folder.0, lane).await;
    let mut tally = Tally::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= wanted {
            break;
        }
        let fault = order::fault(seed, number);
        let mut at = 0;
        loop {
            let dice = Dice::of([seed, number, at]);
            let one = Try {
                number,
                at,
                fault,
                dice,
            };
            let row = gates.round(one).await;
            let struck = row.struck > 0;
            tally.add(number, fault, row);
            if struck {
                break;
            }
            at += 1;
            assert!(at < TRIES_MAX, "{fault:?} meets nobody");
        }
        if (number + 1).is_multiple_of(500) {
            tell(&format!("{} faults\n", number + 1));
        }
    }
    drop(gates);
    for group in ["whole", "space", "others"] {
        group::gone(&harm::parent(lane, group)).await;
    }
    tally
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_make_nothing_clean() {
    let (wanted, seed) = (said("KILN_FAULTS", 120), said("KILN_SEED", 7));
    let next = Arc::new(AtomicU64::new(0));
    let lanes = (0..said("KILN_LANES", 1))
        .map(|number| tokio::spawn(lane(number, (wanted, seed), Arc::clone(&next))));
    let mut tally = Tally::default();
    for lane in lanes.collect::<Vec<_>>() {
        tally.join(lane.await.expect("it ends"));
    }
    tell(&format!("{wanted} faults, seed {seed}\n{}", tally.table()));
    assert_eq!(tally.sum().struck, wanted);
    tally.assert_held();
}
