//! Is a page of HTML, at some tag, within a drawing or a formula?
//!
//! There the elements whose text holds no tags elsewhere do hold tags. Where browsers do not agree,
//! or where only their whole way of building a page would tell, the answer is that it is in doubt.

use super::Tag;

/// Which rules hold for the next tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Html,
    Foreign,
    Doubt,
}

/// Elements whose text holds no tags, in HTML.
pub(super) const RAW: [&str; 9] = [
    "script", "style", "textarea", "title", "xmp", "noembed", "noframes", "iframe", "noscript",
];
/// Elements of drawings that hold HTML, and those of formulas.
const HOLDS_HTML: [&[&str]; 2] = [
    &["foreignobject", "desc", "title"],
    &["mi", "mo", "mn", "ms", "mtext"],
];
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];
/// Elements that end the drawing they stand in.
const BREAKS: &[&str] = &[
    "b",
    "big",
    "blockquote",
    "body",
    "br",
    "center",
    "code",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "embed",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "hr",
    "i",
    "img",
    "li",
    "listing",
    "menu",
    "meta",
    "nobr",
    "ol",
    "p",
    "pre",
    "ruby",
    "s",
    "small",
    "span",
    "strong",
    "strike",
    "sub",
    "sup",
    "table",
    "tt",
    "u",
    "ul",
    "var",
];
/// Deeper drawings are in doubt.
const DEPTH_MAX: usize = 500;

#[derive(Debug)]
struct Element {
    name: String,
    /// Of a drawing or a formula, not of HTML.
    foreign: bool,
    formula: bool,
    holds_html: bool,
}

/// The open elements of the outermost drawing or formula.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    open: Vec<Element>,
    /// How many of them have a name of those that hold no tags in HTML.
    raws: usize,
    /// An element of HTML without tags was read, and not yet its end.
    raw_open: bool,
    lost: bool,
    select: bool,
}

impl Foreign {
    pub(super) fn space(&self) -> Space {
        match self.open.last() {
            _ if self.lost || self.select => Space::Doubt,
            Some(last) if last.foreign && !last.holds_html => Space::Foreign,
            _ => Space::Html,
        }
    }

    /// Whether tags stand where a reader of plain HTML sees none.
    pub(super) fn within_raw(&self) -> bool {
        self.raws > 0
    }

    pub(super) fn open(&mut self, name: &str, tag: &Tag<'_>) {
        let within = self.space() == Space::Foreign;
        self.raw_open = RAW.contains(&name);
        self.lost |= name == "frameset";
        self.select |= name == "select";
        let foreign = within || matches!(name, "svg" | "math");
        if self.lost || (self.open.is_empty() && !foreign) {
            return;
        }
        let ends_at_slash = foreign || VOID.contains(&name);
        let kind = |kind: &str| kind.contains('&') || kind.to_ascii_lowercase().contains("htm");
        self.lost = self.open.len() > DEPTH_MAX
            || within && BREAKS.contains(&name)
            || matches!(name, "mglyph" | "malignmark")
            || name == "annotation-xml" && tag.attribute("encoding").is_some_and(kind)
            // A slash ends nothing in HTML, whatever its writer meant.
            || tag.closed && !ends_at_slash
            // An end that HTML leaves out ends the other.
            || !foreign && self.open.iter().any(|one| one.foreign && one.name == name);
        if self.lost || (foreign && tag.closed) || (!foreign && VOID.contains(&name)) {
            return;
        }
        let formula = match self.open.last() {
            Some(last) if within => {
                last.formula && !(last.name == "annotation-xml" && name == "svg")
            }
            _ => name == "math",
        };
        self.raws += usize::from(foreign && RAW.contains(&name));
        self.open.push(Element {
            name: name.to_owned(),
            foreign,
            formula,
            holds_html: foreign && HOLDS_HTML[usize::from(formula)].contains(&name),
        });
    }

    pub(super) fn close(&mut self, name: &str) {
        let ends_raw = std::mem::take(&mut self.raw_open);
        self.select &= name != "select";
        if self.lost {
            return;
        }
        if self.open.is_empty() {
            // The drawing goes on if what it held was not at its end.
            self.lost = !ends_raw && HOLDS_HTML.iter().any(|names| names.contains(&name));
            return;
        }
        // Elements of a drawing end with the one they stand in; HTML has rules of its own.
        while let Some(last) = self.open.pop() {
            self.raws -= usize::from(last.foreign && RAW.contains(&last.name.as_str()));
            if last.name == name {
                return;
            }
            if !last.foreign || last.holds_html {
                break;
            }
        }
        self.lost = true;
    }
}
