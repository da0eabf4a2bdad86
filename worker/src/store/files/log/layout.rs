//! How is a log laid out, and what of it is whole?
//!
//! ```text
//!  half     header, a block │ record │ record │ … │ what an earlier round left
//!  header   magic 8 │ digest 8 │ round 8 │ boot id 36
//!  record   digest 8 │ round 8 │ bytes of the key 4 │ bytes of the body 4 │ key │ body
//! ```
//!
//! Numbers are little-endian. A digest is the first 8 bytes of the sha256 of all that follows it;
//! the round is in it, so that nothing of an earlier round is taken for a record of this one.

use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Bytes of a half of a log, of which there are two: some thousand jobs.
pub(super) const HALF: u64 = 4 * 1024 * 1024;
/// Where the first record of a half begins.
pub(super) const FIRST: u64 = 4096;
/// Bytes of the largest body.
pub(in crate::store::files) const BODY_MAX: usize = 64 * 1024;
/// Bytes of the longest key; the store's own stay below.
const KEY_MAX: usize = 4096;

const MAGIC: &[u8; 8] = b"kilnlog1";
const DIGEST: usize = 8;
const BOOT: usize = 36;
const HEADER: usize = MAGIC.len() + DIGEST + 8 + BOOT;
const RECORD: usize = DIGEST + 8 + 4 + 4;

/// What the first block of a half says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Counts how often the half was begun.
    pub(super) round: u64,
    /// The boot of the machine that wrote it.
    pub(super) boot: String,
}

/// A file as it is to be found in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) key: String,
    pub(super) body: Vec<u8>,
}

/// Which half lies where.
pub(super) fn base(half: usize) -> u64 {
    if half == 0 { 0 } else { HALF }
}

impl Header {
    pub(super) fn write(&self, file: &File, half: usize) -> io::Result<()> {
        let mut rest = self.round.to_le_bytes().to_vec();
        let mut boot = self.boot.as_bytes().to_vec();
        boot.resize(BOOT, 0);
        rest.extend(boot);
        let mut block = MAGIC.to_vec();
        block.extend(digest(&rest));
        block.extend(rest);
        file.write_all_at(&block, base(half))
    }

    /// `None` where there is none that is whole.
    pub(super) fn read(file: &File, half: usize) -> io::Result<Option<Self>> {
        let mut block = [0; HEADER];
        match file.read_exact_at(&mut block, base(half)) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let mut rest = Cursor(&block);
        let whole = rest.take(MAGIC.len()) == Some(MAGIC)
            && rest.take(DIGEST).is_some_and(|said| said == digest(rest.0));
        let (Some(round), Some(boot)) = (rest.u64(), rest.take(BOOT)) else {
            return Ok(None);
        };
        let boot = String::from_utf8_lossy(boot);
        Ok(whole.then(|| Self {
            round,
            boot: boot.trim_end_matches('\0').to_owned(),
        }))
    }
}

/// A record as it is written.
pub(super) fn record(round: u64, key: &str, body: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes();
    let mut rest = Vec::with_capacity(RECORD + key.len() + body.len());
    rest.extend([0; DIGEST]);
    rest.extend(round.to_le_bytes());
    rest.extend(length(key.len()));
    rest.extend(length(body.len()));
    rest.extend(key.as_bytes());
    rest.extend(body);
    let digest = digest(&rest[DIGEST..]);
    rest[..DIGEST].copy_from_slice(&digest);
    rest
}

/// The records of a half's round, up to the first that is not whole.
pub(super) fn records(file: &File, half: usize, round: u64) -> io::Result<Vec<Record>> {
    let mut bytes = vec![0; usize::try_from(HALF - FIRST).unwrap_or(0)];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], base(half) + FIRST + filled as u64)? {
            0 => break,
            n => filled += n,
        }
    }
    let mut rest = Cursor(&bytes[..filled]);
    let mut records = Vec::new();
    while let Some(record) = next(&mut rest, round) {
        records.push(record);
    }
    Ok(records)
}

fn next(rest: &mut Cursor<'_>, round: u64) -> Option<Record> {
    let said = rest.take(DIGEST)?;
    let all = rest.0;
    let of = rest.u64()?;
    let (key, body) = (rest.u32()?, rest.u32()?);
    if of != round || key > KEY_MAX || body > BODY_MAX {
        return None;
    }
    let (key, body) = (rest.take(key)?, rest.take(body)?);
    if said != digest(&all[..all.len() - rest.0.len()]) {
        return None;
    }
    Some(Record {
        key: std::str::from_utf8(key).ok()?.to_owned(),
        body: body.to_vec(),
    })
}

fn digest(bytes: &[u8]) -> [u8; DIGEST] {
    let mut first = [0; DIGEST];
    first.copy_from_slice(&Sha256::digest(bytes)[..DIGEST]);
    first
}

/// What is still to be read.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<usize> {
        let number = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
        usize::try_from(number).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::scratch::Folder;
    use std::fs::OpenOptions;

    fn file(folder: &Folder) -> File {
        let path = folder.path().join("log");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        options.open(path).expect("scratch")
    }

    fn keys(file: &File, round: u64) -> Vec<String> {
        let records = records(file, 0, round).expect("it can be read");
        records.into_iter().map(|record| record.key).collect()
    }

    #[test]
    fn a_header_is_read_as_it_was_written_or_not_at_all() {
        let folder = Folder::new();
        let file = file(&folder);
        assert_eq!(Header::read(&file, 1).expect("empty"), None);
        let header = Header {
            round: 7,
            boot: "0f0e".into(),
        };
        header.write(&file, 1).expect("scratch");
        assert_eq!(Header::read(&file, 1).expect("read"), Some(header));
        assert_eq!(Header::read(&file, 0).expect("read"), None);
        file.write_all_at(b"x", base(1) + 20).expect("scratch");
        assert_eq!(Header::read(&file, 1).expect("read"), None);
    }

    #[test]
    fn records_end_at_the_first_that_is_torn_or_of_another_round() {
        let folder = Folder::new();
        let file = file(&folder);
        let mut all = Vec::new();
        let mut ends = Vec::new();
        for key in ["results/a.json", "results/b.json", "results/c.json"] {
            all.extend(record(3, key, b"{}"));
            ends.push(all.len());
        }
        file.write_all_at(&all, FIRST).expect("scratch");
        assert_eq!(keys(&file, 3).len(), 3);
        assert_eq!(keys(&file, 2).len(), 0);
        // Whichever byte is another, what goes before it stands and nothing after it.
        for at in 0..all.len() {
            let torn = [all[at] ^ 0x40];
            file.write_all_at(&torn, FIRST + at as u64)
                .expect("scratch");
            let whole = ends.iter().filter(|end| **end <= at).count();
            assert_eq!(keys(&file, 3).len(), whole, "{at}");
            file.write_all_at(&all[at..=at], FIRST + at as u64)
                .expect("scratch");
        }
        file.set_len(FIRST + ends[1] as u64 + 9).expect("scratch");
        assert_eq!(keys(&file, 3), ["results/a.json", "results/b.json"]);
    }
}
