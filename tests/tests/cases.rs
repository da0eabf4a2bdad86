//! Does each real program that people run in sandboxes end as its `EXPECT.md` says?

#[path = "cases/data.rs"]
mod data;
#[path = "cases/files.rs"]
mod files;
#[path = "cases/jobs.rs"]
mod jobs;
#[path = "cases/limits.rs"]
mod limits;
#[path = "cases/output.rs"]
mod output;
#[path = "cases/processes.rs"]
mod processes;
#[path = "cases/runtime.rs"]
mod runtime;
#[path = "cases/surroundings.rs"]
mod surroundings;

use acceptance::places;
use std::collections::BTreeSet;

/// Every folder below `cases/` and `jobs/` is named in one of the files beside this one.
#[test]
fn no_case_is_forgotten() {
    let here = places::home().join("tests/cases");
    let texts: Vec<String> = std::fs::read_dir(&here)
        .expect("the case files are there")
        .map(|entry| std::fs::read_to_string(entry.expect("readable").path()).expect("text"))
        .collect();
    let mut forgotten = BTreeSet::new();
    for top in ["cases", "jobs"] {
        for entry in
            std::fs::read_dir(places::home().join(top)).expect("the cases are in the crate")
        {
            let name = entry
                .expect("readable")
                .file_name()
                .into_string()
                .expect("a plain name");
            let mention = format!("\"{top}/{name}");
            if !texts.iter().any(|text| text.contains(&mention)) {
                forgotten.insert(mention);
            }
        }
    }
    assert!(forgotten.is_empty(), "no test names {forgotten:?}");
}
