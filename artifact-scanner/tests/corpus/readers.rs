//! Does each reader by itself hold whatever bytes come, in time and without a panic?
//!
//! A target is a type: bytes are read as it, whatever they are. Its seeds are the samples and
//! variants of its endings, changed at random by a seed. Some hundreds of runs a target here, as
//! many as `KILN_FUZZ_RUNS` says by `artifact-scanner/fuzz/run`; `KILN_FUZZ_TARGET` names one
//! target, `KILN_SEED` other changes.

use super::mutate::{Dice, LATE, LIMITS, change, said};
use super::{table, variants};
use artifact_scanner::{Budget, Kind, Policy, Rules, Subject, Unscannable, Verdict, scan_as};
use std::path::Path;
use std::time::{Duration, Instant};

/// What is tried: a type, and the endings of its seeds.
const TARGETS: &[(Kind, &[&str])] = &[
    (Kind::Csv, &["csv", "tsv"]),
    (Kind::Json, &["json", "geojson"]),
    (Kind::JsonLines, &["jsonl"]),
    (Kind::Notebook, &["ipynb"]),
    (Kind::Markdown, &["md"]),
    (Kind::Html, &["html", "hta", "xhtml"]),
    (Kind::Svg, &["svg"]),
    (Kind::Xml, &["xml", "kml", "gpx"]),
    (Kind::Yaml, &["yaml", "yml"]),
    (Kind::Text, &["txt", "log", "eml"]),
    (Kind::Png, &["png"]),
    (Kind::Jpeg, &["jpg"]),
    (Kind::Gif, &["gif"]),
    (Kind::Webp, &["webp"]),
    (Kind::Bmp, &["bmp"]),
    (Kind::Wav, &["wav"]),
    (Kind::Mp4, &["mp4"]),
    (Kind::Pdf, &["pdf"]),
    (Kind::Ooxml, &["xlsx", "docx", "pptx", "docm", "xlsm"]),
    (Kind::Ole, &["doc", "xls"]),
    (Kind::Rtf, &["rtf"]),
    (Kind::Parquet, &["parquet"]),
    (Kind::Arrow, &["feather"]),
    (Kind::Orc, &["orc"]),
    (Kind::Npy, &["npy"]),
    (Kind::Sqlite, &["sqlite"]),
    (Kind::Hdf5, &["h5"]),
    (Kind::Safetensors, &["safetensors"]),
    (Kind::Pickle, &["pkl", "pickle"]),
    (Kind::Frame, &["mat", "nc", "npy", "wav"]),
    (Kind::Zip, &["zip", "npz", "pt", "odt"]),
    (Kind::Tar, &["tar"]),
    (Kind::Gzip, &["gz", "svgz", "tgz"]),
    (Kind::Bzip2, &["bz2"]),
    (Kind::Xz, &["xz"]),
    (Kind::Zstd, &["zst"]),
    (Kind::Zlib, &["joblib"]),
    (Kind::Lzma, &["joblib", "xz"]),
    (Kind::SevenZip, &["7z"]),
    (Kind::Lz4, &["gz", "zst"]),
];

/// Longer seeds are changed too seldom in each place.
const SEED_BYTES_MAX: usize = 16 << 10;

#[test]
fn each_reader_holds_by_itself() {
    let (runs, seed) = (said("KILN_FUZZ_RUNS", 200), said("KILN_SEED", 5));
    let wanted = std::env::var("KILN_FUZZ_TARGET").ok();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut samples = table::read(&dir).expect("the corpus is in the repository");
    samples.extend(table::read(&dir.join("variants")).expect("the variants, too"));
    samples.extend(variants::all());
    samples.retain(|sample| (1..SEED_BYTES_MAX).contains(&sample.bytes.len()));
    let policy = Policy::standard(Rules::own());
    let mut tried = 0;
    for (kind, endings) in TARGETS {
        let name = format!("{kind:?}").to_lowercase();
        if wanted.as_ref().is_some_and(|wanted| *wanted != name) {
            continue;
        }
        tried += 1;
        let ends = |name: &str| {
            name.rsplit('.')
                .next()
                .is_some_and(|end| endings.contains(&end))
        };
        let seeds: Vec<_> = samples.iter().filter(|sample| ends(&sample.name)).collect();
        assert!(!seeds.is_empty(), "{name}: no seed");
        let mut dice = Dice(seed);
        let (mut slowest, mut held) = (Duration::ZERO, 0_u64);
        for round in 0..runs {
            let at = dice.roll(seeds.len());
            let (other, mut bytes) = (dice.roll(seeds.len()), seeds[at].bytes.clone());
            change(&mut bytes, &seeds[other].bytes, &mut dice);
            let subject = Subject {
                name: &seeds[at].name,
                bytes: &bytes,
            };
            let start = Instant::now();
            let report = scan_as(*kind, subject, &policy, &mut Budget::new(LIMITS));
            slowest = slowest.max(start.elapsed());
            held += u64::from(report.verdict() > Verdict::Active);
            let told = || format!("{name}: round {round} of seed {seed}: {bytes:02x?}");
            let broken = report.unscannable_reason() == Some(Unscannable::EngineError);
            assert!(!broken, "{}", told());
            assert!(start.elapsed() < LATE, "{}", told());
        }
        let told = format!("{name}: {runs} runs, {held} held, slowest {slowest:?}\n");
        std::io::Write::write_all(&mut std::io::stderr(), told.as_bytes()).expect("stderr");
    }
    assert!(tried > 0, "KILN_FUZZ_TARGET: there is no such target");
}
