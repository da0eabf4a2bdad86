//! Which lines of a text are code, and which make a paragraph?
//!
//! Lines are read as `CommonMark` reads them: quotes and lists hold blocks, a fence ends with what
//! holds it, and a heading, a rule or an item ends a paragraph. Where readers differ, the text is
//! prose, so that it is looked at.

use super::inline;

/// Quotes and items within each other; what is deeper is prose.
const DEPTH_MAX: usize = 32;

/// What is left of a text without its code.
#[derive(Default)]
pub(super) struct Prose {
    pub(super) text: String,
    /// Code that a reader draws, links and all.
    pub(super) diagrams: Vec<String>,
}

#[derive(Clone, Copy)]
enum Holder {
    Quote,
    /// An item of a list, and how far its lines are indented.
    Item(usize),
}

struct Fence {
    mark: char,
    length: usize,
    diagram: Option<String>,
}

/// Where a stretch of HTML ends.
enum Markup {
    AtBlank,
    At(&'static str),
}

#[derive(Default)]
struct Reader {
    prose: Prose,
    holders: Vec<Holder>,
    fence: Option<Fence>,
    markup: Option<Markup>,
    paragraph: String,
}

/// The text with fenced and inline code blanked out: that is shown, not run.
pub(super) fn without_code(text: &str) -> Prose {
    let mut reader = Reader::default();
    let text = text.replace("\r\n", "\n");
    for line in text.split(['\n', '\r']) {
        reader.line(line);
    }
    reader.end_paragraph();
    if let Some(body) = reader.fence.take().and_then(|fence| fence.diagram) {
        reader.prose.diagrams.push(body);
    }
    reader.prose
}

impl Reader {
    fn line(&mut self, line: &str) {
        let spread = spread(line);
        let (held, rest) = self.held(&spread);
        let ends_holder = held < self.holders.len();
        if self.fence.is_some() {
            if !ends_holder {
                self.fenced(rest);
                self.prose.text.push('\n');
                return;
            }
            self.end_fence();
        }
        if ends_holder {
            self.markup = None;
        }
        let in_paragraph = !self.paragraph.is_empty() && !ends_holder;
        let (opened, rest) = self.opened(rest, in_paragraph);
        let is_block = !opened.is_empty() || begins_block(rest);
        let is_blank = rest.trim().is_empty();
        // A line of a paragraph needs no marks of what holds it.
        let is_lazy = ends_holder && !is_block && !is_blank && !self.paragraph.is_empty();
        if ends_holder && !is_lazy {
            self.end_paragraph();
            self.holders.truncate(held);
        }
        if !opened.is_empty() {
            self.end_paragraph();
            self.markup = None;
            self.holders.extend(opened);
            self.holders.truncate(DEPTH_MAX);
        }
        self.within(rest, line, is_blank);
    }

    /// A line without the marks of quotes and lists.
    fn within(&mut self, rest: &str, line: &str, is_blank: bool) {
        if self.markup.is_none() {
            self.markup = markup(rest, !self.paragraph.is_empty());
            if self.markup.is_some() {
                self.end_paragraph();
            }
        }
        if let Some(end) = &self.markup {
            let is_over = match end {
                Markup::AtBlank => is_blank,
                Markup::At(end) => rest.to_ascii_lowercase().contains(end),
            };
            if is_over {
                self.markup = None;
            }
            self.prose.text.push_str(line);
            self.prose.text.push('\n');
        } else if let Some(fence) = fence(rest) {
            self.end_paragraph();
            self.fence = Some(fence);
            self.prose.text.push('\n');
        } else if is_blank {
            self.end_paragraph();
            self.prose.text.push('\n');
        } else if begins_block(rest) || self.paragraph.is_empty() && indent(rest) >= 4 {
            self.end_paragraph();
            self.add(line);
            self.end_paragraph();
        } else {
            self.add(line);
        }
    }

    fn add(&mut self, line: &str) {
        self.paragraph.push_str(line);
        self.paragraph.push('\n');
    }

    /// How many of the quotes and items go on in this line, and what is behind their marks.
    fn held<'a>(&self, line: &'a str) -> (usize, &'a str) {
        let mut rest = line;
        for (number, holder) in self.holders.iter().enumerate() {
            let inner = match holder {
                Holder::Quote => quote(rest),
                Holder::Item(_) if rest.trim().is_empty() => Some(rest),
                Holder::Item(width) => (indent(rest) >= *width).then(|| &rest[*width..]),
            };
            match inner {
                Some(inner) => rest = inner,
                None => return (number, rest),
            }
        }
        (self.holders.len(), rest)
    }

    /// The quotes and items that begin in this line.
    fn opened<'a>(&self, line: &'a str, in_paragraph: bool) -> (Vec<Holder>, &'a str) {
        let (mut opened, mut rest) = (Vec::new(), line);
        while self.holders.len() + opened.len() < DEPTH_MAX {
            if let Some(inner) = quote(rest) {
                opened.push(Holder::Quote);
                rest = inner;
            } else if let Some(width) = item(rest, in_paragraph && opened.is_empty()) {
                opened.push(Holder::Item(width));
                rest = rest.get(width..).unwrap_or_default();
            } else {
                break;
            }
        }
        (opened, rest)
    }

    fn fenced(&mut self, rest: &str) {
        let Some(fence) = &mut self.fence else {
            return;
        };
        let trimmed = rest.trim_start_matches(' ');
        let behind = trimmed.trim_start_matches(fence.mark);
        let closes = indent(rest) < 4
            && trimmed.len() - behind.len() >= fence.length
            && behind.trim().is_empty();
        if closes {
            self.end_fence();
        } else if let Some(body) = &mut fence.diagram {
            body.push_str(rest);
            body.push('\n');
        }
    }

    fn end_fence(&mut self) {
        let diagram = self.fence.take().and_then(|fence| fence.diagram);
        self.prose.diagrams.extend(diagram);
    }

    fn end_paragraph(&mut self) {
        inline::without_code(&self.paragraph, &mut self.prose.text);
        self.paragraph.clear();
    }
}

/// The line with blanks for tabs, as far as columns matter.
fn spread(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut column = 0;
    for c in line.chars() {
        let width = if c == '\t' { 4 - column % 4 } else { 1 };
        column += width;
        if c == '\t' {
            out.extend(std::iter::repeat_n(' ', width));
        } else {
            out.push(c);
        }
    }
    out
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn quote(line: &str) -> Option<&str> {
    let inner = line.trim_start_matches(' ').strip_prefix('>')?;
    (indent(line) < 4).then(|| inner.strip_prefix(' ').unwrap_or(inner))
}

/// How far the lines of an item are indented that begins here.
fn item(line: &str, in_paragraph: bool) -> Option<usize> {
    let trimmed = line.trim_start_matches(' ');
    if indent(line) >= 4 || is_rule(trimmed) {
        return None;
    }
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let is_point = digits == 0 && trimmed.starts_with(['-', '+', '*']);
    let is_number = (1..10).contains(&digits) && trimmed[digits..].starts_with(['.', ')']);
    if !is_point && !is_number {
        return None;
    }
    let behind = &trimmed[digits + 1..];
    let is_empty = behind.trim().is_empty();
    if !is_empty && !behind.starts_with(' ') {
        return None;
    }
    if in_paragraph && (is_empty || is_number && &trimmed[..digits] != "1") {
        return None;
    }
    let gap = indent(behind);
    let gap = if is_empty || gap > 4 { 1 } else { gap };
    Some(indent(line) + digits + 1 + gap)
}

/// `***`, `- - -`.
fn is_rule(line: &str) -> bool {
    let marks = || line.chars().filter(|c| *c != ' ');
    let first = marks().next().filter(|c| matches!(c, '*' | '-' | '_'));
    first.is_some_and(|first| marks().count() >= 3 && marks().all(|c| c == first))
}

/// Whether a line that is no item and no quote ends the paragraph before it all the same.
fn begins_block(line: &str) -> bool {
    let trimmed = line.trim();
    if indent(line) >= 4 {
        return false;
    }
    let level = trimmed.bytes().take_while(|b| *b == b'#').count();
    let heading =
        (1..=6).contains(&level) && (trimmed.len() == level || trimmed[level..].starts_with(' '));
    let underline = !trimmed.is_empty()
        && (trimmed.bytes().all(|b| b == b'=') || trimmed.bytes().all(|b| b == b'-'));
    heading || underline || is_rule(trimmed) || fence(line).is_some()
}

fn fence(line: &str) -> Option<Fence> {
    let trimmed = line.trim_start_matches(' ');
    let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = trimmed.trim_start_matches(mark);
    let length = trimmed.len() - info.len();
    let is_fence = length >= 3 && indent(line) < 4 && !(mark == '`' && info.contains('`'));
    let named = info.trim_start().get(..7).unwrap_or_default();
    let is_diagram = named.eq_ignore_ascii_case("mermaid");
    is_fence.then(|| Fence {
        mark,
        length,
        diagram: is_diagram.then(String::new),
    })
}

/// The HTML that begins in a line, within which there is no other block.
fn markup(line: &str, in_paragraph: bool) -> Option<Markup> {
    const WHOLE: [(&str, &str); 8] = [
        ("<!--", "-->"),
        ("<?", "?>"),
        ("<![cdata[", "]]>"),
        ("<!", ">"),
        ("<script", "</script>"),
        ("<pre", "</pre>"),
        ("<style", "</style>"),
        ("<textarea", "</textarea>"),
    ];
    const BLOCKS: &str = " address article aside base basefont blockquote body caption center col \
        colgroup dd details dialog dir div dl dt fieldset figcaption figure footer form frame \
        frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link main menu menuitem \
        nav noframes ol optgroup option p param search section summary table tbody td tfoot th \
        thead title tr track ul ";
    if indent(line) >= 4 {
        return None;
    }
    let lower = line.trim().to_ascii_lowercase();
    let inner = lower.strip_prefix('<')?;
    for (open, end) in WHOLE {
        let behind = lower.strip_prefix(open);
        let is_name = open.ends_with(|c: char| c.is_ascii_alphabetic());
        if behind.is_some_and(|rest| !is_name || rest.is_empty() || rest.starts_with([' ', '>'])) {
            return Some(Markup::At(end));
        }
    }
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    let name = inner.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    let is_block = !name.is_empty() && BLOCKS.contains(&format!(" {name} "));
    let is_alone = !in_paragraph && inline::tag(&lower) == Some(lower.len());
    (is_block || is_alone).then_some(Markup::AtBlank)
}
