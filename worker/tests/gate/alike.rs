//! Does a confined process say of every labelled sample what the library says of it outside?
//!
//! What a reader does beside reading - asks for a file, starts a thread - kills the process, and shows
//! only here.

use super::{file, gate};
use artifact_scanner::{Preset, Verdict};
use kiln::screen::{GateOptions, Outputs};
use serde_json::json;
use std::path::Path;

/// The samples are stored so that no virus scanner takes them.
const MASK: u8 = 0xa5;
/// So many files go together, as of one job.
const FILES: usize = 100;

struct Sample {
    name: String,
    expected: String,
    bytes: Vec<u8>,
}

fn samples(folder: &str) -> Vec<Sample> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../artifact-scanner/corpus");
    let folder = corpus.join(folder);
    let labels = std::fs::read_to_string(folder.join("labels.tsv")).expect("labels");
    let lines = labels.lines().skip(1).enumerate();
    lines
        .map(|(number, line)| {
            let mut fields = line.split('\t').map(str::to_owned);
            let stored = std::fs::read(folder.join(format!("samples/{number:04}.x")));
            let stored = stored.expect("a sample for each label");
            Sample {
                name: fields.next().unwrap_or_default(),
                expected: fields.next().unwrap_or_default(),
                bytes: stored.iter().map(|byte| byte ^ MASK).collect(),
            }
        })
        .collect()
}

#[tokio::test]
async fn each_sample_is_judged_confined_as_it_is_outside() {
    let gate = gate(GateOptions {
        preset: Preset::Standard,
        ..GateOptions::default()
    });
    let all: Vec<_> = ["", "variants"].into_iter().flat_map(samples).collect();
    assert!(all.len() > 900, "{}", all.len());
    let mut other = Vec::new();
    for part in all.chunks(FILES) {
        // Names that no file has are tried by the library's own tests.
        let part: Vec<_> = part.iter().filter(|one| !one.name.contains('\\')).collect();
        let files = part.iter().map(|one| file(&one.name, &one.bytes)).collect();
        let outputs = Outputs::of([b"", b""], files, Vec::new());
        let cleared = gate.screen(outputs).await.expect("they are scanned");
        for ((path, word, _), sample) in cleared.files().zip(&part) {
            assert_eq!(path, sample.name);
            if json!(word.verdict()) != sample.expected {
                other.push(format!("{path}: {} ({word:?})", sample.expected));
            }
        }
    }
    assert!(other.is_empty(), "{} differ: {other:#?}", other.len());
    assert_eq!(gate.scanner().lost(), 0, "a process was lost");
}

/// The library has 7z read by another, which no sample above brings to its members.
#[tokio::test]
async fn the_members_of_a_7z_are_read_confined() {
    use base64::Engine as _;
    let archive = base64::engine::general_purpose::STANDARD.decode(SEVENZIP.concat());
    let gate = gate(GateOptions::default());
    let files = vec![file("tables.7z", &archive.expect("base64"))];
    let outputs = Outputs::of([b"", b""], files, Vec::new());
    let cleared = gate.screen(outputs).await.expect("it is scanned");
    let words: Vec<_> = cleared.files().map(|(_, word, _)| word).collect();
    assert_eq!(words[0].verdict(), Verdict::Clean, "{words:?}");
    assert_eq!(gate.scanner().lost(), 0, "a process was lost");
}

/// Two tables and an empty file in a folder.
const SEVENZIP: [&str; 3] = [
    "N3q8ryccAARiYDZkhAAAAAAAAAAhAAAAAAAAAItMiqMBAA9hLGIKMSwyCmMsZAozLDQKAAAAgTMHrg/PObAMB8hD",
    "f0Gx+v3i+3npbTzby8qO3phkC9ymaQkAwFYAo5kZAvxkrgCTiJ7/7ZMGiejS2YaZ1uxEsxHNpMy0ALsdj/G3YNNy",
    "ADAU1/qj5XiQE5ONPPQC901CRKvlozO6decXr0oAAAAXBhQBCXAABwsBAAEjAwEBBV0AEAAADICmCgFJBHUSAAA=",
];
