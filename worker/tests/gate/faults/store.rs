//! A store on a small disk that is full, until somebody makes room.

use super::{Dice, Made};
use kiln::config;
use kiln::screen::Cleared;
use kiln::screen::table::Fate;
use kiln::store::ledger::{Ledger, Run};
use kiln::telemetry::metric::Metrics;
use kiln_protocol::digest::hex;
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const BYTES: usize = 4 << 20;
/// What waits for room has it soon, and is kept within this.
const SOON: Duration = Duration::from_secs(20);

/// It is unmounted when it is dropped.
pub(super) struct SmallStore {
    folder: PathBuf,
    ledger: Ledger,
}

impl SmallStore {
    /// Needs root.
    pub(super) async fn mount(folder: &Path) -> Self {
        std::fs::create_dir(folder).expect("scratch");
        let options = format!("size={BYTES},mode=0700");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(folder)
            .status();
        assert!(
            mounted.expect("mount is there").success(),
            "this test needs root"
        );
        let section = config::Store::Files(folder.to_owned());
        let ledger = Ledger::open(&section, Metrics::new()).await;
        Self {
            folder: folder.to_owned(),
            ledger: ledger.expect("an empty store"),
        }
    }

    /// Keeps what the gate has let through while the disk is full, and sees that all of it is where
    /// it belongs, whole, once there is room.
    pub(super) async fn keep(&self, number: u64, cleared: Cleared, made: &Made, dice: &mut Dice) {
        let ballast = self.folder.join("ballast");
        fill(&ballast);
        let id = format!("full-{number}").parse().expect("an id");
        let fates: Vec<_> = cleared
            .files()
            .map(|(path, _, fate)| (path.to_owned(), fate))
            .collect();
        let run = Run::new(&id);
        let delay = Duration::from_micros(u64::try_from(dice.roll(30_000)).expect("small"));
        let room = async {
            tokio::time::sleep(delay).await;
            std::fs::remove_file(&ballast).expect("scratch");
        };
        let kept = tokio::time::timeout(SOON, self.ledger.keep(&run, cleared));
        let (kept, ()) = tokio::join!(kept, room);
        let (kept, failed) = kept.expect("there is room again");
        assert!(failed.is_none(), "round {number}: {failed:?}");
        assert_eq!(
            kept.files.len(),
            made.len(),
            "round {number}: a file is lost"
        );
        for (file, (path, fate)) in kept.files.iter().zip(&fates) {
            let object = file.object.as_deref().expect("nothing is dropped here");
            let place = match fate {
                Fate::Release => "artifacts/",
                Fate::Withhold | Fate::Drop => "quarantine/",
            };
            assert!(object.starts_with(place), "round {number}: `{object}`");
            let bytes = std::fs::read(self.folder.join(object)).expect("it is kept");
            assert_eq!(&bytes, &made[path], "round {number}: `{object}`");
            assert_eq!(hex(&Sha256::digest(&bytes)), file.sha256);
        }
        for folder in ["artifacts", "quarantine", "logs"] {
            drop(std::fs::remove_dir_all(self.folder.join(folder)));
        }
    }
}

/// Writes until there is no room for a byte.
fn fill(path: &Path) {
    let mut file = File::create(path).expect("scratch");
    let block = vec![b'x'; 64 << 10];
    for bytes in [block.len(), 1] {
        let mut written = 0;
        while file.write_all(&block[..bytes]).is_ok() {
            written += bytes;
            assert!(written <= BYTES, "the disk does not end");
        }
    }
}

impl Drop for SmallStore {
    fn drop(&mut self) {
        let gone = Command::new("umount").arg("-l").arg(&self.folder).status();
        assert!(gone.expect("umount is there").success());
    }
}
