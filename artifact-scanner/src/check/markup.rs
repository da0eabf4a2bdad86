//! Tags, attributes and texts of HTML and XML, read the way a forgiving browser does.

mod ends;
mod foreign;

pub(super) use ends::declaration;

use foreign::{Foreign, RAW, Space};
use std::borrow::Cow;
use std::collections::VecDeque;

/// One piece of markup.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    Open(Tag<'a>),
    Close(Cow<'a, str>),
    /// Between tags; within `script` and `style` the whole of it.
    Text(&'a str),
    /// A comment, and whether it ends.
    Comment(&'a str, bool),
    /// What stands in `<!DOCTYPE …>`, the inner subset included.
    Doctype(&'a str),
    /// What stands in `<?…?>`.
    Instruction(&'a str),
    /// What some readers take for a text, and some for tags; the text follows.
    Doubt(&'a str),
}

type Attribute<'a> = (Cow<'a, str>, &'a str);

/// An opening tag. The name is in small letters, without a namespace's prefix.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tag<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) attributes: Vec<Attribute<'a>>,
    pub(crate) closed: bool,
    pub(crate) at: usize,
    /// Whether a reader of plain HTML sees a text here, and no tag.
    pub(crate) within_raw: bool,
}

impl Tag<'_> {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| *value)
    }
}

/// Reads pieces one by one.
pub(crate) struct Tokens<'a> {
    text: &'a str,
    at: usize,
    xml: bool,
    /// A document type was read: no other has an inner subset.
    typed: bool,
    foreign: Foreign,
    queued: VecDeque<Token<'a>>,
}

impl<'a> Tokens<'a> {
    pub(crate) fn html(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            xml: false,
            typed: false,
            foreign: Foreign::default(),
            queued: VecDeque::new(),
        }
    }

    pub(crate) fn xml(text: &'a str) -> Self {
        Self {
            xml: true,
            ..Self::html(text)
        }
    }

    pub(crate) fn is_xml(&self) -> bool {
        self.xml
    }

    /// How far the text was read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn until(&mut self, skip: usize, end: &str) -> (&'a str, bool) {
        let rest = &self.rest()[skip..];
        let found = match end.as_bytes() {
            [end] => memchr::memchr(*end, rest.as_bytes()),
            end => memchr::memmem::find(rest.as_bytes(), end),
        };
        let (inner, found) = match found {
            Some(length) => (&rest[..length], true),
            None => (rest, false),
        };
        self.at += skip + inner.len() + if found { end.len() } else { 0 };
        (inner, found)
    }

    fn markup(&mut self) -> Option<Token<'a>> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        match bytes.get(1)? {
            b'!' if rest.starts_with("<!--") => Some(self.comment()),
            b'!' if rest.starts_with("<![CDATA[")
                && (self.xml || self.foreign.space() != Space::Html) =>
            {
                Some(self.cdata())
            }
            b'!' if self.xml
                || bytes
                    .get(2..9)
                    .is_some_and(|word| word.eq_ignore_ascii_case(b"doctype")) =>
            {
                Some(self.doctype())
            }
            b'!' => {
                let (inner, _) = self.until(2, ">");
                Some(Token::Comment(inner, true))
            }
            b'?' => {
                let (inner, _) = self.until(2, if self.xml { "?>" } else { ">" });
                Some(Token::Instruction(inner))
            }
            b'/' if self.xml && bytes.get(2).is_some_and(|b| starts_name(*b)) => {
                let (inner, _) = self.until(2, ">");
                let ends = |byte: u8| byte.is_ascii_whitespace() || byte == b'/';
                let length = inner.bytes().position(ends).unwrap_or(inner.len());
                Some(Token::Close(local(&inner[..length])))
            }
            b'/' if bytes.get(2).is_some_and(u8::is_ascii_alphabetic) => {
                let (name, ..) = self.tag(self.at + 2);
                let full = small(name);
                self.foreign.close(&full);
                Some(Token::Close(local(name)))
            }
            // `</!` and the like are comments.
            b'/' if !self.xml && bytes.len() > 2 => {
                let (inner, _) = self.until(2, ">");
                Some(Token::Comment(inner, true))
            }
            first if first.is_ascii_alphabetic() || (self.xml && starts_name(*first)) => {
                Some(self.open())
            }
            _ => None,
        }
    }

    fn comment(&mut self) -> Token<'a> {
        if self.xml {
            let (inner, ended) = self.until(4, "-->");
            return Token::Comment(inner, ended);
        }
        let rest = &self.rest()[4..];
        let end = ends::comment(rest.as_bytes());
        let (length, end_length) = end.unwrap_or((rest.len(), 0));
        self.at += 4 + length + end_length;
        Token::Comment(&rest[..length], end.is_some())
    }

    fn cdata(&mut self) -> Token<'a> {
        let space = self.foreign.space();
        let (inner, _) = self.until(9, "]]>");
        // Elsewhere it is a comment up to the first `>`; browsers differ from here on.
        let after = inner.split_once('>').map_or("", |(_, after)| after);
        if !self.xml && space != Space::Foreign && holds_markup(after) {
            self.queued.push_back(Token::Text(inner));
            return Token::Doubt(after);
        }
        Token::Text(inner)
    }

    fn doctype(&mut self) -> Token<'a> {
        let rest = &self.rest()[2..];
        let first = || memchr::memchr(b'>', rest.as_bytes()).unwrap_or(rest.len());
        let is_first = !std::mem::replace(&mut self.typed, true);
        let whole = Some(rest.as_bytes())
            .filter(|_| is_first)
            .and_then(ends::doctype)
            .unwrap_or_else(first);
        // HTML has no inner subset and no quotes here: it reads on behind the first `>`.
        let end = if self.xml { whole } else { first() };
        self.at += (2 + end + 1).min(self.rest().len());
        Token::Doctype(&rest[..whole])
    }

    fn open(&mut self) -> Token<'a> {
        let at = self.at;
        let within_raw = self.foreign.within_raw();
        let (full, attributes, closed) = self.tag(at + 1);
        let tag = Tag {
            name: local(full),
            attributes,
            closed,
            at,
            within_raw,
        };
        if !self.xml {
            let full = small(full);
            let space = self.foreign.space();
            self.foreign.open(&full, &tag);
            if space != Space::Foreign && RAW.contains(&&*full) {
                return self.raw(&full, space, tag);
            }
        }
        Token::Open(tag)
    }

    /// Reads a tag from its name on: the name as it is written, attributes, a slash at the end.
    fn tag(&mut self, from: usize) -> (&'a str, Vec<Attribute<'a>>, bool) {
        let text = self.text;
        let bytes = text.as_bytes();
        let space = |b: u8| b.is_ascii_whitespace() || b == b'/';
        let mut i = from;
        while i < bytes.len() && !space(bytes[i]) && bytes[i] != b'>' {
            i += 1;
        }
        let name = &text[from..i];
        let mut attributes = Vec::new();
        let mut closed = false;
        loop {
            while i < bytes.len() && space(bytes[i]) {
                closed = bytes[i] == b'/';
                i += 1;
            }
            if i >= bytes.len() || bytes[i] == b'>' {
                i += usize::from(i < bytes.len());
                break;
            }
            closed = false;
            let start = i;
            i += 1;
            while i < bytes.len() && !space(bytes[i]) && !matches!(bytes[i], b'=' | b'>') {
                i += 1;
            }
            let key = text.get(start..i).unwrap_or("");
            let mut value_at = i;
            while value_at < bytes.len() && bytes[value_at].is_ascii_whitespace() {
                value_at += 1;
            }
            let mut value = "";
            if bytes.get(value_at) == Some(&b'=') {
                (value, i) = self.value(value_at + 1);
            }
            attributes.push((small(key), value));
        }
        self.at = i;
        (name, attributes, closed)
    }

    fn value(&self, mut i: usize) -> (&'a str, usize) {
        let bytes = self.text.as_bytes();
        while i < bytes.len() && bytes[i].is_ascii_whitespace() {
            i += 1;
        }
        if let Some(quote @ (b'"' | b'\'')) = bytes.get(i) {
            let start = i + 1;
            let length = memchr::memchr(*quote, &bytes[start..]).unwrap_or(bytes.len() - start);
            (
                &self.text[start..start + length],
                (start + length + 1).min(bytes.len()),
            )
        } else {
            let length = bytes[i..]
                .iter()
                .take_while(|b| !b.is_ascii_whitespace() && **b != b'>')
                .count();
            (&self.text[i..i + length], i + length)
        }
    }

    /// The text of an element that holds no tags, up to its own end.
    fn raw(&mut self, name: &str, space: Space, tag: Tag<'a>) -> Token<'a> {
        let rest = self.rest();
        let inner = &rest[..ends::raw(rest.as_bytes(), name)];
        if space == Space::Doubt && holds_markup(inner) {
            self.queued.push_back(Token::Doubt(inner));
        }
        self.queued.push_back(Token::Text(inner));
        self.at += inner.len();
        Token::Open(tag)
    }
}

/// Whether a text would be read otherwise if it were no text.
fn holds_markup(text: &str) -> bool {
    memchr::memchr_iter(b'<', text.as_bytes()).any(|at| {
        let next = text.as_bytes().get(at + 1);
        next.is_none_or(|b| b.is_ascii_alphabetic() || matches!(b, b'!' | b'/' | b'?'))
    })
}

fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        if let Some(token) = self.queued.pop_front() {
            return Some(token);
        }
        let rest = self.rest();
        if rest.is_empty() {
            return None;
        }
        if rest.starts_with('<')
            && let Some(token) = self.markup()
        {
            return Some(token);
        }
        let skip = usize::from(rest.starts_with('<'));
        let length =
            memchr::memchr(b'<', &rest.as_bytes()[skip..]).map_or(rest.len(), |at| at + skip);
        self.at += length;
        Some(Token::Text(&rest[..length]))
    }
}

/// A name without its prefix, in small letters.
fn local(name: &str) -> Cow<'_, str> {
    let prefix = name.bytes().rposition(|byte| byte == b':');
    small(prefix.map_or(name, |colon| &name[colon + 1..]))
}

/// In small letters, which most names are written in.
fn small(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        name.to_ascii_lowercase().into()
    } else {
        name.into()
    }
}

#[cfg(test)]
mod tests;
