//! Where does an address or a path of a document lead?

use crate::check::share::is_share;

/// Without what readers of addresses leave out.
pub(super) fn tidy(mut target: String) -> String {
    target.retain(|letter| !letter.is_control());
    target
}

/// A path on another machine, or an address.
pub(super) fn elsewhere(target: &str) -> bool {
    is_share(target) || web(target)
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
