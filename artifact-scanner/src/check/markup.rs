//! Tags, attributes and texts of HTML and XML, read the way a forgiving browser does.

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
}

/// An opening tag. The name is in small letters, without a namespace's prefix.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tag<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) attributes: Vec<(Cow<'a, str>, &'a str)>,
    pub(crate) closed: bool,
    pub(crate) at: usize,
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
    queued: VecDeque<Token<'a>>,
}

impl<'a> Tokens<'a> {
    pub(crate) fn html(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            xml: false,
            queued: VecDeque::new(),
        }
    }

    pub(crate) fn xml(text: &'a str) -> Self {
        Self {
            xml: true,
            ..Self::html(text)
        }
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
            b'!' if rest.starts_with("<!--") => {
                if !self.xml && (rest.starts_with("<!-->") || rest.starts_with("<!--->")) {
                    self.at += 5;
                    return Some(Token::Comment("", true));
                }
                let (inner, ended) = self.until(4, "-->");
                Some(Token::Comment(inner, ended))
            }
            b'!' if rest.starts_with("<![CDATA[") => {
                let (inner, _) = self.until(9, "]]>");
                Some(Token::Text(inner))
            }
            b'!' => Some(self.doctype()),
            b'?' => {
                let (inner, _) = self.until(2, if self.xml { "?>" } else { ">" });
                Some(Token::Instruction(inner))
            }
            b'/' if bytes.get(2).is_some_and(u8::is_ascii_alphabetic) => {
                let (inner, _) = self.until(2, ">");
                let ends = |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'/');
                let length = inner.bytes().position(ends).unwrap_or(inner.len());
                Some(Token::Close(local(&inner[..length])))
            }
            first
                if first.is_ascii_alphabetic()
                    || (self.xml && (*first == b'_' || *first >= 0x80)) =>
            {
                Some(self.open())
            }
            _ => None,
        }
    }

    fn doctype(&mut self) -> Token<'a> {
        let rest = &self.rest()[2..];
        let (mut depth, mut quote, mut length) = (0_i32, None, rest.len());
        for (at, byte) in rest.bytes().enumerate() {
            match (quote, byte) {
                (Some(open), _) => quote = Some(open).filter(|open| *open != byte),
                (None, b'"' | b'\'') if depth > 0 => quote = Some(byte),
                (None, b'[') => depth += 1,
                (None, b']') => depth -= 1,
                (None, b'>') if depth <= 0 => {
                    length = at;
                    break;
                }
                _ => {}
            }
            // Without an inner subset a quote may be lost: the first `>` ends it.
        }
        self.at += (2 + length + 1).min(self.rest().len());
        Token::Doctype(&rest[..length])
    }

    fn open(&mut self) -> Token<'a> {
        let at = self.at;
        let bytes = self.text.as_bytes();
        let space = |b: u8| b.is_ascii_whitespace() || b == b'/' || b == 0x0b;
        let mut i = at + 1;
        while i < bytes.len() && !space(bytes[i]) && bytes[i] != b'>' {
            i += 1;
        }
        let name = local(&self.text[at + 1..i]);
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
            let key = self.text.get(start..i).unwrap_or("");
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
        if !self.xml
            && matches!(
                &*name,
                "script" | "style" | "textarea" | "title" | "xmp" | "noembed" | "noframes"
            )
        {
            self.raw(&name);
        }
        Token::Open(Tag {
            name,
            attributes,
            closed,
            at,
        })
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
    fn raw(&mut self, name: &str) {
        let rest = self.rest();
        let end = memchr::memmem::find_iter(rest.as_bytes(), b"</").find(|at| {
            let tail = &rest.as_bytes()[at + 2..];
            tail.len() >= name.len()
                && tail[..name.len()].eq_ignore_ascii_case(name.as_bytes())
                && tail
                    .get(name.len())
                    .is_none_or(|b| !b.is_ascii_alphanumeric())
        });
        let length = end.unwrap_or(rest.len());
        self.queued.push_back(Token::Text(&rest[..length]));
        self.at += length;
    }
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
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_as_browsers_read_them() {
        let tag = |text| match Tokens::html(text).next() {
            Some(Token::Open(tag)) => tag,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            tag("<IMG/SRC=x/onerror=a(1)>").attributes,
            [("src".into(), "x/onerror=a(1)")]
        );
        assert_eq!(
            tag("<img src='a>b' ONerror = \"x\">").attribute("onerror"),
            Some("x")
        );
        assert_eq!(tag("<svg/onload=a>").attribute("onload"), Some("a"));
        assert_eq!(tag("<s:script>").name, "script");
        assert_eq!(tag("<img src=x onerror=a").attribute("onerror"), Some("a"));
    }

    #[test]
    fn a_script_is_one_text() {
        let tokens: Vec<_> = Tokens::html("<script>if (a<b) '</p>'</SCRIPT >x").collect();
        assert_eq!(tokens[1], Token::Text("if (a<b) '</p>'"));
        assert_eq!(tokens[3], Token::Text("x"));
    }

    #[test]
    fn any_cut_of_a_page_is_read_to_its_end() {
        let page = "<!doctype html><!-- é --><a hr\u{e9}f='x'><?x?><![CDATA[y]]><script>é</script></p><b c=d e";
        for cut in 0..page.len() {
            if page.is_char_boundary(cut) {
                assert!(
                    Tokens::html(&page[cut..]).count() + Tokens::xml(&page[..cut]).count() < 60
                );
            }
        }
    }
}
