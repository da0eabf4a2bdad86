//! Of which type the bytes are, by what they are.

use super::markup::markup;
use super::{Kind, claim, opens, sealed};
use crate::archive::stream;
use crate::bytes::{be32, le32};
use crate::check::pickle;
use crate::format::frames;
use crate::text;
use memchr::memmem;

/// The type of the content. The name only decides between readings of text that is none of the
/// types that act.
pub(crate) fn detect(bytes: &[u8], decoded: Option<&str>, ending: &str) -> Kind {
    if bytes.is_empty() {
        return Kind::Empty;
    }
    if let Some(kind) = behind(bytes, ending).or_else(|| magic(bytes)) {
        if kind == Kind::Zip && memmem::find(bytes, b"[Content_Types].xml").is_some() {
            return Kind::Ooxml;
        }
        return kind;
    }
    match decoded {
        Some(text) => of_text(text, bytes, ending),
        None if pickle::sniff(bytes) => Kind::Pickle,
        None => {
            // A browser that guesses takes it for a page, whatever follows.
            let head = String::from_utf8_lossy(&bytes[..bytes.len().min(2048)]);
            match markup(&text::head(&head, 2048)) {
                Some(Kind::Html | Kind::Svg) => Kind::Html,
                _ => Kind::Unknown,
            }
        }
    }
}

/// A zip may begin with anything: what ends as one and is called one is one, and what stands
/// before it is looked at by itself.
fn behind(bytes: &[u8], ending: &str) -> Option<Kind> {
    let is_called = match claim::of(ending) {
        claim::Claim::Binary(kinds) => kinds.contains(&Kind::Zip) && !kinds.contains(&Kind::Tar),
        _ => false,
    };
    let tail = &bytes[bytes.len().saturating_sub(22 + 0xffff)..];
    let ends = is_called && memmem::rfind(tail, b"PK\x05\x06").is_some();
    ends.then_some(Kind::Zip)
}

fn magic(bytes: &[u8]) -> Option<Kind> {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let at = |offset: usize, magic: &[u8]| {
        bytes
            .get(offset..)
            .is_some_and(|rest| rest.starts_with(magic))
    };
    Some(match bytes {
        _ if starts(b"\x89PNG\r\n\x1a\n") => Kind::Png,
        _ if starts(b"\xff\xd8\xff") => Kind::Jpeg,
        _ if starts(b"GIF87a") || starts(b"GIF89a") => Kind::Gif,
        _ if starts(b"RIFF") && at(8, b"WEBP") => Kind::Webp,
        _ if (starts(b"RIFF") || starts(b"RIFX") || starts(b"RF64")) && at(8, b"WAVE") => Kind::Wav,
        _ if starts(b"BM") && is_bitmap(bytes) => Kind::Bmp,
        _ if at(4, b"ftyp") && be32(bytes, 0).is_some_and(|size| size < 1024) => Kind::Mp4,
        _ if starts(b"%PDF-") => Kind::Pdf,
        _ if starts(b"PK\x03\x04") || starts(b"PK\x05\x06") || starts(b"PK\x07\x08PK") => Kind::Zip,
        _ if starts(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") => Kind::Ole,
        _ if starts(b"{\\rt") => Kind::Rtf,
        _ if starts(b"PAR1") || starts(b"PARE") => Kind::Parquet,
        _ if starts(b"ARROW1") || starts(b"FEA1") => Kind::Arrow,
        _ if starts(b"ORC") && bytes.len() > 16 && bytes.ends_with_orc() => Kind::Orc,
        _ if starts(b"\x93NUMPY") => Kind::Npy,
        _ if starts(b"SQLite format 3\0") => Kind::Sqlite,
        _ if is_hdf5(bytes) => Kind::Hdf5,
        _ if starts(b"\x1f\x8b") => Kind::Gzip,
        _ if starts(b"BZh") && (at(4, b"1AY&SY") || at(4, b"\x17\x72\x45\x38\x50\x90")) => {
            Kind::Bzip2
        }
        _ if starts(b"\xfd7zXZ\0") => Kind::Xz,
        _ if starts(b"\x28\xb5\x2f\xfd") => Kind::Zstd,
        _ if le32(bytes, 0).is_some_and(|magic| magic & 0xffff_fff0 == 0x184d_2a50) => Kind::Zstd,
        _ if starts(b"\x04\x22\x4d\x18") => Kind::Lz4,
        _ if starts(b"7z\xbc\xaf\x27\x1c") => Kind::SevenZip,
        _ if starts(b"Rar!\x1a\x07") || starts(b"MSCF") => Kind::Rar,
        _ if sealed::is_sealed(bytes) => Kind::Sealed,
        _ if is_program(bytes) => Kind::Executable,
        _ if starts(b"L\0\0\0\x01\x14\x02\0") => Kind::Shortcut,
        _ if is_tar(bytes) => Kind::Tar,
        _ if is_safetensors(bytes) => Kind::Safetensors,
        _ if is_zlib(bytes) => Kind::Zlib,
        _ if is_lzma(bytes) => Kind::Lzma,
        _ if frames::sniff(bytes).is_some() => Kind::Frame,
        _ => return None,
    })
}

trait Tail {
    fn ends_with_orc(&self) -> bool;
}

impl Tail for [u8] {
    /// The last byte is the length of the postscript, which ends in the same magic as the file.
    fn ends_with_orc(&self) -> bool {
        self.len() > 4 && &self[self.len() - 4..self.len() - 1] == b"ORC"
    }
}

fn is_bitmap(bytes: &[u8]) -> bool {
    le32(bytes, 14).is_some_and(|header| matches!(header, 12 | 40 | 52 | 56 | 64 | 108 | 124))
}

fn is_hdf5(bytes: &[u8]) -> bool {
    const MAGIC: &[u8] = b"\x89HDF\r\n\x1a\n";
    [0, 512, 1024, 2048, 4096]
        .into_iter()
        .any(|at| bytes.get(at..).is_some_and(|rest| rest.starts_with(MAGIC)))
}

/// ELF, PE and DOS, Mach-O, WebAssembly, Java, Dalvik, packages of systems, films of Flash, compiled
/// Lua, Erlang and `AppleScript`.
fn is_program(bytes: &[u8]) -> bool {
    const MAGIC: &[&[u8]] = &[
        b"\x7fELF",
        b"\0asm",
        b"\xfe\xed\xfa\xce",
        b"\xfe\xed\xfa\xcf",
        b"\xce\xfa\xed\xfe",
        b"\xcf\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe",
        b"dex\n0",
        b"!<arch>\n",
        b"\xed\xab\xee\xdb",
        b"Cr24",
        b"BC\xc0\xde",
        b"ITSF",
        b"\xca\xfe\xba\xbf",
        b"dey\n0",
        b"vdex0",
        b"\x1bLua",
        b"FasdUAS ",
    ];
    let python = is_python(bytes);
    let is_windows = bytes.starts_with(b"MZ")
        && (bytes.len() < 64 || bytes[2..64].contains(&0) || has_header(bytes));
    python
        || is_windows
        || is_flash(bytes)
        || (bytes.starts_with(b"FOR1") && bytes.get(8..12) == Some(b"BEAM"))
        || MAGIC.iter().any(|magic| bytes.starts_with(magic))
}

/// Windows reads no more of the first header than where the second one stands.
fn has_header(bytes: &[u8]) -> bool {
    let at = le32(bytes, 0x3c).and_then(|at| usize::try_from(at).ok());
    at.and_then(|at| bytes.get(at..))
        .is_some_and(|rest| rest.starts_with(b"PE\0\0"))
}

/// A mark, a version and a length: text has no nought there.
fn is_flash(bytes: &[u8]) -> bool {
    matches!(bytes, [b'C' | b'F' | b'Z', b'W', b'S', 1..=63, size @ ..]
        if size.len() > 4 && size[..4].contains(&0))
}

/// Compiled Python: a version, the end of a line, and behind the header, which grew twice, code
/// without arguments, whether it is marked for reference or not.
fn is_python(bytes: &[u8]) -> bool {
    let [_, _, b'\r', b'\n', header @ ..] = bytes else {
        return false;
    };
    let code = |at: usize| header.get(at).is_some_and(|byte| byte & 0x7f == b'c');
    let bare = |at: usize| header.get(at + 1..at + 5) == Some(&[0; 4]);
    // The newest has flags, nearly all nought.
    let flags = matches!(header, [flags, 0, 0, 0, ..] if *flags < 4);
    (flags && code(12)) || [4, 8].into_iter().any(|at| code(at) && bare(at))
}

/// A header whose checksum is right, whatever its flavour.
pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(..512) else {
        return false;
    };
    let stated = std::str::from_utf8(&header[148..156])
        .ok()
        .and_then(|digits| u32::from_str_radix(digits.trim_matches(['\0', ' ']), 8).ok());
    let sum: u32 = header
        .iter()
        .enumerate()
        .map(|(at, byte)| {
            if (148..156).contains(&at) {
                32
            } else {
                u32::from(*byte)
            }
        })
        .sum();
    &header[257..262] == b"ustar" || (stated == Some(sum) && header[0] != 0)
}

fn is_safetensors(bytes: &[u8]) -> bool {
    let Some(length) = crate::bytes::le64(bytes, 0) else {
        return false;
    };
    length >= 2
        && length <= crate::bytes::count(bytes.len()) - 8
        && bytes.get(8) == Some(&b'{')
        && bytes
            .get(9)
            .is_some_and(|b| matches!(b, b'"' | b' ' | b'}'))
}

/// The properties of usual settings, a dictionary of a power of two, a size that is known or not.
fn is_lzma(bytes: &[u8]) -> bool {
    let (Some(&0x5d), Some(dictionary), Some(size)) =
        (bytes.first(), le32(bytes, 1), crate::bytes::le64(bytes, 5))
    else {
        return false;
    };
    let round = dictionary.is_power_of_two() || (dictionary / 3).is_power_of_two();
    round && dictionary >= 4096 && (size == u64::MAX || size < 1 << 40) && bytes.get(13) == Some(&0)
}

/// The two bytes are a header with its checksum right, and a first block inflates.
fn is_zlib(bytes: &[u8]) -> bool {
    let [first, second, ..] = bytes else {
        return false;
    };
    // The form of an old library: a mark, a size in 19 letters, the stream.
    if bytes.starts_with(stream::ZFILE) {
        return true;
    }
    if first & 0x0f != 8 || first >> 4 > 7 || second & 0x20 != 0 {
        return false;
    }
    if (u16::from(*first) << 8 | u16::from(*second)) % 31 != 0 {
        return false;
    }
    let mut start = [0; 64];
    let mut inflate = flate2::Decompress::new(true);
    inflate
        .decompress(
            &bytes[..bytes.len().min(4096)],
            &mut start,
            flate2::FlushDecompress::None,
        )
        .is_ok()
        && inflate.total_out() > 0
}

fn of_text(text: &str, bytes: &[u8], ending: &str) -> Kind {
    let head = text::head(text, 2048);
    if let Some(kind) = opens::runs(&head, ending) {
        return kind;
    }
    // Whoever is told that it is XML does not guess by its comments.
    let told = matches!(ending, "xml" | "xsd" | "xsl" | "docbook");
    let head = if told {
        text::head(opens::behind_comments(text), 2048)
    } else {
        head
    };
    match markup(&head) {
        Some(Kind::Xml) if matches!(ending, "html" | "htm" | "shtml" | "shtm" | "ehtml") => {
            return Kind::Html;
        }
        // Prose may begin with a tag that no browser takes for a page.
        Some(Kind::Xml) if matches!(ending, "md" | "markdown") => return Kind::Markdown,
        Some(kind) => return kind,
        None => {}
    }
    match ending {
        "html" | "htm" | "xhtml" | "xhtm" | "xht" | "shtml" | "shtm" | "ehtml" | "mht"
        | "mhtml" => return Kind::Html,
        "svg" => return Kind::Svg,
        _ => {}
    }
    if head.starts_with(['{', '['])
        && let Some(kind) = json(text, ending)
    {
        return kind;
    }
    match ending {
        "ipynb" | "json" | "geojson" | "jsonl" | "ndjson" => match json(text, ending) {
            Some(kind) => kind,
            None => Kind::Text,
        },
        "pkl" | "pickle" | "p" | "joblib" if pickle::is_whole(bytes) => Kind::Pickle,
        _ if pickle::sniff(bytes) => Kind::Pickle,
        "csv" | "tsv" | "tab" | "psv" | "prn" | "slk" => Kind::Csv,
        // Changes of a text have that ending, too.
        "dif" if head.starts_with("table") => Kind::Csv,
        "md" | "markdown" | "mdx" => Kind::Markdown,
        "yaml" | "yml" => Kind::Yaml,
        "xml" => Kind::Xml,
        "pth" | "py" | "sh" | "bash" | "r" | "js" | "mjs" | "pl" | "rb" | "jl" => Kind::Script,
        _ => Kind::Text,
    }
}

/// Whether the text is JSON by its looks; the reader says whether it is to the end.
fn json(text: &str, ending: &str) -> Option<Kind> {
    let trimmed = text.trim();
    let has = |word: &str| memmem::find(trimmed.as_bytes(), word.as_bytes()).is_some();
    if ending == "ipynb" || (trimmed.starts_with('{') && has("\"nbformat\"") && has("\"cells\"")) {
        return Some(Kind::Notebook);
    }
    if matches!(ending, "jsonl" | "ndjson") {
        return Some(Kind::JsonLines);
    }
    let claimed = matches!(ending, "json" | "geojson" | "topojson");
    let shaped = (trimmed.starts_with('{') && trimmed.ends_with('}'))
        || (trimmed.starts_with('[') && trimmed.ends_with(']'));
    let mut behind_first = trimmed.chars();
    behind_first.next();
    let quoted = behind_first
        .as_str()
        .trim_start()
        .starts_with(['"', '{', '[', '}', ']', '-', '0', '1']);
    (claimed || (ending.is_empty() && shaped && quoted)).then_some(Kind::Json)
}

/// Whether an ending promises something that cannot be run.
pub(crate) fn is_disguise(ending: &str) -> bool {
    claim::of(ending) != claim::Claim::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn judge(name: &str, bytes: &[u8], expected: Kind) {
        let text = std::str::from_utf8(bytes).ok();
        assert_eq!(
            detect(bytes, text, name),
            expected,
            "{}",
            bytes.escape_ascii()
        );
    }

    #[test]
    fn compiled_python_is_a_program_whatever_its_age_and_marks() {
        for code in [b'c', 0xe3] {
            let newest = [&b"\xa7\r\r\n\0\0\0\0abcdefgh"[..], &[code], &[0; 8]].concat();
            let newer = [&b"\x33\x0d\r\nabcdefgh"[..], &[code], &[0; 8]].concat();
            let old = [&b"\x03\xf3\r\nabcd"[..], &[code], &[0; 8]].concat();
            for bytes in [newest, newer, old] {
                judge("pyc", &bytes, Kind::Executable);
            }
        }
        judge("csv", b"ab\r\n1234cccccccccccc\r\n", Kind::Csv);
    }

    #[test]
    fn what_a_server_calls_a_page_is_one() {
        for ending in ["shtml", "shtm", "ehtml", "xht", "xhtm"] {
            judge(ending, b"text <script>a()</script>", Kind::Html);
        }
        judge("txt", b"text <script>a()</script>", Kind::Text);
    }
}
