//! What does a program find around it: home, standard input, environment, network?

use acceptance::check::{Expect, check};
use acceptance::kiln::Program;

#[test]
fn c077_home_tmp_user() {
    let expect = Expect::succeeded()
        .stdout("user job home /home/job tmp /tmp cwd /job")
        .stdout("pwd entry job")
        .stdout(r"unwritable \[\]");
    check(
        &Program::case("cases/077-home-tmp-user"),
        &["wall=10s"],
        &expect,
    );
}

#[test]
fn c081_input_without_stdin() {
    let expect = Expect::failed(1)
        .stdout_exact("welcome\nYour name: ")
        .stderr("EOFError: EOF when reading a line")
        .within(5.0);
    check(
        &Program::case("cases/081-input-without-stdin"),
        &["wall=10s"],
        &expect,
    );
}

#[test]
fn c083_prompts_and_tty() {
    let expect = Expect::succeeded()
        .stdout(r"no tty\nstdin is not a terminal\ny\nend\n$")
        .within(5.0);
    check(
        &Program::case("cases/083-prompts-and-tty"),
        &["wall=10s"],
        &expect,
    );
}

#[test]
fn c094_env_dump() {
    let run = check(
        &Program::case("cases/094-env-dump"),
        &["wall=5s"],
        &Expect::succeeded().stdout(r"suspicious names: \[\]"),
    );
    let allowed = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "LANG",
        "TZ",
        "TMPDIR",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
        "MPLBACKEND",
        "MPLCONFIGDIR",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_MAX_THREADS",
        "LOKY_MAX_CPU_COUNT",
    ];
    let out = String::from_utf8(run.raw("stdout")).expect("text");
    let names: Vec<_> = out
        .lines()
        .filter(|line| !line.starts_with("suspicious"))
        .filter_map(|line| line.split('=').next())
        .collect();
    let stray: Vec<_> = names
        .iter()
        .filter(|name| !allowed.contains(name) && **name != "LC_CTYPE")
        .collect();
    assert!(stray.is_empty(), "{stray:?}");
    let missing: Vec<_> = allowed
        .iter()
        .filter(|name| !names.contains(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn c096_network_attempts() {
    let expect = Expect::succeeded()
        .stdout("loopback -> b'pong'")
        .within(8.0);
    let run = check(
        &Program::case("cases/096-network-attempts"),
        &["wall=30s"],
        &expect,
    );
    let out = String::from_utf8(run.raw("stdout")).expect("text");
    for line in out.lines().filter(|line| !line.starts_with("loopback")) {
        assert!(
            acceptance::check::matches(
                "-> (OSError|gaierror|PermissionError|ConnectionRefusedError)",
                line.as_bytes()
            ),
            "{line}"
        );
        assert!(!line.contains("Timeout"), "{line}");
    }
}
