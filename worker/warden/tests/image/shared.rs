//! Does anything about a shared file pass from one sandbox to another?

use super::{host, in_own_mounts, mount, run};
use kiln_warden::image::RootFs;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether a lock on a file at one place keeps another from the same file at another place.
fn linked(one: &Path, two: &Path) -> bool {
    use rustix::fs::{FlockOperation, flock};
    let name = "usr/bin/env";
    let first = File::open(one.join(name)).expect("it is there");
    let second = File::open(two.join(name)).expect("it is there");
    flock(&first, FlockOperation::NonBlockingLockExclusive).expect("nobody holds it");
    flock(&second, FlockOperation::NonBlockingLockExclusive).is_err()
}

/// Whether a watch on a file at one place sees the same file being opened at another place.
fn watched(one: &Path, two: &Path) -> bool {
    use rustix::fs::inotify;
    let name = "usr/bin/env";
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).expect("a watch can be had");
    inotify::add_watch(&watch, one.join(name), inotify::WatchFlags::OPEN).expect("it is there");
    File::open(two.join(name)).expect("it is there");
    rustix::io::read(&watch, &mut [0; 256]).is_ok()
}

#[test]
fn sandboxes_of_one_image_share_no_inode() {
    in_own_mounts("shared::sandboxes_of_one_image_share_no_inode", || {
        let image = host(&[]);
        let (one, two) = (mount(&image, "one"), mount(&image, "two"));
        for name in ["", "usr", "usr/bin/env", "etc/passwd"] {
            let device = |root: &RootFs| {
                let meta = fs::metadata(root.path().join(name)).expect("it is there");
                meta.dev()
            };
            assert_ne!(device(&one), device(&two), "{name}");
        }
        assert!(
            !linked(one.path(), two.path()),
            "a lock links two sandboxes"
        );
        assert!(
            !watched(one.path(), two.path()),
            "a watch links two sandboxes"
        );
        assert!(
            watched(one.path(), one.path()),
            "a watch sees its own sandbox"
        );
    });
}

#[test]
fn without_the_overlay_sandboxes_would_be_linked() {
    in_own_mounts(
        "shared::without_the_overlay_sandboxes_would_be_linked",
        || {
            for name in ["/mnt/one", "/mnt/two"] {
                fs::create_dir_all(format!("{name}/usr")).expect("the name is free");
                run(
                    "mount",
                    &["--bind", "-o", "ro", "/usr", &format!("{name}/usr")],
                );
            }
            assert!(linked(Path::new("/mnt/one"), Path::new("/mnt/two")));
            assert!(watched(Path::new("/mnt/one"), Path::new("/mnt/two")));
        },
    );
}
