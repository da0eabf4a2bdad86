//! What of the scanner takes bytes that somebody hostile wrote, and with what does one begin to try it?
//!
//! A target is a type (bytes are read as it, whatever they are), or one of the few things that are
//! read and are no file: a name, a stream, a list of members. Where a sum guards what is inside,
//! the target mends it first, so that a change is read and not only refused. Two things throw
//! changed bytes at them: `tests/corpus/readers.rs`, at random, with every build; and `fuzz`, led
//! by what the bytes reach.

#[path = "targets/mend.rs"]
mod mend;

use crate::{hold, table, variants};
use artifact_scanner::{Budget, Kind, Policy, Subject, members, scan, scan_as, scan_stream};
use std::path::{Path, PathBuf};
use table::{MASK, Sample};

/// Something that takes bytes from outside.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// The endings of its seeds, and of the names it is tried under.
    endings: &'static [&'static str],
    how: How,
}

enum How {
    /// As a type.
    As(Kind),
    /// As a type, with its sums made right.
    Mended(Kind, fn(&[u8]) -> Vec<u8>),
    /// As what it is; the first line is its name.
    Any,
    /// As a name.
    Name,
    /// As what a program printed.
    Stream,
    /// As an archive that is listed.
    Members,
}

const fn of(name: &'static str, kind: Kind, endings: &'static [&'static str]) -> Target {
    let how = How::As(kind);
    Target { name, endings, how }
}

const OFFICE: &[&str] = &["xlsx", "docx", "pptx", "docm", "xlsm"];

/// Every target.
pub(crate) const ALL: &[Target] = &[
    of("csv", Kind::Csv, &["csv", "tsv"]),
    of("json", Kind::Json, &["json", "geojson"]),
    of("jsonlines", Kind::JsonLines, &["jsonl"]),
    of("notebook", Kind::Notebook, &["ipynb"]),
    of("markdown", Kind::Markdown, &["md"]),
    of("html", Kind::Html, &["html", "hta", "xhtml"]),
    of("svg", Kind::Svg, &["svg"]),
    of("xml", Kind::Xml, &["xml", "kml", "gpx"]),
    of("yaml", Kind::Yaml, &["yaml", "yml"]),
    of("text", Kind::Text, &["txt", "log", "eml"]),
    of("png", Kind::Png, &["png"]),
    of("jpeg", Kind::Jpeg, &["jpg"]),
    of("gif", Kind::Gif, &["gif"]),
    of("webp", Kind::Webp, &["webp"]),
    of("bmp", Kind::Bmp, &["bmp"]),
    of("wav", Kind::Wav, &["wav"]),
    of("mp4", Kind::Mp4, &["mp4"]),
    of("pdf", Kind::Pdf, &["pdf"]),
    of("ooxml", Kind::Ooxml, OFFICE),
    of("ole", Kind::Ole, &["doc", "xls"]),
    of("rtf", Kind::Rtf, &["rtf"]),
    of("parquet", Kind::Parquet, &["parquet"]),
    of("arrow", Kind::Arrow, &["feather"]),
    of("orc", Kind::Orc, &["orc"]),
    of("npy", Kind::Npy, &["npy"]),
    of("sqlite", Kind::Sqlite, &["sqlite"]),
    of("hdf5", Kind::Hdf5, &["h5"]),
    of("safetensors", Kind::Safetensors, &["safetensors"]),
    of("pickle", Kind::Pickle, &["pkl", "pickle"]),
    of(
        "frame",
        Kind::Frame,
        &["ico", "mat", "mo", "nc", "npy", "wav"],
    ),
    of("zip", Kind::Zip, &["zip", "npz", "pt", "odt"]),
    of("tar", Kind::Tar, &["tar"]),
    of("gzip", Kind::Gzip, &["gz", "svgz", "tgz"]),
    of("bzip2", Kind::Bzip2, &["bz2"]),
    of("xz", Kind::Xz, &["xz"]),
    of("zstd", Kind::Zstd, &["zst"]),
    of("zlib", Kind::Zlib, &["joblib"]),
    of("lzma", Kind::Lzma, &["joblib", "xz"]),
    of("sevenzip", Kind::SevenZip, &["7z"]),
    of("lz4", Kind::Lz4, &["gz", "zst"]),
    Target {
        name: "png_mended",
        endings: &["png"],
        how: How::Mended(Kind::Png, mend::png),
    },
    Target {
        name: "tar_mended",
        endings: &["tar"],
        how: How::Mended(Kind::Tar, mend::tar),
    },
    Target {
        name: "sevenzip_mended",
        endings: &["7z"],
        how: How::Mended(Kind::SevenZip, mend::sevenzip),
    },
    Target {
        name: "office_part",
        endings: OFFICE,
        how: How::Mended(Kind::Ooxml, mend::office),
    },
    Target {
        name: "open_part",
        endings: &["odt"],
        how: How::Mended(Kind::Zip, mend::open),
    },
    Target {
        name: "any",
        endings: &[],
        how: How::Any,
    },
    Target {
        name: "names",
        endings: &[],
        how: How::Name,
    },
    Target {
        name: "stream",
        endings: &["txt", "log", "csv", "json", "env"],
        how: How::Stream,
    },
    Target {
        name: "members",
        endings: &["zip", "tar", "xlsx"],
        how: How::Members,
    },
];

/// Longer seeds are changed too seldom in each place.
const SEED_BYTES_MAX: usize = 8 << 10;

fn corpus() -> PathBuf {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The crate of the fuzzer is a folder within that of the scanner.
    let up = if dir.ends_with("fuzz") { ".." } else { "." };
    dir.join(up).join("corpus")
}

/// Samples, variants and variants made here, as far as they are small.
pub(crate) fn samples() -> std::io::Result<Vec<Sample>> {
    let dir = corpus();
    let mut samples = table::read(&dir)?;
    samples.extend(table::read(&dir.join("variants"))?);
    samples.extend(variants::all());
    samples.retain(|sample| (1..SEED_BYTES_MAX).contains(&sample.bytes.len()));
    Ok(samples)
}

impl Target {
    /// Bytes to begin with, in the form that [`Target::take`] takes.
    pub(crate) fn seeds(&self, samples: &[Sample]) -> Vec<Vec<u8>> {
        let ending = |sample: &&Sample| {
            let end = sample.name.rsplit('.').next().unwrap_or_default();
            self.endings.contains(&end) || self.endings.is_empty()
        };
        let samples = samples.iter().filter(ending);
        let mut seeds: Vec<Vec<u8>> = match self.how {
            How::Name => samples
                .map(|sample| sample.name.clone().into_bytes())
                .collect(),
            How::Any => samples
                .filter(|sample| sample.bytes.len() < 1024)
                .map(|sample| {
                    [
                        sample.name.replace('\n', " ").as_bytes(),
                        b"\n",
                        &sample.bytes,
                    ]
                    .concat()
                })
                .collect(),
            _ => samples.map(|sample| sample.bytes.clone()).collect(),
        };
        match self.name {
            "office_part" => seeds = mend::office_seeds(),
            "open_part" => seeds = mend::open_seeds(),
            "stream" => seeds.push(format!("a\nit is {}\nb", hold::SECRET).into_bytes()),
            _ => {}
        }
        seeds.sort();
        seeds.dedup();
        seeds
    }

    /// What led the fuzzer somewhere new, and what broke the target once, as `fuzz/keep.py` stores
    /// them: a length and so many bytes, one after the other, masked as the samples are.
    pub(crate) fn kept(&self) -> std::io::Result<Vec<Vec<u8>>> {
        let path = |folder| corpus().join(format!("{folder}/{}.x", self.name));
        let mut stored = std::fs::read(path("kept"))?;
        let found = path("found");
        if found.exists() {
            stored.extend(std::fs::read(found)?);
        }
        for byte in &mut stored {
            *byte ^= MASK;
        }
        let (mut kept, mut rest) = (Vec::new(), stored.as_slice());
        while let Some((length, more)) = rest.split_first_chunk() {
            let length = usize::from(u16::from_le_bytes(*length)).min(more.len());
            let (bytes, more) = more.split_at(length);
            kept.push(bytes.to_vec());
            rest = more;
        }
        Ok(kept)
    }

    /// Reads the bytes and demands that what must hold does.
    pub(crate) fn take(&self, bytes: &[u8], policy: &Policy) {
        match self.how {
            How::As(kind) => self.read(kind, bytes, policy),
            How::Mended(kind, mend) => self.read(kind, &mend(bytes), policy),
            How::Any => {
                let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
                let name = String::from_utf8_lossy(parts.next().unwrap_or_default());
                let (name, bytes) = (&*name, parts.next().unwrap_or_default());
                let subject = Subject { name, bytes };
                hold::report(bytes, |budget| scan(subject, policy, budget));
            }
            How::Name => {
                let (name, bytes) = (&*String::from_utf8_lossy(bytes), &b"1,2\n"[..]);
                let subject = Subject { name, bytes };
                hold::report(bytes, |budget| scan(subject, policy, budget));
            }
            How::Stream => hold::passage(bytes, |budget| scan_stream(bytes, policy, budget)),
            How::Members => {
                let list = || {
                    let (mut budget, mut names) = (Budget::new(hold::LIMITS), Vec::new());
                    let end = members(bytes, &mut budget, &mut names);
                    (end, names)
                };
                let (end, names) = list();
                let most = usize::try_from(hold::LIMITS.members).expect("small");
                assert!(names.len() <= 2 * most, "{end:?}: {} names", names.len());
                assert_eq!(list(), (end, names));
            }
        }
    }

    fn read(&self, kind: Kind, bytes: &[u8], policy: &Policy) {
        // The ending says how strictly it is read.
        let name = format!("a.{}", self.endings[bytes.len() % self.endings.len()]);
        let subject = Subject { name: &name, bytes };
        hold::report(bytes, |budget| scan_as(kind, subject, policy, budget));
    }
}
