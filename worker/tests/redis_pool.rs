//! What do `kiln pool` and `kiln doctor` say, with a server there, away, and not configured?
//!
//! Every test starts a `redis-server` of its own, which must be installed.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

struct Server {
    folder: PathBuf,
    child: Child,
}

impl Server {
    /// On a socket in a folder of its own, with `more` arguments.
    fn start(folder: PathBuf, more: &[&str]) -> Self {
        let child = Command::new("redis-server")
            .args(["--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(folder.join("socket"))
            .args(["--dir".as_ref(), folder.as_os_str()])
            .args(["--port", "0"])
            .args(more)
            .stdout(Stdio::null())
            .spawn()
            .expect("`redis-server` must be installed for this test");
        let server = Self { folder, child };
        let deadline = Instant::now() + Duration::from_secs(10);
        while std::os::unix::net::UnixStream::connect(server.folder.join("socket")).is_err() {
            assert!(Instant::now() < deadline, "`redis-server` must start");
            std::thread::yield_now();
        }
        server
    }

    fn url(&self) -> String {
        format!("redis+unix://{}", self.folder.join("socket").display())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("kiln-redis-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&folder).expect("the folder for temporary files is writable");
    folder
}

fn kiln(words: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kiln"))
        .args(words)
        .env_remove("KILN_REDIS__URL")
        .envs(variables.iter().copied())
        .output()
        .expect("kiln runs")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn redis_is_not_configured_or_away_or_has_nobody() {
    let output = kiln(&["pool", "ls"], &[]);
    assert_eq!(output.status.code(), Some(78));
    assert!(text(&output.stderr).contains("redis.url"));

    let away = [("KILN_REDIS__URL", "redis://127.0.0.1:1/")];
    for words in [
        &["pool", "ls"][..],
        &["pool", "drain", "a"],
        &["pool", "sweep"],
    ] {
        assert_eq!(kiln(words, &away).status.code(), Some(69), "{words:?}");
    }

    let server = Server::start(folder(), &[]);
    let url = server.url();
    let there = [("KILN_REDIS__URL", url.as_str())];
    let output = kiln(&["pool", "ls", "--json"], &there);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "{\"workers\":[]}\n");
    let output = kiln(&["pool", "drain", "nobody"], &there);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("nobody"));
    let output = kiln(&["pool", "sweep", "--dry-run"], &there);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn redis_is_told_about_by_the_doctor_whose_exit_code_stays() {
    let without = kiln(&["doctor"], &[]);
    assert!(!text(&without.stdout).contains("Redis"));
    let away = [("KILN_REDIS__URL", "redis://127.0.0.1:1/")];
    let with = kiln(&["doctor"], &away);
    assert!(text(&with.stdout).contains("Redis"));
    assert_eq!(with.status.code(), without.status.code());

    let server = Server::start(folder(), &["--maxmemory-policy", "allkeys-lru"]);
    let url = server.url();
    let forgetful = kiln(&["doctor"], &[("KILN_REDIS__URL", url.as_str())]);
    assert!(text(&forgetful.stdout).contains("set `maxmemory-policy noeviction`"));
    assert_eq!(forgetful.status.code(), without.status.code());
}

#[test]
fn redis_is_reached_over_tls_where_its_authority_is_trusted() {
    let folder = folder();
    certificate(&folder);
    let file = |name: &str| folder.join(name).display().to_string();
    let (cert, key) = (file("cert.pem"), file("key.pem"));
    let port = free_port();
    let url = format!("rediss://127.0.0.1:{port}/");
    let server = Server::start(
        folder.clone(),
        &[
            "--tls-port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--tls-cert-file",
            &cert,
            "--tls-key-file",
            &key,
            "--tls-auth-clients",
            "no",
        ],
    );
    let trusted = [("KILN_REDIS__URL", url.as_str()), ("SSL_CERT_FILE", &cert)];
    let output = kiln(&["pool", "ls", "--json"], &trusted);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let strange = [("KILN_REDIS__URL", url.as_str())];
    let output = kiln(&["pool", "ls"], &strange);
    assert_eq!(output.status.code(), Some(69));
    drop(server);
}

fn certificate(folder: &Path) {
    let made = Command::new("openssl")
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ])
        .args([
            "-subj",
            "/CN=127.0.0.1",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        ])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout".as_ref(), folder.join("key.pem").as_os_str()])
        .args(["-out".as_ref(), folder.join("cert.pem").as_os_str()])
        .stderr(Stdio::null())
        .status()
        .expect("`openssl` must be installed for this test");
    assert!(made.success());
}

/// A port below those that the kernel gives to callers.
fn free_port() -> u16 {
    (21_305..21_310)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("one of the ports 21305 to 21309 is free")
}
