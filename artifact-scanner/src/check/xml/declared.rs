//! What does a document type declare, and how does the text read with that in its place?

use super::super::decode;
use super::super::markup::{Token, Tokens, declaration};
use crate::{Budget, Limit, Unscannable};
use std::borrow::Cow;
use std::collections::HashMap;

/// What references may add to a text.
const ADDED_MAX: usize = 2 << 20;
const DEPTH_MAX: u32 = 16;

pub(super) struct Entity<'a> {
    /// References to characters are resolved, as they are where an entity is declared.
    pub(super) value: Cow<'a, str>,
    pub(super) parameter: bool,
}

pub(super) enum Declaration<'a> {
    Entity(&'a str, Entity<'a>),
    /// An entity that lies elsewhere.
    External(&'a str),
    /// A list of attributes, and what they are where they are left out.
    Attributes(&'a str),
}

/// The declarations in order, without those in comments.
pub(super) fn declarations(inner: &str) -> impl Iterator<Item = Declaration<'_>> {
    let mut rest = inner;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[memchr::memchr(b'<', rest.as_bytes())?..];
            // One without an end goes on for a reader that forgives.
            let length = declaration(rest.as_bytes()).unwrap_or_else(|| {
                let end = rest.get(1..).and_then(|rest| rest.find('<'));
                end.map_or(rest.len(), |end| end + 1)
            });
            let (one, after) = rest.split_at(length);
            rest = after;
            let found = if let Some(list) = one.strip_prefix("<!ATTLIST") {
                Some(Declaration::Attributes(list))
            } else {
                one.strip_prefix("<!ENTITY").and_then(entity)
            };
            if found.is_some() {
                return found;
            }
        }
    })
}

fn entity(body: &str) -> Option<Declaration<'_>> {
    let body = body.trim_start();
    let (parameter, body) = match body.strip_prefix('%') {
        Some(rest) if rest.starts_with(char::is_whitespace) => (true, rest.trim_start()),
        _ => (false, body),
    };
    let name_end = body.find(char::is_whitespace)?;
    let (name, rest) = body.split_at(name_end);
    let rest = rest.trim_start();
    if rest.starts_with("SYSTEM") || rest.starts_with("PUBLIC") {
        return Some(Declaration::External(name));
    }
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let value = rest[1..].split(quote).next()?;
    let value = characters(value);
    Some(Declaration::Entity(name, Entity { value, parameter }))
}

/// References to characters resolved, and none to names.
fn characters(value: &str) -> Cow<'_, str> {
    if !value.contains("&#") {
        return Cow::Borrowed(value);
    }
    let mut out = String::new();
    let mut rest = value;
    while let Some(at) = rest.find("&#") {
        out.push_str(&rest[..at]);
        let end = rest[at..].find(';').map_or(rest.len(), |end| at + end + 1);
        out.push_str(&decode::references(&rest[at..end]));
        rest = &rest[end..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// What stands in the document type, and where the text goes on.
pub(crate) fn document_type(text: &str) -> Option<(&str, usize)> {
    let mut tokens = Tokens::xml(text);
    loop {
        match tokens.next()? {
            Token::Doctype(inner) => return Some((inner, tokens.at())),
            Token::Open(_) => return None,
            _ => {}
        }
    }
}

/// Whether the text names one of the spaces, be it by references or by an entity.
pub(crate) fn names_space(
    text: &str,
    spaces: &[&str],
    budget: &mut Budget,
) -> Result<bool, Unscannable> {
    let names = |text: &str| spaces.iter().any(|space| text.contains(space));
    if names(text) {
        return Ok(true);
    }
    if !text.contains("xmlns") || !(text.contains("&#") || text.contains("<!ENTITY")) {
        return Ok(false);
    }
    budget.unpack(text.len() as u64)?;
    let read = expanded(text, budget)?;
    Ok(names(&decode::references(&read)) || names(&decode::references(text)))
}

/// The text with every reference to an entity of its own replaced by what it stands for.
pub(crate) fn expanded<'a>(
    text: &'a str,
    budget: &mut Budget,
) -> Result<Cow<'a, str>, Unscannable> {
    if !text.contains("<!ENTITY") {
        return Ok(Cow::Borrowed(text));
    }
    budget.charge(text.len() as u64)?;
    let Some((inner, behind)) = document_type(text) else {
        return Ok(Cow::Borrowed(text));
    };
    let mut entities: HashMap<&str, Cow<'_, str>> = HashMap::new();
    for one in declarations(inner).take(super::DECLARATIONS_MAX) {
        if let Declaration::Entity(name, entity) = one
            && !entity.parameter
        {
            entities.entry(name).or_insert(entity.value);
        }
    }
    let body = &text[behind..];
    if entities.is_empty() || !body.contains('&') {
        return Ok(Cow::Borrowed(text));
    }
    budget.unpack(body.len() as u64)?;
    let mut out = String::with_capacity(body.len());
    let limit = body.len() + ADDED_MAX;
    expand(body, &entities, limit, DEPTH_MAX, &mut out)?;
    budget.unpack(out.len().saturating_sub(body.len()) as u64)?;
    Ok(Cow::Owned(out))
}

fn expand(
    text: &str,
    entities: &HashMap<&str, Cow<'_, str>>,
    limit: usize,
    depth: u32,
    out: &mut String,
) -> Result<(), Unscannable> {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let ends = |c: char| matches!(c, ';' | '&' | '<') || c.is_whitespace();
        let name = behind
            .find(ends)
            .filter(|end| behind[*end..].starts_with(';'))
            .map(|end| &behind[..end]);
        let found = name.and_then(|name| Some((name, entities.get(name)?)));
        if let Some((name, value)) = found {
            let deeper = depth
                .checked_sub(1)
                .ok_or(Unscannable::Limit(Limit::Depth))?;
            expand(value, entities, limit, deeper, out)?;
            rest = &behind[name.len() + 1..];
        } else {
            out.push('&');
            rest = behind;
        }
        if out.len() > limit {
            return Err(Unscannable::Limit(Limit::Unpacked));
        }
    }
    out.push_str(rest);
    Ok(())
}
