//! Which dictionaries and streams stand in the bytes of a document.

use super::super::decode::nibble;
use super::value::{Dict, Value, outline};
use crate::{Limit, Unscannable};
use std::ops::Range;

/// Deeper dictionaries are refused; no writer makes them.
const DEPTH_MAX: usize = 100;
const STRING_BYTES_MAX: usize = 64 << 10;

pub(super) enum Event {
    /// A dictionary ended; whether it stands by itself.
    Dict(Dict, bool),
    /// An object that is no dictionary.
    Bare(Value),
    /// A stream without a dictionary of its own.
    Stream,
}

enum Frame {
    Dict(Dict, Option<String>),
    Array(Vec<Value>),
}

pub(super) struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    frames: Vec<Frame>,
    /// The last two numbers: those of the object that begins, or is referred to.
    numbers: [i64; 2],
    /// The number of the object, while one is open.
    own: Option<i64>,
    bare: Option<Value>,
    /// Where the objects that were read begin, behind their `obj`.
    begun: Vec<usize>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            frames: Vec::new(),
            numbers: [0; 2],
            own: None,
            bare: None,
            begun: Vec::new(),
        }
    }

    /// Reads the object of that number whose value begins at `at`.
    pub(super) fn within(bytes: &'a [u8], at: usize, number: i64) -> Self {
        Self {
            at,
            own: Some(number),
            ..Self::new(bytes)
        }
    }

    /// The number of the object that is open.
    pub(super) fn own(&self) -> Option<i64> {
        self.own
    }

    pub(super) fn into_begun(self) -> Vec<usize> {
        self.begun
    }

    /// The stream of the dictionary that just ended, if it has one.
    pub(super) fn stream_behind(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        loop {
            match self.bytes.get(self.at)? {
                b'%' => self.comment(),
                byte if byte.is_ascii_whitespace() || *byte == 0 => self.at += 1,
                _ => break,
            }
        }
        let rest = &self.bytes[self.at..];
        let is_stream = rest.iter().take_while(|b| regular(**b)).count() == 6;
        if is_stream && rest.starts_with(b"stream") {
            self.at += 6;
            return Some(self.stream());
        }
        self.at = start;
        None
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next dictionary or other object that ends, or stream that begins.
    pub(super) fn next(&mut self) -> Result<Option<Event>, Unscannable> {
        while let Some(&byte) = self.bytes.get(self.at) {
            let next = self.bytes.get(self.at + 1).copied();
            match byte {
                b'%' => self.comment(),
                b'/' => {
                    let name = self.name();
                    self.put_name(name);
                }
                b'(' => {
                    let text = self.string();
                    self.put(Value::Text(text));
                }
                b'<' if next == Some(b'<') => {
                    self.at += 2;
                    self.push(Frame::Dict(Dict::default(), None))?;
                }
                b'<' => {
                    let text = self.hex_string();
                    self.put(Value::Text(text));
                }
                b'>' if next == Some(b'>') => {
                    self.at += 2;
                    if let Some(event) = self.end_dict() {
                        return Ok(Some(event));
                    }
                }
                b'[' => {
                    self.at += 1;
                    self.push(Frame::Array(Vec::new()))?;
                }
                b']' => {
                    self.at += 1;
                    if matches!(self.frames.last(), Some(Frame::Array(_)))
                        && let Some(Frame::Array(items)) = self.frames.pop()
                    {
                        self.put(Value::Array(items));
                    }
                }
                _ if regular(byte) => {
                    if let Some(event) = self.word() {
                        return Ok(Some(event));
                    }
                }
                _ => self.at += 1,
            }
            if let Some(value) = self.bare.take() {
                return Ok(Some(Event::Bare(value)));
            }
        }
        // What is open at the end counts as ended.
        while !self.frames.is_empty() {
            if let Some(event) = self.end_dict() {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    fn push(&mut self, frame: Frame) -> Result<(), Unscannable> {
        if self.frames.len() >= DEPTH_MAX {
            return Err(Unscannable::Limit(Limit::Depth));
        }
        self.frames.push(frame);
        Ok(())
    }

    fn put(&mut self, value: Value) {
        match self.frames.last_mut() {
            Some(Frame::Array(items)) => items.push(value),
            Some(Frame::Dict(dict, key)) => {
                if let Some(key) = key.take() {
                    dict.0.push((key, value));
                }
            }
            None if self.own.is_some() => self.bare = Some(value),
            None => {}
        }
    }

    fn put_name(&mut self, name: String) {
        match self.frames.last_mut() {
            Some(Frame::Dict(_, key @ None)) => *key = Some(name),
            _ => self.put(Value::Name(name)),
        }
    }

    /// Ends the innermost dictionary, and the arrays within that were left open.
    fn end_dict(&mut self) -> Option<Event> {
        loop {
            match self.frames.pop()? {
                Frame::Array(items) => self.put(Value::Array(items)),
                Frame::Dict(mut dict, key) => {
                    if let Some(key) = key {
                        dict.0.push((key, Value::Other));
                    }
                    if self.frames.is_empty() {
                        return Some(Event::Dict(dict, true));
                    }
                    // The parent keeps what names the child; the child is looked at now.
                    let outline = Dict(
                        dict.0
                            .iter()
                            .map(|(key, value)| (key.clone(), outline(value)))
                            .collect(),
                    );
                    self.put(Value::Dict(outline));
                    return Some(Event::Dict(dict, false));
                }
            }
        }
    }

    fn word(&mut self) -> Option<Event> {
        let start = self.at;
        let length = self.bytes[start..]
            .iter()
            .take_while(|b| regular(**b))
            .count();
        self.at += length;
        match &self.bytes[start..self.at] {
            b"stream" => {
                self.stream();
                return Some(Event::Stream);
            }
            b"obj" => {
                self.frames.clear();
                self.own = Some(self.numbers[0]);
                self.begun.push(self.at);
            }
            b"endobj" | b"xref" | b"trailer" => {
                self.frames.clear();
                self.own = None;
            }
            b"R" => self.reference(),
            word => {
                let number = std::str::from_utf8(&word[..word.len().min(20)])
                    .ok()
                    .and_then(|digits| digits.parse().ok());
                if let Some(number) = number {
                    self.numbers = [self.numbers[1], number];
                }
                self.put(number.map_or(Value::Other, Value::Number));
            }
        }
        None
    }

    /// `7 0 R` is one value; in a dictionary the first number has already taken the key's place.
    fn reference(&mut self) {
        match self.frames.last_mut() {
            Some(Frame::Array(items)) => {
                items.truncate(items.len().saturating_sub(2));
                items.push(Value::Reference(self.numbers[0]));
            }
            Some(Frame::Dict(dict, _)) => {
                if let Some(last) = dict.0.last_mut() {
                    last.1 = Value::Reference(self.numbers[0]);
                }
            }
            None => self.put(Value::Reference(self.numbers[0])),
        }
    }

    fn stream(&mut self) -> Range<usize> {
        self.frames.clear();
        match &self.bytes[self.at..] {
            [b'\r', b'\n', ..] => self.at += 2,
            [b'\r' | b'\n', ..] => self.at += 1,
            _ => {}
        }
        let rest = &self.bytes[self.at..];
        let length = memchr::memmem::find(rest, b"endstream").unwrap_or(rest.len());
        let range = self.at..self.at + length;
        self.at = (range.end + 9).min(self.bytes.len());
        range
    }

    fn comment(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
    }

    fn name(&mut self) -> String {
        self.at += 1;
        let length = self.bytes[self.at..]
            .iter()
            .take_while(|b| regular(**b))
            .count();
        let raw = &self.bytes[self.at..self.at + length];
        self.at += length;
        let mut name = Vec::with_capacity(raw.len());
        let mut i = 0;
        while let Some(&byte) = raw.get(i) {
            let code = match (byte, raw.get(i + 1..i + 3)) {
                (b'#', Some(pair)) => nibble(pair[0]).zip(nibble(pair[1])),
                _ => None,
            };
            name.push(code.map_or(byte, |(high, low)| high << 4 | low));
            i += if code.is_some() { 3 } else { 1 };
        }
        String::from_utf8_lossy(&name).into_owned()
    }

    fn string(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut depth = 0_usize;
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            match byte {
                b'(' => depth += 1,
                b')' => depth -= 1,
                b'\\' => {
                    let digits = self.bytes[self.at..]
                        .iter()
                        .take(3)
                        .take_while(|b| matches!(b, b'0'..=b'7'))
                        .count();
                    let octal = self.bytes[self.at..self.at + digits]
                        .iter()
                        .fold(0_u32, |n, b| n * 8 + u32::from(b - b'0'));
                    let escaped = self.bytes.get(self.at).copied();
                    self.at = (self.at + digits.max(1)).min(self.bytes.len());
                    match escaped {
                        _ if digits > 0 => text.push((octal & 0xff) as u8),
                        Some(b'n') => text.push(b'\n'),
                        Some(b'r') => text.push(b'\r'),
                        Some(b't') => text.push(b'\t'),
                        Some(b'b') => text.push(0x08),
                        Some(b'f') => text.push(0x0c),
                        // One end of a line, of two bytes or one.
                        Some(b'\r') if self.bytes.get(self.at) == Some(&b'\n') => self.at += 1,
                        Some(b'\n' | b'\r') | None => {}
                        Some(other) => text.push(other),
                    }
                    continue;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
            let outermost = byte == b'(' && depth == 1;
            if text.len() < STRING_BYTES_MAX && !outermost {
                text.push(byte);
            }
        }
        text
    }

    fn hex_string(&mut self) -> Vec<u8> {
        let rest = &self.bytes[self.at + 1..];
        let length = memchr::memchr(b'>', rest).unwrap_or(rest.len());
        self.at = (self.at + length + 2).min(self.bytes.len());
        let digits: Vec<u8> = rest[..length]
            .iter()
            .copied()
            .filter_map(nibble)
            .take(2 * STRING_BYTES_MAX)
            .collect();
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair.get(1).unwrap_or(&0))
            .collect()
    }
}

fn regular(byte: u8) -> bool {
    !matches!(
        byte,
        b'\0'
            | b'\t'
            | b'\n'
            | 0x0c
            | b'\r'
            | b' '
            | b'('
            | b')'
            | b'<'
            | b'>'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'/'
            | b'%'
    )
}
