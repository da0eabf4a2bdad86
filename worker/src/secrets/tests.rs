//! Is a secret given to whom it is for, and to nobody else, and never shown?

use super::*;
use crate::cli::profiles_for_tests::Known;
use kiln_protocol::admission::{Admission, IdRule, TenantRule};
use kiln_protocol::decode::decode;
use std::os::unix::fs::PermissionsExt as _;

fn job(tenant: &str, secrets: &str) -> Job {
    let message = format!(
        r#"{{"schema":"kiln.job.v1","id":"a","code":"x","tenant":"{tenant}","env":{{"B":"b"}},"secrets":{secrets}}}"#
    );
    let admission = Admission {
        profiles: &Known::default(),
        id: IdRule::Required,
        tenant: TenantRule::Default(Tenant::default()),
        class: None,
    };
    decode(message.as_bytes(), &admission).expect("a job").job
}

fn secrets(place: Place) -> Secrets {
    let rule = Rule {
        place,
        tenants: vec!["acme".parse().expect("a tenant")],
        profiles: vec!["python".to_owned()],
        expires_unix_ms: Some(1_000),
    };
    let other = Rule {
        profiles: vec!["bash".to_owned()],
        ..rule.clone()
    };
    Secrets(
        [
            ("acme/api".to_owned(), rule),
            ("acme/bash".to_owned(), other),
        ]
        .into(),
    )
}

#[test]
fn another_tenant_learns_nothing_and_its_own_why() {
    let secrets = secrets(Place::Environment("KILN_TEST_ABSENT".into()));
    let said = |tenant: &str, reference: &str, proven, now| {
        let job = job(tenant, &format!(r#"{{"A/~":"{reference}"}}"#));
        secrets.refusal(&job, proven, now).map(|refusal| {
            assert_eq!(refusal.pointer, "/secrets/A~1~0");
            refusal.message.replace(reference, "X")
        })
    };
    assert_eq!(said("acme", "acme/api", true, 999), None);
    let nothing = Some("the secret `X` is none that this job may have".to_owned());
    for (tenant, reference, proven, now) in [
        ("acme", "acme/absent", true, 0),
        ("evil", "acme/absent", true, 0),
        ("evil", "acme/api", true, 0),
        ("evil", "acme/api", true, 1_000),
        ("evil", "acme/bash", true, 0),
        ("acme", "acme/api", false, 0),
    ] {
        assert_eq!(
            said(tenant, reference, proven, now),
            nothing,
            "{tenant} {reference}"
        );
    }
    let expired = said("acme", "acme/api", true, 1_000);
    assert_eq!(expired.as_deref(), Some("the secret `X` has expired"));
    let profile = said("acme", "acme/bash", true, 0);
    assert_eq!(
        profile.as_deref(),
        Some("the secret `X` is not given to jobs of this profile")
    );
}

#[test]
fn a_value_goes_into_the_environment_and_is_never_shown() {
    let folder = crate::cli::scratch::Folder::new();
    let path = folder.path().join("key");
    std::fs::write(&path, "hunter2\n").expect("scratch");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).expect("ours");
    let secrets = secrets(Place::File(path.clone()));
    let job = job("acme", r#"{"TOKEN":"acme/api","PATH":"acme/api"}"#);
    let values = secrets.resolve(&job).expect("it is there");
    let program = Program {
        argv: vec![b"true".to_vec()],
        env: vec![b"PATH=/bin".to_vec(), b"PATHS=1".to_vec()],
    };
    let bytes = values.encode(program).expect("a program");
    let text = String::from_utf8_lossy(&bytes);
    assert!(
        text.ends_with("true\0PATHS=1\0PATH=hunter2\0TOKEN=hunter2\0"),
        "{text}"
    );
    let shown = format!("{values:?} {secrets:?} {job:?}");
    assert!(
        shown.contains("TOKEN") && !shown.contains("hunter2"),
        "{shown}"
    );
    assert!(!job.to_json().contains("hunter2"));
    std::fs::remove_file(&path).expect("ours");
    let error = secrets.resolve(&job).expect_err("it is gone");
    assert!(crate::fault::chain(&error).starts_with("read the secret `acme/api`: "));
}
