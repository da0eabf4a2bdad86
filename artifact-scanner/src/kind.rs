//! What is a file, by what is in it and by what it claims?

pub(crate) mod claim;
pub(crate) mod detect;
mod markup;
mod opens;
pub(crate) mod sealed;

/// The types that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Empty,
    // Text.
    Text,
    Csv,
    Json,
    JsonLines,
    Notebook,
    Markdown,
    Html,
    Svg,
    Xml,
    Yaml,
    // Pictures and media.
    Png,
    Jpeg,
    Gif,
    Webp,
    Bmp,
    Wav,
    Mp4,
    // Documents.
    Pdf,
    /// Word, sheet or slides as a zip of XML.
    Ooxml,
    /// The old container of Office, and of locked new documents.
    Ole,
    Rtf,
    // Data.
    Parquet,
    /// The file format (`ARROW1`); Feather 2 is the same.
    Arrow,
    Orc,
    Npy,
    Sqlite,
    Hdf5,
    Safetensors,
    Pickle,
    /// MATLAB, netCDF, IDL, FITS, fonts, time zones: read by their frame.
    Frame,
    // Containers.
    Zip,
    Tar,
    Gzip,
    Bzip2,
    Xz,
    Zstd,
    SevenZip,
    Zlib,
    Lz4,
    /// The older form of xz, without checksums.
    Lzma,
    Rar,
    /// An image of a disk, or what is locked or packed in a way that is not read.
    Sealed,
    // What runs.
    Executable,
    Script,
    Shortcut,
    /// Bytes that nothing knows.
    Unknown,
}

impl Kind {
    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Text => "text",
            Self::Csv => "a table",
            Self::Json => "JSON",
            Self::JsonLines => "JSON lines",
            Self::Notebook => "a notebook",
            Self::Markdown => "Markdown",
            Self::Html => "a page of HTML",
            Self::Svg => "an SVG drawing",
            Self::Xml => "XML",
            Self::Yaml => "YAML",
            Self::Png => "a PNG picture",
            Self::Jpeg => "a JPEG picture",
            Self::Gif => "a GIF picture",
            Self::Webp => "a WebP picture",
            Self::Bmp => "a bitmap",
            Self::Wav => "a WAVE sound",
            Self::Mp4 => "an MP4 film",
            Self::Pdf => "a PDF document",
            Self::Ooxml => "an Office document",
            Self::Ole => "an Office document of the old form",
            Self::Rtf => "an RTF document",
            Self::Parquet => "a Parquet file",
            Self::Arrow => "an Arrow file",
            Self::Orc => "an ORC file",
            Self::Npy => "a NumPy array",
            Self::Sqlite => "an SQLite database",
            Self::Hdf5 => "an HDF5 file",
            Self::Safetensors => "a safetensors file",
            Self::Pickle => "a pickle",
            Self::Frame => "data of an instrument or a system",
            Self::Zip => "a zip archive",
            Self::Tar => "a tar archive",
            Self::Gzip => "gzip data",
            Self::Bzip2 => "bzip2 data",
            Self::Xz => "xz data",
            Self::Zstd => "zstd data",
            Self::SevenZip => "a 7z archive",
            Self::Zlib => "zlib data",
            Self::Lz4 => "lz4 data",
            Self::Lzma => "lzma data",
            Self::Rar => "a rar archive",
            Self::Sealed => "an image or archive that is not opened",
            Self::Executable => "a program",
            Self::Script => "a script",
            Self::Shortcut => "a shortcut",
            Self::Unknown => "unknown",
        }
    }
}
