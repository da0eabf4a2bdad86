//! A site that speaks TLS, and a value that must be nowhere but where it is for.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What must be nowhere but where it is for.
pub const VALUE: &str = "hunter2-the-value-itself";

/// A site that speaks TLS as `api.test`, says what its requests carried, and ends with the test.
#[derive(Debug)]
pub struct Secure {
    process: Child,
    /// Where it listens, on 127.0.0.1.
    pub port: u16,
    folder: PathBuf,
}

impl Secure {
    /// Begins to answer; its files are in a folder.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(folder: &Path) -> Self {
        let request = "[req]\ndistinguished_name = name\nx509_extensions = more\nprompt = no\n\
                       [name]\nCN = api.test\n\
                       [more]\nsubjectAltName = DNS:api.test\nbasicConstraints = CA:FALSE\n";
        std::fs::write(folder.join("request"), request).expect("scratch");
        let made = Command::new("openssl")
            .args(["req", "-x509", "-config", "request", "-nodes", "-days", "2"])
            .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-keyout", "key.pem", "-out", "cert.pem"])
            .current_dir(folder)
            .output()
            .expect("openssl can be started");
        assert!(made.status.success(), "{made:?}");
        let site = r#"
import http.server, ssl
class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        said = f"{self.path} {self.headers['Host']} {len(self.headers.get_all('Authorization', []))} "
        said += str(self.headers['Authorization'] == "Bearer hunter2-the-value-itself")
        self.send_response(200); self.end_headers(); self.wfile.write(said.encode())
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
def named(_, name, __): print(name, file=open("named", "a"), flush=True)
context.sni_callback = named
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"#;
        let mut process = Command::new("python3")
            .args(["-c", site])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 can be started");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("it is a pipe");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("it says its port");
        let port = line.trim().parse().expect("a port");
        Self {
            process,
            port,
            folder: folder.to_owned(),
        }
    }

    /// The authority that its certificate is of: itself.
    pub fn authority(&self) -> PathBuf {
        self.folder.join("cert.pem")
    }

    /// Whom those named who began TLS with it, in order.
    pub fn named(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.join("named")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        self.process.kill().expect("it is ours");
        self.process.wait().expect("it ends");
    }
}

/// A file that holds the value and is root's alone.
///
/// # Panics
/// When the folder is not writable.
pub fn key(folder: &Path) -> String {
    let path = folder.join("key");
    std::fs::write(&path, VALUE).expect("scratch");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).expect("ours");
    path.display().to_string()
}

/// No file beneath a folder has the value in it, or in its name.
///
/// # Panics
/// With the file that has, or that cannot be read.
pub fn has_no_value(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("it was made") {
        let path = entry.expect("readable").path();
        assert!(
            !path.display().to_string().contains(VALUE),
            "{}",
            path.display()
        );
        if path.is_dir() {
            has_no_value(&path);
            continue;
        }
        let bytes = std::fs::read(&path).expect("readable");
        let mut parts = bytes.windows(VALUE.len());
        let found = parts.any(|part| part == VALUE.as_bytes());
        assert!(!found, "{}", path.display());
    }
}

/// The SHA-256 of a text, in hex.
pub fn sha256(text: &str) -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(text.as_bytes());
    digest
        .iter()
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}
