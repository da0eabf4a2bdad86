//! Do the readers hold whatever bytes come: no panic, no time and no memory beyond their budget?
//!
//! Samples of every family are changed at random, by a seed, and scanned: some thousands of times
//! here, as often as `KILN_MUTATIONS` says by hand. `KILN_SEED` asks for other changes.
//!
//! ```sh
//! KILN_MUTATIONS=1000000 cargo test --release -p artifact-scanner --test corpus mutate -- --nocapture
//! ```

use super::{table, variants};
use artifact_scanner::{Budget, Limits, Policy, Rules, Subject, scan, scan_stream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A budget that is soon spent, so that much can be tried.
const LIMITS: Limits = Limits {
    size_bytes: 4 << 20,
    unpacked_bytes: 8 << 20,
    members: 200,
    depth: 6,
    ratio: 200,
    ratio_from_bytes: 1 << 20,
    member_bytes: 4 << 20,
    pixels: 50_000_000,
    nesting: 256,
    wall: Duration::from_secs(2),
};
/// The time limit is looked at between steps, and this machine may be busy.
const LATE: Duration = Duration::from_secs(8);
/// The most of memory at once that all of it takes: the samples, and a scan or two.
const MEMORY_KIB: u64 = 512 << 10;

/// Panics so far: a scan catches them, and says `engine_error`.
static PANICS: AtomicUsize = AtomicUsize::new(0);

pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// A number below `sides`; 0 where there is none.
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides.max(1)
    }

    fn byte(&mut self) -> u8 {
        // Values at the edges of what lengths and offsets can be are worth more than others.
        const EDGES: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, b'<', b'{', b'%'];
        match self.roll(3) {
            0 => EDGES[self.roll(EDGES.len())],
            _ => u8::try_from(self.roll(256)).expect("a byte"),
        }
    }
}

/// A few changes to a sample, with pieces of another.
pub(super) fn change(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    for _ in 0..=dice.roll(6) {
        let at = dice.roll(bytes.len());
        let most = 1 << dice.roll(9);
        let length = dice.roll(most).min(bytes.len() - at);
        match dice.roll(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let from = dice.roll(other.len());
                let piece = &other[from..(from + length).min(other.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            3 => {
                let piece = bytes[at..at + length].to_vec();
                bytes.splice(at..at, piece);
            }
            4 => {
                let wide = dice.byte();
                bytes[at..at + length.min(8)].fill(wide);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = dice.byte();
                }
            }
        }
    }
}

pub(super) fn said(name: &str, otherwise: u64) -> u64 {
    let text = std::env::var(name);
    text.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// The most memory that this process has held.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let words = line.and_then(|line| line.split_whitespace().nth(1));
    words.and_then(|word| word.parse().ok()).expect("a figure")
}

#[test]
fn mutated_samples_break_no_reader() {
    let (rounds, seed) = (said("KILN_MUTATIONS", 6_000), said("KILN_SEED", 11));
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut samples = table::read(&dir).expect("the corpus is in the repository");
    samples.extend(variants::all());
    samples.extend(table::read(&dir.join("variants")).expect("the variants are in the repository"));
    samples.retain(|sample| (1..64 << 10).contains(&sample.bytes.len()));
    assert!(samples.len() > 200);
    let policy = Policy::standard(Rules::own());
    let before = std::panic::take_hook();
    // Tests beside this one may panic on purpose.
    let own = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        let is_own = std::thread::current().id() == own;
        PANICS.fetch_add(usize::from(is_own), Ordering::Relaxed);
        before(info);
    }));
    let mut dice = Dice(seed);
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        // Each in its turn, so that every reader has its part.
        let at = usize::try_from(round).expect("64 bits") % samples.len();
        let mut bytes = samples[at].bytes.clone();
        let other = dice.roll(samples.len());
        change(&mut bytes, &samples[other].bytes, &mut dice);
        let name = match dice.roll(8) {
            0 => &samples[other].name,
            _ => &samples[at].name,
        };
        let start = Instant::now();
        let subject = Subject {
            name,
            bytes: &bytes,
        };
        let report = scan(subject, &policy, &mut Budget::new(LIMITS));
        if round % 16 == 0 {
            drop(scan_stream(&bytes, &policy, &mut Budget::new(LIMITS)));
        }
        let took = start.elapsed();
        slowest = slowest.max(took);
        let told = || format!("seed {seed}, round {round}, `{name}`: {report:?} {bytes:02x?}");
        assert_eq!(PANICS.load(Ordering::Relaxed), 0, "{}", told());
        assert!(took < LATE, "{took:?}, {}", told());
    }
    let peak = peak_kib();
    let told =
        format!("{rounds} mutations, seed {seed}: slowest {slowest:?}, {peak} KiB at most\n");
    std::io::Write::write_all(&mut std::io::stderr(), told.as_bytes()).expect("stderr");
    assert!(peak < MEMORY_KIB, "{peak} KiB");
}
