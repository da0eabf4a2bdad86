//! Where does a comment, a text without tags or a document type end?

use memchr::{memchr, memchr2, memmem};

/// A comment of HTML, behind `<!--`: the length of what it holds, and of its end.
pub(super) fn comment(text: &[u8]) -> Option<(usize, usize)> {
    if text.starts_with(b">") {
        return Some((0, 1));
    }
    if text.starts_with(b"->") {
        return Some((0, 2));
    }
    memchr::memchr_iter(b'>', text).find_map(|at| {
        let before = &text[..at];
        let end = [b"--!".as_slice(), b"--"]
            .into_iter()
            .find(|end| before.ends_with(end))?;
        Some((at - end.len(), end.len() + 1))
    })
}

/// Whether the text, behind `<` or `</`, names this element and nothing longer.
fn names(text: &[u8], name: &str) -> bool {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>');
    text.get(..name.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        && text.get(name.len()).is_none_or(ends)
}

/// The length of a text without tags, up to the element's own end.
pub(super) fn raw(text: &[u8], name: &str) -> usize {
    if name == "script" {
        return script(text);
    }
    memmem::find_iter(text, b"</")
        .find(|at| names(&text[at + 2..], name))
        .unwrap_or(text.len())
}

/// A script: within `<!--` a `<script` makes the next `</script` one that ends nothing.
fn script(text: &[u8]) -> usize {
    let mut at = 0;
    // Where the dashes that end a comment may begin, and whether a script began within.
    let mut comment: Option<(usize, bool)> = None;
    loop {
        let rest = &text[at..];
        let found = match comment {
            Some(_) => memchr2(b'<', b'>', rest),
            None => memchr(b'<', rest),
        };
        let Some(found) = found else {
            return text.len();
        };
        at += found + 1;
        let rest = &text[at..];
        let closes = rest.first() == Some(&b'/') && names(&rest[1..], "script");
        match comment {
            Some((from, _)) if text[at - 1] == b'>' => {
                let ends = text[from.min(at - 1)..at - 1].ends_with(b"--");
                comment = comment.filter(|_| !ends);
            }
            Some((from, true)) if closes => comment = Some((from, false)),
            _ if closes => return at - 1,
            Some((from, false)) if names(rest, "script") && rest.len() > 6 => {
                comment = Some((from, true));
            }
            None if rest.starts_with(b"!--") => comment = Some((at + 1, false)),
            _ => {}
        }
    }
}

/// A document type of XML, behind `<!`: its length up to the `>`. Quotes and brackets within
/// comments and instructions of the inner subset are none.
pub(super) fn doctype(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut subset = false;
    loop {
        let rest = text.get(at..)?;
        let byte = *rest.first()?;
        at += match byte {
            b'"' | b'\'' if !subset => memchr(byte, &rest[1..])? + 2,
            b'[' => {
                subset = true;
                1
            }
            b']' => {
                subset = false;
                1
            }
            b'>' if !subset => return Some(at),
            b'<' if subset => declaration(rest)?,
            _ => 1,
        };
    }
}

/// What starts with `<` within an inner subset: its length. Of a conditional section, its head.
pub(in super::super) fn declaration(text: &[u8]) -> Option<usize> {
    if text.starts_with(b"<!--") {
        return memmem::find(&text[4..], b"-->").map(|at| at + 7);
    }
    if text.starts_with(b"<?") {
        return memmem::find(&text[2..], b"?>").map(|at| at + 4);
    }
    if !text.starts_with(b"<!") || text.starts_with(b"<![") {
        return Some(1);
    }
    let mut at = 2;
    loop {
        let rest = &text[at..];
        let found = memchr::memchr3(b'"', b'\'', b'>', rest)?;
        at += found + 1;
        match rest[found] {
            b'>' => return Some(at),
            quote => at += memchr(quote, &text[at..])? + 1,
        }
    }
}
