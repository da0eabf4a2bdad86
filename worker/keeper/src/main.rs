//! PID 1 of a sandbox: builds one cell after another and lets one job into each.
//!
//! # Layout
//!
//! ```text
//!   keeper      the loop: messages, deadlines, the end of a job       (PID 1 of the sandbox)
//!   peers       its two sockets
//!   cell        a cell as the keeper holds it
//!   init        makes the cell's world, reaps, tells how the job ended (PID 1 of the cell)
//!   mounts      the cell's tmpfs and proc;  masks  what lies over proc
//!   waiter      waits, locked, and becomes the job                    (PID 2 of the cell)
//!   egress      the listener by which a job reaches the proxy
//!   stager      writes inputs before the job starts                   (PID 3 of the cell)
//!   collector   lists and opens outputs after the job has ended       (a child of the keeper)
//!   lock        what each of them gives up
//!   filter      the system call filter and its notifications
//!   clock       wall and CPU time of a job
//!   oom         want of memory
//!   disobey     what a test has it do (feature `unguarded` alone)
//!   report      what the cell's processes tell the keeper
//!   sys         every call into the kernel
//! ```
//!
//! Nothing is allocated between `Init` and the end but by the stager and the collector, each in
//! memory of its own: what the processes of a sandbox share stays shared.
//!
//! It is built as a static executable at a fixed place (`-C target-feature=+crt-static
//! -C relocation-model=static -C panic=abort`, optimised for size), so that it needs no file of the
//! image and its pages are shared by all sandboxes.
//!
//! Deliberately absent: paths of the image but for the mount points `/job`, `/home/job`, `/tmp`,
//! `/dev/shm` and `/proc`; a shell, a logger, a configuration; any word to the warden that could
//! make a sandbox look clean.

#![cfg_attr(not(test), no_main)]

mod cell;
mod clock;
mod collector;
#[cfg(feature = "unguarded")]
mod disobey;
mod egress;
mod filter;
mod init;
mod keeper;
mod lock;
mod masks;
mod mounts;
mod oom;
mod peers;
mod report;
mod stager;
mod sys;
mod waiter;
mod walk;

/// The C entry point: the standard library's own would allocate and install handlers.
#[cfg(not(test))]
#[expect(unsafe_code, reason = "the symbol that the C runtime calls")]
// SAFETY: no other `main` exists in this program.
#[unsafe(no_mangle)]
extern "C" fn main() -> libc::c_int {
    code(keeper::serve())
}

/// The exit code, for whoever waits for the sandbox's PID 1.
fn code(stop: peers::Stop) -> libc::c_int {
    match stop {
        peers::Stop::Gone => 0,
        peers::Stop::Violation => 2,
        peers::Stop::Failed => 3,
    }
}

#[cfg(test)]
mod tests {
    /// Names what the C entry point would: a test has an entry point of its own.
    #[test]
    fn the_entry_is_there() {
        let entry: fn() -> crate::peers::Stop = crate::keeper::serve;
        assert_ne!(entry as usize, 0);
        assert_eq!(crate::code(crate::peers::Stop::Violation), 2);
    }
}
