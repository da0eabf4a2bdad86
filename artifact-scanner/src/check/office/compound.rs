//! Which streams a compound file (OLE 2) holds.

use crate::{Budget, Limit, Unscannable};

const FREE: u32 = 0xffff_fffa;
const ENTRIES_MAX: usize = 20_000;
const STREAM_BYTES_MAX: usize = 64 << 20;

struct Entry {
    name: String,
    start: u32,
    size: usize,
    stream: bool,
}

/// A compound file whose tables were read.
pub(super) struct Compound<'a> {
    bytes: &'a [u8],
    sector: usize,
    next: Vec<u32>,
    next_small: Vec<u32>,
    small: Vec<u8>,
    cutoff: usize,
    entries: Vec<Entry>,
}

/// Whether the bytes begin as a compound file does.
pub(super) fn sniff(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|field| field.first_chunk())
        .map_or(u32::MAX, |field| u32::from_le_bytes(*field))
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|field| word(field, 0))
}

impl<'a> Compound<'a> {
    /// Reads the tables; `None` where they make no sense.
    pub(super) fn open(bytes: &'a [u8], budget: &mut Budget) -> Result<Option<Self>, Unscannable> {
        if !sniff(bytes) || bytes.len() < 512 {
            return Ok(None);
        }
        let shift = word(bytes, 0x1e) & 0xffff;
        if !matches!(shift, 9 | 12) {
            return Ok(None);
        }
        let mut file = Self {
            bytes,
            sector: 1 << shift,
            next: Vec::new(),
            next_small: Vec::new(),
            small: Vec::new(),
            cutoff: word(bytes, 0x38).min(1 << 20) as usize,
            entries: Vec::new(),
        };
        let mut tables: Vec<u32> = words(&bytes[0x4c..0x200])
            .filter(|sector| *sector < FREE)
            .collect();
        let mut more = word(bytes, 0x44);
        let mut seen = 0;
        while more < FREE && seen < bytes.len() / file.sector + 1 {
            let Some(block) = file.at(more) else { break };
            let (tables_here, onward) = block.split_at(block.len() - 4);
            tables.extend(words(tables_here).filter(|sector| *sector < FREE));
            more = word(onward, 0);
            seen += 1;
        }
        tables.truncate(bytes.len() / file.sector + 1);
        for table in tables {
            if let Some(sector) = file.at(table) {
                let links: Vec<u32> = words(sector).collect();
                file.next.extend(links);
            }
        }
        let directory = file.chain(word(bytes, 0x30), STREAM_BYTES_MAX, budget)?;
        file.entries = directory
            .chunks_exact(128)
            .take(ENTRIES_MAX)
            .filter_map(entry)
            .collect();
        let small_table = file.chain(word(bytes, 0x3c), STREAM_BYTES_MAX, budget)?;
        file.next_small = words(&small_table).collect();
        if let Some((start, size)) = file.entries.first().map(|root| (root.start, root.size)) {
            file.small = file.chain(start, size, budget)?;
        }
        Ok((!file.entries.is_empty()).then_some(file))
    }

    fn at(&self, sector: u32) -> Option<&'a [u8]> {
        let start = (sector as usize).checked_add(1)?.checked_mul(self.sector)?;
        let end = start.checked_add(self.sector)?.min(self.bytes.len());
        let found = self.bytes.get(start..end)?;
        (found.len() == self.sector || !found.is_empty())
            .then_some(found)
            .filter(|found| found.len() >= 4)
    }

    fn chain(&self, start: u32, size: usize, budget: &mut Budget) -> Result<Vec<u8>, Unscannable> {
        let mut out = Vec::new();
        let mut sector = start;
        let mut steps = 0;
        while sector < FREE && out.len() < size {
            let Some(found) = self.at(sector) else { break };
            out.extend_from_slice(found);
            sector = self.next.get(sector as usize).copied().unwrap_or(u32::MAX);
            steps += 1;
            // More sectors than the file has: it runs in a circle.
            if steps > self.bytes.len() / self.sector + 1 || out.len() > STREAM_BYTES_MAX {
                return Err(Unscannable::Limit(Limit::Memory));
            }
        }
        budget.unpack(out.len().max(1) as u64)?;
        out.truncate(size);
        Ok(out)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// The first stream of that name.
    pub(super) fn stream(
        &self,
        name: &str,
        budget: &mut Budget,
    ) -> Result<Option<Vec<u8>>, Unscannable> {
        match self
            .entries
            .iter()
            .find(|entry| entry.stream && entry.name.eq_ignore_ascii_case(name))
        {
            Some(entry) => self.read(entry, budget).map(Some),
            None => Ok(None),
        }
    }

    /// Reads every stream in turn: one is held at a time, for many may share their sectors.
    pub(super) fn each_stream(
        &self,
        budget: &mut Budget,
        mut take: impl FnMut(&[u8], &mut Budget) -> Result<(), Unscannable>,
    ) -> Result<(), Unscannable> {
        for entry in self.entries.iter().filter(|entry| entry.stream) {
            take(&self.read(entry, budget)?, budget)?;
        }
        Ok(())
    }

    fn read(&self, entry: &Entry, budget: &mut Budget) -> Result<Vec<u8>, Unscannable> {
        if entry.size >= self.cutoff {
            return self.chain(entry.start, entry.size, budget);
        }
        let mut out = Vec::new();
        let mut sector = entry.start;
        while sector < FREE && out.len() < entry.size && out.len() <= self.small.len() {
            let start = sector as usize * 64;
            let end = (start + 64).min(self.small.len());
            // A sector just behind the last one has no bytes, and may be its own next.
            let found = self.small.get(start..end).unwrap_or_default();
            if found.is_empty() {
                break;
            }
            out.extend_from_slice(found);
            sector = self
                .next_small
                .get(sector as usize)
                .copied()
                .unwrap_or(u32::MAX);
        }
        budget.unpack(out.len().max(1) as u64)?;
        out.truncate(entry.size);
        Ok(out)
    }
}

fn entry(raw: &[u8]) -> Option<Entry> {
    let kind = raw[0x42];
    if !matches!(kind, 1 | 2 | 5) {
        return None;
    }
    let length = usize::from(u16::from_le_bytes([raw[0x40], raw[0x41]])).min(64);
    let units: Vec<u16> = raw[..length]
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .take_while(|unit| *unit != 0)
        .collect();
    Some(Entry {
        name: String::from_utf16_lossy(&units),
        start: word(raw, 0x74),
        size: word(raw, 0x78) as usize,
        stream: kind == 2,
    })
}
