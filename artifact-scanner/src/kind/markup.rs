//! What does a browser take a text for that begins with a tag?

use super::Kind;

/// What a browser takes for a page, by the tags it looks for, or a drawing or other XML by its root.
pub(crate) fn markup(head: &str) -> Option<Kind> {
    const TAGS: &[&str] = &[
        "<!doctype html",
        "<html",
        "<head",
        "<script",
        "<iframe",
        "<h1",
        "<div",
        "<font",
        "<table",
        "<a",
        "<style",
        "<title",
        "<b",
        "<body",
        "<br",
        "<p",
        "<img",
        "<form",
        "<object",
        "<embed",
        "<base",
        "<meta",
        "<link",
        "<input",
        "<video",
        "<audio",
        "<math",
        "<template",
    ];
    if !head.starts_with('<') {
        return None;
    }
    let mut rest = head;
    loop {
        rest = rest.trim_start();
        let skipped = if rest.starts_with("<!--") {
            rest.find("-->").map(|end| end + 3)
        } else if rest.starts_with("<?") {
            rest.find("?>").map(|end| end + 2)
        } else {
            break;
        };
        match skipped {
            Some(end) => rest = &rest[end..],
            // An open comment: a browser that guesses reads on as HTML.
            None if rest.starts_with("<!--") => return Some(Kind::Html),
            None => return Some(Kind::Xml),
        }
    }
    let ends_tag = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || matches!(c, '>' | '/'));
    if TAGS.iter().any(|tag| {
        rest.strip_prefix(tag)
            .is_some_and(|after| ends_tag(after.chars().next()))
    }) {
        return Some(Kind::Html);
    }
    let root = root(rest)?;
    match root.rsplit(':').next() {
        Some("svg") => Some(Kind::Svg),
        Some("html") => Some(Kind::Html),
        _ if head.starts_with("<!--") => Some(Kind::Html),
        _ => Some(Kind::Xml),
    }
}

/// The name of the first element, behind a DOCTYPE if there is one.
fn root(text: &str) -> Option<&str> {
    let mut rest = text;
    if rest.starts_with("<!doctype") {
        let name = rest[9..].trim_start();
        let name = &name[..name.find(|c: char| c.is_whitespace() || matches!(c, '>' | '['))?];
        if !name.is_empty() {
            return Some(name);
        }
        rest = &rest[rest.find('>')? + 1..];
    }
    let rest = rest.trim_start().strip_prefix('<')?;
    let end = rest
        .find(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))
        .unwrap_or(rest.len());
    let name = &rest[..end];
    (!name.is_empty() && name.starts_with(|c: char| c.is_alphabetic() || c == '_')).then_some(name)
}
