//! Is what an image shows complete for programs, closed to everything else, and separate for each
//! sandbox? Each test mounts, so each runs in a mount namespace of its own; all need root.

mod folder;
mod programs;
mod shared;

use kiln_warden::image::{self, Image, ImageError, RootFs};
use kiln_warden::profile::ImageSource;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Set in the process that runs a test's body.
const INSIDE: &str = "KILN_TEST_IN_OWN_MOUNTS";
/// The private tmpfs of a test; what the host has there is covered.
const WORK: &str = "/mnt";

/// Runs `body` in a private mount namespace, in a process of its own.
fn in_own_mounts(test: &str, body: fn()) {
    assert!(rustix::process::geteuid().is_root(), "this test needs root");
    if std::env::var_os(INSIDE).is_some() {
        run("mount", &["-t", "tmpfs", "kiln", WORK]);
        return body();
    }
    let me = std::env::current_exe().expect("a test knows its own file");
    let out = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "--"])
        .arg(me)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .output()
        .expect("`unshare` starts");
    assert!(out.status.success(), "{}", said(&out));
    assert!(said(&out).contains("1 passed"), "{}", said(&out));
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
}

fn run(program: &str, args: &[&str]) -> String {
    let out = Command::new(program)
        .args(args)
        .output()
        .expect("it starts");
    assert!(out.status.success(), "{program} {args:?}: {}", said(&out));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// An empty folder in the test's tmpfs.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(WORK).join(name);
    fs::create_dir(&path).expect("the name is free");
    path
}

fn prepare(source: &ImageSource) -> Result<Image, ImageError> {
    image::prepare(source, &folder("work"))
}

fn host(extra: &[&str]) -> Image {
    let extra = extra.iter().map(|e| (*e).to_owned()).collect();
    prepare(&ImageSource::Host { extra }).expect("this host can be an image")
}

fn mount(image: &Image, name: &str) -> RootFs {
    image
        .mount(&Path::new(WORK).join(name))
        .expect("the image can be mounted")
}

#[test]
fn every_mount_is_an_overlay_that_nobody_can_write_to() {
    in_own_mounts("every_mount_is_an_overlay_that_nobody_can_write_to", || {
        let root = mount(&host(&[]), "root");
        let table = fs::read_to_string("/proc/self/mountinfo").expect("there is /proc");
        let lines: Vec<&str> = table.lines().filter(|l| l.contains("/mnt/root")).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        for line in lines {
            assert!(line.contains(" ro,nosuid,nodev,"), "{line}");
            assert!(line.contains(" - overlay kiln ro,"), "{line}");
        }
        let view = table.lines().find(|l| l.contains(" /mnt/work/usr "));
        let view = view.expect("the host's /usr is shown to the overlays");
        assert!(view.contains(" ro,nosuid,nodev,"), "{view}");
        for name in [
            "root/new",
            "root/etc/new",
            "root/usr/new",
            "root/usr/bin/new",
            "root/job/new",
        ] {
            let e = File::create(Path::new(WORK).join(name)).expect_err(name);
            assert_eq!(e.kind(), io::ErrorKind::ReadOnlyFilesystem, "{name}");
        }
        let path = root.path().to_owned();
        root.unmount().expect("it was mounted");
        assert!(!path.exists(), "the folder that was made is gone");
    });
}

#[test]
fn the_flags_cannot_be_taken_off_in_a_user_namespace() {
    in_own_mounts("the_flags_cannot_be_taken_off_in_a_user_namespace", || {
        let root = mount(&host(&[]), "root");
        let remount = |flags: &str, at: &Path| {
            Command::new("unshare")
                .args(["--user", "--map-root-user", "--mount", "--", "mount", "-o"])
                .arg(format!("remount,bind,{flags}"))
                .arg(at)
                .output()
                .expect("`unshare` starts")
        };
        for at in [root.path().to_owned(), root.path().join("usr")] {
            let kept = remount("ro,nosuid,nodev", &at);
            assert!(kept.status.success(), "{}", said(&kept));
            for flags in ["rw,nosuid,nodev", "ro,suid,nodev", "ro,nosuid,dev"] {
                let out = remount(flags, &at);
                assert!(!out.status.success(), "{flags} at {at:?}");
            }
        }
    });
}

#[test]
fn nothing_private_of_the_host_can_be_seen() {
    in_own_mounts("nothing_private_of_the_host_can_be_seen", || {
        let root = mount(&host(&[]), "root");
        for name in [
            "root",
            "sys",
            "boot",
            "etc/shadow",
            "etc/gshadow",
            "etc/machine-id",
            "etc/resolv.conf",
            "etc/ssl/private",
            "var/lib",
            "var/log",
            "proc/self",
            "dev/null",
        ] {
            assert!(!root.path().join(name).exists(), "{name}");
        }
        for name in [
            "usr/local",
            "usr/src",
            "usr/lib/debug",
            "home/job",
            "var/run/",
        ] {
            if Path::new("/").join(name).exists() || name == "home/job" {
                let entries = fs::read_dir(root.path().join(name)).expect(name).count();
                assert_eq!(entries, 0, "{name}");
            }
        }
        let homes = fs::read_dir(root.path().join("home")).expect("it is there");
        assert_eq!(homes.count(), 1);
        let passwd = fs::read_to_string(root.path().join("etc/passwd")).expect("it is there");
        assert_eq!(passwd.lines().count(), 3, "{passwd}");
        // No link of the skeleton leads where the skeleton has nothing of its own.
        let links = run(
            "find",
            &["/mnt/work/skeleton", "-type", "l", "-printf", "%p %l\n"],
        );
        for link in links.lines() {
            for bad in [" /home", " /root", " /var", " /opt", " /srv", " /run"] {
                assert!(!link.contains(bad), "{link}");
            }
        }
    });
}

#[test]
fn what_is_hidden_is_shown_where_it_is_named() {
    in_own_mounts("what_is_hidden_is_shown_where_it_is_named", || {
        let some = fs::read_dir("/usr/local")
            .expect("this host has it")
            .count();
        assert!(some > 0, "the test needs something in /usr/local");
        let image = host(&["/usr/local"]);
        let root = mount(&image, "root");
        let seen = fs::read_dir(root.path().join("usr/local")).expect("it is there");
        assert_eq!(seen.count(), some);

        let other = image::prepare(&ImageSource::Host { extra: vec![] }, &folder("work2"));
        assert_ne!(other.expect("as before").id(), image.id());
        let refused = image::prepare(
            &ImageSource::Host {
                extra: vec!["/root".to_owned()],
            },
            &folder("work3"),
        );
        assert!(
            matches!(refused, Err(ImageError::Unfit { .. })),
            "{refused:?}"
        );
    });
}

#[test]
fn the_same_host_has_the_same_id() {
    in_own_mounts("the_same_host_has_the_same_id", || {
        let one = host(&[]);
        let source = ImageSource::Host { extra: vec![] };
        let two = image::prepare(&source, &folder("work2")).expect("as before");
        assert_eq!(one.id(), two.id());
        let hex = one.id().strip_prefix("sha256:").expect("the kind is named");
        assert!(
            hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()),
            "{hex}"
        );
    });
}

#[test]
fn what_is_mounted_below_usr_is_not_shown() {
    in_own_mounts("what_is_mounted_below_usr_is_not_shown", || {
        run("mount", &["-t", "tmpfs", "kiln", "/usr/games"]);
        fs::write("/usr/games/secret", "").expect("a tmpfs is writable");
        let root = mount(&host(&[]), "root");
        assert!(!root.path().join("usr/games/secret").exists());
    });
}

#[test]
fn a_host_on_too_many_overlays_is_told_so() {
    in_own_mounts("a_host_on_too_many_overlays_is_told_so", || {
        for n in ["1", "2"] {
            let (upper, spare) = (folder(&format!("upper{n}")), folder(&format!("spare{n}")));
            let (upper, spare) = (upper.display(), spare.display());
            let layers = format!("lowerdir=/usr,upperdir={upper},workdir={spare}");
            run("mount", &["-t", "overlay", "-o", &layers, "kiln", "/usr"]);
        }
        let refused = host(&[]).mount(&Path::new(WORK).join("root"));
        let Err(ImageError::Overlay(reason)) = refused else {
            panic!("{refused:?}");
        };
        assert!(
            reason.to_string().contains("a layer lies on an overlay"),
            "{reason}"
        );
        assert!(!Path::new(WORK).join("root").exists(), "nothing stays");
    });
}

#[test]
fn a_mount_in_the_wrong_place_is_not_proved() {
    in_own_mounts("a_mount_in_the_wrong_place_is_not_proved", || {
        // A root that something is already mounted below is not what was made.
        let image = host(&[]);
        let at = folder("root");
        run("mount", &["-t", "tmpfs", "kiln", "/mnt/root"]);
        let refused = image.mount(&at);
        assert!(
            matches!(refused, Err(ImageError::Unproved { .. })),
            "{refused:?}"
        );
        let table = fs::read_to_string("/proc/self/mountinfo").expect("there is /proc");
        assert_eq!(table.lines().filter(|l| l.contains("/mnt/root")).count(), 1);
    });
}
