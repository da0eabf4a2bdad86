//! Which messages are jobs, which are refused, and which are dead?

use super::*;
use crate::cli::profiles_for_tests::Known;
use crate::secrets::{Place, Rule};
use kiln_protocol::job::Class;
use kiln_protocol::outcome::Status;

const JOB: &str = r#"{"schema":"kiln.job.v1","id":"j","code":"print(1)""#;

fn source(tenant: Option<&str>) -> Source {
    Source {
        queue: "kiln.jobs.batch".into(),
        class: Class::Batch,
        tenant: tenant.map(|tenant| tenant.parse().expect("a tenant")),
    }
}

fn of(body: &[u8], properties: &Properties, source: &Source, trust_tenant: bool) -> Admitted {
    let terms = Terms {
        profiles: &Known::default(),
        secrets: &secrets(),
        trust_tenant,
        reply_prefixes: &["kiln.reply.".to_owned()],
        worker: "w",
    };
    admit(body, properties, source, &terms)
}

/// One secret, which the tenant that nobody's jobs have may have too.
fn secrets() -> Secrets {
    let rule = Rule {
        place: Place::Environment("KILN_TEST_ABSENT".to_owned()),
        tenants: vec![Tenant::default(), "acme".parse().expect("a tenant")],
        profiles: vec!["python".to_owned()],
        expires_unix_ms: None,
    };
    Secrets([("api".to_owned(), rule)].into())
}

fn shared(body: &str, properties: &Properties) -> Admitted {
    of(body.as_bytes(), properties, &source(None), false)
}

fn job(admitted: Admitted) -> Request {
    match admitted {
        Admitted::Job(request) => *request,
        other => panic!("no job: {other:?}"),
    }
}

fn refused(admitted: Admitted) -> (String, Outcome) {
    match admitted {
        Admitted::Refused(refused) => {
            let outcome = refused.outcome;
            assert_eq!(outcome.status, Status::Rejected);
            let pointer = outcome.evidence["pointer"].as_str().expect("text");
            (pointer.to_owned(), outcome)
        }
        other => panic!("not refused: {other:?}"),
    }
}

fn dead(admitted: Admitted) -> (DeadReason, String) {
    match admitted {
        Admitted::Dead { reason, detail } => (reason, detail),
        other => panic!("not dead: {other:?}"),
    }
}

fn with(change: impl FnOnce(&mut Properties)) -> Properties {
    let mut properties = Properties::default();
    change(&mut properties);
    properties
}

fn header(name: &str, value: Header) -> Properties {
    with(|p| {
        p.headers.insert(name.to_owned(), value);
    })
}

#[test]
fn a_job_is_taken_in_with_the_class_of_its_queue() {
    let request = job(shared(&format!("{JOB}}}"), &Properties::default()));
    assert_eq!(request.job.class, Class::Batch);
    assert_eq!(request.job.tenant, Tenant::default());
    assert_eq!(request.reply.correlation_id, "j");
}

#[test]
fn what_nobody_can_be_told_of_is_dead() {
    let id = with(|p| p.message_id = Some("m".into()));
    let long = " ".repeat(MESSAGE_BYTES_MAX + 1);
    for (body, properties, wanted, word) in [
        ("not json", id.clone(), DeadReason::BadMessage, "not JSON"),
        (
            "",
            Properties::default(),
            DeadReason::BadMessage,
            "not JSON",
        ),
        (
            r#"{"schema":"kiln.job.v1","code":"x"}"#,
            Properties::default(),
            DeadReason::NoId,
            "/id",
        ),
        (
            "{}",
            with(|p| p.kind = Some("other.v1".into())),
            DeadReason::BadMessage,
            "type: `other.v1`",
        ),
        (
            "{}",
            with(|p| p.content_type = Some("text/plain".into())),
            DeadReason::BadMessage,
            "content-type: `text/plain`",
        ),
        (
            "{}",
            with(|p| p.content_encoding = Some("br".into())),
            DeadReason::BadMessage,
            "content-encoding: `br`",
        ),
        (&long, Properties::default(), DeadReason::TooLarge, "8 MiB"),
    ] {
        let (reason, detail) = dead(shared(body, &properties));
        assert_eq!(reason, wanted, "{detail}");
        assert!(detail.contains(word), "`{word}` is not in `{detail}`");
    }
    let bytes = dead(of(b"{\"id\":\"\xff\"}", &id, &source(None), false));
    assert!(bytes.1.contains("not UTF-8"), "{}", bytes.1);
}

#[test]
fn what_has_an_id_is_refused_with_a_pointer() {
    let id = with(|p| p.message_id = Some("m".into()));
    let deep = format!("{{\"x\":{}{}}}", "[".repeat(40), "]".repeat(40));
    let long = " ".repeat(MESSAGE_BYTES_MAX + 1);
    for (body, properties, pointer) in [
        (r#"{"schema":"kiln.job.v1","id":"j"}"#, id.clone(), "/code"),
        (
            r#"{"schema":"kiln.job.v1","id":"j","code":5}"#,
            id.clone(),
            "/code",
        ),
        (
            r#"{"schema":"kiln.job.v1","id":"j","code":"","profile":"no"}"#,
            id.clone(),
            "/profile",
        ),
        (r#"{"schema":"other","code":""}"#, id.clone(), "/schema"),
        ("[1]", id.clone(), ""),
        (&long, id.clone(), ""),
    ] {
        let (found, outcome) = refused(shared(body, &properties));
        assert!(
            found == pointer || (pointer == "/code" && found.is_empty()),
            "{found}: {:?}",
            outcome.message
        );
    }
    let (pointer, outcome) = refused(shared(&deep, &id));
    assert!(pointer.starts_with("/x"), "{pointer}");
    assert_eq!(
        outcome.reason.map(|r| r.as_str().to_owned()),
        Some("too_large".into())
    );
}

#[test]
fn a_tenant_is_the_queue_s_or_the_sender_s_and_never_the_message_s() {
    let named = format!("{JOB},\"tenant\":\"acme\"}}");
    let plain = Properties::default();
    let request = job(shared(&named, &plain));
    assert_eq!(request.job.tenant, Tenant::default());
    assert_eq!(request.warnings[0].code, "tenant_unchecked");
    let acme = source(Some("acme"));
    assert_eq!(
        job(of(named.as_bytes(), &plain, &acme, false))
            .job
            .tenant
            .as_str(),
        "acme"
    );
    let other = source(Some("other"));
    let (pointer, _) = refused(of(named.as_bytes(), &plain, &other, true));
    assert_eq!(pointer, "/tenant");
    let user = with(|p| p.user_id = Some("umbrella".into()));
    assert_eq!(refused(shared(&named, &user)).0, "/tenant");
    let unnamed = format!("{JOB}}}");
    assert_eq!(job(shared(&unnamed, &user)).job.tenant.as_str(), "umbrella");
    assert_eq!(
        job(of(named.as_bytes(), &plain, &source(None), true))
            .job
            .tenant
            .as_str(),
        "acme"
    );
    let told = header("x-tenant", Header::Text("acme".into()));
    assert_eq!(
        job(of(unnamed.as_bytes(), &told, &source(None), true))
            .job
            .tenant
            .as_str(),
        "acme"
    );
}

#[test]
fn headers_say_what_the_body_leaves_out() {
    let body = format!("{JOB}}}");
    for value in [
        Header::Integer(1_796_000_000_000),
        Header::Text("1796000000000".into()),
    ] {
        let request = job(shared(&body, &header("x-deadline-unix-ms", value)));
        assert_eq!(request.job.deadline_unix_ms, Some(1_796_000_000_000));
        assert!(request.warnings.is_empty());
    }
    for value in [
        Header::Integer(-1),
        Header::Text("soon".into()),
        Header::Other,
    ] {
        let (pointer, _) = refused(shared(&body, &header("x-deadline-unix-ms", value)));
        assert_eq!(pointer, "x-deadline-unix-ms");
    }
    let own = format!("{JOB},\"idempotency_key\":\"a\"}}");
    let request = job(shared(
        &own,
        &header("idempotency-key", Header::Text("b".into())),
    ));
    assert_eq!(request.job.idempotency_key.as_deref(), Some("a"));
    assert_eq!(request.warnings[0].code, "idempotency_key_differs");
}

#[test]
fn a_reply_queue_of_another_name_is_refused() {
    let to = |queue: &str| with(|p| p.reply_to = Some(queue.to_owned()));
    let body = format!("{JOB}}}");
    assert_eq!(refused(shared(&body, &to("kiln.dead"))).0, "reply-to");
    let request = job(shared(&body, &to("kiln.reply.a")));
    assert_eq!(request.reply.to.as_deref(), Some("kiln.reply.a"));
}

#[test]
fn a_refusal_says_whose_it_is() {
    let body = format!("{JOB},\"limits\":1}}");
    let none = Properties::default();
    for (source, tenant) in [(source(None), "default"), (source(Some("acme")), "acme")] {
        let (_, outcome) = refused(of(body.as_bytes(), &none, &source, false));
        assert_eq!(outcome.evidence["tenant"], tenant);
    }
}

#[test]
fn who_may_be_anybody_has_no_secrets() {
    let body = format!(r#"{JOB},"secrets":{{"A":"api"}}}}"#);
    let properties = Properties::default();
    let (pointer, outcome) = refused(shared(&body, &properties));
    assert_eq!(pointer, "/secrets/A");
    let said = outcome.message.expect("it says why");
    assert!(
        said.contains("the secret `api` is none that this job may have"),
        "{said}"
    );
    for (tenant, trusted) in [(Some("acme"), false), (None, true)] {
        let admitted = of(body.as_bytes(), &properties, &source(tenant), trusted);
        assert_eq!(job(admitted).job.secrets["A"], "api");
    }
    let admitted = of(body.as_bytes(), &properties, &source(Some("evil")), false);
    assert_eq!(refused(admitted).1.message, Some(said));
}
