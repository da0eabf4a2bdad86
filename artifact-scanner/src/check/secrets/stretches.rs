//! Where in a view could a token stand at all?
//!
//! Whatever is told of, but a few that have marks of their own, has a run of at least twelve
//! characters of which tokens are made. Most of a table, a page or an array has no such run, and
//! that is seen many bytes at a time; what has one is searched byte by byte, with what stands before.

use super::keys;
use aho_corasick::packed::{self, Searcher};
use std::ops::Range;
use std::sync::OnceLock;

/// No token, and no value that a name calls secret, is shorter.
const RUN_MIN: usize = 12;
/// A run without a letter is a number, if it is not a text in hexadecimal digits or a signature.
const DIGITS_MIN: usize = 40;
/// Runs that are nearer to one another are one stretch: however many there are, to list them takes
/// a fifth of the view at most.
const GAP_MAX: usize = 256;

/// Bytes that are looked at as one, in words of four.
const BLOCK: usize = 256;
const WORD: usize = 4;
const WORDS: usize = BLOCK / WORD + 1;
const AROUND: usize = RUN_MIN;
/// A block with what is around it, in whole vectors.
const PART: usize = (BLOCK + 2 * AROUND).next_multiple_of(STEP_MAX);
const STEP_MAX: usize = 16;

/// A part of a view that holds runs, from the first of the first to the last of the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The longest run within.
    pub(super) longest: usize,
}

/// The characters that tokens, values and their codings are made of: what is told of a value must stand
/// within a stretch.
pub(super) const fn is_made_of(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'+' | b'/'
                | b'='
                | b'_'
                | b'-'
                | b'.'
                | b'~'
                | b'!'
                | b'@'
                | b'#'
                | b'$'
                | b'%'
                | b'^'
                | b'*'
        )
}

const MADE_OF: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = is_made_of(byte);
        if byte == u8::MAX {
            break table;
        }
        byte += 1;
    }
};

fn fits(byte: u8) -> bool {
    MADE_OF[usize::from(byte)]
}

/// All stretches of the view, in order and apart.
fn stretches(view: &[u8]) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    let mut done = 0;
    for at in (0..view.len()).step_by(BLOCK) {
        if done >= at + BLOCK {
            continue;
        }
        let padded;
        let block = if let Some(block) = view[at..].first_chunk() {
            block
        } else {
            padded = filled_up(&view[at..]);
            &padded
        };
        if !may_hold_run(block) {
            continue;
        }
        // What begins shortly before the block or ends shortly behind it is seen as a whole.
        let from = at.saturating_sub(AROUND).max(done);
        let to = view.len().min(at + BLOCK + AROUND);
        let starts = starts(&view[from.min(to)..to]);
        let mut next = 0;
        while let Some(start) = memchr::memchr(1, &starts[next..]) {
            let run = run(view, from + next + start, done);
            done = run.end.max(from + next + start + 1);
            next = (done - from).min(starts.len());
            if is_enough(&view[run.clone()]) {
                add(&mut found, &run);
            }
        }
    }
    found
}

fn filled_up(rest: &[u8]) -> [u8; BLOCK + WORD] {
    let mut block = [0; BLOCK + WORD];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// Whether a byte does not end a run. It takes some for such that do: this is to be quick.
fn goes_on(byte: u8) -> bool {
    byte.wrapping_sub(b'!') <= b'~' - b'!'
        && byte != b'"'
        && byte != b','
        && byte & 0xfd != b'<'
        && byte & 0xfe != b':'
}

/// Whether two words next to each other are free of bytes that end a run: every run holds two.
fn may_hold_run(block: &[u8; BLOCK + WORD]) -> bool {
    let flags = block.map(|byte| if goes_on(byte) { u8::MAX } else { 0 });
    let mut words = [0; WORDS];
    for (word, flags) in words.iter_mut().zip(flags.chunks_exact(WORD)) {
        *word = u32::from(flags == [u8::MAX; WORD]);
    }
    words
        .windows(2)
        .fold(0, |any, pair| any | pair[0] & pair[1])
        != 0
}

/// A mark at each byte with which so many begin that do not end a run.
fn starts(part: &[u8]) -> [u8; PART + STEP_MAX] {
    // What lies behind the part is nought, and stays so.
    let mut flags = [0; PART + STEP_MAX];
    for (flag, byte) in flags.iter_mut().zip(part) {
        *flag = u8::from(goes_on(*byte));
    }
    for step in [1, 2, 4, 4] {
        for at in 0..PART {
            flags[at] &= flags[at + step];
        }
    }
    flags
}

/// The run around `probe`, of which nothing lies before `from`.
fn run(view: &[u8], probe: usize, from: usize) -> Range<usize> {
    let before = view[from..probe].iter().rev();
    let start = probe - before.take_while(|byte| fits(**byte)).count();
    let behind = view[probe..].iter().take_while(|byte| fits(**byte));
    start..probe + behind.count()
}

fn is_enough(run: &[u8]) -> bool {
    let tells = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'%';
    run.len() >= DIGITS_MIN || (run.len() >= RUN_MIN && run.iter().any(tells))
}

fn add(found: &mut Vec<Stretch>, run: &Range<usize>) {
    match found
        .last_mut()
        .filter(|last| run.start <= last.end + GAP_MAX)
    {
        Some(last) => {
            last.end = run.end;
            last.longest = last.longest.max(run.len());
        }
        None => found.push(Stretch {
            start: run.start,
            end: run.end,
            longest: run.len(),
        }),
    }
}

/// Words that tell of something without a run, or long before one.
const MARKS: [&[u8]; 9] = [
    b"PRIVATE KEY",
    b"PuTTY-User-Key-File-",
    b"openssh-key-v1\0",
    b":5432:",
    b":::",
    b"://",
    keys::PKCS8,
    keys::RSA,
    keys::PKCS12,
];

fn marks(view: &[u8]) -> Vec<Range<usize>> {
    static SEARCHER: OnceLock<Option<Searcher>> = OnceLock::new();
    let searcher = SEARCHER.get_or_init(|| packed::Config::new().builder().extend(MARKS).build());
    // Without such a searcher for this machine all is searched byte by byte.
    let Some(searcher) = searcher else {
        return std::iter::once(0..view.len()).collect();
    };
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut rest = (0..view.len()).into();
    while let Some(mark) = searcher.find_in(view, rest) {
        match found
            .last_mut()
            .filter(|last| mark.start() <= last.end + GAP_MAX)
        {
            Some(last) => last.end = last.end.max(mark.end()),
            None => found.push(mark.range()),
        }
        // One may begin within another.
        rest.start = mark.start() + 1;
    }
    found
}

/// The parts of a view in which there may be something, in order and apart.
pub(super) struct Spots {
    pub(super) stretches: Vec<Stretch>,
    pub(super) marks: Vec<Range<usize>>,
}

impl Spots {
    pub(super) fn of(view: &[u8]) -> Self {
        Self {
            stretches: stretches(view),
            marks: marks(view),
        }
    }

    /// What is to be searched, with so many bytes of what stands before each part.
    pub(super) fn with(&self, before: usize) -> Vec<Range<usize>> {
        regions(&self.stretches, &self.marks, before)
    }
}

fn regions(stretches: &[Stretch], marks: &[Range<usize>], before: usize) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = stretches
        .iter()
        .map(|stretch| stretch.start..stretch.end)
        .chain(marks.iter().cloned())
        .map(|part| part.start.saturating_sub(before)..part.end)
        .collect();
    parts.sort_unstable_by_key(|part| part.start);
    parts.dedup_by(|next, last| {
        let meets = next.start <= last.end;
        if meets {
            last.end = last.end.max(next.end);
        }
        meets
    });
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same, byte by byte.
    fn slowly(view: &[u8]) -> Vec<Stretch> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < view.len() {
            let length = view[at..].iter().take_while(|byte| fits(**byte)).count();
            if is_enough(&view[at..at + length]) {
                add(&mut found, &(at..at + length));
            }
            at += length.max(1);
        }
        found
    }

    #[test]
    fn no_run_is_missed_wherever_it_stands() {
        for length in 10..=60 {
            for at in (0..30).chain(240..280).chain(500..524) {
                for (filler, letter) in [(b' ', b'a'), (b'"', b'7'), (0, b'%'), (b'(', b'~')] {
                    let mut view = vec![filler; 600];
                    view[at..at + length].fill(letter);
                    for cut in [at + length, view.len()] {
                        assert_eq!(
                            stretches(&view[..cut]),
                            slowly(&view[..cut]),
                            "{at} {length}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn any_bytes_have_the_stretches_that_they_have() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..200_u64 {
            let view: Vec<u8> = (0..3000)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    let letter = b"aZ09+/=_-.~!@#$%^*"[(state % 18) as usize];
                    let other = state.to_le_bytes()[1];
                    if (state >> 32).is_multiple_of(2 + round) {
                        other
                    } else {
                        letter
                    }
                })
                .collect();
            assert_eq!(stretches(&view), slowly(&view));
        }
    }

    #[test]
    fn a_table_of_numbers_has_none() {
        let table = b"1,name 2,-0.123456,12.1234567,2024-01-02\n".repeat(100);
        assert_eq!(stretches(&table), []);
        let region = |start, end| start..end;
        let stretch = Stretch {
            start: 100,
            end: 120,
            longest: 20,
        };
        assert_eq!(
            regions(&[stretch], &[region(2, 5), region(110, 130)], 30),
            [region(0, 5), region(70, 130)]
        );
    }
}
