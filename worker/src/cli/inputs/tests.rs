//! Each form of `--input`, kind and wrong.

use super::*;
use crate::cli::scratch::Folder;
use std::os::unix::fs::symlink;

/// `data/{a.csv,deep/b.csv,tool.sh*}`, `x:y`, `plain`.
fn tree() -> Folder {
    let dir = Folder::new();
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir_all(at("data/deep")).expect("scratch");
    for name in [
        "data/a.csv",
        "data/deep/b.csv",
        "data/tool.sh",
        "x:y",
        "plain",
    ] {
        std::fs::write(at(name), name).expect("scratch");
    }
    std::fs::set_permissions(at("data/tool.sh"), std::fs::Permissions::from_mode(0o755))
        .expect("scratch");
    dir
}

/// The destinations, with `*` behind an executable one; or the message.
fn opened(dir: &Folder, given: &[&str]) -> Result<Vec<String>, String> {
    let given: Vec<_> = given
        .iter()
        .map(|tail| format!("{}/{tail}", dir.path().display()))
        .collect();
    open_all(&given)
        .map(|inputs| {
            inputs
                .into_iter()
                .map(|input| format!("{}{}", input.path, if input.executable { "*" } else { "" }))
                .collect()
        })
        .map_err(|error| {
            error
                .to_string()
                .replace(&dir.path().display().to_string(), "D")
        })
}

#[test]
fn files_and_folders_find_their_place() {
    let dir = tree();
    for (given, wanted) in [
        (&["plain"][..], &["plain"][..]),
        (&["plain:in/p.txt"], &["in/p.txt"]),
        (&["plain:in/"], &["in/plain"]),
        (&["plain:."], &["plain"]),
        (&["plain:./in//p"], &["in/p"]),
        (
            &["data"],
            &["data/a.csv", "data/deep/b.csv", "data/tool.sh*"],
        ),
        (
            &["data/"],
            &["data/a.csv", "data/deep/b.csv", "data/tool.sh*"],
        ),
        (&["data:."], &["a.csv", "deep/b.csv", "tool.sh*"]),
        (&["data/deep:d"], &["d/b.csv"]),
        (&["x:y"], &["x:y"]),
        (&["x:y:z"], &["z"]),
        (&["plain:a:b"], &["a:b"]),
    ] {
        let wanted: Vec<_> = wanted.iter().map(ToString::to_string).collect();
        assert_eq!(opened(&dir, given), Ok(wanted), "{given:?}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let dir = tree();
    symlink("plain", dir.path().join("link")).expect("scratch");
    std::fs::create_dir(dir.path().join("withlink")).expect("scratch");
    symlink("/etc/shadow", dir.path().join("withlink/s")).expect("scratch");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        dir.path().join("pipe"),
        rustix::fs::Mode::RUSR,
    )
    .expect("scratch");
    for (given, wanted) in [
        (&["absent"][..], "input `D/absent`: no such file or folder"),
        (&["absent:x"], "input `D/absent:x`: no such file or folder"),
        (
            &["link"],
            "input `D/link` is a symlink; give the file that it points to",
        ),
        (
            &["withlink"],
            "the input folder `D/withlink` holds the symlink `D/withlink/s`; give a copy without \
             links, as `cp -rL` makes it, or give its files one by one",
        ),
        (&["pipe"], "input `D/pipe` is neither a file nor a folder"),
        (
            &["plain:/etc/x"],
            "input `D/plain:/etc/x`: the destination `/etc/x` is absolute; it is a path below `/job`",
        ),
        (
            &["plain:a/../../x"],
            "input `D/plain:a/../../x`: the destination `a/../../x` has `..` in it; it is a path below `/job`",
        ),
        (&["plain:"], "input `D/plain:`: the destination is empty"),
        (
            &["plain", "data/a.csv:plain/x/y"],
            "the input `plain` would be a file and the folder of `plain/x/y`",
        ),
        (
            &["plain", "data/a.csv:plain"],
            "two inputs have the destination `plain`: `D/plain` and `D/data/a.csv`",
        ),
    ] {
        assert_eq!(opened(&dir, given), Err(wanted.to_owned()), "{given:?}");
    }
}

#[test]
fn one_file_more_than_a_job_may_have_is_refused() {
    let dir = Folder::new();
    let many = dir.path().join("many");
    std::fs::create_dir(&many).expect("scratch");
    for n in 0..=FILES_MAX {
        std::fs::write(many.join(n.to_string()), "").expect("scratch");
    }
    rustix::process::setrlimit(
        rustix::process::Resource::Nofile,
        rustix::process::Rlimit {
            current: Some(4096),
            maximum: rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum,
        },
    )
    .expect("the hard limit is at least that");
    assert_eq!(
        opened(&dir, &["many"]),
        Err("more than 1000 input files; pack them into an archive".into())
    );
    std::fs::remove_file(many.join("0")).expect("scratch");
    assert_eq!(opened(&dir, &["many"]).map(|all| all.len()), Ok(FILES_MAX));
}
