//! What takes bytes from outside, and what must hold of every answer?

use super::Target;
use crate::collect;
use crate::execute::Manifest;
use kiln_keeper::collect::{Entry, Kind, Message};
use kiln_keeper::spec::Filter;
use kiln_keeper::stage::{Input, Staged};
use kiln_keeper::wire::{
    Cause, Ended, FromWarden, FromWorker, NOTED_MAX, Placement, Prepare, ToWarden, ToWorker, Words,
    from_bytes, to_bytes,
};
use kiln_protocol::admission::{Admission, IdRule, TenantRule};
use kiln_protocol::decode::decode;
use kiln_protocol::id::Tenant;
use kiln_protocol::limits::LimitRequest;
use kiln_warden::profile::Profiles;
use kiln_warden::wire::{CellLimits, Event, Request, Residue, ResidueKind, SandboxId};
use std::collections::HashSet;
use std::sync::LazyLock;

/// A job that is taken is the same job again.
pub(super) fn jobs() -> Target {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../protocol/examples/valid");
    let files = std::fs::read_dir(folder).expect("the examples are there");
    let mut seeds: Vec<_> = files
        .map(|entry| std::fs::read(entry.expect("readable").path()).expect("readable"))
        .filter(|job| job_is_taken(job))
        .collect();
    seeds.sort();
    Target {
        name: "jobs",
        seeds,
        take: job_is_taken,
    }
}

/// Those that no file has changed.
fn profiles() -> &'static Profiles {
    static BUILT_IN: LazyLock<Profiles> = LazyLock::new(Profiles::built_in);
    &BUILT_IN
}

fn job_is_taken(bytes: &[u8]) -> bool {
    let admission = Admission {
        profiles: profiles(),
        id: IdRule::Given("a-job".parse().expect("an id")),
        tenant: TenantRule::Default(Tenant::default()),
        class: None,
    };
    let Ok(accepted) = decode(bytes, &admission) else {
        return false;
    };
    let again = decode(accepted.job.to_json().as_bytes(), &admission).expect("it was taken");
    assert_eq!(again.job, accepted.job);
    true
}

fn word_seeds(messages: impl IntoIterator<Item = Words>) -> Vec<Vec<u8>> {
    let all = messages.into_iter();
    all.map(|words| to_bytes(&words).to_vec()).collect()
}

fn ended() -> Ended {
    let mut noted = [None; NOTED_MAX];
    noted[0] = Some(321);
    Ended {
        generation: 9,
        cause: Cause::Syscall,
        status: Some(0),
        wall_ns: 5,
        noted_total: 2,
        noted,
        fatal: Some(175),
    }
}

/// What is understood is what was meant: encoded, it is understood the same.
pub(super) fn from_keeper() -> Target {
    Target {
        name: "from_keeper",
        seeds: word_seeds([
            ToWarden::Ready.encode(),
            ToWarden::Prepared { generation: 7 }.encode(),
            ToWarden::Failed { step: 3, errno: 13 }.encode(),
            ToWorker::Ended(ended()).encode(),
        ]),
        take: |bytes| {
            let Ok(words) = from_bytes(bytes) else {
                return false;
            };
            let warden = ToWarden::decode(&words);
            if let Ok(message) = warden {
                assert_eq!(ToWarden::decode(&message.encode()), Ok(message));
            }
            let worker = ToWorker::decode(&words);
            if let Ok(message) = worker {
                assert_eq!(ToWorker::decode(&message.encode()), Ok(message));
            }
            warden.is_ok() || worker.is_ok()
        },
    }
}

pub(super) fn to_keeper() -> Target {
    let prepare = Prepare {
        generation: 7,
        placement: Placement::V1 { tasks: 4 },
        network_kept: true,
        job_id: 1002,
        owner_id: 1003,
        disk_bytes: 1 << 29,
        inodes: 20_000,
        open_files: 1024,
        open_files_max: 4096,
        affinity: 3,
    };
    Target {
        name: "to_keeper",
        seeds: word_seeds([
            FromWarden::Init.encode(),
            FromWarden::Prepare(prepare).encode(),
            FromWorker::Collect { generation: 1 }.encode(),
            FromWorker::Kill {
                generation: 1,
                cause: Cause::Output,
            }
            .encode(),
        ]),
        take: |bytes| {
            let Ok(words) = from_bytes(bytes) else {
                return false;
            };
            let warden = FromWarden::decode(&words);
            if let Ok(message) = warden {
                assert!(message.descriptors() <= 16, "more than a message can carry");
                assert_eq!(FromWarden::decode(&message.encode()), Ok(message));
            }
            let worker = FromWorker::decode(&words);
            if let Ok(message) = worker {
                assert_eq!(FromWorker::decode(&message.encode()), Ok(message));
            }
            warden.is_ok() || worker.is_ok()
        },
    }
}

fn json_seeds<T: serde::Serialize>(all: &[T]) -> Vec<Vec<u8>> {
    let text = |one| serde_json::to_vec(one).expect("it serialises");
    all.iter().map(text).collect()
}

const LIMITS: CellLimits = CellLimits {
    memory_bytes: 1 << 29,
    pids: 64,
    cpus_milli: 1000,
    disk_bytes: 1 << 29,
    inodes: 20_000,
    open_files: 1024,
};

pub(super) fn to_warden() -> Target {
    let sandbox = SandboxId(7);
    Target {
        name: "to_warden",
        seeds: json_seeds(&[
            Request::Create {
                seq: 1,
                profile: "python".to_owned(),
            },
            Request::Limit {
                sandbox,
                generation: 2,
                limits: LIMITS,
            },
            Request::Reset {
                sandbox,
                generation: 2,
            },
            Request::Shutdown,
        ]),
        take: |bytes| {
            let Ok(request) = serde_json::from_slice::<Request>(bytes) else {
                return false;
            };
            let again = serde_json::to_vec(&request).expect("it serialises");
            assert_eq!(
                serde_json::from_slice::<Request>(&again).ok(),
                Some(request)
            );
            true
        },
    }
}

pub(super) fn from_warden() -> Target {
    let sandbox = SandboxId(7);
    Target {
        name: "from_warden",
        seeds: json_seeds(&[
            Event::Created {
                seq: 1,
                sandbox,
                image: "sha256:00".to_owned(),
            },
            Event::Ready {
                sandbox,
                generation: 1,
                limits: LIMITS,
                counters: Vec::new(),
            },
            Event::Dirty {
                sandbox,
                residue: vec![Residue {
                    kind: ResidueKind::Key,
                    detail: "a key".to_owned(),
                }],
            },
            Event::Retired {
                sandbox,
                failed: None,
            },
        ]),
        take: |bytes| {
            let Ok(event) = serde_json::from_slice::<Event>(bytes) else {
                return false;
            };
            assert!(event.descriptors() <= 2 + bytes.len());
            let again = serde_json::to_vec(&event).expect("it serialises");
            assert_eq!(serde_json::from_slice::<Event>(&again).ok(), Some(event));
            true
        },
    }
}

/// Inputs that a stager is told of, its answers, and the filters of memfds.
pub(super) fn staged() -> Target {
    let input = Input {
        read_only: true,
        executable: false,
        path: b"a/b.txt".to_vec(),
    };
    let filter = Filter {
        instructions: vec![[6, 0, 0, 0, 0, 0, 0xff, 0x7f]],
        fatal: vec![175],
    };
    Target {
        name: "staged",
        seeds: vec![
            [&[0][..], &input.encode()].concat(),
            [&[1][..], &[0; 48]].concat(),
            [&[2][..], &filter.encode()].concat(),
        ],
        take: |bytes| match bytes.split_first() {
            Some((0, rest)) => Input::decode(rest).is_ok_and(|input| {
                assert_eq!(Input::decode(&input.encode()), Ok(input.clone()));
                !input.path.is_empty()
            }),
            Some((1, rest)) => Staged::decode(rest).is_ok_and(|staged| {
                assert_eq!(Staged::decode(&staged.encode()), Ok(staged));
                true
            }),
            Some((2, rest)) => Filter::decode(rest).is_ok_and(|filter| {
                assert_eq!(filter.encode(), rest);
                true
            }),
            _ => false,
        },
    }
}

fn entry(kind: Kind, path: &[u8]) -> Entry {
    Entry {
        kind,
        mode: 0o100_644,
        size: 5,
        ino: 7,
        mtime_ns: 1,
        ctime_ns: 2,
        path: path.to_vec(),
    }
}

pub(super) fn collected() -> Target {
    let list = Message::List(vec![
        entry(Kind::File, b"a.txt"),
        entry(Kind::Directory, b"d"),
        entry(Kind::Symlink, b"d/\xff"),
    ]);
    let open = Message::Open {
        path: b"d/x".to_vec(),
    };
    let opened = Message::Opened {
        errno: 0,
        size: 5,
        mode: 0o100_644,
    };
    Target {
        name: "collected",
        seeds: [list, open, opened, Message::End { truncated: true }]
            .iter()
            .map(Message::encode)
            .collect(),
        take: |bytes| {
            Message::decode(bytes).is_ok_and(|message| {
                assert_eq!(message.encode(), bytes, "one message, one form");
                true
            })
        },
    }
}

/// Whatever a listing says: what is taken stays below the job's folder of the store, no two files
/// meet, and no limit is passed.
pub(super) fn names() -> Target {
    let list = |entries: Vec<Entry>| Message::List(entries).encode();
    Target {
        name: "names",
        seeds: vec![
            list(vec![
                entry(Kind::File, b"a/b"),
                entry(Kind::File, b"a"),
                entry(Kind::File, b"a%0A"),
                entry(Kind::File, b"a\n"),
            ]),
            list(vec![
                entry(Kind::File, b"../x"),
                entry(Kind::File, b"/etc/passwd"),
                entry(Kind::Symlink, b"l"),
            ]),
            list(vec![
                entry(Kind::File, &[b'n'; 300]),
                entry(Kind::File, b"ok\x80"),
            ]),
        ],
        take: |bytes| {
            let Ok(Message::List(entries)) = Message::decode(bytes) else {
                return false;
            };
            let table = &profiles().get("python").expect("built in").limits;
            let limits = table.resolve(&LimitRequest::default()).expect("defaults");
            let everything = collect::Selection::new(None).expect("no glob is wrong");
            let chosen = collect::chosen(entries, &everything, &Manifest::new(), &limits);
            let mut seen = HashSet::new();
            let mut bytes = 0_u64;
            for (path, size) in &chosen {
                let plain = |name: &str| !name.is_empty() && name != "." && name != "..";
                assert!(path.split('/').all(plain), "{path:?}");
                assert!(!path.chars().any(char::is_control), "{path:?}");
                assert!(seen.insert(path), "{path:?} is taken twice");
                bytes = bytes.checked_add(*size).expect("within the limit");
            }
            assert!(chosen.len() as u64 <= limits.artifact_count);
            assert!(bytes <= limits.artifact_bytes);
            true
        },
    }
}
