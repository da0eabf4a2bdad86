//! The fixed-size messages on the keeper's two sockets.
//!
//! ```text
//!   warden ── Init, Prepare, Resize ──► keeper      (fd 0 of the keeper, SOCK_SEQPACKET)
//!   warden ◄─ Ready, Prepared, Resized, Failed ──
//!
//!   worker ── Start, Kill, Collect, Finish ──► keeper   (handed over with Init)
//!   worker ◄─ Ended ──────────────────────────
//! ```
//!
//! Every message is [`WORDS`] little-endian words; descriptors travel beside it by `SCM_RIGHTS`
//! in the order documented on the variant. A message of another size, an unknown tag or a wrong
//! number of descriptors is a [`Malformed`], and the receiver ends the sandbox.

mod warden;
mod worker;

pub use warden::{CELL_SOCKETS, FromWarden, Placement, Prepare, ToWarden};
pub use worker::{Cause, Ended, FromWorker, ToWorker};

/// Words in a message.
pub const WORDS: usize = 16;
/// Bytes in a message.
pub const BYTES: usize = WORDS * 8;
/// System calls named in an [`Ended`]; more are only counted.
pub const NOTED_MAX: usize = 8;
/// The port on the cell's loopback where a job with a network finds its proxy.
pub const EGRESS_PORT: u16 = 3128;
/// The uid and gid of the job inside its cell.
pub const JOB_ID: u32 = 1000;
/// The uid and gid that own read-only inputs inside the cell.
pub const OWNER_ID: u32 = 1001;

/// Inodes of a cell's tmpfs before a job: its root, and one for each writable place.
pub const SCRATCH_INODES: u64 = 5;
/// The capabilities of a keeper in its user namespace, as the kernel's mask: `CAP_CHOWN`,
/// `CAP_DAC_READ_SEARCH`, `CAP_SETGID`, `CAP_SETUID`, `CAP_SETPCAP`, `CAP_NET_ADMIN`,
/// `CAP_SYS_ADMIN`. Its bounding set is the same.
pub const KEEPER_CAPABILITIES: u64 = 1 << 0 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 21;

/// `tasks` files that come with a placement at most.
pub const TASKS_MAX: usize = 8;

/// A message that neither end may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// A message as words.
pub type Words = [u64; WORDS];

/// The bytes of a message.
#[must_use]
pub fn to_bytes(words: &Words) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The words of a message.
pub fn from_bytes(bytes: &[u8]) -> Result<Words, Malformed> {
    let bytes: &[u8; BYTES] = bytes.try_into().map_err(|_| Malformed)?;
    let mut words = [0; WORDS];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        let mut le = [0; 8];
        le.copy_from_slice(chunk);
        *word = u64::from_le_bytes(le);
    }
    Ok(words)
}

fn words(start: &[u64]) -> Words {
    let mut all = [0; WORDS];
    all[..start.len()].copy_from_slice(start);
    all
}

fn narrow(word: u64) -> Result<u32, Malformed> {
    u32::try_from(word).map_err(|_| Malformed)
}

/// 0 for `None`, `n + 1` for `Some(n)`.
fn option_word(value: Option<u32>) -> u64 {
    value.map_or(0, |n| u64::from(n) + 1)
}

fn word_option(word: u64) -> Result<Option<u32>, Malformed> {
    word.checked_sub(1).map(narrow).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(words: &Words) -> Words {
        from_bytes(&to_bytes(words)).expect("a whole message")
    }

    #[test]
    fn every_message_survives_the_wire() {
        let prepare = Prepare {
            generation: 7,
            placement: Placement::V1 { tasks: 4 },
            job_id: 1002,
            owner_id: 1003,
            disk_bytes: 1 << 29,
            inodes: 20_000,
            open_files: 1024,
            open_files_max: 4096,
            affinity: 3,
            network_kept: true,
        };
        for m in [
            FromWarden::Init,
            FromWarden::Prepare(prepare),
            FromWarden::Prepare(Prepare {
                placement: Placement::V2,
                ..prepare
            }),
            FromWarden::Resize {
                disk_bytes: 1,
                inodes: 2,
            },
        ] {
            assert_eq!(FromWarden::decode(&there_and_back(&m.encode())), Ok(m));
        }
        for m in [
            ToWarden::Ready,
            ToWarden::Prepared { generation: 7 },
            ToWarden::Resized,
            ToWarden::Failed { step: 3, errno: 13 },
        ] {
            assert_eq!(ToWarden::decode(&there_and_back(&m.encode())), Ok(m));
        }
        for m in [
            FromWorker::Start {
                generation: 1,
                wall_ns: 2,
                cpu_ns: 3,
                cpus_milli: 4,
                affinity: 5,
                egress: true,
            },
            FromWorker::Kill {
                generation: 1,
                cause: Cause::Output,
            },
            FromWorker::Collect { generation: 1 },
            FromWorker::Finish { generation: 1 },
        ] {
            assert_eq!(FromWorker::decode(&there_and_back(&m.encode())), Ok(m));
        }
        let mut noted = [None; NOTED_MAX];
        noted[0] = Some(0);
        noted[7] = Some(435);
        let m = ToWorker::Ended(Ended {
            generation: 9,
            cause: Cause::Syscall,
            status: Some(0),
            wall_ns: 5,
            noted_total: 2,
            noted,
            fatal: Some(175),
        });
        assert_eq!(ToWorker::decode(&there_and_back(&m.encode())), Ok(m));
    }

    #[test]
    fn a_worker_cannot_claim_a_cause_that_is_the_keepers() {
        let words = FromWorker::Kill {
            generation: 1,
            cause: Cause::Memory,
        }
        .encode();
        assert_eq!(FromWorker::decode(&words), Err(Malformed));
    }

    #[test]
    fn other_sizes_are_malformed() {
        assert_eq!(from_bytes(&[0; BYTES - 1]), Err(Malformed));
        assert_eq!(from_bytes(&[0; BYTES + 1]), Err(Malformed));
    }
}
