//! A store on a small disk that is full, until somebody makes room.

use super::Made;
use super::order::Dice;
use super::tally::Row;
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
use std::sync::Arc;
use std::time::Duration;

const BYTES: usize = 4 << 20;
/// What waits for room has it soon, and is kept within this.
const SOON: Duration = Duration::from_secs(20);

/// It is unmounted when it is dropped.
pub(super) struct SmallStore {
    folder: PathBuf,
    ledger: Ledger,
    metrics: Arc<Metrics>,
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
        let metrics = Metrics::new();
        let ledger = Ledger::open(&section, Arc::clone(&metrics)).await;
        Self {
            metrics,
            folder: folder.to_owned(),
            ledger: ledger.expect("an empty store"),
        }
    }

    /// Uploads that the disk refused so far.
    fn refused(&self) -> u64 {
        let text = self.metrics.encode().expect("it can be encoded");
        let count = "kiln_store_request_seconds_count{op=\"upload\",result=\"error\"} ";
        let line = text.lines().find_map(|line| line.strip_prefix(count));
        line.map_or(0, |count| count.parse().expect("a figure"))
    }

    /// Keeps what the gate has let through while the disk is full, and sees that all of it is where
    /// it belongs, whole, once there is room.
    pub(super) async fn keep(
        &self,
        number: u64,
        cleared: Cleared,
        made: &Made,
        dice: &mut Dice,
        row: &mut Row,
    ) {
        let ballast = self.folder.join("ballast");
        fill(&ballast);
        let id = format!("full-{number}").parse().expect("an id");
        let fates: Vec<_> = cleared
            .files()
            .map(|(path, _, fate)| (path.to_owned(), fate))
            .collect();
        let run = Run::new(&id);
        let delay = Duration::from_micros(u64::try_from(dice.roll(30_000)).expect("small"));
        let before = self.refused();
        let room = async {
            tokio::time::sleep(delay).await;
            std::fs::remove_file(&ballast).expect("scratch");
        };
        let kept = tokio::time::timeout(SOON, self.ledger.keep(&run, cleared));
        let (kept, ()) = tokio::join!(kept, room);
        row.broke_off = self.refused() - before;
        let (kept, failed) = kept.expect("there is room again");
        if let Some(error) = failed {
            row.wrong(kiln::fault::chain(&error));
        }
        for (path, fate) in &fates {
            let place = match fate {
                Fate::Release => "artifacts/",
                Fate::Withhold | Fate::Drop => "quarantine/",
            };
            let file = kept.files.iter().find(|file| file.path == *path);
            let object = file.and_then(|file| file.object.as_deref());
            let bytes = object.and_then(|it| std::fs::read(self.folder.join(it)).ok());
            let whole = bytes.as_ref() == Some(&made[path])
                && file.is_some_and(|file| file.sha256 == hex(&Sha256::digest(&made[path])));
            if !whole {
                row.lost(format!("`{path}` is not whole at {object:?}"));
            } else if !object.is_some_and(|it| it.starts_with(place)) {
                row.clean(format!("`{path}`, {fate:?}, is at {object:?}"));
            }
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
