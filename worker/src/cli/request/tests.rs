//! What the arguments of `kiln run` become, and what is said of wrong ones.

use super::*;
use crate::cli::profiles_for_tests::Known;
use crate::cli::scratch::Folder;
use crate::cli::{Cli, Command};
use clap::Parser as _;

/// A folder with the files that the calls name.
fn files() -> Folder {
    let dir = Folder::new();
    let write = |name: &str, content: &[u8]| {
        std::fs::write(dir.path().join(name), content).expect("scratch");
    };
    write("a.py", b"print(1)");
    write("a.sh", b"echo");
    write("a.rb", b"puts 1");
    write("empty.py", b"");
    write("binary.py", b"\x7fELF\0");
    write("big.py", &vec![b'#'; 100 << 20]);
    write("data.csv", b"a,b\n");
    write("main.py", b"x");
    std::fs::create_dir(dir.path().join("dir.py")).expect("scratch");
    File::create(dir.path().join("sparse"))
        .and_then(|file| file.set_len(600 << 20))
        .expect("scratch");
    dir
}

/// `D/` in an argument is the folder.
fn submitted(dir: &Folder, call: &str) -> Result<Submission, String> {
    let place = format!("{}/", dir.path().display());
    let words = std::iter::once("kiln".to_owned())
        .chain(std::iter::once("run".to_owned()))
        .chain(call.split(' ').map(|word| word.replace("D/", &place)));
    let Command::Run(args) = Cli::try_parse_from(words).expect("clap takes it").command else {
        panic!("the call is `kiln run`");
    };
    read(&args)
        .and_then(|request| request.admit(&Known::default()))
        .map(|(submission, _)| submission)
        .map_err(|error| crate::fault::chain(&error).replace(&place, "D/"))
}

fn out_dir(submission: &Submission) -> &Path {
    let Place::Folder(path) = &submission.place else {
        panic!("`kiln run` has a folder");
    };
    path
}

#[test]
fn wrong_calls_are_one_clear_line() {
    let dir = files();
    for (call, wanted) in [
        (
            "--json",
            "nothing to run; give a FILE, or a command after `--`; usage: kiln run [OPTIONS] FILE \
             [-- ARGS...]",
        ),
        ("D/no.py", "`D/no.py`: no such file"),
        (
            "D/dir.py",
            "`D/dir.py` is a directory; give a file, and folders by `--input`",
        ),
        ("D/empty.py", "`D/empty.py` is empty"),
        (
            "D/binary.py",
            "`D/binary.py` is a binary file, not code: byte 4 is not text",
        ),
        (
            "D/big.py",
            "`D/big.py` is larger than 1 MiB, the most that code may have; give data by `--input`",
        ),
        (
            "D/a.rb",
            "`D/a.rb`: its ending does not name a profile (`.py`, `.sh`, `.js`); name one by \
             `--profile`",
        ),
        (
            "--limit x=1 D/a.py",
            "unknown limit `x`; the limits are wall, cpu, cpus, memory, pids, \
          disk, inodes, open-files, stdout, stderr, artifact-count, artifact-size",
        ),
        (
            "--limit memory=8GiB D/a.py",
            "`--limit memory=8GiB`: 8 GiB is above the ceiling of 4 GiB",
        ),
        (
            "--limit wall=1ms D/a.py",
            "`--limit wall=1ms`: 1 ms is below the minimum of 10 ms",
        ),
        (
            "--limit open-files=10 D/a.py",
            "`--limit open-files=10`: below the minimum of 16",
        ),
        (
            "--limit open_files=10 --limit pids=0 D/a.py",
            "`--limit pids=0`: below the minimum of 1 (and 1 more thing is wrong)",
        ),
        (
            "--input D/no D/a.py",
            "input `D/no`: no such file or folder",
        ),
        ("--env X D/a.py", "`--env X` is not NAME=VALUE"),
        ("--env =x D/a.py", "`--env =x` is not NAME=VALUE"),
        (
            "--stdin D/no D/a.py",
            "read `D/no` as standard input: No such file or directory (os error 2)",
        ),
        (
            "--stdin D/dir.py D/a.py",
            "`D/dir.py` is a directory; standard input is a file",
        ),
        (
            "--out D/a.sh D/a.py",
            "`D/a.sh` is not a folder; `--out` needs one, or a name that is free",
        ),
        (
            "--input D/main.py D/a.py",
            "the input `main.py` has the name that the code is saved as; give another by \
             `SRC:DEST`",
        ),
        (
            "--input D/sparse D/a.py",
            "the inputs have 600 MiB, more than the disk limit of 512 MiB; ask for more by \
             `--limit disk=`",
        ),
    ] {
        assert_eq!(
            submitted(&dir, call).map(drop),
            Err(wanted.into()),
            "{call}"
        );
    }
}

#[test]
fn what_a_job_may_not_ask_is_refused() {
    let dir = files();
    for call in [
        "--profile nope D/a.py",
        "--tenant a/b D/a.py",
        "--isolation loose D/a.py",
        "--profile command D/a.py",
        "--allow example.com D/a.py",
        "--allow *.example.com:443 D/a.py",
        "--allow 127.1:80 D/a.py",
    ] {
        assert!(submitted(&dir, call).is_err(), "{call}");
    }
}

#[test]
fn a_file_becomes_code_with_its_profile() {
    let dir = files();
    let all = "--limit wall=5s --limit cpus=0.5 --env A=b=c --artifacts *.csv --tenant acme \
               --isolation strict --input D/data.csv:in/d.csv --out D/out D/a.py -- --fast x";
    let found = submitted(&dir, all).expect("a job");
    let job = &found.job;
    assert_eq!(job.payload, Payload::Code("print(1)".into()));
    assert_eq!(job.profile, "python");
    assert_eq!(job.args, ["--fast", "x"]);
    assert_eq!(job.env["A"], "b=c");
    assert_eq!(job.tenant.as_str(), "acme");
    assert_eq!(job.artifacts.as_deref(), Some(&["*.csv".to_owned()][..]));
    assert_eq!(job.limits.wall_ms, Some(5_000));
    assert_eq!(job.limits.cpus_milli, Some(500));
    assert_eq!(found.inputs[0].path, "in/d.csv");
    assert_eq!(out_dir(&found), dir.path().join("out"));
    assert!(found.warnings.is_empty());
    let bash = submitted(&dir, "D/a.sh").expect("a job");
    assert_eq!(bash.job.profile, "bash");
    assert_eq!(out_dir(&bash), Path::new(OUT).join(bash.job.id.as_str()));
    let named = submitted(&dir, "--profile python D/a.rb").expect("a job");
    assert_eq!(named.job.profile, "python");
}

#[test]
fn what_follows_two_dashes_is_a_command() {
    let dir = files();
    let found = submitted(&dir, "-- ls -l /job").expect("a job");
    let argv = ["ls", "-l", "/job"].map(str::to_owned).to_vec();
    assert_eq!(found.job.payload, Payload::Command(argv));
    assert_eq!(found.job.profile, "command");
}
