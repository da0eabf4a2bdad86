//! Which files of the job's folder does a list of globs name?

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The most bytes of all globs of one job: so few always compile.
pub const GLOBS_BYTES_MAX: usize = 16 * 1024;

/// Why a glob is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadGlob(String);

/// Compiles the globs of one job: `*` and `?` stop at `/`, `**` does not.
///
/// Every job that was accepted compiles.
pub fn compile<'a>(globs: impl IntoIterator<Item = &'a str>) -> Result<GlobSet, BadGlob> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(one(glob)?);
    }
    set.build()
        .map_err(|error| BadGlob(error.kind().to_string()))
}

/// Whether a glob is sane.
pub(crate) fn check(glob: &str) -> Result<(), BadGlob> {
    one(glob).map(|_| ())
}

fn one(glob: &str) -> Result<globset::Glob, BadGlob> {
    let bad = |why: &str| Err(BadGlob(why.to_owned()));
    if glob.is_empty() {
        return bad("it may not be empty");
    }
    if glob.contains('\0') {
        return bad("it may not hold a NUL byte");
    }
    if glob.starts_with('/') {
        return bad("it is relative to the job's folder and may not begin with `/`");
    }
    if glob.ends_with('/') {
        return bad("it names files and may not end with `/`; `folder/**` names all below it");
    }
    if glob.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return bad("it may not have an empty part, `.` or `..`");
    }
    GlobBuilder::new(glob)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| BadGlob(error.kind().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stops_at_a_folder_and_two_do_not() {
        let set = compile(["*.csv", "plots/**", "**/*.md"]).expect("sane globs");
        for (path, named) in [
            ("a.csv", true),
            ("x/a.csv", false),
            ("plots/a.png", true),
            ("plots/x/a.png", true),
            ("plots", false),
            ("README.md", true),
            ("x/y/README.md", true),
        ] {
            assert_eq!(set.is_match(path), named, "{path}");
        }
    }

    #[test]
    fn as_many_globs_as_are_taken_compile() {
        let worst = [
            "?".repeat(GLOBS_BYTES_MAX),
            "[!a-z]".repeat(GLOBS_BYTES_MAX / 6),
        ];
        for glob in &worst {
            assert!(compile([glob.as_str()]).is_ok());
        }
        assert!(compile(vec!["?*/**/x"; GLOBS_BYTES_MAX / 7]).is_ok());
        assert!(compile(vec!["{a,b}"; GLOBS_BYTES_MAX / 5]).is_ok());
    }

    #[test]
    fn what_is_no_glob_is_refused() {
        for glob in [
            "", "/a", "a/", "../a", "a/../b", "a//b", "./a", "a\0", "[a", "{a", "a}", "[z-a]",
            "a\\",
        ] {
            assert!(check(glob).is_err(), "{glob}");
        }
    }
}
