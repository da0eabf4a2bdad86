//! Do the bounds hold: connections, bytes, time, what is a request, and a proxy that is killed?

use crate::{CLIENT, World, said};
use acceptance::kiln::{Program, start};
use acceptance::leftovers::{descendants, wait_for};
use std::time::Duration;

#[test]
fn the_connection_beyond_the_last_is_turned_away_and_others_go_on() {
    let world = World::new(Vec::new(), "");
    let run = world.python(
        r#"
tunnels = []
for n in range(201):
    s = open_()
    s.sendall(f"CONNECT ok.test:{PORT} HTTP/1.1\r\nHost: ok.test:{PORT}\r\n\r\n".encode())
    tunnels.append((s, hear(s, b"\r\n\r\n")))
print([status(heard) for _, heard in tunnels].count("200"), tunnels[200][1].split(b"\r\n")[0].decode())
first = tunnels[0][0]
first.sendall(b"GET / HTTP/1.1\r\n\r\n")
print(status(hear(first)))
first.close()
for n in range(100):
    if status(get(f"ok.test:{PORT}")) == "200": print("free"); break
    time.sleep(0.05)
"#,
        &["ok.test"],
    );
    assert_eq!(
        said(&run),
        "200 HTTP/1.1 503 kiln: a job has at most 200 connections at a time\n200\nfree\n",
        "{run:#?}"
    );
}

#[test]
fn bytes_are_bounded_to_and_fro() {
    let world = World::new(Vec::new(), "bytes = 100000\n");
    let run = world.python(
        r#"
print(len(get(f"ok.test:{PORT}", "/bytes/50000")) > 50000)
print(len(get(f"ok.test:{PORT}", "/bytes/60000")) < 60000)
print(get(f"ok.test:{PORT}").split(b"\r\n")[0].decode())
"#,
        &["ok.test"],
    );
    assert_eq!(
        said(&run),
        "True\nTrue\nHTTP/1.1 403 kiln: the job has carried its 100000 bytes\n",
        "{run:#?}"
    );
    assert!(
        run.text("/warnings/0/message").contains("too many bytes"),
        "{run:#?}"
    );
}

#[test]
fn who_speaks_slowly_or_not_at_all_is_cut() {
    let world = World::new(Vec::new(), "idle_ms = 500\n");
    let run = world.python(
        r#"
began = time.monotonic()
slow, quiet = open_(), open_()
tunnel = open_()
tunnel.sendall(f"CONNECT ok.test:{PORT} HTTP/1.1\r\nHost: ok.test:{PORT}\r\n\r\n".encode())
hear(tunnel, b"established\r\n\r\n")
print("idle", hear(tunnel), 0.4 < time.monotonic() - began < 9)
try:
    while time.monotonic() - began < 40:
        slow.sendall(b"G")
        time.sleep(0.2)
except ConnectionError: pass
print("slow", 9 < time.monotonic() - began < 30, hear(quiet).split(b"\r\n")[0].decode())
"#,
        &["ok.test"],
    );
    assert_eq!(
        said(&run),
        "idle b'' True\nslow True HTTP/1.1 408 kiln: the request did not come in time\n",
        "{run:#?}"
    );
}

#[test]
fn what_two_readers_could_understand_differently_reaches_nobody() {
    let world = World::new(Vec::new(), "");
    let run = world.python(
        r#"
at = f"ok.test:{PORT}"
start = f"POST http://{at}/body HTTP/1.1\r\nHost: {at}\r\n"
hidden = f"0\r\n\r\nGET http://{at}/hidden HTTP/1.1\r\nHost: {at}\r\n\r\n"
wrong = [
    start + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + hidden,
    start + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + hidden,
    start + "Content-Length: 5\r\nContent-Length: 0\r\n\r\n" + hidden,
    start + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + hidden,
    start + "Transfer-Encoding: xchunked\r\n\r\n" + hidden,
    start + "Transfer-Encoding : chunked\r\n\r\n" + hidden,
    start + "X: y\nContent-Length: 5\r\n\r\n" + hidden,
    start + "X: y\r\n Content-Length: 5\r\n\r\n" + hidden,
    start.replace("\r\n", "\n") + "\n" + hidden,
    f"GET http://{at}/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    f"GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\nHost: evil.test\r\n\r\n",
    f"GET https://{at}/ HTTP/1.1\r\nHost: {at}\r\n\r\n",
    f"GET / HTTP/1.1\r\nHost: {at}\r\n\r\n",
    "\x16\x03\x01\r\n\r\n",
]
print([status(ask(text)) for text in wrong])
# A second request on the same connection is nobody's.
both = f"GET http://{at}/one HTTP/1.1\r\nHost: {at}\r\nConnection: keep-alive\r\n\r\n"
print(ask(both + both.replace("one", "two")).count(b"HTTP/1.1"))
# A chunk longer than it says is cut, and what is whole is framed anew.
chunked = start + "Transfer-Encoding: chunked\r\n\r\n"
print(ask(chunked + "3\r\nabc\r\n0\r\nX: trailer\r\n\r\n").split(b"\r\n\r\n", 1)[1])
ask(chunked + "1\r\nabc\r\n0\r\n\r\n")
"#,
        &["ok.test"],
    );
    let refused = vec!["'400'"; 14].join(", ");
    assert_eq!(
        said(&run),
        format!("[{refused}]\n1\nb'3\\r\\nabc\\r\\n0\\r\\n\\r\\n'\n"),
        "{run:#?}"
    );
    let heard = world.site.heard();
    assert_eq!(heard.len(), 3, "{heard:#?}");
    assert!(
        heard
            .iter()
            .all(|head| !head.contains("hidden") && !head.contains("two"))
    );
}

#[test]
fn a_killed_proxy_lets_nobody_through_and_another_takes_its_place() {
    let world = World::new(Vec::new(), "");
    let text = format!(
        r#"{CLIENT}
PORT = sys.argv[1]
tunnel = open_()
tunnel.sendall(f"CONNECT ok.test:{{PORT}} HTTP/1.1\r\nHost: ok.test:{{PORT}}\r\n\r\n".encode())
hear(tunnel, b"established\r\n\r\n")
print("open", flush=True)
print("cut", hear(tunnel))
for n in range(200):
    try: found = status(get(f"ok.test:{{PORT}}"))
    except OSError: found = "-"
    if found == "200": break
    time.sleep(0.05)
print(found, status(get(f"evil.test:{{PORT}}")))
"#
    );
    let port = world.port().to_string();
    let program = Program::python(&text)
        .option("--config")
        .option(&world.config)
        .option("--allow")
        .option(format!("ok.test:{port}"))
        .args(&[&port]);
    let mut started = start(&program, &[]);
    let mut line = [0; 5];
    let stdout = started.child.stdout.as_mut().expect("it is piped");
    std::io::Read::read_exact(stdout, &mut line).expect("the job speaks");
    assert_eq!(&line, b"open\n");
    let proxy = proxy(started.child.id());
    let pid = rustix::process::Pid::from_raw(proxy.cast_signed()).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is ours");
    let run = started.end();
    assert_eq!(said(&run), "open\ncut b''\n200 403\n", "{run:#?}");
    assert!(
        run.text("/warnings/0/message")
            .contains("died under it, 1 times"),
        "{run:#?}"
    );
}

/// The proxy below a `kiln`, confined as it should be.
fn proxy(kiln: u32) -> u32 {
    let mut found = None;
    wait_for(Duration::from_secs(10), || {
        found = descendants(kiln).into_iter().find(|pid| {
            std::fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|words| words == b"kiln\0proxy\0")
        });
        found.is_some()
    });
    let pid = found.expect("there is a proxy");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let ids = line("Uid:");
    let uid = ids.split(' ').next().unwrap_or_default();
    assert_ne!(uid, "0");
    assert_eq!(ids, [uid; 4].join(" "));
    assert_eq!(line("Gid:"), ids);
    assert_eq!(line("Groups:"), "");
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
        assert_eq!(line(set), "0000000000000000", "{set}");
    }
    assert_eq!(
        (line("NoNewPrivs:"), line("Seccomp:"), line("Threads:")),
        ("1".into(), "2".into(), "1".into())
    );
    let environment = std::fs::read(format!("/proc/{pid}/environ")).expect("root may look");
    assert_eq!(environment, b"");
    pid
}
