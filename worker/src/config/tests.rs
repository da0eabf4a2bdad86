//! Is a configuration read as it is meant, is every mistake told by its key, and is no secret
//! shown?

mod shown;

use super::*;
use crate::cli::scratch::Folder;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

/// What a file with this text and these variables say. Needs root, whose the file must be.
pub(super) fn load(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigErrors> {
    assert!(rustix::process::geteuid().is_root(), "this test needs root");
    let folder = Folder::new();
    let path = folder.path().join("kiln.toml");
    fs::write(&path, text).expect("scratch");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("ours");
    Config::load(Some(&path), set(variables))
}

/// Everything that is wrong, a line each.
pub(super) fn told(text: &str, variables: &[(&str, &str)]) -> String {
    let said = load(text, variables).map(|config| config.to_toml());
    said.expect_err("something is wrong").to_string()
}

fn set(variables: &[(&str, &str)]) -> impl Iterator<Item = (OsString, OsString)> {
    variables
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
}

#[track_caller]
fn says(said: &str, wanted: &[&str]) {
    for line in wanted {
        assert!(said.contains(line), "`{line}` is not in:\n{said}");
    }
    assert_eq!(said.lines().count(), wanted.len(), "{said}");
}

#[test]
fn without_anything_there_are_defaults() {
    let config = Config::load(None, set(&[("HOME", "/root"), ("KILN_LOG", "debug")]));
    let config = config.expect("nothing can be wrong");
    assert!(config.amqp.is_none() && config.redis.is_none() && config.tenants.is_empty());
    assert!(matches!(&config.store, Store::Files(path) if path == Path::new("/var/lib/kiln")));
    let listen = config.telemetry.listen.expect("it is on");
    assert_eq!(listen.to_string(), "127.0.0.1:9464");
    assert_eq!(config.telemetry.log, LogFormat::Text);
    assert_eq!(config.warnings, [""; 0]);
}

#[test]
fn the_broker_is_read() {
    let text = "[amqp]\nurl = 'amqp://u:hunter2@rabbit:5672/%2f?heartbeat=10'\n\
                [redis]\nurl = 'redis://:hunter2@cache:6379/1'\n[tenants.acme]\nshare = 3\n[tenants.b]\n";
    let config = load(text, &[]).expect("it is right");
    let amqp = config.check_for_worker().expect("a worker can serve it");
    assert_eq!(
        amqp.url.reveal(),
        "amqp://u:hunter2@rabbit:5672/%2f?heartbeat=10"
    );
    assert_eq!(
        (amqp.topology, amqp.trust_tenant),
        (TopologyMode::Passive, false)
    );
    assert_eq!(amqp.consumer_timeout, Duration::from_mins(30));
    assert_eq!(amqp.queues, [Class::Interactive, Class::Batch]);
    assert_eq!(amqp.reply_prefixes, ["kiln.reply."]);
    let shares: Vec<u32> = config.tenants.values().map(|tenant| tenant.share).collect();
    assert_eq!(shares, [3, 1]);
    let text = "[amqp]\nurl = 'amqp://h'\ntopology = 'create'\ntrust_tenant = true\nqueues = ['batch']\n\
                reply_prefixes = ['a.', 'b.']\nconsumer_timeout_ms = 7200000\n";
    let amqp = load(text, &[])
        .expect("it is right")
        .amqp
        .expect("it has a url");
    assert_eq!(
        (amqp.topology, amqp.trust_tenant),
        (TopologyMode::Create, true)
    );
    assert_eq!(amqp.consumer_timeout, Duration::from_hours(2));
    assert_eq!(amqp.queues, [Class::Batch]);
    assert_eq!(amqp.reply_prefixes, ["a.", "b."]);
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let said = told(
        "wroker = 1\nredis = 1\n[profile.x]\n[worker]\nslots = 0\n[amqp]\nurl = 'http://u:hunter2@h'\n\
         topolgy = 'create'\ntopology = 'make'\ntrust_tenant = 'yes'\nqueues = ['bach']\n\
         reply_prefixes = ['']\nconsumer_timeout_ms = 5\n[store]\nurl = '/var/lib'\nbucket = 'b'\n\
         [telemetry]\nlisten = 'localhost:9464'\nlog = 'xml'\n[tenants.'a b']\n[tenants.a]\n\
         share = 0\nceilings = { wall = '1s' }\n[egress]\nallow = []\n\
         [secrets.x]\nflie = '/x'\nfile = '/y'\n\
         tenants = ['a']\nprofiles = ['p']\n[profiles.python]\nreuse = 'some'\n",
        &[("KILN_TELEMETRY__LOGS", "x"), ("KILN_SCANNER__CLAMD", "x")],
    );
    says(
        &said,
        &[
            "take `wroker`: `wroker` is not known here; did you mean `worker`?",
            "take `profile`: `profile` is not known here; did you mean `profiles`?",
            "take `KILN_TELEMETRY__LOGS`: `logs` is not known here; did you mean `log`?",
            "take `KILN_SCANNER__CLAMD=x`: it must be `unix:/run/clamav/clamd.ctl`",
            "take `worker.slots`: 0 is not between 1 and 1024",
            "take `amqp.topolgy`: `topolgy` is not known here; did you mean `topology`?",
            "take `amqp.topology`: `make` is not known here; there are `passive`, `create`",
            "take `amqp.trust_tenant`: it must be true or false, not a text",
            "take `amqp.consumer_timeout_ms`: 5 is not between 60000 and",
            "take `amqp.queues`: `bach` is not known here; did you mean `batch`?",
            "take `amqp.queues`: it must name `interactive`",
            "take `amqp.reply_prefixes`: an empty prefix",
            "take `amqp.url`: it must begin with `amqp://` or `amqps://`",
            "take `redis`: it must be a table: `[redis]`",
            "take `store.bucket`: `bucket` is not known here",
            "take `store.url`: a folder is written as `file:///var/lib`",
            "take `telemetry.listen`: it must be an address and a port",
            "take `telemetry.log`: `xml` is not known here",
            "take `tenants.a b`: a tenant's name is",
            "take `tenants.a.share`: 0 is not between 1 and 1000",
            "take `tenants.a.ceilings`: not served yet",
            "take `egress.allow`: `allow` is not known here",
            "take `secrets.x.flie`: `flie` is not known here; did you mean `file`?",
            "take `profiles.python.reuse`: `some` is not known here",
        ],
    );
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn the_environment_wins_over_the_file_and_its_mistakes_have_its_names() {
    let text =
        "[worker]\nname = 'file'\nslots = 3\n[amqp]\nurl = 'amqp://h'\ntrust_tenant = false\n";
    let variables = [
        ("KILN_WORKER__SLOTS", "7"),
        ("KILN_AMQP__TRUST_TENANT", "true"),
        ("KILN_AMQP__REPLY_PREFIXES", "a., b."),
        ("KILN_AMQP__URL", "amqp://other"),
        ("KILN_TELEMETRY__LISTEN", "off"),
    ];
    let config = load(text, &variables).expect("all is right");
    assert_eq!(
        (config.worker.name.as_str(), config.worker.slots),
        ("file", 7)
    );
    let amqp = config.amqp.expect("it has a url");
    assert!(amqp.trust_tenant && amqp.url.reveal() == "amqp://other");
    assert_eq!(amqp.reply_prefixes, ["a.", "b."]);
    assert_eq!(config.telemetry.listen, None);
    let said = told(
        "[worker]\nslots = 0\n",
        &[
            ("KILN_WORKER__SLOTS", "banana"),
            ("KILN_WROKER__SLOTS", "1"),
            ("KILN_PROFILES__PYTHON__REUSE", "any"),
            ("KILN_AMQP__URL", "amqp:/hunter2"),
            ("KILN_AMQP__TRUST_TENANT", "yes"),
            ("KILN_STORE__URL", "ftp://x"),
        ],
    );
    says(
        &said,
        &[
            "take `KILN_WROKER__SLOTS`: `wroker` is not known here; did you mean `worker`?",
            "take `KILN_PROFILES__PYTHON__REUSE`: profiles are set in the file alone",
            "take `worker.slots`: 0 is not",
            "take `KILN_WORKER__SLOTS=banana`: `banana` is not a number",
            "take `KILN_AMQP__TRUST_TENANT=yes`: it must be true or false",
            "take `KILN_AMQP__URL`: it is not a url",
            "take `KILN_STORE__URL`: it must begin with `file:///` or `s3://`",
        ],
    );
    assert!(!said.contains("hunter2"), "{said}");
    let said = told("[amqp\n", &[("KILN_WORKER__SLOTS", "0")]);
    says(
        &said,
        &["kiln.toml`, line 1: ", "take `KILN_WORKER__SLOTS=0`"],
    );
}

#[test]
fn a_url_can_be_in_a_file_and_the_later_of_two_counts() {
    let folder = Folder::new();
    let path = folder.path().join("url");
    fs::write(&path, "amqp://u:hunter2@file\n").expect("scratch");
    fs::set_permissions(&path, Permissions::from_mode(0o400)).expect("ours");
    let file = path.to_str().expect("it is a plain name");
    let url = |text: &str, variables: &[(&str, &str)]| {
        let config = load(text, variables).map_err(|errors| errors.to_string());
        config.map(|it| it.amqp.expect("it has a url").url)
    };
    let by_file = format!("[amqp]\nurl_file = '{file}'\n");
    let found = Ok(Secret::new("amqp://u:hunter2@file"));
    assert_eq!(url(&by_file, &[]), found);
    assert_eq!(
        url("[amqp]\nurl = 'amqp://h'", &[("KILN_AMQP__URL_FILE", file)]),
        found
    );
    let other = url(&by_file, &[("KILN_AMQP__URL", "amqp://other")]);
    assert_eq!(other, Ok(Secret::new("amqp://other")));
    let said = url(&format!("{by_file}url = 'amqp://h'"), &[]).expect_err("both are given");
    says(&said, &["take `amqp.url_file`: `url` is given too"]);
    fs::set_permissions(&path, Permissions::from_mode(0o444)).expect("ours");
    let said = url(&by_file, &[]).expect_err("others can read it");
    says(&said, &["take `amqp.url_file`: `"]);
    fs::write(&path, "hunter2").expect("root may");
    fs::set_permissions(&path, Permissions::from_mode(0o400)).expect("ours");
    let said = url(&by_file, &[]).expect_err("it is no url");
    says(&said, &["take `amqp.url_file`: it is not a url"]);
}

#[test]
fn an_answer_cannot_go_where_jobs_are() {
    for prefix in [
        "",
        "k",
        "kiln.",
        "kiln.jobs.batch",
        "kiln.dead",
        "kiln.retry.",
        "amq.gen",
    ] {
        let said = told(&format!("[amqp]\nreply_prefixes = ['{prefix}']\n"), &[]);
        says(&said, &["take `amqp.reply_prefixes`: "]);
    }
    for prefix in ["kiln.reply.", "kiln.job-answers.", "app."] {
        let text = format!("[amqp]\nreply_prefixes = ['{prefix}']\n");
        assert!(load(&text, &[]).is_ok(), "{prefix}");
    }
}

#[test]
fn stores_and_what_is_no_store() {
    let store = |url: &str| load(&format!("[store]\nurl = '{url}'\n"), &[]).map(|it| it.store);
    assert!(
        matches!(store("file:///srv/k"), Ok(Store::Files(path)) if path == Path::new("/srv/k"))
    );
    for (url, place) in [
        ("s3://bucket", ("bucket", "")),
        ("s3://bucket/", ("bucket", "")),
        ("s3://bucket/a/b_c/", ("bucket", "a/b_c")),
    ] {
        let Ok(Store::S3(s3)) = store(url) else {
            panic!("{url} is a bucket");
        };
        assert_eq!((s3.bucket.as_str(), s3.prefix.as_str()), place);
        assert_eq!(s3.region, "us-east-1");
    }
    for (url, wanted) in [
        ("srv", "must begin with"),
        ("file://srv", "after `file://` an absolute path"),
        ("file:///", "a folder below"),
        ("file:///a/../b", "a folder below"),
        ("file:///a%20b", "is taken as it is"),
        ("s3://b", "3 to 63"),
        ("s3://Bucket", "3 to 63"),
        ("s3://bucket/a//b", "the parts of a prefix"),
        ("s3://bucket/../b", "the parts of a prefix"),
        ("s3://key:hunter2@bucket", "3 to 63"),
    ] {
        let said = store(url).expect_err(url).to_string();
        assert!(
            said.contains(wanted) && !said.contains("hunter2"),
            "{url}: {said}"
        );
    }
    let said = told(
        "[store]\nurl = 's3://bucket'\naccess_key_id_file = '/x/absent'\nendpoint = 'http://a:b@h'\n",
        &[],
    );
    says(
        &said,
        &[
            "take `store.endpoint`: a user",
            "take `store.secret_access_key_file`",
            "take `store.access_key_id_file`: read `/x/absent`",
        ],
    );
    let idle = load(
        "[store]\nregion = 'eu-1'\n[telemetry]\nlisten = '0.0.0.0:1'\n",
        &[],
    );
    let warnings = idle.expect("it is right").warnings.join("\n");
    says(
        &warnings,
        &["`store.region` is for", "`telemetry.listen`: whoever"],
    );
}

#[test]
fn a_worker_needs_a_broker_that_waits_longer_than_any_job() {
    let config = load("", &[]).expect("it is right");
    let said = config
        .check_for_worker()
        .expect_err("there is no broker")
        .to_string();
    says(
        &said,
        &[
            "take `amqp.url`: a worker needs a broker: set it, `amqp.url_file` or the variable `KILN_AMQP__URL`",
        ],
    );
    // 80 % of 30 min are 24 min: 20 min of a job, 1 min, and 3 min of grace.
    let check = |grace: u32, more: &str| {
        let text = format!("[amqp]\nurl = 'amqp://h'\n[worker]\ngrace_ms = {grace}\n{more}");
        let config = load(&text, &[]).expect("it is right");
        config
            .check_for_worker()
            .map(drop)
            .map_err(|errors| errors.to_string())
    };
    assert_eq!(check(180_000, ""), Ok(()));
    let said = check(180_001, "").expect_err("it is 1 ms too much");
    assert_eq!(said.lines().count(), 5, "each profile: {said}");
    assert!(
        said.contains("take `profiles.python.ceilings.wall`: 20 min and"),
        "{said}"
    );
    let shorter = ["bash", "command", "node", "python", "python-data"]
        .map(|name| format!("[profiles.{name}]\nceilings = {{ wall = '2m' }}\n"));
    assert_eq!(check(180_001, &shorter.join("")), Ok(()));
}
