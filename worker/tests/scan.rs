//! Does `kiln scan` look at all that it can, whatever else it was given?

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("kiln-scan-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir(&path).expect("scratch");
        Self(path)
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).expect("scratch");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn scan(dir: &Path, args: &[&str]) -> Output {
    let mut kiln = Command::new(env!("CARGO_BIN_EXE_kiln"));
    kiln.arg("scan").args(args).current_dir(dir);
    kiln.env("NO_COLOR", "1").output().expect("kiln starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_bad_argument_keeps_no_other_from_being_scanned() {
    let dir = Folder::new();
    dir.put("a.csv", b"a,b\n1,2\n");
    dir.put("b.csv", b"a,b\n3,4\n");
    std::fs::create_dir(dir.0.join("out")).expect("scratch");
    let args = ["nope.csv", "a.csv", "out", "b.csv"];
    let told = scan(&dir.0, &args);
    assert_eq!(told.status.code(), Some(2), "{told:?}");
    let (stdout, stderr) = (text(&told.stdout), text(&told.stderr));
    assert_eq!(stdout.lines().count(), 2, "{stdout}");
    assert!(
        stdout.contains(" a.csv\n") && stdout.contains(" b.csv\n"),
        "{stdout}"
    );
    for wanted in [
        "error: open `nope.csv`; name a file that is there",
        "error: scan `out`: it is a folder; name its files, as by `find out -type f -exec kiln scan {} +`",
    ] {
        assert!(stderr.contains(wanted), "{stderr}");
    }
    let told = scan(&dir.0, &[&["--json"], &args[..]].concat());
    assert_eq!(told.status.code(), Some(2), "{told:?}");
    let lines: Vec<serde_json::Value> = text(&told.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let paths: Vec<_> = lines.iter().map(|line| line["path"].as_str()).collect();
    assert_eq!(paths, [Some("a.csv"), Some("b.csv")]);
    assert!(text(&told.stderr).contains("`nope.csv`"));
    assert_eq!(scan(&dir.0, &["a.csv"]).status.code(), Some(0));
}
