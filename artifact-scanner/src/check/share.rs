//! Does a path lead to another machine?

/// `\\\\host\\share`, `//host/share`, `file://host/share`, `file:////host/share`.
pub(crate) fn is_share(target: &str) -> bool {
    let lower = target.trim_start().to_ascii_lowercase();
    let path = lower.strip_prefix("file:");
    let rest = path.unwrap_or(&lower);
    let host = rest.trim_start_matches(['/', '\\']);
    let slashes = rest.len() - host.len();
    let named =
        host.starts_with(|letter: char| letter.is_alphanumeric() || "[?_-%".contains(letter));
    let own = host.starts_with("localhost") || host.as_bytes().get(1) == Some(&b':');
    let far = match path {
        // Three are before a path of this machine.
        Some(_) => slashes == 2 || slashes > 3,
        None => slashes > 1,
    };
    far && named && !own
}

#[cfg(test)]
mod tests {
    use super::is_share;

    #[test]
    fn another_machine_is_told_from_a_path_and_an_address() {
        for far in [
            r"\\a\s",
            "//a/s",
            r"/\a\s",
            "file://a/s",
            "FILE:////a/s",
            "file://///a/s",
            r"file:\\a\s",
            r"file:///\\a\s",
            r"\\?\UNC\a\s",
        ] {
            assert!(is_share(far), "{far}");
        }
        for near in [
            "",
            "//",
            "/home/a",
            r"C:\a",
            "file:///home/a",
            "file:///C:/a",
            "file://localhost/a",
            "file://C:/a",
            "https://a.invalid/",
        ] {
            assert!(!is_share(near), "{near}");
        }
    }
}
