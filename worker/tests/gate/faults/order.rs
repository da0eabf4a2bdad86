//! Which fault is done when, and how exactly? A seed says it.

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Fault {
    /// SIGKILL to a process that scans.
    Kill,
    /// SIGSTOP to it.
    Stop,
    /// It has no address space left for a large file.
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

impl Fault {
    /// Each, and how many there are of it among forty. A stop costs its time limit: there is one.
    const SHARES: [(Self, usize); 11] = [
        (Kill, 16),
        (Stop, 1),
        (AddressSpace, 2),
        (GroupMemory, 3),
        (Short, 4),
        (Other, 3),
        (ClamdDead, 2),
        (ClamdSlow, 1),
        (ClamdNonsense, 4),
        (BrokenRule, 1),
        (FullStore, 3),
    ];

    /// For a table.
    pub(super) fn told(self) -> &'static str {
        match self {
            Kill => "kill -9",
            Stop => "SIGSTOP",
            AddressSpace => "out of address space",
            GroupMemory => "out of its group's memory",
            Short => "short read",
            Other => "other bytes",
            ClamdDead => "clamd dead",
            ClamdSlow => "clamd silent",
            ClamdNonsense => "clamd talks nonsense",
            BrokenRule => "rule file broken",
            FullStore => "disk full",
        }
    }

    pub(super) fn is_clamds(self) -> bool {
        matches!(self, ClamdDead | ClamdSlow | ClamdNonsense)
    }

    pub(super) fn is_a_spoilt_file(self) -> bool {
        matches!(self, Short | Other)
    }
}

/// That of one round.
pub(super) fn fault(seed: u64, number: u64) -> Fault {
    let faults = turn(seed, number / 40);
    faults[usize::try_from(number % 40).expect("below forty")]
}

/// The forty faults of one turn, in an order of their own.
fn turn(seed: u64, turn: u64) -> Vec<Fault> {
    let shares = Fault::SHARES.into_iter();
    let mut faults: Vec<_> = shares
        .flat_map(|(fault, times)| std::iter::repeat_n(fault, times))
        .collect();
    let mut dice = Dice::of([seed, turn, u64::MAX]);
    for at in (1..faults.len()).rev() {
        faults.swap(at, dice.roll(at + 1));
    }
    faults
}

/// A number that looks random, and is the same for the same seed.
pub(super) struct Dice(u64);

impl Dice {
    /// That of one try of one round: what happened before does not change it.
    pub(super) fn of(words: [u64; 3]) -> Self {
        let mix = |state: u64, word: u64| {
            let mixed = (state ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed ^ (mixed >> 27)
        };
        Self(words.into_iter().fold(0, mix))
    }

    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }
}

#[test]
fn a_turn_has_every_fault_and_the_same_seed_the_same_turns() {
    let faults = turn(7, 3);
    assert_eq!(faults.len(), 40);
    for (fault, times) in Fault::SHARES {
        let there = faults.iter().filter(|it| **it == fault).count();
        assert_eq!(there, times, "{fault:?}");
    }
    assert_eq!(faults, turn(7, 3));
    assert_ne!(faults, turn(7, 4));
    assert_ne!(faults, turn(8, 3));
}
