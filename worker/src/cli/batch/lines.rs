//! How are the lines of a batch read as a stream, with no line whole in memory that is too long?

use kiln_protocol::digest::hex;
use kiln_protocol::id::JobId;
use sha2::{Digest, Sha256};
use std::io::{self, BufRead};

/// One line of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Counted from 1, blank lines too.
    pub(crate) number: u64,
    /// The first 16 hex digits of the sha256 of the line without its line feed.
    pub(crate) hash16: String,
    pub(crate) content: Content,
}

/// What a line holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Whole(Vec<u8>),
    /// Longer than a job message may be; read past, not kept.
    TooLong {
        bytes: u64,
    },
}

impl Line {
    /// The id of a line that has none of its own.
    pub(crate) fn id(&self) -> JobId {
        format!("line-{}-{}", self.number, self.hash16)
            .parse()
            .expect("letters, digits and hyphens are an id")
    }
}

/// The lines of a stream, blank ones left out.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    source: R,
    number: u64,
    bytes_max: usize,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(source: R, bytes_max: usize) -> Self {
        Self {
            source,
            number: 0,
            bytes_max,
        }
    }

    /// The next line that is not blank; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let Some(line) = self.any()? else {
                return Ok(None);
            };
            let blank =
                matches!(&line.content, Content::Whole(bytes) if bytes.trim_ascii().is_empty());
            if !blank {
                return Ok(Some(line));
            }
        }
    }

    fn any(&mut self) -> io::Result<Option<Line>> {
        let mut kept = Vec::new();
        let mut total: u64 = 0;
        let mut hash = Sha256::new();
        let mut something = false;
        loop {
            let chunk = match self.source.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            something = true;
            let feed = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..feed.unwrap_or(chunk.len())];
            hash.update(part);
            total += part.len() as u64;
            if total <= self.bytes_max as u64 {
                kept.extend_from_slice(part);
            } else {
                kept = Vec::new();
            }
            let used = part.len() + usize::from(feed.is_some());
            self.source.consume(used);
            if feed.is_some() {
                break;
            }
        }
        if !something {
            return Ok(None);
        }
        self.number += 1;
        Ok(Some(Line {
            number: self.number,
            hash16: hex(&hash.finalize()[..8]),
            content: if total <= self.bytes_max as u64 {
                Content::Whole(kept)
            } else {
                Content::TooLong { bytes: total }
            },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Read};

    fn all(text: &[u8], bytes_max: usize, buffer: usize) -> Vec<Line> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, text), bytes_max);
        let mut found = Vec::new();
        while let Some(line) = lines.next().expect("memory can be read") {
            found.push(line);
        }
        found
    }

    #[test]
    fn lines_are_numbered_with_the_blank_ones() {
        for buffer in [1, 3, 64] {
            let found = all(b"a\n\n  \r\nbb", 8, buffer);
            let short: Vec<_> = found
                .iter()
                .map(|line| (line.number, line.content.clone()))
                .collect();
            assert_eq!(
                short,
                [
                    (1, Content::Whole(b"a".to_vec())),
                    (4, Content::Whole(b"bb".to_vec()))
                ]
            );
        }
    }

    #[test]
    fn an_id_is_made_of_number_and_hash() {
        let found = all(b"abc\n", 8, 2);
        assert_eq!(found[0].id().as_str(), "line-1-ba7816bf8f01cfea");
        assert_eq!(found[0].id(), JobId::for_line(1, b"abc"));
    }

    #[test]
    fn a_line_at_the_bound_is_whole_and_one_past_it_is_not() {
        for buffer in [1, 7, 64] {
            let found = all(b"12345678\n123456789\n1\n", 8, buffer);
            assert_eq!(found[0].content, Content::Whole(b"12345678".to_vec()));
            assert_eq!(found[1].content, Content::TooLong { bytes: 9 });
            assert_eq!(found[2].content, Content::Whole(b"1".to_vec()));
            assert_eq!(found[2].number, 3);
        }
    }

    #[test]
    fn a_huge_line_is_not_kept() {
        let huge = io::repeat(b'x').take(1 << 26).chain(&b"\n{}\n"[..]);
        let mut lines = Lines::new(BufReader::new(huge), 1024);
        let first = lines.next().expect("readable").expect("a line");
        assert_eq!(first.content, Content::TooLong { bytes: 1 << 26 });
        let second = lines.next().expect("readable").expect("a line");
        assert_eq!(second.content, Content::Whole(b"{}".to_vec()));
    }
}
