//! Can a root file system in a folder be an image, and which folder cannot?

use super::{folder, in_own_mounts, mount, prepare};
use kiln_warden::image::{self, ImageError};
use kiln_warden::profile::ImageSource;
use std::fs::{self, File};
use std::io;
use std::path::Path;

#[test]
fn a_folder_is_an_image() {
    in_own_mounts("folder::a_folder_is_an_image", || {
        let base = folder("base");
        for name in ["usr/bin", "etc"] {
            fs::create_dir_all(base.join(name)).expect("the name is free");
        }
        fs::write(base.join("etc/passwd"), "root:x:0:0::/root:/bin/sh\n").expect("writable");
        fs::write(base.join("etc/group"), "node:x:1000:\n").expect("writable");
        fs::write(base.join("etc/own"), "mine").expect("writable");
        let source = ImageSource::Dir(base.clone());
        let image = prepare(&source).expect("it has all it needs");
        let root = mount(&image, "root");
        let read = |name: &str| fs::read_to_string(root.path().join(name)).expect(name);
        assert_eq!(read("etc/own"), "mine");
        assert_eq!(read("etc/hostname"), "kiln\n");
        assert!(read("etc/passwd").ends_with("job:x:1000:1000:job:/home/job:/bin/bash\n"));
        assert_eq!(read("etc/group"), "node:x:1000:\n");
        let e = File::create(root.path().join("new")).expect_err("read-only");
        assert_eq!(e.kind(), io::ErrorKind::ReadOnlyFilesystem);

        fs::write(base.join("usr/bin/new"), "").expect("writable");
        let again = image::prepare(&source, &folder("work2")).expect("as before");
        assert_ne!(again.id(), image.id(), "a program was added");
    });
}

#[test]
fn a_folder_that_cannot_be_an_image_is_refused() {
    in_own_mounts(
        "folder::a_folder_that_cannot_be_an_image_is_refused",
        || {
            let base = folder("base");
            let tried =
                |n: u8| image::prepare(&ImageSource::Dir(base.clone()), &folder(&format!("w{n}")));
            assert!(
                matches!(tried(1), Err(ImageError::Unfit { .. })),
                "neither usr nor bin"
            );
            fs::create_dir(base.join("usr")).expect("the name is free");
            tried(2).expect("it has all it needs");
            std::os::unix::fs::chown(&base, Some(1000), None).expect("root may");
            assert!(
                matches!(tried(3), Err(ImageError::Unfit { .. })),
                "another's folder"
            );
            std::os::unix::fs::chown(&base, Some(0), None).expect("root may");
            std::os::unix::fs::symlink("/etc", base.join("etc")).expect("the name is free");
            assert!(
                matches!(tried(4), Err(ImageError::Read(..))),
                "its /etc leads out"
            );
            fs::remove_file(base.join("etc")).expect("it is there");
            std::os::unix::fs::symlink("/", base.join("home")).expect("the name is free");
            let image = tried(5).expect("only the mounting can tell");
            let refused = image.mount(Path::new("/mnt/root"));
            assert!(
                matches!(refused, Err(ImageError::Unfit { .. })),
                "{refused:?}"
            );
        },
    );
}
