//! Does a tunnel lead to the host that was granted, and to no other that the same address serves?

use crate::{World, addresses, said};
use acceptance::outside::Answer;
use acceptance::outside::secure::Secure;
use acceptance::places;

/// Tries a tunnel to `api.test` in every way; says what the job saw of each.
const TRIES: &str = r#"
import ssl
AT = sys.argv[2]
def tunnel():
    s = open_()
    s.sendall(f"CONNECT {AT} HTTP/1.1\r\nHost: {AT}\r\n\r\n".encode())
    return s if status(hear(s, b"\r\n\r\n")) == "200" else None
def tls(name, get="/x"):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with context.wrap_socket(tunnel(), server_hostname=name) as s:
            s.sendall(f"GET {get} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
            return status(hear(s))
    except ssl.SSLError as e: return e.reason
    except OSError as e: return type(e).__name__
def plain(text):
    s = tunnel()
    s.sendall(text)
    return hear(s)
print("own", tls("api.test"))
print("own, louder", tls("API.test"))
print("another", tls("evil.test"))
print("below", tls("a.api.test"))
print("none", tls(None))
print("plain", plain(f"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n".encode()).split(b"\r\n")[0].decode())
print("first", len(plain(b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00")))
"#;

fn tried(egress: &str) -> (String, Vec<String>, serde_json::Value) {
    let folder = places::scratch();
    let secure = Secure::start(folder.path());
    let at = format!("api.test:{}", secure.port);
    let known = vec![(
        "api.test".to_owned(),
        Answer::Always(addresses(&["127.0.0.1"])),
    )];
    let world = World::new(known, "");
    let config = std::fs::read_to_string(&world.config).expect("it was written");
    let config = config.replace("plain_tunnels = [", &egress.replace("AT", &at));
    std::fs::write(&world.config, config).expect("scratch");
    let run = world.python_at(TRIES, &[&at]);
    (said(&run), secure.named(), run.outcome)
}

#[test]
fn a_tunnel_is_tls_for_its_host_or_is_cut_before_the_host_hears_of_it() {
    let (text, named, outcome) = tried("plain_tunnels = [");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 7, "{outcome:#}");
    assert_eq!(lines[..2], ["own 200", "own, louder 200"]);
    for (line, name) in lines[2..5].iter().zip(["another", "below", "none"]) {
        assert_eq!(*line, format!("{name} TLSV1_ALERT_ACCESS_DENIED"));
    }
    assert!(
        lines[5].starts_with("plain HTTP/1.1 403 kiln: the tunnel to `api.test:")
            && lines[5].contains("does not begin with TLS"),
        "{text}"
    );
    assert_eq!(lines[6], "first 7", "an alert, and no more");
    assert_eq!(named, ["api.test", "API.test"]);
    assert_eq!(outcome["evidence"]["network_refused"], 5, "{outcome:#}");
    let warning = outcome["warnings"][0]["message"].to_string();
    assert!(warning.contains("misnamed, 5 times"), "{warning}");
}

/// The guard bites: where an operator lets the tunnel carry anything, all of that gets through.
#[test]
fn a_tunnel_that_may_carry_anything_leads_wherever_its_address_does() {
    let (text, named, outcome) = tried("plain_tunnels = ['AT', ");
    for line in ["another 200", "below 200", "none 200"] {
        assert!(text.contains(&format!("{line}\n")), "{text}");
    }
    assert_eq!(
        named,
        ["api.test", "API.test", "evil.test", "a.api.test", "None"]
    );
    assert_eq!(
        outcome["evidence"]["network_refused"],
        serde_json::Value::Null
    );
}
