//! How are bytes changed at random, again in the same way where it is asked for?

/// Figures on which parsers turn.
const FIGURES: [u64; 12] = [
    0,
    1,
    7,
    0x7f,
    0x80,
    0xff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    u64::MAX >> 1,
    u64::MAX,
];

/// Pieces of text on which they turn.
const PIECES: [&[u8]; 16] = [
    b"null",
    b"-1",
    b"1e400",
    b"[]",
    b"{}",
    b"\"\"",
    b"..",
    b"/",
    b"\\u0000",
    b"\xff",
    b"\xed\xa0\x80",
    b"18446744073709551616",
    b"{\"a\":",
    b"]",
    b"\n",
    b"\0",
];

/// Bytes that one change adds at most; a few changes follow each other.
const GROWTH: u64 = 4096;

/// A stream of numbers that one number names.
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(1).max(1);
        usize::try_from(self.next() % bound).unwrap_or(0)
    }

    /// One of the seeds, with one to four changes.
    pub(super) fn changed(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, seeds);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(bytes.len() + 1);
        let to = at + self.below(bytes.len() - at + 1);
        match self.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.next().to_le_bytes()[0],
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..to)),
            4 => {
                let piece = PIECES[self.below(PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            5 => {
                let figure = FIGURES[self.below(FIGURES.len())].to_le_bytes();
                let length = [1, 2, 4, 8][self.below(4)];
                let end = (at + length).min(bytes.len());
                bytes.splice(at..end, figure[..length].iter().copied());
            }
            6 => {
                let other = &seeds[self.below(seeds.len())];
                let from = self.below(other.len() + 1);
                bytes.splice(at..to, other[from..].iter().copied());
            }
            _ => {
                let room = usize::try_from(GROWTH).unwrap_or(0);
                let piece = bytes[at..to].to_vec();
                let times = 1 + self.below((room / piece.len().max(1)).clamp(1, 16));
                bytes.splice(at..at, piece.repeat(times));
            }
        }
    }
}
