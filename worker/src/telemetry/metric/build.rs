//! Which build is this?

/// The words of `kiln_build_info`: version, revision, compiler, and what it was built with.
pub(super) const BUILD: [&str; 4] = [
    env!("CARGO_PKG_VERSION"),
    REVISION,
    env!("KILN_RUSTC"),
    FEATURES,
];

/// The revision of the source, by whoever builds a release: no build needs the history.
const REVISION: &str = match option_env!("KILN_REVISION") {
    None => "unknown",
    Some(revision) if revision.is_empty() => "unknown",
    Some(revision) => {
        assert!(
            is_revision(revision.as_bytes()),
            "KILN_REVISION must be 7 to 64 lower-case hex digits, as `git rev-parse HEAD` prints them"
        );
        revision
    }
};

/// What no worker of a fleet should have been built with: places to die at, guards with switches.
/// One that counts nothing does not say so: it says nothing at all.
const FEATURES: &str = match (cfg!(feature = "checkpoints"), cfg!(feature = "unguarded")) {
    (false, false) => "none",
    (true, false) => "checkpoints",
    (false, true) => "unguarded",
    (true, true) => "checkpoints,unguarded",
};

const fn is_revision(text: &[u8]) -> bool {
    let mut at = 0;
    while at < text.len() {
        if !matches!(text[at], b'0'..=b'9' | b'a'..=b'f') {
            return false;
        }
        at += 1;
    }
    text.len() >= 7 && text.len() <= 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_one_or_the_build_is_refused() {
        let sha1 = "b7e33e2d51c0a3f0b7e33e2d51c0a3f0b7e33e2d";
        for good in ["b7e33e2", sha1] {
            assert!(is_revision(good.as_bytes()), "{good}");
        }
        for bad in [
            "b7e33e",
            "B7E33E2",
            "main",
            "b7e33e2-dirty",
            &sha1.repeat(2),
        ] {
            assert!(!is_revision(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn the_compiler_is_known() {
        let digits = BUILD[2].split('.').next().unwrap_or_default();
        assert!(digits.parse::<u32>().is_ok(), "{BUILD:?}");
    }
}
