//! Where does an address or a path of a document lead?

/// Without what readers of addresses leave out.
pub(super) fn tidy(mut target: String) -> String {
    target.retain(|letter| !letter.is_control());
    target
}

/// A path on another machine (`\\\\host\\share`, `//host/share`, `file:////host`), or an address.
pub(super) fn elsewhere(target: &str) -> bool {
    let lower = target.trim_start().to_ascii_lowercase();
    let path = lower.strip_prefix("file:");
    let rest = path.unwrap_or(&lower);
    let host = rest.trim_start_matches(['/', '\\']);
    let slashes = rest.len() - host.len();
    let named = host.starts_with(|letter: char| letter.is_alphanumeric() || letter == '[');
    let own = host.starts_with("localhost") || host.as_bytes().get(1) == Some(&b':');
    let far = match path {
        Some(_) => slashes == 2 || slashes > 3,
        None => slashes > 1,
    };
    far && named && !own || web(target)
}

pub(super) fn web(target: &str) -> bool {
    let lower = target.trim_start().to_ascii_lowercase();
    ["http:", "https:", "ftp:"]
        .iter()
        .any(|scheme| lower.starts_with(scheme))
}

pub(super) fn script(target: &str) -> bool {
    runs(target)
        || target
            .trim_start()
            .to_ascii_lowercase()
            .starts_with("data:")
}

pub(super) fn runs(target: &str) -> bool {
    let lower = target.trim_start().to_ascii_lowercase();
    ["javascript:", "vbscript:"]
        .iter()
        .any(|scheme| lower.starts_with(scheme))
}

pub(super) fn risky(target: &str) -> bool {
    let lower = target.trim_start().to_ascii_lowercase();
    [
        "file:",
        "ms-",
        "search-ms:",
        "shell:",
        "mhtml:",
        "res:",
        "smb:",
    ]
    .iter()
    .any(|scheme| lower.starts_with(scheme))
}
