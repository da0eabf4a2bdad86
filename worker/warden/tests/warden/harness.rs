//! A program that is nothing but a warden, or one confined process: what the tests start in place
//! of `kiln`.

use kiln_warden::confine::{self, Confinement};
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

fn main() -> ExitCode {
    // The first argument is the command's name: `warden`, or `confine` and what is tried then.
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|word| word == "confine") {
        let what = args.next().unwrap_or_default();
        return confined(&what.to_string_lossy());
    }
    kiln_warden::main(args)
}

/// Memory that a confined process here may have.
const MEMORY: u64 = 256 << 20;

/// Gives everything up and then tries one thing. What is let be ends with success, what is refused
/// with a failure; most of what is not let be ends the process.
fn confined(what: &str) -> ExitCode {
    confine::begin().expect("it begins");
    let held = confine::confine(Confinement {
        memory_bytes: MEMORY,
    })
    .expect("it is confined");
    let done = match what {
        "told" => {
            let text = serde_json::to_string(&held).expect("plain");
            std::io::stdout().write_all(text.as_bytes()).is_ok()
        }
        "read" => std::io::stdin().read(&mut [0; 16]).is_ok(),
        "memory" => black_box(vec![1_u8; 64 << 20]).len() == 64 << 20,
        "too much memory" => Vec::<u8>::new()
            .try_reserve_exact(usize::try_from(MEMORY).expect("64 bits"))
            .is_ok(),
        "open" => std::fs::File::open("/etc/passwd").is_ok(),
        "list" => std::fs::read_dir("/").is_ok(),
        "write" => std::fs::write("/tmp/kiln-confined", b"x").is_ok(),
        "tcp" => std::net::TcpStream::connect("127.0.0.1:9").is_ok(),
        "udp" => std::net::UdpSocket::bind("127.0.0.1:0").is_ok(),
        "unix" => std::os::unix::net::UnixStream::connect("/run/none").is_ok(),
        "thread" => std::thread::Builder::new().spawn(|| ()).is_ok(),
        "exec" => std::process::Command::new("/bin/true").status().is_ok(),
        "signal" => rustix::process::kill_process(
            rustix::process::getppid().expect("a parent"),
            rustix::process::Signal::CONT,
        )
        .is_ok(),
        "code" => map_code().is_ok(),
        other => panic!("`{other}` is not known here"),
    };
    if done {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Memory that could be run.
fn map_code() -> rustix::io::Result<*mut std::ffi::c_void> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    let flags = ProtFlags::READ | ProtFlags::WRITE | ProtFlags::EXEC;
    #[expect(unsafe_code, reason = "a mapping of its own is what is tried")]
    // SAFETY: the kernel picks a place that nothing else has, and nothing is done with it.
    unsafe {
        mmap_anonymous(std::ptr::null_mut(), 4096, flags, MapFlags::PRIVATE)
    }
}
