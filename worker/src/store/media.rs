//! What a file is said to be, from its name alone: a table of ours, never the job's word.

/// The media type for a name's ending; `None` where the table has none.
#[must_use]
pub fn media_type(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next()?;
    let ending = name.rsplit_once('.')?.1.to_ascii_lowercase();
    TABLE
        .iter()
        .find(|(known, _)| *known == ending)
        .map(|(_, media_type)| *media_type)
}

const TABLE: &[(&str, &str)] = &[
    ("7z", "application/x-7z-compressed"),
    ("arrow", "application/vnd.apache.arrow.file"),
    ("bz2", "application/x-bzip2"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("db", "application/vnd.sqlite3"),
    (
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("h5", "application/x-hdf5"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ipynb", "application/x-ipynb+json"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("mp4", "video/mp4"),
    ("parquet", "application/vnd.apache.parquet"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    (
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    ("py", "text/x-python"),
    ("sqlite", "application/vnd.sqlite3"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tsv", "text/tab-separated-values"),
    ("txt", "text/plain"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
    (
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    ("xml", "application/xml"),
    ("xz", "application/x-xz"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
    ("zst", "application/zstd"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ending_counts_whatever_its_case() {
        assert_eq!(media_type("plots/a.b.PNG"), Some("image/png"));
        assert_eq!(media_type("archive.tar.gz"), Some("application/gzip"));
        assert_eq!(media_type("folder.csv/README"), None);
        assert_eq!(media_type("model.joblib"), None);
    }
}
