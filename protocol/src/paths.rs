//! May a file of this path, and these files together, lie in the job's folder?

/// The longest path: with the job's folder before it, it is still below the kernel's 4,096.
pub(crate) const PATH_BYTES_MAX: usize = 4_000;
/// The longest part of a path: the kernel's own bound.
pub(crate) const PART_BYTES_MAX: usize = 255;

/// Whether a path is relative, of one spelling, and short enough for the kernel.
pub(crate) fn check(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("a path may not be empty");
    }
    if path.starts_with('/') {
        return Err("a path is relative to the job's folder and may not begin with `/`");
    }
    if path.contains('\0') {
        return Err("a path may not hold a NUL byte");
    }
    if path.len() > PATH_BYTES_MAX {
        return Err("a path has at most 4,000 bytes");
    }
    for part in path.split('/') {
        match part {
            "" => return Err("a path may not have an empty part or end with `/`"),
            ".." => return Err("a path may not have `..`"),
            "." => return Err("a path may not have `.` as a part"),
            _ if part.len() > PART_BYTES_MAX => {
                return Err("a part of a path has at most 255 bytes");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Two files that cannot both be there, by their places in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clash {
    /// One path for both.
    Same { earlier: usize, later: usize },
    /// One would have to be a folder to hold the other.
    Parent { file: usize, below: usize },
}

/// Pairs of paths that cannot both be files; none only if there is no such pair.
pub(crate) fn clashes(paths: &[&str]) -> Vec<Clash> {
    // With `/` before every other byte, what lies below a path follows it at once.
    let key = |index: &usize| {
        paths[*index]
            .bytes()
            .map(|byte| if byte == b'/' { 0 } else { byte })
    };
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by(|a, b| key(a).cmp(key(b)).then(a.cmp(b)));
    order
        .windows(2)
        .filter_map(|pair| {
            let (first, second) = (pair[0], pair[1]);
            let rest = paths[second].strip_prefix(paths[first])?;
            match rest.as_bytes().first() {
                None => Some(Clash::Same {
                    earlier: first,
                    later: second,
                }),
                Some(b'/') => Some(Clash::Parent {
                    file: first,
                    below: second,
                }),
                Some(_) => None,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_the_folder_and_has_one_spelling() {
        let (part, path) = ("p".repeat(256), "p/".repeat(2_001) + "p");
        for bad in [
            "", "/", "/a", "..", "../a", "a/..", "a/../b", ".", "./a", "a//b", "a/", "a\0b", &part,
            &path,
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
        for good in [
            "a", "a/b.c", "...", "..a", "a b", "ä/é", ".hidden", "-", "a\\b", "a\nb",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn two_files_of_one_path_clash() {
        assert_eq!(
            clashes(&["b", "a", "b"]),
            [Clash::Same {
                earlier: 0,
                later: 2
            }]
        );
    }

    #[test]
    fn a_file_is_no_folder() {
        let below = |file, below| [Clash::Parent { file, below }];
        assert_eq!(clashes(&["a/b", "a"]), below(1, 0));
        assert_eq!(clashes(&["a", "a-b", "a.b", "a/b/c"]), below(0, 3));
        assert_eq!(clashes(&["a", "ab", "a-b", "b/a"]), []);
    }
}
