//! Which words of a script stand so near to each other that they belong together?

use memchr::memmem;

/// How near two words must be to belong together.
const NEAR: usize = 240;

pub(super) fn near(bare: &str, first: &[&str], second: &[&str]) -> bool {
    any_around(bare, first, |around, _| {
        second
            .iter()
            .any(|word| memmem::find(around, word.as_bytes()).is_some())
    })
}

/// As [`near`], of the ending of a name: `.bat` is none in `.batch`.
pub(super) fn names_near(bare: &str, first: &[&str], ending: &str) -> bool {
    let is_open = ending.ends_with(|c: char| c.is_ascii_alphanumeric());
    any_around(bare, first, |around, _| {
        memmem::find_iter(around, ending.as_bytes()).any(|at| {
            let behind = around.get(at + ending.len());
            !(is_open && behind.is_some_and(u8::is_ascii_alphanumeric))
        })
    })
}

/// As [`near`]; a word that sends does not count where it fetches a file beside the page, whose
/// address is written out in full.
pub(super) fn sends_near(bare: &str, first: &[&str], sends: &[&str]) -> bool {
    any_around(bare, first, |around, is_last| {
        // Where the address of a picture is set tells what the picture is for.
        let is_set = memmem::find(around, b".src=").is_some();
        sends
            .iter()
            .filter(|word| !(is_set && **word == "newimage"))
            .any(|word| {
                memmem::find_iter(around, word.as_bytes())
                    .any(|at| !is_beside(&around[at + word.len()..], is_last))
            })
    })
}

pub(super) fn any_around(bare: &str, words: &[&str], test: impl Fn(&[u8], bool) -> bool) -> bool {
    words.iter().any(|word| {
        memmem::find_iter(bare.as_bytes(), word.as_bytes())
            .take(200)
            .any(|at| {
                let end = bare.len().min(at + NEAR);
                let around = &bare.as_bytes()[at.saturating_sub(NEAR)..end];
                test(around, end == bare.len())
            })
    })
}

/// Whether an address in quotes that nothing is added to names a file beside the page.
fn is_beside(rest: &[u8], is_last: bool) -> bool {
    let Some((quote @ (b'"' | b'\''), rest)) = rest.split_first() else {
        return false;
    };
    let Some(length) = memchr::memchr(*quote, rest) else {
        return false;
    };
    let (address, behind) = (&rest[..length], rest.get(length + 1));
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"._-/#".contains(b);
    address.iter().all(plain)
        && !address.starts_with(b"//")
        // What stands behind the window may be added to it.
        && behind.map_or(is_last, |b| b")},;".contains(b))
}
