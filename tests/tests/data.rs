//! Does the main job work: a script and a table in, a table on stdout, a plot in the out folder?

use acceptance::check::{Expect, check};
use acceptance::kiln::{Program, command};
use acceptance::places;

const SALES: &str = "region,units\nnorth,3\nsouth,5\nnorth,4\neast,1\n";

const PANDAS: &str = "import pandas as pd
import matplotlib.pyplot as plt
table = pd.read_csv('sales.csv').groupby('region')['units'].sum()
print(table.to_string())
table.plot.bar()
plt.savefig('units.png')
plt.savefig('units.svg')
";

const PLAIN: &str = "import csv, collections
totals = collections.Counter()
for row in csv.DictReader(open('sales.csv')):
    totals[row['region']] += int(row['units'])
for region, units in sorted(totals.items()):
    print(f'{region:6} {units:3}')
bars = ''.join(f'<rect x=\"{20 * i}\" y=\"{100 - 10 * n}\" width=\"16\" height=\"{10 * n}\"/>' for i, n in enumerate(totals.values()))
open('units.svg', 'w').write(f'<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"120\" height=\"100\">{bars}</svg>')
";

fn sales() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = places::scratch();
    let path = folder.path().join("sales.csv");
    std::fs::write(&path, SALES).expect("writable");
    (folder, path)
}

#[test]
fn pandas_in_table_and_plot_out() {
    let (_folder, path) = sales();
    let program = Program::python(PANDAS).profile("python-data").input(path);
    let expect = Expect::succeeded()
        .stdout(r"north +7\nsouth +5")
        .artifacts(&["units.png", "units.svg"])
        .stderr_exact("");
    let run = check(&program, &[], &expect);
    assert!(
        run.artifact("units.png")
            .is_some_and(|bytes| bytes.starts_with(b"\x89PNG\r\n"))
    );
    for (n, kind) in ["image/png", "image/svg+xml"].into_iter().enumerate() {
        // Unknown is null, never a guess.
        let told = run.at(&format!("/artifacts/{n}/media_type"));
        assert!(told.is_null() || told == kind, "{told} is not {kind}");
    }
}

#[test]
fn the_standard_library_alone() {
    let (_folder, path) = sales();
    let program = Program::python(PLAIN).input(path);
    let expect = Expect::succeeded()
        .stdout("^east     1\nnorth    7\nsouth    5\n$")
        .artifacts(&["units.svg"]);
    let run = check(&program, &[], &expect);
    assert!(
        run.artifact("units.svg")
            .is_some_and(|bytes| bytes.starts_with(b"<svg"))
    );
}

#[test]
fn without_options_the_answer_is_in_kiln_out() {
    let (folder, _) = sales();
    std::fs::write(folder.path().join("plot.py"), PLAIN).expect("writable");
    let output = command(folder.path())
        .args(["run", "--input", "sales.csv", "plot.py"])
        .output()
        .expect("kiln can be started");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(
        output.stdout.starts_with(b"east     1\n"),
        "{:?}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(stderr.contains("succeeded"), "no summary line: {stderr}");
    let mut jobs = std::fs::read_dir(folder.path().join("kiln-out")).expect("an out folder");
    let job = jobs.next().expect("one job").expect("readable").path();
    assert!(
        jobs.next().is_none()
            && job.join("outcome.json").is_file()
            && job.join("artifacts/units.svg").is_file()
    );
    let outcome: serde_json::Value =
        serde_json::from_slice(&std::fs::read(job.join("outcome.json")).expect("there"))
            .expect("JSON");
    assert_eq!(
        outcome["job_id"].as_str(),
        job.file_name().and_then(|name| name.to_str())
    );
}

#[test]
fn globs_choose_what_comes_out() {
    let text = "import os\nos.makedirs('plots/deep')\nfor p in ('a.csv', 'b.txt', 'plots/c.png', 'plots/deep/d.png'): open(p, 'w').write(p)";
    let all = check(&Program::python(text), &[], &Expect::succeeded());
    assert_eq!(
        all.artifacts(),
        ["a.csv", "b.txt", "plots/c.png", "plots/deep/d.png"]
    );
    let some = check(
        &Program::python(text)
            .option("--artifacts")
            .option("*.csv")
            .option("--artifacts")
            .option("plots/**"),
        &[],
        &Expect::succeeded(),
    );
    assert_eq!(
        some.artifacts(),
        ["a.csv", "plots/c.png", "plots/deep/d.png"]
    );
    let flat = check(
        &Program::python(text)
            .option("--artifacts")
            .option("plots/*"),
        &[],
        &Expect::succeeded(),
    );
    assert_eq!(flat.artifacts(), ["plots/c.png"], "`*` stops at `/`");
}
