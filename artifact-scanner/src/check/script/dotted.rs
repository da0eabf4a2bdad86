//! How does a script read when names in brackets are written with a dot?

/// `a['b']` as `a.b`, which is the same; anything else in brackets stays.
pub(super) fn dotted(bare: &str) -> String {
    let mut out = String::with_capacity(bare.len());
    let mut from = 0;
    for at in memchr::memchr_iter(b'[', bare.as_bytes()) {
        let before = bare[from..at].chars().next_back();
        // What stands directly behind a bracket that became a dot has a holder, too.
        let holder = before.map_or(from > 0, |c| c.is_ascii_alphanumeric() || ")_]".contains(c));
        let Some(name) = name(&bare[at + 1..]).filter(|_| holder) else {
            continue;
        };
        out.push_str(&bare[from..at]);
        out.push('.');
        out.push_str(name);
        // The bracket, both quotes, the bracket that closes.
        from = at + name.len() + 4;
    }
    out.push_str(&bare[from..]);
    out
}

/// The name in quotes at the start of what a bracket holds, where that is all it holds.
fn name(inner: &str) -> Option<&str> {
    let quoted = inner.strip_prefix(['\'', '"'])?;
    let end = quoted.find(|c: char| !c.is_ascii_alphanumeric())?;
    let closes = quoted[end..].starts_with(['\'', '"']) && quoted[end + 1..].starts_with(']');
    (closes && end > 0).then_some(&quoted[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_are_dotted() {
        for (script, wanted) in [
            ("a['b'](1)", "a.b(1)"),
            ("a()[\"b\"]['c']", "a().b.c"),
            ("a['b'+'c']", "a['b'+'c']"),
            ("x=['b']", "x=['b']"),
            ("a['']b[", "a['']b["),
            ("a[b]['ü']", "a[b]['ü']"),
        ] {
            assert_eq!(dotted(script), wanted);
        }
    }
}
