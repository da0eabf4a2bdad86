//! The filters that the test gives the keeper and its jobs.

use crate::sys;
use kiln_keeper::spec::Filter;
use std::os::fd::OwnedFd;

/// A notified call of the test's filter, and a fatal one.
pub(crate) const NOTED: u32 = 248; // add_key
pub(crate) const FATAL: u32 = 101; // ptrace

/// Everything is allowed; `NOTED` and `FATAL` are notified.
pub(crate) fn filter(notify: bool) -> OwnedFd {
    let instruction = |code: u16, jt: u8, jf: u8, k: u32| {
        let mut bytes = [0; 8];
        bytes[..2].copy_from_slice(&code.to_ne_bytes());
        bytes[2] = jt;
        bytes[3] = jf;
        bytes[4..].copy_from_slice(&k.to_ne_bytes());
        bytes
    };
    let (load, equal, result) = (0x20, 0x15, 0x06);
    let instructions = if notify {
        vec![
            instruction(load, 0, 0, 0),
            instruction(equal, 2, 0, NOTED),
            instruction(equal, 1, 0, FATAL),
            instruction(result, 0, 0, 0x7fff_0000),
            instruction(result, 0, 0, 0x7fc0_0000),
        ]
    } else {
        vec![instruction(result, 0, 0, 0x7fff_0000)]
    };
    let filter = Filter {
        instructions,
        fatal: vec![FATAL],
    };
    sys::memfd(&filter.encode())
}

/// Only these calls are allowed; any other kills the process.
pub(crate) fn allow_list(calls: &[&[libc::c_long]]) -> OwnedFd {
    let word = |code: u16, jt: u8, k: u32| {
        let k = k.to_ne_bytes();
        let [low, high] = code.to_ne_bytes();
        [low, high, jt, 0, k[0], k[1], k[2], k[3]]
    };
    let mut instructions = vec![word(0x20, 0, 0)];
    for call in calls.iter().copied().flatten() {
        // Where the number is another, the next instruction, the allowing one, is passed over.
        let mut compare = word(0x15, 0, u32::try_from(*call).expect("a number"));
        compare[3] = 1;
        instructions.push(compare);
        instructions.push(word(0x06, 0, 0x7fff_0000));
    }
    instructions.push(word(0x06, 0, 0x8000_0000));
    let filter = Filter {
        instructions,
        fatal: vec![],
    };
    sys::memfd(&filter.encode())
}
