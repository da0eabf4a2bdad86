//! What is promised of a sandbox, by what is it held, and what tries it? The security posture on
//! one page: `kiln doctor --isolation` prints it with what it saw, and the threat model's table is
//! made of it.
//!
//! A *hard* property that does not hold is a way out or a way across. A *soft* one is known to
//! hold only in part, and [`NOT_PROTECTED`] says why.

use Hardness::{Hard, Soft};
use std::fmt::Write as _;

/// How much hangs on a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hardness {
    Hard,
    Soft,
}

/// One promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property {
    /// As the prober and the doctor call it.
    pub name: &'static str,
    /// What holds.
    pub promise: &'static str,
    /// What holds it.
    pub by: &'static str,
    pub hardness: Hardness,
    /// How the doctor tries it.
    pub tried: &'static str,
    /// Of `tests/hostile`, those that try it on every build.
    pub probes: &'static str,
}

/// The page itself: hardness, name, promise, what holds it, how the doctor tries it, and which of
/// `tests/hostile` try it on every build.
macro_rules! posture {
    ($($hardness:ident $name:literal $promise:literal
        by $by:literal tried $tried:literal probes $probes:literal;)+) => {
        /// Every promise.
        pub const POSTURE: &[Property] = &[$(Property {
            name: $name,
            promise: $promise,
            by: $by,
            hardness: $hardness,
            tried: $tried,
            probes: $probes,
        }),+];
    };
}

posture! {
    // Who it is.
    Hard "identity" "one uid that is not root, no groups, no other uid to become"
        by "a user namespace that maps two uids"
        tried "reads its status and map, asks for uid 0" probes "A/identity";
    Hard "capabilities" "no capability in any set, and no way to gain one"
        by "emptied sets and bounding set, no_new_privs; proved by the warden before the start"
        tried "reads all five sets" probes "A/identity A/nnp_and_seccomp A/suid_files";
    Hard "filter" "a system call filter that cannot be taken off"
        by "seccomp, twice: the keeper's and the job's; counted by the warden before the start"
        tried "counts the filters" probes "A/nnp_and_seccomp C/seccomp_stacking";
    Hard "descriptors" "three streams and no other descriptor; none is a directory"
        by "close_range before the start, looked up by the warden"
        tried "tries 65,536 numbers" probes "A/leaked_fds A/leaked_fds_raw";
    Hard "environment" "no variable but the contract's and the job's own"
        by "an environment made anew"
        tried "lists its variables" probes "C/environment";
    Hard "core-files" "a crash starts no helper of the host's"
        by "RLIMIT_CORE of 1, which the filter keeps from being changed"
        tried "reads the limit, tries to lower it" probes "E/core_limit";

    // The kernel's surface.
    Hard "namespaces" "no new namespace, and no way into another"
        by "the filter"
        tried "unshare of each kind, clone, clone3, setns" probes "A/userns_unshare A/userns_clone3 A/setns E/unshare_each E/clone3_flags";
    Hard "mounts" "no mount is made, moved or taken off"
        by "the filter; mounts locked by the cell's user namespace"
        tried "eleven calls" probes "A/mount_syscalls A/mount_new_api A/chroot_escape E/mount_api";
    Hard "kernel-surface" "no BPF, perf events or userfaultfd"
        by "the filter"
        tried "three calls" probes "A/bpf A/perf_event E/bpf_each E/userfault";
    Hard "io-uring" "no io_uring, whose operations pass by a filter"
        by "the filter"
        tried "four calls" probes "A/io_uring E/io_uring_each";
    Hard "keys" "no kernel keys, which outlive a process"
        by "the filter; counted at each reset"
        tried "three calls" probes "E/keyrings";
    Hard "other-memory" "no memory or descriptor of another process"
        by "the filter; a pid namespace of its own"
        tried "six calls" probes "A/proc_other_fd E/ptrace_sibling E/vm_readv E/pidfd_getfd";
    Hard "file-handles" "no file by a guessed handle"
        by "the filter"
        tried "name_to_handle_at" probes "E/name_to_handle";
    Hard "administration" "no clock, swap, quota, reboot, log or port of the machine"
        by "the filter; no capability"
        tried "twelve calls" probes "A/reboot A/kexec A/swap_acct_quota A/port_io_ldt A/dmesg E/administration";
    Hard "rare-calls" "no rare call that widens the kernel's surface"
        by "the filter"
        tried "seven calls" probes "A/rare_syscalls E/personality E/fanotify E/new_numbers E/prctl_each";
    Hard "fatal-calls" "a call that nothing but an attack makes ends the job"
        by "the filter and its listener"
        tried "open_by_handle_at, init_module, delete_module" probes "E/open_by_handle E/module_load";
    Hard "socket-families" "UNIX and IP sockets alone, no raw ones"
        by "the filter"
        tried "62 families, 4 types" probes "A/af_alg A/af_vsock A/packet_raw E/families E/socket_options E/unix_oob";
    Hard "other-conventions" "no call by the 32-bit entry or by x32 numbers"
        by "the filter ends the process"
        tried "int 0x80 and an x32 number" probes "A/int80_abi E/x32_numbers";
    Hard "terminal" "nothing is typed into a terminal"
        by "the filter; no terminal is given"
        tried "three ioctls" probes "A/tty_injection E/tiocsti";
    Hard "priority" "no priority above the others'"
        by "no capability, no limit that allows it"
        tried "nice and real-time IO" probes "A/priority_raise";

    // Files.
    Hard "image-read-only" "nothing of the image can be written"
        by "read-only mounts, made before the user namespace"
        tried "creates and opens in 11 places" probes "A/runtime_exe_overwrite E/image_write";
    Hard "host-files" "no account, key, home, log or socket of the host"
        by "an image of /usr and a synthetic /etc alone"
        tried "14 paths" probes "A/host_files_by_search A/runtime_sockets";
    Hard "mount-flags" "set-uid bits and devices mean nothing; what is not a job's is read-only"
        by "nosuid, nodev and ro on every mount, locked"
        tried "reads every mount" probes "A/mount_flags";
    Hard "proc-masks" "/proc steers nothing and tells no neighbour's doings"
        by "masks laid before the cell's user namespace, which locks them"
        tried "24 files and 7 folders; /proc is a proc" probes "A/masked_paths_real A/proc_dangerous_writes E/proc_walk E/own_proc";
    Hard "kernel-settings" "no setting of the machine can be written"
        by "/proc/sys read-only, no capability"
        tried "opens 14 for writing" probes "A/sysctl_walk E/core_pattern E/modprobe_path";
    Hard "devices" "harmless nodes alone, and none can be made"
        by "a /dev of the sandbox's own; no CAP_MKNOD"
        tried "lists /dev, makes two nodes" probes "A/dev_allowlist A/mknod_devices";
    Hard "sys" "no /sys, and no tree of groups to mount"
        by "neither is there; the filter"
        tried "lists /sys, mounts" probes "A/cgroup_release_agent A/cgroup_v2_write E/release_agent";
    Hard "control-groups" "its groups look like roots, and no limit of theirs can be written"
        by "a cgroup namespace; no tree is mounted; limit files are root's"
        tried "reads its groups" probes "A/cgroup_v2_write E/notify_on_release";

    // Network and neighbours.
    Hard "interfaces" "no network device but lo, and no route"
        by "a network namespace of its own"
        tried "reads devices and routes" probes "A/interfaces_only_lo";
    Hard "addresses" "no address outside takes a connection or a datagram"
        by "the same"
        tried "metadata, public, private and mapped addresses" probes "A/dns A/ipv6_out";
    Hard "host-services" "what listens on the host's loopback is not on this one"
        by "the same"
        tried "12 ports, IPv4 and IPv6" probes "A/runtime_sockets";
    Hard "local-sockets" "no named or abstract socket of anybody"
        by "the same"
        tried "lists, and connects to six" probes "A/abstract_host_sockets";
    Hard "own-loopback" "loopback works for the job itself"
        by "lo is up"
        tried "a connection to itself" probes "E/own_loopback";
    Hard "processes" "no process but its own can be seen"
        by "a pid namespace and hidepid"
        tried "the list, and 4,095 numbers" probes "A/host_pids E/pid_walk";
    Hard "init" "nothing of pid 1 opens"
        by "another uid; not dumpable"
        tried "ten files of /proc/1" probes "A/proc_other_root A/proc_other_environ E/init_files E/keeper_mem";
    Hard "signals" "no process but its own takes signals"
        by "another uid; a pid namespace"
        tried "signal 0 to 511 numbers" probes "B/kill_everything E/kill_init";
    Hard "host-name" "the host's name is not told"
        by "a UTS namespace"
        tried "reads it" probes "A/host_identifiers";
    Soft "machine-load" "the load of the machine is not told"
        by "/proc/stat and /proc/loadavg are made up"
        tried "reads both" probes "A/host_stats_visible";
    Soft "machine-names" "nothing tells which machine this is"
        by "nothing: the kernel shows it"
        tried "boot id, version, memory, uptime" probes "A/host_identifiers";

    // One job to the next, and to one beside it.
    Hard "residue-files" "no file of another job"
        by "a tmpfs for each cell"
        tried "four places" probes "C/undeletable_trees C/scratch_root_metadata C/loader_files";
    Hard "residue-processes" "no process of another job; numbers begin anew"
        by "a pid namespace for each cell, and its end"
        tried "lists; reads its own number" probes "C/background_process C/late_writer C/pid_counter";
    Hard "residue-ipc" "no shared memory, semaphore or queue of another job"
        by "an ipc namespace for each cell"
        tried "four kinds by key and by list" probes "C/sysv_shm C/sysv_sem_msg C/posix_shm_sem";
    Hard "residue-sockets" "no name or port that another job holds"
        by "a network namespace for each cell"
        tried "a name and a port" probes "C/abstract_socket";
    Hard "residue-locks" "no lock or watch on a file of the image links two jobs"
        by "an overlay for each sandbox"
        tried "locks two files" probes "C/file_locks C/inotify_spy";
    Hard "residue-counters" "no counter goes on from another job"
        by "the same namespaces"
        tried "bytes that lo has carried" probes "C/net_state C/sticky_oom_and_limits";

    // Limits.
    Hard "memory-limit" "memory ends at the limit"
        by "a control group, swap off"
        tried "asks for 160 MiB of 64" probes "B/mem_anon B/shm_fill B/swap_use";
    Hard "process-limit" "processes end at the limit"
        by "a control group"
        tried "makes 40 of 16" probes "B/fork_bomb B/thread_bomb B/zombies";
    Hard "disk-limit" "files end at the limit"
        by "a tmpfs with a size"
        tried "writes 48 MiB of 16" probes "B/tmpfs_fill B/many_files B/sparse_huge";
    Hard "cpu-limit" "CPU time ends at the limit"
        by "the keeper's clock"
        tried "spins" probes "B/cpu_spin";
    Hard "time-limit" "wall time ends at the limit"
        by "the keeper's clock"
        tried "sleeps" probes "B/sleep_forever B/sigstop_self";
}

/// What is not protected: heading, and what there is to say.
pub const NOT_PROTECTED: &[(&str, &str)] = &[
    (
        "The kernel is shared",
        "One bug in it is an escape. Containers do not separate hostile \
        tenants: one machine (or VM) for each trust domain does.",
    ),
    (
        "Side channels",
        "CPU caches, SMT, memory bus, page cache timing of the shared image.",
    ),
    (
        "What the kernel counts for the whole machine",
        "Entries of the dentry cache, open files: \
        one job can raise them and another can read some.",
    ),
    (
        "Names that tell",
        "The distribution's and the kernel's version, the boot id, and the \
        instance's name in the mount table are readable inside.",
    ),
    (
        "Host-wide figures",
        "`/proc/meminfo` and `/proc/uptime` show the machine's.",
    ),
    (
        "A reset is not a fresh sandbox",
        "Nothing is left that is reachable through the interfaces \
        we look at, on every reset, or the sandbox is ended. No more is claimed.",
    ),
];

/// The promise of this name.
#[must_use]
pub fn of(name: &str) -> Option<&'static Property> {
    POSTURE.iter().find(|property| property.name == name)
}

/// The page as a table of Markdown: what the threat model shows.
#[must_use]
pub fn table() -> String {
    let head = "| property | promise | held by | probes |\n|---|---|---|---|\n".to_owned();
    POSTURE.iter().fold(head, |mut text, property| {
        let soft = match property.hardness {
            Hard => "",
            Soft => " (soft)",
        };
        writeln!(
            text,
            "| {}{soft} | {} | {} | {} |",
            property.name, property.promise, property.by, property.probes
        )
        .expect("a string takes whatever is written");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Where it differs, the table in the page is written anew with `KILN_WRITE_DOCS=1`.
    #[test]
    fn the_threat_model_shows_this_page() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/threat-model.md");
        let text = std::fs::read_to_string(path).expect("the page is there");
        let (head, shown) = text
            .split_once("a test compares -->\n")
            .expect("the page has a place for it");
        if std::env::var_os("KILN_WRITE_DOCS").is_some() {
            std::fs::write(path, format!("{head}a test compares -->\n{}", table())).expect("ours");
        } else {
            assert_eq!(shown, table());
        }
    }

    #[test]
    fn every_probe_that_is_named_exists() {
        let index = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/hostile/INDEX.tsv");
        let index = std::fs::read_to_string(index).expect("the index is there");
        for property in POSTURE {
            for probe in property.probes.split(' ') {
                let known = index.contains(&format!("\t{probe}.py\t"))
                    || index.contains(&format!("\t{probe}.c\t"));
                assert!(known, "{}: no probe `{probe}`", property.name);
            }
        }
    }

    #[test]
    fn a_name_is_given_once_and_every_promise_has_a_probe() {
        let names: BTreeSet<_> = POSTURE.iter().map(|property| property.name).collect();
        assert_eq!(names.len(), POSTURE.len());
        assert!(
            POSTURE
                .iter()
                .all(|p| !p.probes.is_empty() && !p.by.is_empty())
        );
    }
}
