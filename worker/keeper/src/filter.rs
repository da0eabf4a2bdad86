//! The system call filter of a memfd, what a notified call means, and the stager's own filter.

use crate::sys::cred::{install_filter, install_program};
use crate::sys::{Errno, file};
use kiln_keeper::calls;
use kiln_keeper::wire::NOTED_MAX;
use std::os::fd::{AsFd, OwnedFd};

/// Notified calls that a job may make; one more ends it.
const NOTED_TOTAL_MAX: u64 = 64;
const WORD: usize = 4;
const INSTRUCTION: u64 = 8;
const HEAD: u64 = 8;

/// A filter as `kiln_keeper::spec::Filter` lays it out, left in its memfd.
pub(crate) struct Filter {
    memfd: OwnedFd,
    instructions: u32,
    fatal: u32,
    bytes: usize,
}

impl Filter {
    /// Takes a memfd whose size fits its counts.
    pub(crate) fn new(memfd: OwnedFd) -> Result<Self, Errno> {
        let mut head = [0; 8];
        file::read_exactly_at(memfd.as_fd(), &mut head, 0)?;
        let instructions = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
        let fatal = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
        let bytes = HEAD + u64::from(instructions) * INSTRUCTION + u64::from(fatal) * WORD as u64;
        if u64::try_from(file::status(memfd.as_fd())?.st_size) != Ok(bytes) {
            return Err(Errno(libc::EINVAL));
        }
        Ok(Self {
            memfd,
            instructions,
            fatal,
            bytes: usize::try_from(bytes).map_err(|_| Errno(libc::EINVAL))?,
        })
    }

    pub(crate) fn memfd(&self) -> &OwnedFd {
        &self.memfd
    }

    /// Installs the filter on this process.
    pub(crate) fn install(&self) -> Result<(), Errno> {
        install_filter(self.memfd.as_fd(), self.instructions, self.bytes, false).map(drop)
    }

    /// Installs the filter on this process and gives the listener of its notifications.
    pub(crate) fn install_with_listener(&self) -> Result<OwnedFd, Errno> {
        install_filter(self.memfd.as_fd(), self.instructions, self.bytes, true)?
            .ok_or(Errno(libc::EBADF))
    }

    /// Whether a notified call ends the job. Read from the memfd: it is asked seldom.
    fn is_fatal(&self, number: u32) -> Result<bool, Errno> {
        let first = HEAD + u64::from(self.instructions) * INSTRUCTION;
        for place in 0..u64::from(self.fatal) {
            let mut word = [0; WORD];
            file::read_exactly_at(self.memfd.as_fd(), &mut word, first + place * WORD as u64)?;
            if u32::from_le_bytes(word) == number {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Installs the stager's filter on this process: what it serves with, and nothing else.
///
/// It is much shorter than a job's, which the kernel would have to translate for each cell twice.
pub(crate) fn install_stager() -> Result<(), Errno> {
    install_program(&STAGER)
}

/// Calls below this place of the list are compared first.
const HALF: usize = calls::STAGER.len() / 2;
const STAGER: [libc::sock_filter; calls::STAGER.len() + 8] = stager();

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of calls and lengths are small, and a constant cannot ask"
)]
const fn stager() -> [libc::sock_filter; calls::STAGER.len() + 8] {
    const fn instruction(code: u32, jt: usize, jf: u8, k: u32) -> libc::sock_filter {
        libc::sock_filter {
            code: code as u16,
            jt: jt as u8,
            jf,
            k,
        }
    }
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    const NUMBER: u32 = 0;
    const ARCHITECTURE: u32 = 4;
    const X86_64: u32 = 0xc000_003e;
    let kill = instruction(RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS);
    let mut program = [kill; calls::STAGER.len() + 8];
    let last = program.len() - 1;
    program[last] = instruction(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW);
    program[0] = instruction(LOAD, 0, 0, ARCHITECTURE);
    program[1] = instruction(EQUAL, 1, 0, X86_64);
    // The third ends the process, and so does what follows each half.
    program[3] = instruction(LOAD, 0, 0, NUMBER);
    program[4] = instruction(AT_LEAST, HALF + 1, 0, calls::STAGER[HALF] as u32);
    let mut place = 0;
    while place < calls::STAGER.len() {
        let at = place + if place < HALF { 5 } else { 6 };
        program[at] = instruction(EQUAL, last - at - 1, 0, calls::STAGER[place] as u32);
        place += 1;
    }
    program
}

/// The notified calls of one job.
#[derive(Default)]
pub(crate) struct Noted {
    pub(crate) total: u64,
    pub(crate) numbers: [Option<u32>; NOTED_MAX],
}

/// What the keeper does about a notified call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Refuse,
    EndJob,
}

impl Noted {
    /// Notes a call.
    pub(crate) fn note(&mut self, filter: &Filter, number: u32) -> Result<Answer, Errno> {
        self.total += 1;
        if !self.numbers.contains(&Some(number))
            && let Some(free) = self.numbers.iter_mut().find(|slot| slot.is_none())
        {
            *free = Some(number);
        }
        if self.total > NOTED_TOTAL_MAX || filter.is_fatal(number)? {
            Ok(Answer::EndJob)
        } else {
            Ok(Answer::Refuse)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the stager's filter answers to a call of a machine.
    fn answer(number: u32, machine: u32) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let step = STAGER[at];
            let code = u32::from(step.code);
            at += 1;
            if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS {
                value = match step.k {
                    0 => number,
                    4 => machine,
                    other => panic!("it looks at offset {other}"),
                };
            } else if code == libc::BPF_RET | libc::BPF_K {
                return step.k;
            } else {
                let holds = if code == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K {
                    value == step.k
                } else {
                    assert_eq!(code, libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K);
                    value >= step.k
                };
                at += usize::from(if holds { step.jt } else { step.jf });
            }
        }
    }

    #[test]
    fn the_stager_may_make_its_calls_and_no_other() {
        const X86_64: u32 = 0xc000_003e;
        const I386: u32 = 0x4000_0003;
        const X32: u32 = 0x4000_0000;
        let is_its = |number| calls::STAGER.contains(&libc::c_long::from(number));
        for number in (0..1024).chain([u32::MAX]).chain(X32..X32 + 1024) {
            let wanted = if is_its(number) {
                libc::SECCOMP_RET_ALLOW
            } else {
                libc::SECCOMP_RET_KILL_PROCESS
            };
            assert_eq!(answer(number, X86_64), wanted, "call {number}");
            assert_eq!(answer(number, I386), libc::SECCOMP_RET_KILL_PROCESS);
        }
        assert!(calls::STAGER.is_sorted());
    }
}
