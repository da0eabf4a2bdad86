//! Do the programs of the host find what they need inside?

use super::{host, in_own_mounts, mount, run, said};
use kiln_warden::image::RootFs;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs a program with the root file system as its root, and a writable `/tmp` as a job has it.
fn inside(root: &RootFs, argv: &[&str]) -> String {
    let path = root.path().to_str().expect("the test's path is text");
    let tmp = format!("{path}/tmp");
    if fs::read_dir(&tmp).expect("it is there").next().is_none() {
        run("mount", &["-t", "tmpfs", "kiln", &tmp]);
        fs::write(format!("{tmp}/.mounted"), "").expect("a tmpfs is writable");
    }
    let out = Command::new("/usr/sbin/chroot")
        .args(["--userspec=1000:1000", path])
        .args(argv)
        .env_clear()
        .envs([
            ("PATH", "/usr/bin:/bin"),
            ("HOME", "/tmp"),
            ("MPLCONFIGDIR", "/tmp"),
            ("MPLBACKEND", "Agg"),
            ("LANG", "C.UTF-8"),
        ])
        .output()
        .expect("`chroot` starts");
    assert!(out.status.success(), "{argv:?}: {}", said(&out));
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

#[test]
fn programs_find_what_they_need() {
    in_own_mounts("programs::programs_find_what_they_need", || {
        let root = mount(&host(&[]), "root");
        for (argv, expected) in [
            (vec!["bash", "-c", "echo $((6*7)) ~job"], "42 /home/job"),
            (vec!["id"], "uid=1000(job) gid=1000(job) groups=1000(job)"),
            (vec!["getent", "hosts", "kiln"], "127.0.1.1       kiln"),
            (vec!["date", "+%Z"], "UTC"),
            (
                vec![
                    "python3",
                    "-c",
                    "import ssl, locale, zoneinfo, socket, pwd, mimetypes\n\
                     print(locale.setlocale(locale.LC_ALL, 'C.UTF-8'), pwd.getpwuid(1000).pw_name)\n\
                     zoneinfo.ZoneInfo('Europe/Berlin'); ssl.create_default_context()\n\
                     assert mimetypes.guess_type('a.csv')[0] == 'text/csv'\n\
                     assert socket.gethostbyname('localhost') == '127.0.0.1'",
                ],
                "C.UTF-8 job",
            ),
        ] {
            assert_eq!(inside(&root, &argv), expected, "{argv:?}");
        }
        if root
            .holds(Path::new("/usr/bin/node"))
            .expect("it can be asked")
        {
            assert_eq!(inside(&root, &["node", "-e", "console.log(6*7)"]), "42");
        }
        if root
            .holds(Path::new("/usr/bin/fc-list"))
            .expect("it can be asked")
        {
            assert_ne!(inside(&root, &["fc-list"]), "");
        }
        assert!(
            !root
                .holds(Path::new("/usr/local/bin"))
                .expect("it can be asked")
        );
    });
}

#[test]
fn numbers_tables_and_plots_work() {
    in_own_mounts("programs::numbers_tables_and_plots_work", || {
        let root = mount(&host(&[]), "root");
        let dist = Path::new("/usr/lib/python3/dist-packages");
        assert!(
            ["numpy", "pandas", "matplotlib"]
                .iter()
                .all(|m| dist.join(m).exists()),
            "this test needs the host's numpy, pandas and matplotlib"
        );
        let code = "import numpy, pandas, matplotlib, matplotlib.pyplot as plt\n\
                    numpy.linalg.inv(numpy.eye(3)); plt.plot([1, 2]); plt.title('\\u00e9')\n\
                    plt.savefig('/tmp/a.png')\n\
                    print(pandas.DataFrame({'a': [1, 2]}).a.sum(), matplotlib.matplotlib_fname())";
        let out = inside(&root, &["python3", "-W", "error::UserWarning", "-c", code]);
        assert!(out.starts_with("3 "), "{out}");
    });
}
