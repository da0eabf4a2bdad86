//! Under which content type a file is served, and where.

use crate::{Kind, Verdict};
use serde::{Deserialize, Serialize};

/// How a file may be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Serve {
    /// As it is: it holds nothing that acts.
    Inline,
    /// On an origin of its own, under `Content-Security-Policy: sandbox`.
    Sandbox,
    /// To be saved, never shown.
    Attachment,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Media {
    pub(crate) content_type: &'static str,
    clean: Serve,
    active: Serve,
}

impl Media {
    /// Nothing that is worse than active is served.
    pub(crate) fn serve(self, verdict: Verdict) -> Option<Serve> {
        match verdict {
            Verdict::Clean => Some(self.clean),
            Verdict::Active => Some(self.active),
            Verdict::Suspicious
            | Verdict::Malicious
            | Verdict::Unscannable
            | Verdict::Unscanned => None,
        }
    }
}

/// All that a file can be, without what follows a `;`: a row of an operator's that names another
/// type meets no file.
pub const MEDIA_TYPES: &[&str] = &[
    "application/geo+json",
    "application/gzip",
    "application/json",
    "application/octet-stream",
    "application/pdf",
    "application/rtf",
    "application/vnd.apache.arrow.file",
    "application/vnd.apache.parquet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.sqlite3",
    "application/x-7z-compressed",
    "application/x-bzip2",
    "application/x-hdf5",
    "application/x-ipynb+json",
    "application/x-ndjson",
    "application/x-tar",
    "application/x-xz",
    "application/xml",
    "application/yaml",
    "application/zip",
    "application/zstd",
    "audio/wav",
    "image/bmp",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/svg+xml",
    "image/webp",
    "text/csv",
    "text/html",
    "text/markdown",
    "text/plain",
    "text/tab-separated-values",
    "video/mp4",
];

/// The row of a type; the ending picks among names for one type, never the type.
pub(crate) fn of(kind: Kind, ending: &str) -> Media {
    use Serve::{Attachment, Inline, Sandbox};
    let content_type = match kind {
        Kind::Empty | Kind::Text | Kind::Script => "text/plain; charset=utf-8",
        Kind::Csv if matches!(ending, "tsv" | "tab") => "text/tab-separated-values",
        Kind::Csv => "text/csv",
        Kind::Json if ending == "geojson" => "application/geo+json",
        Kind::Json => "application/json",
        Kind::JsonLines => "application/x-ndjson",
        Kind::Notebook => "application/x-ipynb+json",
        Kind::Markdown => "text/markdown",
        Kind::Html => "text/html",
        Kind::Svg => "image/svg+xml",
        Kind::Xml => "application/xml",
        Kind::Yaml => "application/yaml",
        Kind::Png => "image/png",
        Kind::Jpeg => "image/jpeg",
        Kind::Gif => "image/gif",
        Kind::Webp => "image/webp",
        Kind::Bmp => "image/bmp",
        Kind::Wav => "audio/wav",
        Kind::Mp4 => "video/mp4",
        Kind::Pdf => "application/pdf",
        Kind::Ooxml => match ending {
            "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            _ => "application/octet-stream",
        },
        Kind::Rtf => "application/rtf",
        Kind::Parquet => "application/vnd.apache.parquet",
        Kind::Arrow => "application/vnd.apache.arrow.file",
        Kind::Sqlite => "application/vnd.sqlite3",
        Kind::Hdf5 => "application/x-hdf5",
        Kind::Zip => "application/zip",
        Kind::Tar => "application/x-tar",
        Kind::Gzip => "application/gzip",
        Kind::Bzip2 => "application/x-bzip2",
        Kind::Xz => "application/x-xz",
        Kind::Zstd => "application/zstd",
        Kind::SevenZip => "application/x-7z-compressed",
        Kind::Ole
        | Kind::Orc
        | Kind::Npy
        | Kind::Safetensors
        | Kind::Pickle
        | Kind::Frame
        | Kind::Zlib
        | Kind::Lz4
        | Kind::Lzma
        | Kind::Rar
        | Kind::Sealed
        | Kind::Executable
        | Kind::Shortcut
        | Kind::Unknown => "application/octet-stream",
    };
    let (clean, active) = match kind {
        Kind::Png | Kind::Jpeg | Kind::Gif | Kind::Webp | Kind::Bmp | Kind::Wav | Kind::Mp4 => {
            (Inline, Attachment)
        }
        Kind::Pdf => (Inline, Attachment),
        Kind::Html | Kind::Svg => (Sandbox, Sandbox),
        Kind::Notebook => (Attachment, Sandbox),
        _ => (Attachment, Attachment),
    };
    Media {
        content_type,
        clean,
        active,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every type, in the order of its declaration.
    const KINDS: &[Kind] = &[
        Kind::Empty,
        Kind::Text,
        Kind::Csv,
        Kind::Json,
        Kind::JsonLines,
        Kind::Notebook,
        Kind::Markdown,
        Kind::Html,
        Kind::Svg,
        Kind::Xml,
        Kind::Yaml,
        Kind::Png,
        Kind::Jpeg,
        Kind::Gif,
        Kind::Webp,
        Kind::Bmp,
        Kind::Wav,
        Kind::Mp4,
        Kind::Pdf,
        Kind::Ooxml,
        Kind::Ole,
        Kind::Rtf,
        Kind::Parquet,
        Kind::Arrow,
        Kind::Orc,
        Kind::Npy,
        Kind::Sqlite,
        Kind::Hdf5,
        Kind::Safetensors,
        Kind::Pickle,
        Kind::Frame,
        Kind::Zip,
        Kind::Tar,
        Kind::Gzip,
        Kind::Bzip2,
        Kind::Xz,
        Kind::Zstd,
        Kind::SevenZip,
        Kind::Zlib,
        Kind::Lz4,
        Kind::Lzma,
        Kind::Rar,
        Kind::Sealed,
        Kind::Executable,
        Kind::Script,
        Kind::Shortcut,
        Kind::Unknown,
    ];
    const ENDINGS: [&str; 7] = ["", "tsv", "tab", "geojson", "xlsx", "pptx", "docx"];

    #[test]
    fn the_list_is_that_of_the_table() {
        for (at, kind) in KINDS.iter().enumerate() {
            assert_eq!(*kind as usize, at, "{kind:?}");
        }
        assert_eq!(
            KINDS.len(),
            Kind::Unknown as usize + 1,
            "the last is Unknown"
        );
        let given = KINDS.iter().flat_map(|kind| {
            ENDINGS.map(|ending| {
                let content_type = of(*kind, ending).content_type;
                content_type.split(';').next().unwrap_or_default()
            })
        });
        let given: std::collections::BTreeSet<_> = given.collect();
        assert_eq!(given.into_iter().collect::<Vec<_>>(), MEDIA_TYPES);
    }
}
