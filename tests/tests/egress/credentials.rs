//! Does a secret go where it is for and nowhere else: into one job's environment, or only to the proxy?

use crate::{CLIENT, World};
use acceptance::batch::{Batch, text};
use acceptance::kiln::command;
use acceptance::outside::Answer;
use acceptance::outside::secure::{Secure, VALUE, has_no_value, key, sha256};
use acceptance::{batch, places};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

#[test]
fn a_credential_is_attached_outside_and_only_where_it_is_for() {
    let folder = places::scratch();
    let secure = Secure::start(folder.path());
    let port = secure.port;
    let ca = secure.authority();
    let always = || Answer::Always(crate::addresses(&["127.0.0.1"]));
    let names = ["api.test", "wrong.test"].map(|name| (name.to_owned(), always()));
    let world = World::new(
        names.into(),
        &format!(
            "ca_file = {ca:?}\n\
             [secrets.api]\nfile = {:?}\ntenants = ['default']\nprofiles = ['python']\n\
             [credentials.api]\nsecret = 'api'\nhost = 'api.test:{port}'\npath = '/v1/'\nbefore = 'Bearer '\n\
             [credentials.wrong]\nsecret = 'api'\nhost = 'wrong.test:{port}'\npath = '/'\n",
            key(folder.path())
        ),
    );
    let jobs = |tenant: &str| {
        let code = format!(
            r#"{CLIENT}
def show(name, data): print(name, status(data), data.split(b"\r\n\r\n", 1)[-1].decode().strip())
show("attached", get("api.test", "/v1/x"))
show("in place", get("api.test", "/v1/y", "Authorization: mine\r\nauthorization: two\r\n"))
show("outside", get("api.test", "/v2/x"))
show("around", get("api.test", "/v1/../v2"))
show("not it", get("wrong.test", "/x"))
print("hunter2" in repr(os.environ), any(b"hunter2-the" in open(f"/proc/self/{{f}}", "rb").read() for f in ("environ", "cmdline")))
"#
        );
        json!({"schema": "kiln.job.v1", "id": format!("job-{tenant}"), "tenant": tenant, "code": code,
            "network": {"allow": [format!("api.test:{port}"), format!("wrong.test:{port}")]}})
    };
    let config = std::fs::read_to_string(&world.config).expect("it was written");
    let ceiling = format!(
        "{config}[profiles.python.network]\nallow = ['api.test:{port}', 'wrong.test:{port}']\n"
    );
    std::fs::write(&world.config, ceiling).expect("scratch");
    let config = world.config.display().to_string();
    let mut batch = Batch::start(1, &["--config", &config]);
    batch.send(&jobs("default"));
    batch.send(&jobs("other"));
    let ended = batch.end();
    let of = |id: &str| -> &Value {
        let found = ended.results.iter().find(|result| result["job_id"] == id);
        found.unwrap_or_else(|| panic!("{ended:#?}"))
    };
    let own = text(of("job-default"), "stdout");
    let lines: Vec<_> = own.lines().collect();
    assert_eq!(lines.len(), 6, "{ended:#?}");
    let host = format!("api.test:{port}");
    assert_eq!(lines[0], format!("attached 200 /v1/x {host} 1 True"));
    assert_eq!(lines[1], format!("in place 200 /v1/y {host} 1 True"));
    assert!(
        lines[2].starts_with("outside 403 kiln: `api.test:80` is not allowed"),
        "{own}"
    );
    assert!(
        lines[3].starts_with("around 400 kiln: the request is not served"),
        "{own}"
    );
    assert!(
        lines[4].starts_with("not it 502 kiln:") && lines[4].contains("did not show by TLS"),
        "{own}"
    );
    assert_eq!(lines[5], "False False");
    // Another tenant's requests are plain ones, to a port that it was not granted.
    let other = text(of("job-other"), "stdout");
    assert!(
        other.starts_with("attached 403 kiln: `api.test:80` is not allowed"),
        "{other}"
    );
    assert!(!format!("{ended:?}").contains(VALUE));
}

/// Secrets of one tenant and profile, of another profile, and one that has expired.
fn secrets(folder: &Path) -> String {
    let own = "tenants = ['acme']\nprofiles = ['python']";
    format!(
        "[secrets.'acme/file']\nfile = {:?}\n{own}\n\
         [secrets.'acme/variable']\nenvironment = 'KILN_TEST_VALUE'\n{own}\n\
         [secrets.'acme/old']\nenvironment = 'KILN_TEST_VALUE'\n{own}\nexpires = 2020-01-01\n\
         [secrets.'acme/bash']\nenvironment = 'KILN_TEST_VALUE'\ntenants = ['acme']\nprofiles = ['bash']\n",
        key(folder)
    )
}

/// Jobs that ask for them, as lines of a batch.
fn askers() -> String {
    let code = format!(
        "import os, hashlib\nwanted = {:?}\n\
         print(*[hashlib.sha256(os.environ[name].encode()).hexdigest() == wanted for name in ('A', 'B')])\n\
         print(len([name for name in os.environ if 'KILN' in name]))\n",
        sha256(VALUE)
    );
    let base64 =
        "import os, base64; print('x', base64.b64encode(os.environ['A'].encode()).decode())";
    let hex = "import os; open('a.txt', 'w').write(os.environ['A'].encode().hex())";
    let both = json!({"A": "acme/file", "B": "acme/variable"});
    [
        ("good", "acme", &*code, both),
        ("theirs", "evil", &code, json!({"A": "acme/file"})),
        ("absent", "evil", &code, json!({"A": "acme/none"})),
        ("old-theirs", "evil", &code, json!({"A": "acme/old"})),
        ("old", "acme", &code, json!({"A": "acme/old"})),
        ("profile", "acme", &code, json!({"A": "acme/bash"})),
        ("base64", "acme", base64, json!({"A": "acme/file"})),
        ("hex", "acme", hex, json!({"A": "acme/file"})),
    ]
    .map(|(id, tenant, code, secrets)| {
        let mut job = batch::python(id, code);
        job["tenant"] = tenant.into();
        job["secrets"] = secrets;
        format!("{job}\n")
    })
    .concat()
}

#[test]
fn a_secret_is_in_the_environment_of_its_job_and_nowhere_else() {
    let folder = places::scratch();
    let (config, jobs) = (folder.path().join("kiln.toml"), folder.path().join("jobs"));
    std::fs::write(&config, secrets(folder.path())).expect("scratch");
    std::fs::write(&jobs, askers()).expect("scratch");
    let out = folder.path().join("out");
    let ended = command(folder.path())
        .env("KILN_TEST_VALUE", VALUE)
        .env("KILN_LOG", "trace")
        .args(["batch", "--slots", "1", "--config"])
        .arg(&config)
        .arg("--out")
        .arg(&out)
        .arg(&jobs)
        .output()
        .expect("kiln can be started");
    let stdout = String::from_utf8_lossy(&ended.stdout).into_owned();
    let results: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let of = |id: &str| {
        let found = results.iter().find(|result| result["job_id"] == id);
        found.unwrap_or_else(|| panic!("no `{id}` in {results:#?}"))
    };
    assert_eq!(text(of("good"), "stdout"), "True True\n0\n", "{results:#?}");
    let said = |id: &str| {
        let result = of(id);
        assert_eq!(
            (&result["status"], &result["evidence"]["pointer"]),
            (&json!("rejected"), &json!("/secrets/A"))
        );
        let message = result["message"].as_str().expect("it says why");
        let (_, said) = message.split_once("the secret `").expect("it names it");
        said.split_once('`').expect("it ends").1.to_owned()
    };
    let encoded = {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(VALUE)
    };
    let shown = of("base64");
    assert!(!text(shown, "stdout").contains(&encoded[..20]), "{shown:#}");
    let warned = shown["warnings"].to_string().contains("stream_withheld");
    assert!(warned, "{shown:#}");
    let hex = of("hex");
    assert_eq!(hex["artifacts"][0]["state"], "withheld", "{hex:#}");
    assert!(!stdout.contains(&encoded[..20]));
    // Nobody learns what is there.
    assert_eq!(said("theirs"), said("absent"));
    assert_eq!(said("old-theirs"), said("absent"));
    assert!(said("old").contains("has expired") && said("profile").contains("this profile"));
    let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
    let much = stderr.contains("TRACE") || stderr.contains("DEBUG");
    assert!(much, "it was to say much");
    assert!(!stdout.contains(VALUE) && !stderr.contains(VALUE));
    has_no_value(&out);
}

#[test]
fn a_value_that_is_gone_fails_the_platform_and_not_the_job() {
    let world = World::new(
        Vec::new(),
        "[secrets.api]\nfile = '/run/absent/key'\ntenants = ['default']\nprofiles = ['python']\n",
    );
    let config = world.config.display().to_string();
    let mut batch = Batch::start(1, &["--config", &config]);
    let mut job = batch::python("a", "print('RAN')");
    job["secrets"] = json!({"A": "api"});
    batch.send(&job);
    let result = batch.next(Duration::from_mins(1)).expect("an answer");
    assert_eq!(result["status"], "platform_error", "{result:#}");
    assert!(!text(&result, "stdout").contains("RAN"));
    drop(batch.end());
}
