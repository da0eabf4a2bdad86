//! Where does a link lead that a terminal shows?

/// Links to these are those of a page; a name without a scheme is text.
const SCHEMES: [&str; 19] = [
    "http", "https", "file", "mailto", "ftp", "ftps", "sftp", "doi", "man", "info", "urn", "s3",
    "s3a", "gs", "gcs", "hdfs", "abfs", "abfss", "dbfs",
];

/// Editors that are asked to show a file: `EDITOR://file/PATH`, `EDITOR://open?file=PATH`.
const EDITORS: [&str; 6] = [
    "vscode",
    "vscode-insiders",
    "vscodium",
    "cursor",
    "windsurf",
    "zed",
];
const OPENERS: [&str; 6] = ["idea", "pycharm", "phpstorm", "txmt", "subl", "mvim"];

pub(super) fn leads_elsewhere(address: &str) -> bool {
    let bare: String = address.chars().filter(|c| !c.is_whitespace()).collect();
    let Some((scheme, rest)) = bare.split_once(':') else {
        return false;
    };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    let lower = scheme.to_ascii_lowercase();
    let host = rest.trim_start_matches('/').split('/').next().unwrap_or("");
    // Who lists files names the machine they are on, and no port of it.
    let elsewhere = lower == "file" && host.contains('@');
    // What an editor is asked to show.
    let shown = EDITORS.contains(&lower.as_str()) && rest.starts_with("//file/")
        || OPENERS.contains(&lower.as_str())
            && ["//open?file=/", "//open?url=file://"]
                .iter()
                .any(|start| rest.starts_with(start))
        || lower == "localhost" && rest.starts_with(|c: char| c.is_ascii_digit());
    is_scheme && !rest.is_empty() && !shown && (elsewhere || !SCHEMES.contains(&lower.as_str()))
}
