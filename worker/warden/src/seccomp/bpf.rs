//! How do verdicts become a program for the kernel?
//!
//! A balanced search tree over ranges of numbers, with a return, or a few comparisons of
//! arguments, at each leaf: a number costs about eight instructions, where a list would cost
//! hundreds (and the kernel runs the program for each number when it is installed).

use super::machine::Machine;
use super::policy::{Rule, Test, Verdict};

/// `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Insn {
    pub(super) code: u16,
    pub(super) jt: u8,
    pub(super) jf: u8,
    pub(super) k: u32,
}

/// `BPF_LD | BPF_W | BPF_ABS`: loads a word of `struct seccomp_data`.
pub(super) const LOAD: u16 = 0x20;
/// `BPF_ALU | BPF_AND | BPF_K`.
pub(super) const AND: u16 = 0x54;
/// `BPF_JMP | BPF_JA`.
pub(super) const JUMP: u16 = 0x05;
/// `BPF_JMP | BPF_JEQ | BPF_K`.
pub(super) const JUMP_EQUAL: u16 = 0x15;
/// `BPF_JMP | BPF_JGE | BPF_K`.
pub(super) const JUMP_GREATER_EQUAL: u16 = 0x35;
/// `BPF_RET | BPF_K`.
pub(super) const RETURN: u16 = 0x06;

/// Offsets in `struct seccomp_data`.
const NR: u32 = 0;
const ARCH: u32 = 4;
const ARGS: u32 = 16;

impl Insn {
    const fn plain(code: u16, k: u32) -> Self {
        Self {
            code,
            jt: 0,
            jf: 0,
            k,
        }
    }

    /// A comparison that skips `jt` instructions where it holds and `jf` where not.
    fn branch(code: u16, k: u32, jt: usize, jf: usize) -> Self {
        let skip = |n| u8::try_from(n).expect("argument rules are far shorter than 255");
        Self {
            code,
            jt: skip(jt),
            jf: skip(jf),
            k,
        }
    }

    /// The kernel's layout.
    pub(super) fn to_bytes(self) -> [u8; 8] {
        let [c0, c1] = self.code.to_le_bytes();
        let [k0, k1, k2, k3] = self.k.to_le_bytes();
        [c0, c1, self.jt, self.jf, k0, k1, k2, k3]
    }
}

/// The whole program. `rule` tells what each number gets; every number from `machine.foreign` on
/// ends the process, and so does every other architecture.
/// The one instruction of a filter that allows everything.
pub(super) fn everything() -> Insn {
    give(Verdict::Allow)
}

pub(super) fn compile(machine: &Machine, rule: impl Fn(u32) -> Rule) -> Vec<Insn> {
    let end = machine.calls().map(|(nr, _)| nr + 1).max().unwrap_or(0);
    let mut ranges: Vec<(u32, Rule)> = Vec::new();
    let foreign = (machine.foreign, Rule::always(Verdict::Kill));
    // Beyond the last known number all are alike, so that one stands for them.
    for (nr, rule) in (0..=end).map(|nr| (nr, rule(nr))).chain([foreign]) {
        if ranges.last().is_none_or(|(_, last)| *last != rule) {
            ranges.push((nr, rule));
        }
    }
    let mut program = vec![
        Insn::plain(LOAD, ARCH),
        Insn::branch(JUMP_EQUAL, machine.audit, 1, 0),
        give(Verdict::Kill),
        Insn::plain(LOAD, NR),
    ];
    program.extend(tree(&ranges));
    program
}

/// The search in ranges, each known by its first number.
fn tree(ranges: &[(u32, Rule)]) -> Vec<Insn> {
    if let [(_, rule)] = ranges {
        return block(rule);
    }
    let (left, right) = ranges.split_at(ranges.len() / 2);
    let (first, _) = right[0];
    let (left, right) = (tree(left), tree(right));
    let mut code = match u8::try_from(left.len()) {
        Ok(skip) => vec![Insn {
            code: JUMP_GREATER_EQUAL,
            jt: skip,
            jf: 0,
            k: first,
        }],
        // Too far for a branch: jump over the left half in a step of its own.
        Err(_) => vec![
            Insn::branch(JUMP_GREATER_EQUAL, first, 0, 1),
            Insn::plain(
                JUMP,
                u32::try_from(left.len()).expect("a program has 4096 at most"),
            ),
        ],
    };
    code.extend(left);
    code.extend(right);
    code
}

/// The cases of one call in order, then what holds where none applies.
fn block(rule: &Rule) -> Vec<Insn> {
    let mut code = Vec::new();
    for case in rule.cases {
        let mut body = vec![give(case.verdict)];
        for test in case.when.iter().rev() {
            let mut tested = compare(test, body.len());
            tested.extend(body);
            body = tested;
        }
        code.extend(body);
    }
    code.push(give(rule.otherwise));
    code
}

/// Falls through where the test holds, skips `body` instructions more where not.
fn compare(test: &Test, body: usize) -> Vec<Insn> {
    match *test {
        Test::OneOf(argument, mask, values) => {
            let mut code = load_masked(argument, mask);
            for (at, value) in values.iter().enumerate() {
                let after = values.len() - 1 - at;
                let miss = if after == 0 { body } else { 0 };
                code.push(Insn::branch(JUMP_EQUAL, *value, after, miss));
            }
            code
        }
        Test::NoneOf(argument, mask, values) => {
            let mut code = load_masked(argument, mask);
            for (at, value) in values.iter().enumerate() {
                let after = values.len() - 1 - at;
                code.push(Insn::branch(JUMP_EQUAL, *value, after + body, 0));
            }
            code
        }
        Test::NotNull(argument) => vec![
            Insn::plain(LOAD, low(argument)),
            Insn::branch(JUMP_EQUAL, 0, 0, 2),
            Insn::plain(LOAD, low(argument) + 4),
            Insn::branch(JUMP_EQUAL, 0, body, 0),
        ],
    }
}

/// The low half of an argument: all that the kernel looks at where it takes an `int`.
fn load_masked(argument: u8, mask: u32) -> Vec<Insn> {
    let mut code = vec![Insn::plain(LOAD, low(argument))];
    if mask != u32::MAX {
        code.push(Insn::plain(AND, mask));
    }
    code
}

fn low(argument: u8) -> u32 {
    ARGS + 8 * u32::from(argument)
}

fn give(verdict: Verdict) -> Insn {
    Insn::plain(RETURN, verdict.returned())
}
