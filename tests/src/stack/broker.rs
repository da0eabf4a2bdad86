//! A `RabbitMQ` of its own, and what can befall it.

use crate::leftovers::wait_for;
use crate::stack::folder::Folder;
use crate::stack::ports::Ports;
use crate::stack::process::{Plan, Process};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// A broker: one that this process started, or one that runs for all tests.
#[derive(Debug)]
pub struct Broker {
    /// AMQP; the next ones are of the distribution, epmd and `rabbitmqctl`.
    port: u16,
    data: PathBuf,
    owned: Option<Owned>,
}

#[derive(Debug)]
struct Owned {
    server: Mutex<Process>,
    _epmd: Process,
    _ports: Ports,
    _folder: Folder,
}

impl Broker {
    /// The one that is shared: named by `KILN_TEST_BROKER` (`<port>:<data folder>`), else started for this process.
    /// Each test takes a [`Broker::vhost`] of it and breaks nothing.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn shared() -> Arc<Self> {
        static SHARED: OnceLock<Arc<Broker>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            let Ok(named) = std::env::var("KILN_TEST_BROKER") else {
                return Arc::new(Self::start(""));
            };
            let (port, data) = named
                .split_once(':')
                .expect("KILN_TEST_BROKER is <port>:<folder>");
            Arc::new(Self {
                port: port.parse().expect("KILN_TEST_BROKER begins with a port"),
                data: data.into(),
                owned: None,
            })
        });
        Arc::clone(shared)
    }

    /// What `KILN_TEST_BROKER` must be for others to share it.
    pub fn name(&self) -> String {
        format!("{}:{}", self.port, self.data.display())
    }

    /// Starts one with more lines in its configuration, and waits until it takes connections.
    ///
    /// # Panics
    /// When it does not come up within two minutes.
    pub fn start(more: &str) -> Self {
        let (folder, ports) = (Folder::new(), Ports::take());
        let data = folder.path().to_owned();
        let port = ports.at(0);
        for name in ["home", "mnesia", "log"] {
            std::fs::create_dir_all(data.join(name)).expect("the folder is ours");
        }
        let conf = format!(
            "listeners.tcp.1 = 127.0.0.1:{port}\nlog.file.level = warning\nheartbeat = 10\n\
             vm_memory_high_watermark.absolute = 1GiB\ndisk_free_limit.absolute = 50MB\n{more}\n"
        );
        std::fs::write(data.join("rabbitmq.conf"), conf).expect("the folder is ours");
        std::fs::write(data.join("plugins"), "[].\n").expect("the folder is ours");
        let epmd = [
            "epmd",
            "-port",
            &(port + 2).to_string(),
            "-address",
            "127.0.0.1",
        ];
        let epmd = Plan {
            name: "epmd",
            words: epmd.map(str::to_owned).to_vec(),
            env: environment(port, &data),
            folder: &data,
        };
        let epmd = epmd.start();
        let server = serve(port, &data);
        let broker = Self {
            port,
            data,
            owned: Some(Owned {
                server: Mutex::new(server),
                _epmd: epmd,
                _ports: ports,
                _folder: folder,
            }),
        };
        broker.wait_ready();
        broker
    }

    /// Whether it answers as a broker does.
    pub fn ready(&self) -> bool {
        answers(self.port)
    }

    /// Waits until it answers.
    ///
    /// # Panics
    /// When it does not within two minutes.
    pub fn wait_ready(&self) {
        let up = wait_for(Duration::from_mins(2), || self.ready());
        assert!(up, "the broker is not up: {}", self.last_words());
    }

    fn last_words(&self) -> String {
        let server = self
            .owned
            .as_ref()
            .map(|own| lock(&own.server).last_words());
        server.unwrap_or_else(|| "it is another process's".to_owned())
    }

    fn server<T>(&self, act: impl FnOnce(&mut Process) -> T) -> T {
        let own = self.owned.as_ref();
        let own = own.expect("only a broker of the test's own may be harmed");
        act(&mut lock(&own.server))
    }

    /// Where AMQP is spoken.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a virtual host.
    pub fn url(&self, vhost: &str) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/{vhost}", self.port)
    }

    /// A virtual host that nobody has used.
    ///
    /// # Panics
    /// When `rabbitmqctl` fails.
    pub fn vhost(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("t{}-{n}", std::process::id());
        let all = "<<\".*\">>";
        self.ctl(&["eval", &format!(
            "rabbit_vhost:add(<<\"{name}\">>, <<\"guest\">>), rabbit_auth_backend_internal:set_permissions(\
             <<\"guest\">>, <<\"{name}\">>, {all}, {all}, {all}, <<\"guest\">>)."
        )]);
        name
    }

    /// Removes a virtual host with all that is in it.
    pub fn forget(&self, vhost: &str) {
        self.try_ctl(&["delete_vhost", vhost]);
    }

    /// Runs `rabbitmqctl` and returns what it printed.
    ///
    /// # Panics
    /// When it fails.
    pub fn ctl(&self, words: &[&str]) -> String {
        let mut output = self.try_ctl(words);
        for _ in 0..5 {
            if output.status.success() || !ended_meanwhile(words, &output) {
                break;
            }
            output = self.try_ctl(words);
        }
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        let told = output.status.success();
        assert!(told, "rabbitmqctl {words:?}: {out}{err}");
        out.into_owned()
    }

    fn try_ctl(&self, words: &[&str]) -> Output {
        let mut ctl = Command::new(scripts().join("rabbitmqctl"));
        ctl.args(["--quiet", "--node", &node(self.port)])
            .args(words)
            .env_clear()
            .envs(environment(self.port, &self.data));
        ctl.output().expect("rabbitmqctl is there")
    }

    /// Kills it as a power cut does.
    pub fn kill9(&self) {
        self.server(|server| server.kill9());
    }

    /// Starts it again on the same data, and does not wait.
    pub fn revive(&self) {
        self.server(|server| *server = serve(self.port, &self.data));
    }

    /// Freezes it: connections stay, nothing answers.
    pub fn freeze(&self) {
        self.server(|server| server.freeze());
    }

    /// Lets it go on.
    pub fn thaw(&self) {
        self.server(|server| server.thaw());
    }

    /// Stops and starts the broker in its virtual machine: connections are closed in order.
    pub fn restart_app(&self) {
        self.ctl(&["stop_app"]);
        self.ctl(&["start_app"]);
        self.wait_ready();
    }

    /// Closes every connection from its side.
    pub fn close_all_connections(&self) {
        self.ctl(&["close_all_connections", "--global", "asked for by a test"]);
    }

    /// Raises or clears the memory alarm: publishers are blocked.
    pub fn memory_alarm(&self, on: bool) {
        let limit: &[&str] = if on {
            &["0.000001"]
        } else {
            &["absolute", "1GiB"]
        };
        self.ctl(&[&["set_vm_memory_high_watermark"], limit].concat());
    }

    /// Raises or clears the disk alarm: publishers are blocked.
    pub fn disk_alarm(&self, on: bool) {
        self.ctl(&["set_disk_free_limit", if on { "900000GB" } else { "50MB" }]);
    }

    /// Deletes a queue with what is in it.
    pub fn delete_queue(&self, vhost: &str, queue: &str) {
        self.ctl(&["delete_queue", "--vhost", vhost, queue]);
    }

    /// The queues of a virtual host: name, messages, of these unacknowledged; some seconds old.
    ///
    /// # Panics
    /// When `rabbitmqctl` fails.
    pub fn queues(&self, vhost: &str) -> Vec<(String, u64, u64)> {
        let columns = ["name", "messages", "messages_unacknowledged"];
        let list = self.list(&[&["list_queues", "--vhost", vhost], &columns[..]].concat());
        let number = |queue: &Value, name: &str| queue[name].as_u64().unwrap_or(0);
        let row = |queue: &Value| {
            let name = queue["name"].as_str().unwrap_or_default().to_owned();
            (name, number(queue, columns[1]), number(queue, columns[2]))
        };
        list.iter().map(row).collect()
    }

    /// How many consumers a queue has now.
    ///
    /// # Panics
    /// When `rabbitmqctl` fails.
    pub fn consumers(&self, vhost: &str, queue: &str) -> usize {
        let list = self.list(&["list_consumers", "--vhost", vhost, "queue_name"]);
        let of = list
            .iter()
            .filter(|consumer| consumer["queue_name"] == queue);
        of.count()
    }

    fn list(&self, words: &[&str]) -> Vec<Value> {
        let text = self.ctl(&[words, &["--formatter", "json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// Whether a list failed because a queue or a channel ended while it was asked.
fn ended_meanwhile(words: &[&str], output: &Output) -> bool {
    let said = [&output.stdout, &output.stderr];
    let said = said.map(|text| String::from_utf8_lossy(text).into_owned());
    words[0].starts_with("list_") && said.concat().contains("badrpc")
}

fn lock(server: &Mutex<Process>) -> std::sync::MutexGuard<'_, Process> {
    server
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn serve(port: u16, data: &Path) -> Process {
    let plan = Plan {
        name: "rabbitmq",
        words: vec![scripts().join("rabbitmq-server").display().to_string()],
        env: environment(port, data),
        folder: data,
    };
    plan.start()
}

fn node(port: u16) -> String {
    format!("kiln{port}@localhost")
}

/// The scripts themselves: those in `/usr/sbin` change the user and the environment.
fn scripts() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/rabbitmq/lib")
        .into_iter()
        .flatten()
        .flatten();
    let mut found: Vec<_> = versions.map(|entry| entry.path().join("sbin")).collect();
    found.sort();
    let newest = found.pop();
    newest.expect("rabbitmq-server is installed (`tests/run` does it)")
}

fn environment(port: u16, data: &Path) -> Vec<(String, String)> {
    let at = |name: &str| data.join(name).display().to_string();
    let values = [
        (
            "PATH",
            "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned(),
        ),
        ("LANG", "C.UTF-8".to_owned()),
        ("HOME", at("home")), // the cookie
        ("RABBITMQ_NODENAME", node(port)),
        ("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1".to_owned()),
        ("RABBITMQ_NODE_PORT", port.to_string()),
        ("RABBITMQ_DIST_PORT", (port + 1).to_string()),
        ("ERL_EPMD_PORT", (port + 2).to_string()),
        ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
        ("RABBITMQ_CTL_DIST_PORT_MIN", (port + 3).to_string()),
        ("RABBITMQ_CTL_DIST_PORT_MAX", (port + 9).to_string()),
        ("RABBITMQ_MNESIA_BASE", at("mnesia")),
        ("RABBITMQ_LOG_BASE", at("log")),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", at("plugins")),
        ("RABBITMQ_CONFIG_FILE", at("rabbitmq.conf")),
        ("RABBITMQ_CONF_ENV_FILE", at("none")),
        // The script becomes the server, in place of starting it: one process, one pid.
        ("RABBITMQ_ALLOW_INPUT", "1".to_owned()),
        (
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
            "-noinput -kernel inet_dist_use_interface {127,0,0,1}".to_owned(),
        ),
    ];
    values
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
}

/// Whether whoever listens there answers the protocol header with a method frame.
fn answers(port: u16) -> bool {
    let speak = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"AMQP\0\0\x09\x01")?;
        let mut first = [0];
        stream.read_exact(&mut first)?;
        Ok::<_, std::io::Error>(first == [1])
    };
    speak().unwrap_or(false)
}
