//! A Redis of its own, and what can befall it.

use crate::leftovers::wait_for;
use crate::stack::folder::Folder;
use crate::stack::ports::Ports;
use crate::stack::process::{Plan, Process};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

/// A server that keeps nothing on disk.
#[derive(Debug)]
pub struct Redis {
    server: Process,
    ports: Ports,
    folder: Folder,
}

impl Redis {
    /// Starts one and waits until it answers.
    ///
    /// # Panics
    /// When it does not within twenty seconds.
    pub fn start() -> Self {
        let (folder, ports) = (Folder::new(), Ports::take());
        let server = serve(ports.at(0), folder.path());
        let redis = Self {
            server,
            ports,
            folder,
        };
        redis.wait_ready();
        redis
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.ports.at(0)
    }

    /// For a configuration.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port())
    }

    fn wait_ready(&self) {
        let up = wait_for(Duration::from_secs(20), || {
            ask(self.port(), &["PING"]).is_ok_and(|said| said == "PONG")
        });
        assert!(up, "redis is not up: {}", self.server.last_words());
    }

    /// One command; lists come as lines.
    ///
    /// # Panics
    /// When it is not answered.
    pub fn call(&self, words: &[&str]) -> String {
        ask(self.port(), words).unwrap_or_else(|error| panic!("redis {words:?}: {error}"))
    }

    /// Kills it; what it held is lost.
    pub fn kill9(&self) {
        self.server.kill9();
    }

    /// Starts it again, empty.
    pub fn revive(&mut self) {
        self.server = serve(self.port(), self.folder.path());
        self.wait_ready();
    }

    /// Freezes it.
    pub fn freeze(&self) {
        self.server.freeze();
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.server.thaw();
    }

    /// Forgets everything.
    pub fn flush(&self) {
        self.call(&["FLUSHALL"]);
    }

    /// Refuses, or takes, whatever needs more memory.
    pub fn full(&self, on: bool) {
        self.call(&["CONFIG", "SET", "maxmemory", if on { "1" } else { "0" }]);
    }

    /// Becomes a replica of nobody, which takes no write, or a master again.
    pub fn read_only(&self, on: bool) {
        let port = self.ports.at(1).to_string();
        let of: [&str; 2] = if on {
            ["127.0.0.1", &port]
        } else {
            ["NO", "ONE"]
        };
        self.call(&["REPLICAOF", of[0], of[1]]);
    }

    /// Asks for a password nobody was told, or for none; who is connected is thrown out.
    ///
    /// # Panics
    /// When it is not answered.
    pub fn wrong_password(&self, on: bool) {
        if on {
            self.call(&["CONFIG", "SET", "requirepass", SECRET]);
            let kill = [
                "AUTH", SECRET, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes",
            ];
            chat(self.port(), &[&kill[..2], &kill[2..]]).expect("the password is right");
        } else {
            let reset = ["AUTH", SECRET, "CONFIG", "SET", "requirepass", ""];
            chat(self.port(), &[&reset[..2], &reset[2..]]).expect("the password is right");
        }
    }
}

const SECRET: &str = "nobody-was-told";

fn serve(port: u16, folder: &Path) -> Process {
    let port = port.to_string();
    let words = [
        "redis-server",
        "--port",
        &port,
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "no",
        "--daemonize",
        "no",
    ];
    let plan = Plan {
        name: "redis",
        words: words.map(str::to_owned).to_vec(),
        env: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        folder,
    };
    plan.start()
}

fn ask(port: u16, words: &[&str]) -> std::io::Result<String> {
    chat(port, &[words])
}

/// Several commands on one connection; the answer to the last.
fn chat(port: u16, commands: &[&[&str]]) -> std::io::Result<String> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut last = String::new();
    for words in commands {
        let count = format!("*{}\r\n", words.len());
        let words = words
            .iter()
            .map(|word| format!("${}\r\n{word}\r\n", word.len()));
        let request: String = std::iter::once(count).chain(words).collect();
        (&stream).write_all(request.as_bytes())?;
        last = reply(&mut reader)?;
    }
    Ok(last)
}

fn reply(reader: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let line = line.trim_end();
    let (kind, rest) = line.split_at(line.len().min(1));
    let length = rest
        .parse::<i64>()
        .ok()
        .and_then(|n| usize::try_from(n).ok());
    match (kind, length) {
        ("$", Some(length)) => {
            let mut bytes = vec![0; length + 2];
            reader.read_exact(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
        }
        ("*", Some(length)) => {
            let items: std::io::Result<Vec<_>> = (0..length).map(|_| reply(reader)).collect();
            Ok(items?.join("\n"))
        }
        ("$" | "*", None) => Ok(String::new()),
        ("-", _) => Err(std::io::Error::other(rest.to_owned())),
        _ => Ok(rest.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Redis, ask};
    use crate::leftovers::wait_for;
    use std::time::Duration;

    #[test]
    fn redis_lives_through_its_faults() {
        let mut redis = Redis::start();
        let write = |redis: &Redis| ask(redis.port(), &["SET", "a", "1"]);
        let said = |redis: &Redis| write(redis).expect_err("it is refused").to_string();
        assert_eq!(write(&redis).expect("it takes"), "OK");
        redis.flush();
        assert_eq!(redis.call(&["DBSIZE"]), "0");
        redis.full(true);
        assert!(said(&redis).starts_with("OOM"), "{}", said(&redis));
        redis.full(false);
        redis.read_only(true);
        assert!(said(&redis).starts_with("READONLY"), "{}", said(&redis));
        redis.read_only(false);
        redis.wrong_password(true);
        assert!(said(&redis).starts_with("NOAUTH"), "{}", said(&redis));
        redis.wrong_password(false);
        assert_eq!(write(&redis).expect("it takes"), "OK");
        redis.kill9();
        assert!(write(&redis).is_err());
        redis.revive();
        assert_eq!(redis.call(&["DBSIZE"]), "0");
        redis.freeze();
        let frozen = wait_for(Duration::from_secs(3), || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", redis.server.pid()));
            stat.is_ok_and(|stat| stat.contains(") T "))
        });
        redis.thaw();
        assert!(frozen);
        assert_eq!(write(&redis).expect("it goes on"), "OK");
    }
}
