//! Does any byte that coverage leads to break what takes bytes from outside? One target, under libFuzzer.
//!
//! `KILN_FUZZ_TARGET` names it (`kiln::hostile_bytes`), `KILN_FUZZ_SEEDS` a folder that its seeds are written to first.
//! `tests/fuzz guided` builds this with an instrumented worker and runs all of them.
#![no_main]
#![expect(
    clippy::disallowed_methods,
    reason = "libFuzzer has the command line; what is ours comes by the environment"
)]

use kiln::hostile_bytes::{Target, all};
use std::path::PathBuf;
use std::sync::LazyLock;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let wanted = std::env::var("KILN_FUZZ_TARGET").expect("KILN_FUZZ_TARGET names a target");
    let known: Vec<_> = all().iter().map(|target| target.name).collect();
    let found = all().into_iter().find(|target| target.name == wanted);
    let target =
        found.unwrap_or_else(|| panic!("no target is named `{wanted}`; there are {known:?}"));
    if let Some(folder) = std::env::var_os("KILN_FUZZ_SEEDS") {
        for (n, seed) in target.seeds.iter().enumerate() {
            let path = PathBuf::from(&folder).join(format!("seed-{n}"));
            std::fs::write(path, seed).expect("the folder of the seeds is writable");
        }
    }
    target
});

libfuzzer_sys::fuzz_target!(init: { LazyLock::force(&TARGET); }, |bytes: &[u8]| {
    (TARGET.take)(bytes);
});
