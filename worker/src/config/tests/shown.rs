//! Is what is printed, documented and described what is read?

use super::super::*;
use super::{load, set};
use crate::cli::scratch::Folder;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn what_is_printed_says_the_same_and_shows_no_secret() {
    let text = "[worker]\nslots = 3\nname = 'w'\n[amqp]\nurl = 'amqp://h:5672/v'\n\
                [tenants.acme]\nshare = 2\n[profiles.lab]\nbase = 'python'\nceilings = { wall = '90s' }\n\
                network = { allow = ['a:1'] }\npool = { max = 3 }\nlimits = { cpus = 0.5 }\n";
    let first = load(text, &[("KILN_WORKER__GRACE_MS", "5")]).expect("it is right");
    let printed = first.to_toml();
    let again = load(&printed, &[]).expect("what is printed can be read");
    assert_eq!(first.to_json()["config"], again.to_json()["config"]);
    assert_eq!(first.profiles.get("lab"), again.profiles.get("lab"));
    for line in [
        "slots = 3  # file\n",
        "grace_ms = 5  # KILN_WORKER__GRACE_MS\n",
        "state = \"/var/lib/kiln\"  # default\n",
        "url = \"amqp://h:5672/v\"  # file\n",
        "[tenants.acme]\nshare = 2\n",
        "[profiles.lab.ceilings]\nwall = \"90s\"\n",
    ] {
        assert!(printed.contains(line), "`{line}` is not in:\n{printed}");
    }
    assert_eq!(first.to_json()["origins"]["worker.grace_ms"], "environment");

    let folder = Folder::new();
    let path = folder.path().join("key");
    fs::write(&path, "hunter2").expect("scratch");
    fs::set_permissions(&path, Permissions::from_mode(0o400)).expect("ours");
    let text = format!(
        "[amqp]\nurl = 'amqps://u:hunter2@h/v?password=hunter2'\n[redis]\nurl = 'redis://:hunter2@h'\n\
         [store]\nurl = 's3://bucket/a'\naccess_key_id_file = {path:?}\nsecret_access_key_file = {path:?}\n"
    );
    let config = load(&text, &[]).expect("it is right");
    let Store::S3(S3 {
        secret_access_key, ..
    }) = &config.store
    else {
        panic!("it is a bucket");
    };
    assert_eq!(
        secret_access_key.as_ref().map(Secret::reveal),
        Some("hunter2")
    );
    let shown = format!("{} {} {config:?}", config.to_toml(), config.to_json());
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(
        config
            .to_toml()
            .contains("url = \"amqps://***@h/v\"  # file")
    );
}

#[test]
fn what_is_printed_names_the_files_of_secrets_and_can_be_read() {
    let folder = Folder::new();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("scratch");
        fs::set_permissions(&path, Permissions::from_mode(0o400)).expect("ours");
        path
    };
    let (url, key) = (file("url", "amqp://u:hunter2@h/v"), file("key", "hunter2"));
    let text = format!(
        "[amqp]\nurl_file = {url:?}\n[store]\nurl = 's3://bucket/a'\n\
         access_key_id_file = {key:?}\n"
    );
    let variable = (
        "KILN_STORE__SECRET_ACCESS_KEY_FILE",
        key.to_str().expect("a text"),
    );
    let first = load(&text, &[variable]).expect("it is right");
    let printed = first.to_toml();
    let again = load(&printed, &[]).expect("what is printed can be read");
    assert_eq!(first.to_json()["config"], again.to_json()["config"]);
    assert!(
        !printed.contains("***") && !printed.contains("hunter2"),
        "{printed}"
    );
}

#[test]
fn a_password_that_everybody_can_read_is_warned_of() {
    let folder = Folder::new();
    let path = folder.path().join("kiln.toml");
    fs::write(&path, "[amqp]\nurl = 'amqp://u:p@h'\n").expect("scratch");
    let warnings = |mode| {
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("ours");
        let config = Config::load(Some(&path), set(&[])).expect("it is right");
        config.warnings.len()
    };
    assert_eq!((warnings(0o644), warnings(0o640)), (1, 0));
}

const DOCS: &str = include_str!("../../../docs/configuration.md");
const EXAMPLE: &str = include_str!("../../../examples/kiln.toml");

#[test]
fn the_example_is_right_and_a_worker_can_serve_it() {
    let config = load(EXAMPLE, &[]).map_err(|errors| errors.to_string());
    let config = config.expect("the example is right");
    config.check_for_worker().expect("a worker can serve it");
    assert_eq!(config.warnings, [""; 0]);
    // What is commented out is right too, but for what names files.
    let all = EXAMPLE.replace("\n#: ", "\n");
    let config = load(&all, &[]).map_err(|errors| errors.to_string());
    config.expect("what is commented out is right");
}

#[test]
fn every_key_is_documented_and_in_the_schema() {
    let schema = schema();
    let sections =
        section::PLAIN
            .iter()
            .chain([&&section::TENANT, &&section::SECRET, &&section::CREDENTIAL]);
    for section in sections {
        for key in section.keys {
            assert!(
                DOCS.contains(&format!("| `{}` |", key.name)),
                "`{}.{}` is not in docs/configuration.md",
                section.name,
                key.name
            );
        }
    }
    let known = schema["properties"].as_object().expect("it has sections");
    let mut names = section::names();
    names.sort_unstable();
    assert_eq!(known.keys().collect::<Vec<_>>(), names);
    let profile = &schema["properties"]["profiles"]["additionalProperties"]["properties"];
    let profile = profile.as_object().expect("a profile has keys");
    assert_eq!(
        profile.keys().collect::<Vec<_>>(),
        kiln_warden::profile::KEYS
    );
}
