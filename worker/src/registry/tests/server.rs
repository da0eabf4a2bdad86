//! A server of one test's own, which may be killed, stopped and started again.

use rustix::process::{Pid, Signal, kill_process};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(super) struct Server {
    folder: PathBuf,
    args: Vec<String>,
    child: Option<Child>,
    user: String,
}

impl Server {
    pub(super) async fn start(args: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("kiln-redis-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir(&folder).expect("the folder for temporary files is writable");
        let mut server = Self {
            folder,
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            child: None,
            user: String::new(),
        };
        server.run().await;
        server
    }

    /// Starts it, again after a kill with all it knew forgotten.
    pub(super) async fn run(&mut self) {
        let socket = self.folder.join("socket");
        let child = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--appendonly", "no"])
            .args(["--unixsocket".as_ref(), socket.as_os_str()])
            .args(["--dir".as_ref(), self.folder.as_os_str()])
            .args(&self.args)
            .stdout(Stdio::null())
            .spawn()
            .expect("`redis-server` must be installed for this test");
        self.child = Some(child);
        let deadline = Instant::now() + Duration::from_secs(10);
        while tokio::net::UnixStream::connect(&socket).await.is_err() {
            assert!(Instant::now() < deadline, "`redis-server` must start");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Has `url` say a password.
    pub(super) fn with_password(mut self, password: &str) -> Self {
        self.user = format!("?pass={password}");
        self
    }

    pub(super) fn url(&self) -> String {
        let socket = self.folder.join("socket");
        format!("redis+unix://{}{}", socket.display(), self.user)
    }

    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it is ours");
            child.wait().expect("it is ours");
        }
    }

    pub(super) fn stop(&self) {
        self.signal(Signal::STOP);
    }

    pub(super) fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("it runs");
        kill_process(Pid::from_child(child), signal).expect("it is ours");
    }

    /// One command, on a connection of its own.
    pub(super) async fn command(&self, words: &[&str]) -> redis::Value {
        let client = redis::Client::open(self.url()).expect("an address");
        let mut connection = client
            .get_multiplexed_async_connection()
            .await
            .expect("the server takes connections");
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        let answer = command.query_async(&mut connection).await;
        answer.expect("the server does as asked")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.go_on();
        }
        self.kill();
        drop(std::fs::remove_dir_all(&self.folder));
    }
}
