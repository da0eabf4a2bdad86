//! A real clamd of its own, with one signature, and what can befall it.

use crate::leftovers::wait_for;
use crate::stack::folder::Folder;
use crate::stack::process::{Plan, Process};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

const CLAMD: &str = "/usr/sbin/clamd";

/// The daemon of Debian's `clamav-daemon`.
#[derive(Debug)]
pub struct Clamd {
    server: Process,
    folder: Folder,
}

impl Clamd {
    /// Starts one and waits until it answers.
    ///
    /// # Panics
    /// When it is not installed, or does not answer within half a minute.
    pub fn start() -> Self {
        let folder = Folder::new();
        let signature = "Kiln.Test.Needle:0:*:6e6565646c655f696e5f686179\n";
        let config = format!(
            "LocalSocket {}\nDatabaseDirectory {}\nForeground yes\nAlertExceedsMax yes\n\
             AlertEncrypted yes\nStreamMaxLength 101M\nUser root\n",
            socket(folder.path()).display(),
            folder.path().display(),
        );
        for (name, text) in [("own.ndb", signature), ("clamd.conf", &config)] {
            std::fs::write(folder.path().join(name), text).expect("the folder is ours");
        }
        let server = serve(folder.path());
        let clamd = Self { server, folder };
        clamd.wait_ready();
        clamd
    }

    /// For a configuration.
    pub fn address(&self) -> String {
        format!("unix:{}", socket(self.folder.path()).display())
    }

    /// Kills it.
    pub fn kill9(&self) {
        self.server.kill9();
    }

    /// Starts it again.
    pub fn revive(&mut self) {
        self.server = serve(self.folder.path());
        self.wait_ready();
    }

    fn wait_ready(&self) {
        let up = wait_for(Duration::from_secs(30), || {
            ping(&socket(self.folder.path())).is_ok_and(|said| said == "PONG\0")
        });
        assert!(up, "clamd is not up: {}", self.server.last_words());
    }
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("clamd.ctl")
}

fn ping(socket: &Path) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    stream.write_all(b"zPING\0")?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    Ok(said)
}

fn serve(folder: &Path) -> Process {
    let config = folder.join("clamd.conf").display().to_string();
    Plan {
        name: "clamd",
        words: [CLAMD, "--config-file", &config]
            .map(str::to_owned)
            .to_vec(),
        env: Vec::new(),
        folder,
    }
    .start()
}
