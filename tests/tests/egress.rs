//! Does a job reach the hosts that it was granted, and nothing else, whatever it says?
//!
//! Everything outside is on this machine: sites on loopback addresses, and a name server of the
//! test's own. `egress.allow_private` opens 127.0.0.1 alone, so that 127.0.0.2 and everything
//! else private stays as forbidden as it is by default.

use acceptance::kiln::{Program, Run, run};
use acceptance::outside::{Answer, Names, Site};
use acceptance::places;
use std::net::IpAddr;
use std::path::PathBuf;

#[path = "egress/bounds.rs"]
mod bounds;
#[path = "egress/credentials.rs"]
mod credentials;
#[path = "egress/spellings.rs"]
mod spellings;
#[path = "egress/tunnels.rs"]
mod tunnels;

/// What every job of these tests has at hand: a plain client of the proxy.
const CLIENT: &str = concat!(
    include_str!("../src/outside/hear.py"),
    r#"
import os, socket, sys, time
def open_(): 
    s = socket.create_connection(("127.0.0.1", 3128), 10)
    s.settimeout(30)
    return s
def ask(text):
    s = open_()
    s.sendall(text if isinstance(text, bytes) else text.encode())
    return hear(s, b"established\r\n\r\n")
def get(host, path="/", extra=""):
    return ask(f"GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n{extra}\r\n")
def status(data):
    return data.split(b" ", 2)[1].decode() if data else "-"
"#
);

/// The outside world of one test.
struct World {
    names: Names,
    /// May be reached, under a granted name.
    site: Site,
    /// May never be.
    canary: Site,
    config: PathBuf,
    _folder: tempfile::TempDir,
}

fn addresses(all: &[&str]) -> Vec<IpAddr> {
    all.iter()
        .map(|one| one.parse().expect("an address"))
        .collect()
}

impl World {
    /// With `ok.test` at the site, these names more, and these lines in `[egress]`.
    fn new(more: Vec<(String, Answer)>, egress: &str) -> Self {
        let site = Site::start("127.0.0.1:0");
        let canary = Site::start(&format!("127.0.0.2:{}", site.address.port()));
        let mut known = vec![(
            "ok.test".to_owned(),
            Answer::Always(addresses(&["127.0.0.1"])),
        )];
        known.extend(more);
        let names = Names::start(known);
        let folder = places::scratch();
        let config = folder.path().join("kiln.toml");
        let text = format!(
            "[egress]\nresolvers = ['{}']\nallow_private = ['127.0.0.1/32']\n\
             plain_tunnels = ['ok.test:{}']\n{egress}",
            names.address,
            site.address.port()
        );
        std::fs::write(&config, text).expect("scratch");
        Self {
            names,
            site,
            canary,
            config,
            _folder: folder,
        }
    }

    /// Lets jobs reach another range in place of 127.0.0.1.
    fn open(&mut self, range: &str) {
        let text = std::fs::read_to_string(&self.config).expect("it was written");
        let text = text.replace("127.0.0.1/32", range);
        std::fs::write(&self.config, text).expect("scratch");
    }

    fn port(&self) -> u16 {
        self.site.address.port()
    }

    /// Runs Python with the client before it and the site's port as its argument, with these names
    /// granted at that port.
    fn python(&self, text: &str, allow: &[&str]) -> Run {
        let at = |host: &&str| format!("{host}:{}", self.port());
        self.granted(text, &allow.iter().map(at).collect::<Vec<_>>(), &[])
    }

    /// The same with targets, which are the further arguments.
    fn python_at(&self, text: &str, targets: &[&str]) -> Run {
        let granted = targets.iter().map(ToString::to_string);
        self.granted(text, &granted.collect::<Vec<_>>(), targets)
    }

    fn granted(&self, text: &str, targets: &[String], words: &[&str]) -> Run {
        let mut program = Program::python(&format!("{CLIENT}PORT = sys.argv[1]\n{text}"))
            .option("--config")
            .option(&self.config)
            .args(&[&self.port().to_string()])
            .args(words);
        for target in targets {
            program = program.option("--allow").option(target);
        }
        run(&program, &[])
    }
}

fn said(run: &Run) -> String {
    String::from_utf8_lossy(&run.raw("stdout")).into_owned()
}

#[test]
fn a_granted_host_is_reached_by_usual_clients_and_another_is_not() {
    let world = World::new(Vec::new(), "");
    let run = world.python(
        r#"
import subprocess, urllib.request, urllib.error
for name in ("HTTP_PROXY", "https_proxy", "NO_PROXY"):
    print(name, os.environ[name])
print("urllib", urllib.request.urlopen(f"http://ok.test:{PORT}/a?b").read().decode())
print("tunnel", ask(f"CONNECT ok.test:{PORT} HTTP/1.1\r\nHost: ok.test:{PORT}\r\n\r\n").decode().strip())
print("curl", subprocess.run(["curl", "-sS", f"http://ok.test:{PORT}/"], capture_output=True, text=True).stdout)
print("curl -p", subprocess.run(["curl", "-sSp", f"http://ok.test:{PORT}/"], capture_output=True, text=True).stdout)
try: urllib.request.urlopen(f"http://evil.test:{PORT}/")
except urllib.error.HTTPError as e: print(e.code, e.reason, "|", e.read().decode().strip())
try: urllib.request.urlopen("https://evil.test/")
except OSError as e: print(e)
for host in ("127.0.0.1", "10.0.0.1"):
    try: socket.create_connection((host, int(PORT)), 3); print("REACHED", host)
    except OSError as e: print("direct", e)
"#,
        &["ok.test"],
    );
    let text = said(&run);
    let port = world.port();
    for wanted in [
        "HTTP_PROXY http://127.0.0.1:3128\n",
        "https_proxy http://127.0.0.1:3128\n",
        "NO_PROXY localhost,127.0.0.1,::1\n",
        "urllib hello\n",
        "tunnel HTTP/1.1 200 Connection established\n",
        "curl hello\n",
        "curl -p hello\n",
        &format!(
            "403 kiln: `evil.test:{port}` is not allowed for this job; allowed hosts: ok.test:{port} | kiln: `evil.test:{port}`"
        ),
        "Tunnel connection failed: 403 kiln: `evil.test:443` is not allowed for this job; allowed hosts: ok.test",
    ] {
        assert!(
            text.contains(wanted),
            "`{wanted}` is not in:\n{text}\n{run:#?}"
        );
    }
    assert!(!text.contains("REACHED"), "{text}");
    assert_eq!(run.text("/status"), "succeeded", "{run:#?}");
    let warning = run.text("/warnings/0/message");
    assert!(
        warning.starts_with("attempts to reach a network, refused: 2")
            && warning.contains(&format!("`evil.test:{port}` not listed")),
        "{run:#?}"
    );
    assert_eq!(run.at("/warnings/0/code"), "network");
    let heard = world.site.heard();
    assert!(
        heard[0].starts_with("GET /a?b HTTP/1.1\r\nHost: ok.test:")
            && heard[0].contains("Connection: close\r\n"),
        "{heard:#?}"
    );
    assert_eq!(world.canary.heard(), [""; 0]);
}

#[test]
fn without_a_grant_there_is_no_door_and_no_variable() {
    let world = World::new(Vec::new(), "");
    let run = world.python(
        "print([name for name in os.environ if 'proxy' in name.lower()])\n\
         try: open_(); print('OPEN')\n\
         except OSError as e: print(e)\n",
        &[],
    );
    assert_eq!(
        said(&run),
        "[]\n[Errno 111] Connection refused\n",
        "{run:#?}"
    );
    assert!(world.names.is_up() && world.site.heard().is_empty());
}

#[test]
fn a_ceiling_in_the_configuration_holds_for_the_command_line_too() {
    let world = World::new(
        Vec::new(),
        "[profiles.python.network]\nallow = ['*.api.test:443']\n",
    );
    let run = world.python("print(1)", &["ok.test"]);
    assert_eq!(run.exit, Some(2), "{run:#?}");
    let wanted = format!(
        "`ok.test:{}` is beyond what the profile allows; hosts it allows: *.api.test:443",
        world.port()
    );
    assert!(run.stderr.contains(&wanted), "{run:#?}");
}
