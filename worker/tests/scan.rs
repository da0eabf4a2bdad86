//! Does `kiln scan` look at all that it can, and what do its kin say where there is nothing to see?

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

fn kiln(dir: &Path, args: &[&str]) -> Output {
    let mut kiln = Command::new(env!("CARGO_BIN_EXE_kiln"));
    kiln.args(args).current_dir(dir).env("NO_COLOR", "1");
    kiln.output().expect("kiln starts")
}

fn scan(dir: &Path, args: &[&str]) -> Output {
    kiln(dir, &[&["scan"], args].concat())
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
        "error: open `nope.csv` (name a file that is there): No such file",
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

#[test]
fn why_a_file_stays_is_said() {
    let dir = Folder::new();
    dir.put("a.csv", b"a,b\n1,2\n");
    let large = std::fs::File::create(dir.0.join("large.bin")).expect("scratch");
    large.set_len((100 << 20) + 1).expect("a sparse file");
    let told = scan(&dir.0, &["large.bin"]);
    assert_eq!(told.status.code(), Some(1), "{told:?}");
    let stdout = text(&told.stdout);
    let why = "it could not be scanned: limit:size, it has more than 100 MiB\n";
    assert!(stdout.contains(why), "{stdout}");

    dir.put(
        "rows.toml",
        b"[[scanner.table]]\ntype = 'text/html'\naction = 'drop'\n\
          [[scanner.table]]\ntype = 'text/csv'\naction = 'withhold'\n",
    );
    let told = scan(&dir.0, &["--config", "rows.toml", "a.csv"]);
    assert_eq!(told.status.code(), Some(0), "by the verdict: {told:?}");
    let stdout = text(&told.stdout);
    let why = "by the row 2 of scanner.table: type text/csv\n";
    assert!(
        stdout.contains("withhold a.csv") && stdout.contains(why),
        "{stdout}"
    );

    let clamd = format!("[scanner]\nclamd = 'unix:{}/none'\n", dir.0.display());
    dir.put("clamd.toml", clamd.as_bytes());
    let told = scan(&dir.0, &["--config", "clamd.toml", "a.csv"]);
    assert_eq!(told.status.code(), Some(1), "{told:?}");
    let stdout = text(&told.stdout);
    assert!(
        stdout.contains("clamd.failed: clamd gave no verdict: failed to connect"),
        "{stdout}"
    );
}

#[test]
fn an_option_that_the_configuration_has_is_pointed_to() {
    let dir = Folder::new();
    dir.put("a.csv", b"a,b\n1,2\n");
    let told = scan(&dir.0, &["--policy", "strict", "a.csv"]);
    assert_eq!(told.status.code(), Some(2), "{told:?}");
    let stderr = text(&told.stderr);
    assert_eq!(
        stderr,
        "error: unexpected argument '--policy' found; policy, rules, clamd and table are keys of \
         `[scanner]` in the file of `--config KILN.TOML`\n"
    );
}

#[test]
fn an_empty_store_is_named_and_stays_empty() {
    let dir = Folder::new();
    let store = dir.0.join("store");
    std::fs::create_dir(&store).expect("scratch");
    let url = format!("file://{}", store.display());
    dir.put("k.toml", format!("[store]\nurl = '{url}'\n").as_bytes());
    let told = kiln(&dir.0, &["rescan", "--config", "k.toml"]);
    assert_eq!(told.status.code(), Some(0), "{told:?}");
    let wanted = format!("0 files of 0 jobs in {url} scanned: ");
    assert!(text(&told.stdout).starts_with(&wanted), "{told:?}");
    let told = kiln(&dir.0, &["quarantine", "ls", "--config", "k.toml"]);
    let (stdout, stderr) = (text(&told.stdout), text(&told.stderr));
    assert_eq!((told.status.code(), &*stdout), (Some(0), ""));
    assert_eq!(stderr, format!("kiln: nothing is withheld in `{url}`\n"));
    assert_eq!(std::fs::read_dir(&store).expect("there").count(), 0);
}
