//! Which ports may a test listen on?

use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Ports of one block.
const BLOCK: u16 = 10;
/// The first one; below lie the usual servers of a desk.
const FIRST: u16 = 20_000;
/// How many blocks; the last one ends below the ephemeral ports, which begin at 32768.
const BLOCKS: u16 = 1_200;

/// Ten free ports that no other test on this machine gets as long as this lives.
#[derive(Debug)]
pub struct Ports {
    first: u16,
    _lock: File,
}

impl Ports {
    /// A block of which every port is free now.
    ///
    /// # Panics
    /// When there is none.
    pub fn take() -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let folder = std::env::temp_dir().join("kiln-test-ports");
        std::fs::create_dir_all(&folder).expect("the temporary folder is writable");
        let start = u16::try_from(std::process::id() * 37 % u32::from(BLOCKS)).unwrap_or(0);
        for _ in 0..BLOCKS {
            let block = (start + NEXT.fetch_add(1, Ordering::Relaxed) % BLOCKS) % BLOCKS;
            let first = FIRST + block * BLOCK;
            let lock = File::create(folder.join(first.to_string())).expect("writable");
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            if (first..first + BLOCK).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()) {
                return Self { first, _lock: lock };
            }
        }
        panic!("no block of free ports");
    }

    /// One of the ten.
    ///
    /// # Panics
    /// From the eleventh on.
    pub fn at(&self, n: u16) -> u16 {
        assert!(n < BLOCK);
        self.first + n
    }
}

#[cfg(test)]
mod tests {
    use super::Ports;
    use std::collections::BTreeSet;
    use std::net::TcpListener;

    #[test]
    fn ports_are_free_below_the_ephemeral_ones_and_nobodys() {
        let all: Vec<_> = (0..50).map(|_| Ports::take()).collect();
        let ports: BTreeSet<_> = all.iter().map(|ports| ports.at(9)).collect();
        assert_eq!(ports.len(), 50);
        for port in ports {
            assert!((20_000..32_768).contains(&port));
            TcpListener::bind(("127.0.0.1", port)).expect("it is free");
        }
    }
}
