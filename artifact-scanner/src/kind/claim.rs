//! What an ending promises, and what it means when the content does not keep it.

use super::Kind;
use crate::{Notes, Severity, Unscannable};

/// What an ending promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Bytes of one of these types.
    Binary(&'static [Kind]),
    /// Text that is read as one of these; any other text that does not act will do.
    Text(&'static [Kind]),
    /// JSON, which other text is not.
    Json(&'static [Kind]),
    /// Nothing, or something that runs.
    Nothing,
}

/// The promise of an ending.
pub(crate) fn of(ending: &str) -> Claim {
    use Claim::{Binary, Json, Nothing, Text};
    match ending {
        "csv" | "tsv" | "tab" => Text(&[Kind::Csv]),
        "json" | "geojson" | "topojson" => Json(&[Kind::Json, Kind::JsonLines, Kind::Notebook]),
        "jsonl" | "ndjson" => Json(&[Kind::JsonLines, Kind::Json]),
        "ipynb" => Json(&[Kind::Notebook]),
        "md" | "markdown" => Text(&[Kind::Markdown, Kind::Html]),
        "yaml" | "yml" => Text(&[Kind::Yaml]),
        "html" | "htm" | "xhtml" | "xhtm" | "xht" | "shtml" | "shtm" | "ehtml" => {
            Text(&[Kind::Html, Kind::Xml])
        }
        "svg" => Text(&[Kind::Svg, Kind::Gzip]),
        "xml" | "xsd" | "gml" | "kml" | "rss" | "gpx" | "graphml" => Text(&[Kind::Xml, Kind::Svg]),
        "txt" | "log" | "sql" | "toml" | "ini" | "cfg" | "tex" | "bib" | "fasta" | "fa"
        | "fastq" | "rst" | "pem" | "env" | "conf" => Text(&[
            Kind::Text,
            Kind::Csv,
            Kind::Json,
            Kind::JsonLines,
            Kind::Yaml,
            Kind::Markdown,
        ]),
        "png" => Binary(&[Kind::Png]),
        "jpg" | "jpeg" => Binary(&[Kind::Jpeg]),
        "gif" => Binary(&[Kind::Gif]),
        "webp" => Binary(&[Kind::Webp]),
        "bmp" => Binary(&[Kind::Bmp]),
        "wav" => Binary(&[Kind::Wav]),
        "mp4" | "m4a" | "m4v" | "mov" => Binary(&[Kind::Mp4]),
        "pdf" => Binary(&[Kind::Pdf]),
        "xlsx" | "docx" | "pptx" | "xlsm" | "docm" | "pptm" | "xltx" | "dotx" | "potx" | "xlam"
        | "dotm" | "ppsx" | "ppsm" => Binary(&[Kind::Ooxml, Kind::Ole]),
        "doc" | "xls" | "ppt" => Binary(&[Kind::Ole, Kind::Rtf, Kind::Ooxml]),
        // A template of Word, or a graph in words.
        "dot" => Binary(&[Kind::Ole, Kind::Rtf, Kind::Ooxml, Kind::Text]),
        "rtf" => Binary(&[Kind::Rtf]),
        "parquet" | "pq" => Binary(&[Kind::Parquet]),
        "arrow" | "feather" => Binary(&[Kind::Arrow]),
        "orc" => Binary(&[Kind::Orc]),
        "npy" => Binary(&[Kind::Npy]),
        "npz" | "zip" | "keras" | "whl" | "odt" | "ods" | "odp" | "epub" => Binary(&[Kind::Zip]),
        "sqlite" | "sqlite3" | "db3" => Binary(&[Kind::Sqlite]),
        "h5" | "hdf5" | "he5" => Binary(&[Kind::Hdf5]),
        "safetensors" => Binary(&[Kind::Safetensors]),
        "pt" => Binary(&[Kind::Zip, Kind::Pickle, Kind::Tar]),
        // Weights of a model, or paths for an interpreter, which are source.
        "pth" => Binary(&[Kind::Zip, Kind::Pickle, Kind::Tar, Kind::Script]),
        "mat" => Binary(&[Kind::Frame, Kind::Hdf5]),
        "ttf" | "otf" | "woff" | "woff2" | "fits" | "tif" | "tiff" => Binary(&[Kind::Frame]),
        "pkl" | "pickle" | "joblib" | "p" => Binary(&[
            Kind::Pickle,
            Kind::Zlib,
            Kind::Gzip,
            Kind::Bzip2,
            Kind::Xz,
            Kind::Lz4,
            Kind::Lzma,
            Kind::Zip,
        ]),
        "tar" => Binary(&[Kind::Tar]),
        // Libraries name by it whatever zlib wrote.
        "gz" => Binary(&[Kind::Gzip, Kind::Zlib]),
        "tgz" | "svgz" | "taz" => Binary(&[Kind::Gzip]),
        "bz2" | "tbz" | "tbz2" => Binary(&[Kind::Bzip2]),
        "xz" | "txz" => Binary(&[Kind::Xz]),
        "lzma" => Binary(&[Kind::Lzma]),
        "zst" | "tzst" => Binary(&[Kind::Zstd]),
        "7z" => Binary(&[Kind::SevenZip]),
        "lz4" => Binary(&[Kind::Lz4]),
        _ => Nothing,
    }
}

/// Compares the promise with what is there.
///
/// Within an archive a broken promise of bytes is told, and no more: what lies there is looked at
/// by its content, and libraries store raw bytes under many a name.
pub(crate) fn check(
    ending: &str,
    kind: Kind,
    is_within: bool,
    notes: &mut Notes,
) -> Result<(), Unscannable> {
    let (kept, text, json) = match of(ending) {
        Claim::Nothing => return Ok(()),
        Claim::Binary(kinds) => (kinds.contains(&kind), false, false),
        Claim::Json(kinds) => (kinds.contains(&kind), true, true),
        Claim::Text(kinds) => (kinds.contains(&kind) || is_quiet(kind), true, false),
    };
    if kept || (kind == Kind::Empty && text) {
        return Ok(());
    }
    let severity = match kind {
        Kind::Unknown | Kind::Empty if is_within => Severity::Info,
        // Not what it says, and nothing else either: damaged.
        Kind::Unknown | Kind::Empty => return Err(Unscannable::Corrupt),
        _ if is_quiet(kind) && (json || !text) => return Err(Unscannable::Corrupt),
        Kind::Executable | Kind::Shortcut => Severity::Malicious,
        Kind::Html | Kind::Svg if !text => Severity::Malicious,
        // A browser that is told `text/csv` or `text/plain` does not run it; one that guesses does.
        _ => Severity::Suspicious,
    };
    notes.find(
        "type.mismatch",
        severity,
        "",
        format!(
            "the name ends in `.{ending}`, the content is {}",
            kind.name()
        ),
    );
    Ok(())
}

/// Text that nothing acts on.
fn is_quiet(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Text
            | Kind::Csv
            | Kind::Json
            | Kind::JsonLines
            | Kind::Yaml
            | Kind::Markdown
            | Kind::Xml
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ending: &str, kind: Kind, expected: Result<Option<Severity>, Unscannable>) {
        let mut notes = Notes::default();
        let end = super::check(ending, kind, false, &mut notes);
        assert_eq!(end.map(|()| notes.worst()), expected, "{ending} {kind:?}");
    }

    #[test]
    fn a_promise_is_kept_or_not() {
        check("csv", Kind::Csv, Ok(None));
        check("txt", Kind::Empty, Ok(None));
        check("npz", Kind::Zip, Ok(None));
        check("weights", Kind::Unknown, Ok(None));
        check("png", Kind::Html, Ok(Some(Severity::Malicious)));
        check("png", Kind::Executable, Ok(Some(Severity::Malicious)));
        check("png", Kind::Zip, Ok(Some(Severity::Suspicious)));
        check("csv", Kind::Html, Ok(Some(Severity::Suspicious)));
        check("json", Kind::Unknown, Err(Unscannable::Corrupt));
        check("json", Kind::Text, Err(Unscannable::Corrupt));
        check("sqlite", Kind::Unknown, Err(Unscannable::Corrupt));
        check("png", Kind::Empty, Err(Unscannable::Corrupt));
    }
}
