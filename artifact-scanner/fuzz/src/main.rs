//! Does any byte that coverage leads to break a reader of the scanner? One target, under libFuzzer.
//!
//! `KILN_FUZZ_TARGET` names it (`corpus/targets.rs`), `KILN_FUZZ_SEEDS` a folder that its seeds are
//! written to first. `artifact-scanner/fuzz/run guided` builds this with an instrumented scanner.
#![no_main]

#[path = "../../corpus/hold.rs"]
mod hold;
#[path = "../../corpus/table.rs"]
#[expect(dead_code, reason = "samples are read here, not judged")]
mod table;
#[path = "../../corpus/targets.rs"]
mod targets;
#[path = "../../corpus/variants.rs"]
mod variants;

use artifact_scanner::{Policy, Rules};
use peak_alloc::PeakAlloc;
use std::path::PathBuf;
use std::sync::LazyLock;
use targets::Target;

/// Counts what is allocated: libFuzzer looks at the whole process, once a second.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The most that one run may hold: two dictionaries of a decompressor at their limit, and a little.
const RUN_BYTES_MAX: usize = 224 << 20;

static TARGET: LazyLock<(&'static Target, Policy)> = LazyLock::new(|| {
    let wanted = std::env::var("KILN_FUZZ_TARGET").expect("KILN_FUZZ_TARGET names a target");
    let known: Vec<_> = targets::ALL.iter().map(|target| target.name).collect();
    let found = targets::ALL.iter().find(|target| target.name == wanted);
    let target =
        found.unwrap_or_else(|| panic!("no target is named `{wanted}`; there are {known:?}"));
    if let Some(folder) = std::env::var_os("KILN_FUZZ_SEEDS") {
        let samples = targets::samples().expect("the corpus is in the repository");
        let kept = target.kept().unwrap_or_default();
        for (n, seed) in target.seeds(&samples).iter().chain(&kept).enumerate() {
            let path = PathBuf::from(&folder).join(format!("seed-{n}"));
            std::fs::write(path, seed).expect("the folder of the seeds is writable");
        }
    }
    (target, hold::policy(Rules::own()))
});

libfuzzer_sys::fuzz_target!(init: { LazyLock::force(&TARGET); }, |bytes: &[u8]| {
    let (target, policy) = &*TARGET;
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    target.take(bytes, policy);
    let held = MEMORY.peak_usage().saturating_sub(before);
    assert!(held < RUN_BYTES_MAX, "{held} bytes at once");
});
