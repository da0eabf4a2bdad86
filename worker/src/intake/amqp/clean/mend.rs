//! Which bytes of what the broker says would lapin not read, and what stands there instead?
//!
//! Names that are not UTF-8 get `?` for each wrong byte; tables within tables beyond a depth become
//! bytes; headers that cannot be read at all are left out. Bodies pass as they are.

/// Bytes before a frame's payload: its type, channel and size.
const HEAD: usize = 7;
/// Bytes of a frame that is looked into; the greatest that is agreed on is 128 KiB.
const FRAME_MAX: usize = 1024 * 1024;
/// Tables and lists within each other: lapin reads them by recursion, which a stack must bear.
const DEPTH_MAX: usize = 16;

const METHOD: u8 = 1;
const HEADER: u8 = 2;

/// Mends a stream of frames, whatever its pieces.
#[derive(Debug, Default)]
pub(super) struct Mender {
    /// The frame that is being collected, from its first byte.
    frame: Vec<u8>,
    /// Bytes of a frame that pass as they come.
    passing: usize,
    /// What can be read, from `taken` on.
    ready: Vec<u8>,
    taken: usize,
    greeting: Option<String>,
}

impl Mender {
    /// The broker's version, once, when it has said it.
    pub(super) fn version(&mut self) -> Option<String> {
        self.greeting.take()
    }

    /// Hands out what is ready.
    pub(super) fn take(&mut self, buffer: &mut [u8]) -> usize {
        let rest = &self.ready[self.taken..];
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        self.taken += n;
        if self.taken == self.ready.len() {
            self.ready.clear();
            self.taken = 0;
        }
        n
    }

    /// Takes in the next piece.
    pub(super) fn feed(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            let n = self.wanted().min(piece.len());
            let (now, rest) = piece.split_at(n);
            piece = rest;
            if self.passing > 0 {
                self.passing -= n;
                self.ready.extend_from_slice(now);
                continue;
            }
            self.frame.extend_from_slice(now);
            if self.frame.len() == HEAD && !self.is_looked_into() {
                self.passing = self.size().saturating_add(1);
                self.ready.append(&mut self.frame);
            } else if self.frame.len() > HEAD && self.wanted() == 0 {
                mend(&mut self.frame);
                if let Some(version) = version(&self.frame) {
                    self.greeting = Some(version);
                }
                self.ready.append(&mut self.frame);
            }
        }
    }

    /// How many bytes come next that belong together.
    fn wanted(&self) -> usize {
        if self.passing > 0 {
            return self.passing;
        }
        match self.frame.len() {
            held @ ..HEAD => HEAD - held,
            held => (HEAD + self.size() + 1).saturating_sub(held),
        }
    }

    fn size(&self) -> usize {
        let size = [self.frame[3], self.frame[4], self.frame[5], self.frame[6]];
        usize::try_from(u32::from_be_bytes(size)).unwrap_or(usize::MAX - HEAD - 1)
    }

    fn is_looked_into(&self) -> bool {
        matches!(self.frame[0], METHOD | HEADER) && self.size() <= FRAME_MAX
    }
}

/// The version that the broker's first frame tells among its properties.
fn version(frame: &[u8]) -> Option<String> {
    const KEY: &[u8] = b"\x07versionS";
    let (_end, frame) = frame.split_last()?;
    if frame[0] != METHOD || frame.get(HEAD..HEAD + 4)? != [0, 10, 0, 10] {
        return None;
    }
    let at = frame.windows(KEY.len()).position(|bytes| bytes == KEY)? + KEY.len();
    let size = u32::from_be_bytes(*frame.get(at..)?.first_chunk()?);
    let text = frame.get(at + 4..)?.get(..usize::try_from(size).ok()?)?;
    Some(String::from_utf8_lossy(text).escape_debug().to_string())
}

/// Mends one whole frame.
fn mend(frame: &mut Vec<u8>) {
    let end = frame.len() - 1;
    let payload = &mut frame[HEAD..end];
    let kind = [
        payload.first(),
        payload.get(1),
        payload.get(2),
        payload.get(3),
    ];
    let kind = kind.map(|byte| byte.copied().unwrap_or_default());
    // The frame's own type is judged by lapin; here only what is known is touched.
    let out = match (frame[0], kind) {
        (METHOD, [0, 60, 0, 60]) => {
            let mut reader = Reader::new(&mut frame[HEAD..end], 4);
            reader.deliver();
            None
        }
        (METHOD, [0, 60, 0, 71]) => {
            let mut reader = Reader::new(&mut frame[HEAD..end], 4 + 9);
            reader.texts(2);
            None
        }
        (METHOD, [0, 60, 0, 50]) => {
            let mut reader = Reader::new(&mut frame[HEAD..end], 4 + 2);
            reader.texts(3);
            None
        }
        (METHOD, [0, 10 | 20, 0, 40 | 50]) => {
            let mut reader = Reader::new(&mut frame[HEAD..end], 4 + 2);
            reader.texts(1);
            None
        }
        (HEADER, _) => Reader::new(&mut frame[HEAD..end], 12).properties(),
        _ => None,
    };
    if let Some((from, to)) = out {
        frame.splice(HEAD + from..HEAD + to, [0; 4]);
        let size = u32::try_from(frame.len() - HEAD - 1).expect("it was a frame");
        frame[3..HEAD].copy_from_slice(&size.to_be_bytes());
    }
}

/// Reads along a payload and mends what it passes; none where the payload is at its end.
struct Reader<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a mut [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    fn skip(&mut self, n: usize) -> Option<&mut [u8]> {
        let from = self.at;
        self.at = from.checked_add(n)?;
        self.bytes.get_mut(from..self.at)
    }

    fn byte(&mut self) -> Option<u8> {
        self.skip(1).map(|bytes| bytes[0])
    }

    fn long(&mut self) -> Option<usize> {
        let bytes = self.skip(4)?;
        let long = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        usize::try_from(long).ok()
    }

    fn text(&mut self) -> Option<()> {
        let size = self.byte()?;
        readable(self.skip(size.into())?);
        Some(())
    }

    fn texts(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.text())
    }

    fn deliver(&mut self) -> Option<()> {
        self.text()?;
        self.skip(9)?;
        self.texts(2)
    }

    /// Where a table of headers lies that cannot be read.
    fn properties(&mut self) -> Option<(usize, usize)> {
        let flags = self.skip(2)?;
        let flags = u16::from_be_bytes([flags[0], flags[1]]);
        let has = |bit: u16| flags & (1 << bit) != 0;
        let mut out = None;
        for bit in [15, 14] {
            if has(bit) {
                self.text()?;
            }
        }
        if has(13) {
            let from = self.at;
            let size = self.long()?;
            let end = self
                .at
                .checked_add(size)
                .filter(|end| *end <= self.bytes.len())?;
            if self.table(end, 0).is_none() {
                out = Some((from, end));
            }
            self.at = end;
        }
        // Delivery mode and priority.
        self.skip(usize::from(has(12)) + usize::from(has(11)))?;
        for bit in [10, 9, 8, 7] {
            if has(bit) && self.text().is_none() {
                return out;
            }
        }
        if has(6) && self.skip(8).is_none() {
            return out;
        }
        for bit in [5, 4, 3, 2] {
            if has(bit) && self.text().is_none() {
                return out;
            }
        }
        out
    }

    fn table(&mut self, end: usize, depth: usize) -> Option<()> {
        while self.at < end {
            self.text()?;
            self.value(depth)?;
        }
        (self.at == end).then_some(())
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        let place = self.at;
        let fixed = match self.byte()? {
            b'V' => 0,
            b't' | b'b' | b'B' => 1,
            b's' | b'U' | b'u' => 2,
            b'I' | b'i' | b'f' => 4,
            b'D' => 5,
            b'L' | b'l' | b'd' | b'T' => 8,
            b'S' | b'x' => self.long()?,
            b'F' | b'A' if depth >= DEPTH_MAX => {
                // Bytes are told by the same four bytes of size.
                self.bytes[place] = b'x';
                self.long()?
            }
            kind @ (b'F' | b'A') => {
                let size = self.long()?;
                let end = self.at.checked_add(size)?;
                if kind == b'F' {
                    return self.table(end, depth + 1);
                }
                while self.at < end {
                    self.value(depth + 1)?;
                }
                return (self.at == end).then_some(());
            }
            _ => return None,
        };
        self.skip(fixed).map(drop)
    }
}

/// Puts `?` in the place of each byte that is not UTF-8.
fn readable(text: &mut [u8]) {
    let mut from = 0;
    while let Err(error) = std::str::from_utf8(&text[from..]) {
        let bad = from + error.valid_up_to();
        let len = error.error_len().unwrap_or(text.len() - bad);
        text[bad..bad + len].fill(b'?');
        from = bad + len;
    }
}

#[cfg(test)]
mod tests;
