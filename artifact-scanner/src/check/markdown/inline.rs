//! Which parts of a paragraph are code?
//!
//! Of code, tags and addresses in angle brackets the one that begins first counts. Code that goes
//! over the end of a line stays, since readers differ in what ends a paragraph.

/// Adds a paragraph without its code.
pub(super) fn without_code(paragraph: &str, out: &mut String) {
    if !paragraph.contains('`') {
        out.push_str(paragraph);
        return;
    }
    let is_table = paragraph.lines().any(is_table_rule);
    if is_table {
        for line in paragraph.split_inclusive('\n') {
            for cell in cells(line) {
                blank(cell, out);
            }
        }
    } else {
        blank(paragraph, out);
    }
}

/// `|---|:--:|`
fn is_table_rule(line: &str) -> bool {
    let is_mark = |c: char| matches!(c, '|' | '-' | ':' | ' ' | '\t' | '>');
    line.contains('-') && line.contains(['|', ':']) && line.chars().all(is_mark)
}

/// The cells of a row; what is between them is never one span of code.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    let mut last = '\0';
    row.split_inclusive(move |c: char| {
        let ends = c == '|' && last != '\\';
        last = c;
        ends
    })
}

fn blank(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let spans = Runs::of(text);
    let ends = SHUT.map(|(_, close)| text.rfind(close).unwrap_or_default());
    let (mut at, mut kept) = (0, 0);
    while let Some(found) = memchr::memchr3(b'`', b'<', b'\\', &bytes[at..]) {
        at += found;
        match bytes[at] {
            // The next mark is only itself. Other characters are not skipped over in part.
            b'\\' => at += 1 + usize::from(bytes.get(at + 1).is_some_and(u8::is_ascii)),
            b'<' => {
                let rest = &text[at..];
                let length = shut(rest, at, &ends).or_else(|| autolink(rest));
                at += length.or_else(|| tag(rest)).unwrap_or(1);
            }
            _ => {
                let length = run(&bytes[at..]);
                let body = at + length;
                let Some(end) = spans.next(length, body) else {
                    at = body;
                    continue;
                };
                out.push_str(&text[kept..at]);
                out.push(' ');
                if text[body..end].contains('\n') {
                    out.push_str(&text[body..end]);
                    out.push(' ');
                }
                at = end + length;
                kept = at;
            }
        }
    }
    out.push_str(&text[kept..]);
}

fn run(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| **byte == b'`').count()
}

/// The runs of ticks in a text, by their length.
struct Runs(std::collections::HashMap<usize, Vec<usize>>);

impl Runs {
    fn of(text: &str) -> Self {
        let mut runs = std::collections::HashMap::<_, Vec<_>>::new();
        let mut at = 0;
        while let Some(found) = memchr::memchr(b'`', &text.as_bytes()[at..]) {
            at += found;
            let length = run(&text.as_bytes()[at..]);
            runs.entry(length).or_default().push(at);
            at += length;
        }
        Self(runs)
    }

    /// The next run of just this length, which closes one that is open.
    fn next(&self, length: usize, from: usize) -> Option<usize> {
        let places = self.0.get(&length)?;
        let number = places.partition_point(|at| *at < from);
        places.get(number).copied()
    }
}

/// The length of an address in angle brackets.
fn autolink(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('<')?;
    let end = inner.find(|c: char| c.is_whitespace() || matches!(c, '<' | '>'))?;
    let address = inner[..end].find([':', '@']).filter(|at| *at > 1);
    let scheme = &inner[..address?];
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-');
    let is_mail = !inner[..end].contains(['`', ':', '"', '\'']);
    let is_address = inner[end..].starts_with('>')
        && scheme.chars().all(is_scheme)
        && (is_mail || scheme.starts_with(|c: char| c.is_ascii_alphabetic()))
        && (is_mail || inner[scheme.len()..].starts_with(':'));
    is_address.then_some(end + 2)
}

/// What is not read as a tag up to its end.
const SHUT: [(&str, &str); 3] = [("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>")];

/// The length of a comment or the like, where one of its ends is still to come.
fn shut(text: &str, at: usize, ends: &[usize; 3]) -> Option<usize> {
    let mut sorts = SHUT.iter().zip(ends);
    let ((open, close), last) = sorts.find(|((open, _), _)| text.starts_with(open))?;
    let inner = text.get(open.len()..).filter(|_| *last > at)?;
    Some(open.len() + inner.find(close)? + close.len())
}

/// The length of a tag.
pub(super) fn tag(text: &str) -> Option<usize> {
    let mut rest = text.strip_prefix('<')?;
    rest = rest.strip_prefix('/').unwrap_or(rest);
    if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    rest = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
    loop {
        let behind = rest.trim_start();
        let has_gap = behind.len() < rest.len();
        rest = behind;
        if let Some(end) = rest.strip_prefix('/').unwrap_or(rest).strip_prefix('>') {
            return Some(text.len() - end.len());
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '-');
        let behind = rest.trim_start_matches(is_name);
        if !has_gap || behind.len() == rest.len() {
            return None;
        }
        rest = behind;
        if let Some(value) = rest.trim_start().strip_prefix('=') {
            rest = attribute(value.trim_start())?;
        }
    }
}

/// What is behind the value of an attribute.
fn attribute(value: &str) -> Option<&str> {
    let mark = value.chars().next()?;
    if matches!(mark, '"' | '\'') {
        return value[1..].split_once(mark).map(|(_, behind)| behind);
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '=' | '<' | '>' | '`');
    let end = value.find(ends)?;
    (end > 0).then(|| &value[end..])
}
