//! Do the programs give exactly what the tables say, for every number and for telling arguments?

use super::*;
use bpf::{AND, JUMP, JUMP_EQUAL, JUMP_GREATER_EQUAL, LOAD, RETURN};
use policy::Test;

/// `struct seccomp_data`, as a filter sees it.
struct Call {
    arch: u32,
    nr: u32,
    args: [u64; 6],
}

impl Call {
    fn new(nr: u32, args: [u64; 6]) -> Self {
        Self {
            arch: X86_64.audit,
            nr,
            args,
        }
    }

    fn word(&self, offset: u32) -> u32 {
        let mut bytes = Vec::new();
        bytes.extend(self.nr.to_le_bytes());
        bytes.extend(self.arch.to_le_bytes());
        bytes.extend(0_u64.to_le_bytes());
        bytes.extend(self.args.iter().flat_map(|arg| arg.to_le_bytes()));
        let at = usize::try_from(offset).expect("small");
        u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
    }
}

/// Runs a program as the kernel would: what it returns, and in how many steps.
fn run(program: &[[u8; 8]], call: &Call) -> (u32, usize) {
    let (mut at, mut a, mut steps) = (0, 0, 0);
    loop {
        let [c0, c1, jt, jf, k0, k1, k2, k3] = program[at];
        let k = u32::from_le_bytes([k0, k1, k2, k3]);
        let skip = |holds: bool| usize::from(if holds { jt } else { jf });
        steps += 1;
        at += 1;
        match u16::from_le_bytes([c0, c1]) {
            LOAD => a = call.word(k),
            AND => a &= k,
            JUMP => at += usize::try_from(k).expect("small"),
            JUMP_EQUAL => at += skip(a == k),
            JUMP_GREATER_EQUAL => at += skip(a >= k),
            RETURN => return (k, steps),
            code => panic!("an instruction {code:#x} that no filter of ours has"),
        }
    }
}

/// What a rule means, without a program.
fn meant(rule: &Rule, args: &[u64; 6]) -> Verdict {
    let low = |n: u8| (args[usize::from(n)] & 0xffff_ffff) as u32;
    let holds = |test: &Test| match test {
        Test::OneOf(n, mask, values) => values.contains(&(low(*n) & mask)),
        Test::NoneOf(n, mask, values) => !values.contains(&(low(*n) & mask)),
        Test::NotNull(n) => args[usize::from(*n)] != 0,
    };
    rule.cases
        .iter()
        .find(|case| case.when.iter().all(holds))
        .map_or(rule.otherwise, |case| case.verdict)
}

/// Arguments around every value that the rules look at.
fn samples() -> Vec<[u64; 6]> {
    let mut values: Vec<u64> = (0..20)
        .chain([26, 31, 33, 34, 35, 36, 47, 50, 51, 52, 62, 262])
        .collect();
    values.extend([
        0x5412,
        0x541c,
        0x541d,
        0x5423,
        0x5413,
        0x0040_0000,
        0x5356_4d41,
        0x5961_6d61,
        0x80,
        0x8000,
        0x0002_0000,
        0x0200_0000,
        0x1000_0000,
        0x7e02_0000,
        0x003d_0f00,
        0xffff_ffff,
        0x8_0001,
        0x8_0003,
        0x8_0002,
        1 << 32,
        (1 << 32) | 1,
        (38 << 32) | 2,
        u64::MAX,
    ]);
    let mut all = Vec::new();
    for &first in &values {
        for &second in &values {
            for third in [0, 6, 17, 132, 1 << 32, u64::MAX] {
                all.push([first, second, third, 0, 0, 0]);
            }
        }
    }
    all
}

#[test]
fn the_programs_give_what_the_tables_say() {
    let samples = samples();
    let check = |filter: &Filter, rule: &dyn Fn(u32) -> Rule| {
        for nr in (0..600).chain([1000, 0x3fff_ffff]) {
            let rule = rule(nr);
            let few = &samples[..1];
            for args in if rule.cases.is_empty() {
                few
            } else {
                &samples[..]
            } {
                let (given, _) = run(&filter.instructions, &Call::new(nr, *args));
                let wanted = meant(&rule, args).returned();
                assert_eq!(given, wanted, "{nr} ({:?}) with {args:x?}", name(nr));
            }
        }
    };
    check(&job_filter(), &job_rule());
    check(&keeper_filter(), &keeper_rule());
}

#[test]
fn another_calling_convention_is_killed() {
    for filter in [job_filter(), keeper_filter()] {
        for nr in [0x4000_0000, 0x4000_0001, 0x4000_0208, u32::MAX] {
            let (given, _) = run(&filter.instructions, &Call::new(nr, [0; 6]));
            assert_eq!(given, Verdict::Kill.returned(), "{nr:#x}");
        }
        for arch in [0x4000_0003, 0xc000_00b7, 0] {
            let call = Call {
                arch,
                ..Call::new(0, [0; 6])
            };
            assert_eq!(run(&filter.instructions, &call).0, 0x8000_0000, "{arch:#x}");
        }
    }
}

/// The contract's own words, each against the program alone.
#[test]
fn what_the_contract_says_is_what_the_kernel_runs() {
    const ALLOW: u32 = 0x7fff_0000;
    const NOTIFY: u32 = 0x7fc0_0000;
    const fn errno(number: u32) -> u32 {
        0x0005_0000 + number
    }
    let job = job_filter().instructions;
    let keeper = keeper_filter().instructions;
    for (nr, args, wanted) in [
        (41, [1, 1, 0], ALLOW),                  // socket(AF_UNIX, SOCK_STREAM)
        (41, [2, 0x80801, 6], ALLOW),            // AF_INET, TCP, CLOEXEC, NONBLOCK
        (41, [10, 2, 17], ALLOW),                // AF_INET6, UDP
        (41, [2, 3, 1], errno(1)),               // SOCK_RAW: EPERM
        (41, [17, 0x80003, 0], errno(97)),       // AF_PACKET: EAFNOSUPPORT
        (41, [38, 5, 0], errno(97)),             // AF_ALG
        (41, [(1 << 32) + 38, 5, 0], errno(97)), // AF_ALG, upper half set
        (41, [40, 1, 0], errno(97)),             // AF_VSOCK
        (41, [16, 3, 0], errno(97)),             // AF_NETLINK
        (41, [2, 1, 132], errno(93)),            // SCTP: EPROTONOSUPPORT
        (53, [1, 1, 0], ALLOW),                  // socketpair(AF_UNIX)
        (53, [2, 1, 0], errno(97)),
        (56, [0x003d_0f00, 0, 0], ALLOW), // clone as libc makes a thread
        (56, [0x1000_0011, 0, 0], NOTIFY), // CLONE_NEWUSER
        (56, [0x0002_0011, 0, 0], NOTIFY), // CLONE_NEWNS
        (56, [0x91, 0, 0], ALLOW),        // 0x80 is part of clone's signal
        (272, [0x80, 0, 0], NOTIFY),      // unshare(CLONE_NEWTIME)
        (272, [0x400, 0, 0], ALLOW),      // unshare(CLONE_FILES)
        (435, [0, 0, 0], errno(38)),      // clone3: ENOSYS
        (16, [1, 0x5412, 0], errno(1)),   // ioctl(TIOCSTI)
        (16, [1, (7 << 32) | 0x5412, 0], errno(1)),
        (16, [1, 0x5401, 0], ALLOW),      // ioctl(TCGETS)
        (302, [0, 4, 0x1000], errno(1)),  // prlimit64(RLIMIT_CORE, new)
        (302, [0, 4, 1 << 32], errno(1)), // new has only an upper half
        (302, [0, 4, 0], ALLOW),          // only asks
        (302, [0, 7, 0x1000], ALLOW),
        (160, [4, 0x1000, 0], errno(1)), // setrlimit(RLIMIT_CORE)
        (157, [22, 2, 0x1000], ALLOW),   // prctl(PR_SET_SECCOMP)
        (157, [35, 0, 0], errno(1)),     // prctl(PR_SET_MM)
        (157, [0x5961_6d61, 0, 0], errno(22)), // prctl(PR_SET_PTRACER)
        (317, [1, 0, 0x1000], ALLOW),    // seccomp(SET_MODE_FILTER)
        (317, [1, 9, 0x1000], errno(1)), // with NEW_LISTENER
        (135, [0x0040_0000, 0, 0], errno(1)), // personality(READ_IMPLIES_EXEC)
        (135, [0xffff_ffff, 0, 0], ALLOW),
        (425, [0, 0, 0], errno(38)), // io_uring_setup
        (206, [0, 0, 0], errno(38)), // io_setup
        (333, [0, 0, 0], errno(38)), // io_pgetevents
        (321, [0, 0, 0], NOTIFY),    // bpf
        (175, [0, 0, 0], NOTIFY),    // init_module
        (500, [0, 0, 0], errno(38)),
    ] {
        let [a, b, c] = args;
        let call = Call::new(nr, [a, b, c, 0, 0, 0]);
        assert_eq!(run(&job, &call).0, wanted, "{:?} {args:x?}", name(nr));
        let under = run(&keeper, &call).0;
        assert!(
            under >= wanted,
            "the keeper's filter hides the job's answer to {nr}"
        );
    }
}

#[test]
fn every_known_call_is_on_exactly_one_line() {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for line in JOB.iter().flat_map(|table| table.iter()) {
        assert!(!line.reason.is_empty());
        for call in line.calls.split_whitespace() {
            *seen.entry(call).or_default() += 1;
        }
    }
    for (_, name) in X86_64.calls() {
        assert_eq!(seen.remove(name), Some(1), "`{name}`");
    }
    assert!(seen.is_empty(), "no such calls: {seen:?}");
    assert!(!rules(&X86_64, &[arguments::KEEPER]).is_empty());
}

/// The kernel takes the least of two filters: the keeper's must never be less than the job's.
#[test]
fn the_keepers_filter_never_outranks_the_jobs() {
    let (job, keeper) = (job_filter().instructions, keeper_filter().instructions);
    let samples = samples();
    for nr in 0..600 {
        let few = if job_rule()(nr).cases.is_empty() {
            1
        } else {
            samples.len()
        };
        for args in &samples[..few] {
            let call = Call::new(nr, *args);
            let (job, keeper) = (run(&job, &call).0, run(&keeper, &call).0);
            assert!(
                keeper >= job,
                "{nr} with {args:x?}: {keeper:#x} under {job:#x}"
            );
        }
    }
}

#[test]
fn the_keeper_has_what_makes_cells_and_none_of_the_dangerous() {
    let keeper = keeper_filter();
    assert_eq!(keeper.fatal, Vec::<u32>::new());
    let numbers: BTreeMap<&str, u32> = X86_64.calls().map(|(nr, name)| (name, nr)).collect();
    let given = |call: &str| run(&keeper.instructions, &Call::new(numbers[call], [0; 6])).0;
    for call in "mount umount2 unshare clone3 openat2 setresuid capset seccomp sethostname \
                 move_mount open_tree mount_setattr fsopen fsmount pidfd_send_signal prctl"
        .split_whitespace()
    {
        assert_eq!(given(call), Verdict::Allow.returned(), "{call}");
    }
    for call in "bpf io_uring_setup io_uring_enter ptrace process_vm_readv keyctl add_key \
                 perf_event_open userfaultfd kexec_load init_module reboot swapon iopl ioperm \
                 open_by_handle_at setns chroot pivot_root"
        .split_whitespace()
    {
        assert_eq!(given(call), Verdict::Absent.returned(), "{call}");
    }
}

#[test]
fn fatal_calls_are_told_to_the_keeper() {
    let job = job_filter();
    assert_eq!(job.fatal, [175, 176, 304, 313]);
    for nr in &job.fatal {
        let (given, _) = run(&job.instructions, &Call::new(*nr, [0; 6]));
        assert_eq!(given, Verdict::Noted.returned());
    }
    assert_eq!(reason(175), Some("code for the kernel itself"));
}

#[test]
fn the_tree_is_shallow_and_fits() {
    for filter in [job_filter(), keeper_filter()] {
        assert!(
            filter.instructions.len() < 1024,
            "{}",
            filter.instructions.len()
        );
        let plain = (0..600).filter(|nr| job_rule()(*nr).cases.is_empty());
        let deepest = plain
            .map(|nr| run(&filter.instructions, &Call::new(nr, [0; 6])).1)
            .max();
        assert!(deepest.is_some_and(|steps| steps <= 16), "{deepest:?}");
    }
}

/// Ours fit without it, so a table that never repeats itself shows that long ways work too.
#[test]
fn a_program_too_long_for_branches_goes_by_jumps() {
    let rule = |nr: u32| {
        let errno = i32::try_from(nr % 4000).expect("small");
        Rule::always(refuse(errno))
    };
    let program: Vec<_> = bpf::compile(&X86_64, rule)
        .into_iter()
        .map(bpf::Insn::to_bytes)
        .collect();
    assert!(program.iter().any(|insn| insn[..2] == JUMP.to_le_bytes()));
    for nr in 0..=470 {
        let (given, _) = run(&program, &Call::new(nr, [0; 6]));
        assert_eq!(given, rule(nr).otherwise.returned(), "{nr}");
    }
}

#[test]
fn the_proxy_can_speak_and_nothing_else() {
    const ALLOW: u32 = 0x7fff_0000;
    let proxy = proxy_filter();
    assert_eq!(proxy.fatal, Vec::<u32>::new());
    let numbers: BTreeMap<&str, u32> = X86_64.calls().map(|(nr, name)| (name, nr)).collect();
    let errno = |number: libc::c_int| 0x0005_0000 + number.cast_unsigned();
    let given = |call: &str, args: [u64; 3]| {
        let [a, b, c] = args;
        run(
            &proxy.instructions,
            &Call::new(numbers[call], [a, b, c, 0, 0, 0]),
        )
        .0
    };
    for call in "read recvmsg connect accept4 epoll_wait getrandom munmap exit_group".split(' ') {
        assert_eq!(given(call, [0; 3]), ALLOW, "{call}");
    }
    for call in "open openat openat2 newfstatat readlink".split(' ') {
        assert_eq!(given(call, [0; 3]), errno(libc::EACCES), "{call}");
    }
    for call in "execve execveat clone clone3 fork vfork ptrace process_vm_readv kill listen \
                 socketpair mount unshare setns bpf io_uring_setup prctl seccomp setuid capset \
                 chroot unlink mkdir memfd_create pidfd_open userfaultfd keyctl"
        .split_whitespace()
    {
        assert_eq!(given(call, [0; 3]), errno(libc::EPERM), "{call}");
    }
    for (call, args, wanted) in [
        ("socket", [2, 0x80801, 6], ALLOW),
        ("socket", [10, 0x80802, 17], ALLOW),
        ("socket", [1, 1, 0], errno(libc::EAFNOSUPPORT)),
        ("socket", [16, 3, 0], errno(libc::EAFNOSUPPORT)),
        ("socket", [2, 3, 1], errno(libc::EPERM)),
        ("mmap", [0, 4096, 3], ALLOW),
        ("mmap", [0, 4096, 5], errno(libc::EPERM)),
        ("mprotect", [0, 4096, 4], errno(libc::EPERM)),
        ("ioctl", [3, 0x5421, 0], ALLOW),
        ("ioctl", [3, 0x5412, 0], errno(libc::EPERM)),
    ] {
        assert_eq!(given(call, args), wanted, "{call} {args:x?}");
    }
}
