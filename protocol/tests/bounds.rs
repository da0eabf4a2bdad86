//! How much is taken in, and on whose terms? Each bound at, and just past, what is allowed.

mod profiles;

use kiln_protocol::decode::{
    ARGUMENT_BYTES_MAX, CODE_BYTES_MAX, DEPTH_MAX, FILES_MAX, MESSAGE_BYTES_MAX,
    VARIABLES_BYTES_MAX, VARIABLES_MAX,
};
use kiln_protocol::{
    Accepted, Admission, Class, IdRule, JobId, RefusalReason, Rejection, Tenant, TenantRule, decode,
};
use profiles::{Profiles, admission};
use serde_json::{Value, json};

type Answer = Result<Accepted, Box<Rejection>>;

fn ask(text: &str) -> Answer {
    decode(text.as_bytes(), &admission(&Profiles::default()))
}

/// A least job with these fields beside.
fn with(fields: Value) -> Answer {
    ask(&job(fields))
}

fn job(mut fields: Value) -> String {
    fields["schema"] = json!("kiln.job.v1");
    if fields.get("command").is_none() && fields.get("code").is_none() {
        fields["code"] = json!("");
    }
    fields.to_string()
}

fn too_large(answer: Answer, pointer: &str) {
    let refusal = answer.expect_err("to be refused").main;
    assert_eq!(refusal.reason, RefusalReason::TooLarge, "{refusal}");
    assert_eq!(refusal.pointer, pointer, "{refusal}");
}

fn taken(answer: Answer) -> Accepted {
    answer.unwrap_or_else(|rejection| panic!("{}", rejection.main))
}

#[test]
fn a_message_of_8_mib() {
    let least = job(json!({}));
    let message = |bytes: usize| format!("{least}{}", " ".repeat(bytes - least.len()));
    taken(ask(&message(MESSAGE_BYTES_MAX)));
    too_large(ask(&message(MESSAGE_BYTES_MAX + 1)), "");
}

#[test]
fn code_of_1_mib() {
    let code = |bytes| json!({"code": "#".repeat(bytes)});
    taken(with(code(CODE_BYTES_MAX)));
    too_large(with(code(CODE_BYTES_MAX + 1)), "/code");
}

#[test]
fn a_thousand_files() {
    let files = |count| {
        let files: Vec<Value> = (0..count)
            .map(|n| json!({"path": n.to_string(), "text": ""}))
            .collect();
        json!({"files": files})
    };
    assert_eq!(taken(with(files(FILES_MAX))).job.files.len(), FILES_MAX);
    too_large(with(files(FILES_MAX + 1)), "/files");
}

#[test]
fn variables_by_number_and_by_size() {
    let env = |count: usize, bytes: usize| {
        let name = |n| format!("V{n:03}");
        // Each takes its name, its value, an equals sign and a byte that ends it.
        let first = "x".repeat(bytes - (count - 1) * 6 - 6);
        let rest = (1..count).map(|n| (name(n), String::new()));
        let all: Vec<_> = std::iter::once((name(0), first)).chain(rest).collect();
        json!({"env": all.into_iter().collect::<std::collections::BTreeMap<_, _>>()})
    };
    let accepted = taken(with(env(VARIABLES_MAX, VARIABLES_BYTES_MAX)));
    assert_eq!(accepted.job.env.len(), VARIABLES_MAX);
    too_large(with(env(VARIABLES_MAX + 1, 4_000)), "/env");
    too_large(with(env(1, VARIABLES_BYTES_MAX + 1)), "/env");
}

#[test]
fn a_depth_of_32() {
    let nested = |depth: usize| {
        let inner = format!("{}{}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        format!(r#"{{"schema": "kiln.job.v1", "code": "", "x": {inner}}}"#)
    };
    taken(ask(&nested(DEPTH_MAX)));
    let at = format!("/x{}", "/0".repeat(DEPTH_MAX - 1));
    too_large(ask(&nested(DEPTH_MAX + 1)), &at);
}

#[test]
fn arguments_that_the_kernel_takes() {
    let command = |bytes| json!({"command": ["true", "x".repeat(bytes)]});
    taken(with(command(ARGUMENT_BYTES_MAX)));
    too_large(with(command(ARGUMENT_BYTES_MAX + 1)), "/command/1");
    let many = json!({"command": vec!["x".repeat(ARGUMENT_BYTES_MAX); 8]});
    too_large(with(many), "/command");
}

#[test]
fn globs_that_compile() {
    let globs = |bytes| json!({"artifacts": ["?".repeat(bytes)]});
    let max = kiln_protocol::glob::GLOBS_BYTES_MAX;
    let accepted = taken(with(globs(max)));
    let globs_of = accepted.job.artifacts.expect("globs");
    kiln_protocol::glob::compile(globs_of.iter().map(String::as_str)).expect("to compile");
    too_large(with(globs(max + 1)), "/artifacts");
}

#[test]
fn warnings_and_refusals_are_bounded() {
    let fields: Value = (0..1_000).map(|n| (format!("x{n}"), json!(1))).collect();
    let warnings = taken(with(fields)).warnings;
    assert_eq!(warnings.len(), 33);
    assert_eq!(warnings[32].message, "968 more warnings");
    let rejection = with(json!({"args": vec![1; 1_000]})).expect_err("to be refused");
    assert!(rejection.others.len() < 32);
}

#[test]
fn a_field_twice_is_refused() {
    let rejection = ask(r#"{"schema": "kiln.job.v1", "code": "1", "code": "2"}"#);
    assert_eq!(rejection.expect_err("to be refused").main.pointer, "/code");
}

#[test]
fn an_id_comes_from_the_job_or_from_whoever_admits_it() {
    let profiles = Profiles::default();
    let given: JobId = "given".parse().expect("an id");
    let ask = |rule: IdRule, fields: Value| {
        let terms = Admission {
            id: rule,
            ..admission(&profiles)
        };
        decode(job(fields).as_bytes(), &terms)
    };
    let none = ask(IdRule::Required, json!({})).expect_err("to be refused");
    assert_eq!((none.job_id, none.main.pointer.as_str()), (None, "/id"));
    let own = taken(ask(IdRule::Required, json!({"id": "own"})));
    assert_eq!(own.job.id.as_str(), "own");
    let line = taken(ask(IdRule::Given(given.clone()), json!({"id": "own"})));
    assert_eq!((line.job.id.as_str(), line.warnings.len()), ("own", 0));
    let message = taken(ask(IdRule::Message(given.clone()), json!({"id": "own"})));
    assert_eq!(message.job.id.as_str(), "own");
    assert_eq!(message.warnings[0].pointer.as_deref(), Some("/id"));
    let bad = ask(IdRule::Given(given.clone()), json!({"id": "a/b"}));
    assert_eq!(bad.expect_err("to be refused").job_id, Some(given));
}

#[test]
fn a_refused_job_is_answered_under_its_own_id() {
    let text = r#"{"schema": "kiln.job.v9", "id": "own"}"#;
    let rejection = ask(text).expect_err("to be refused");
    assert_eq!(rejection.job_id, "own".parse().ok());
    let rejection = ask("not JSON").expect_err("to be refused");
    assert_eq!(rejection.job_id, Some(JobId::for_line(1, b"")));
}

#[test]
fn a_tenant_is_the_senders() {
    let profiles = Profiles::default();
    let acme: Tenant = "acme".parse().expect("a tenant");
    let ask = |fields: Value| {
        let terms = Admission {
            tenant: TenantRule::Only(acme.clone()),
            ..admission(&profiles)
        };
        decode(job(fields).as_bytes(), &terms)
    };
    assert_eq!(taken(ask(json!({}))).job.tenant, acme);
    assert_eq!(taken(ask(json!({"tenant": "acme"}))).job.tenant, acme);
    let other = ask(json!({"tenant": "beta"})).expect_err("to be refused");
    assert_eq!(
        (other.main.pointer.as_str(), other.tenant),
        ("/tenant", None)
    );
    let free = taken(with(json!({"tenant": "beta"})));
    assert_eq!(free.job.tenant.as_str(), "beta");
}

#[test]
fn the_queue_wins_over_the_class() {
    let profiles = Profiles::default();
    let terms = Admission {
        class: Some(Class::Batch),
        ..admission(&profiles)
    };
    let accepted = taken(decode(
        job(json!({"class": "interactive"})).as_bytes(),
        &terms,
    ));
    assert_eq!(accepted.job.class, Class::Batch);
    assert_eq!(accepted.warnings[0].code, "class_differs");
}

#[test]
fn what_is_shown_of_a_job_is_not_what_is_in_it() {
    let fields = json!({
        "code": "hunter2",
        "env": {"A": "hunter2"},
        "files": [{"path": "a", "text": "hunter2"}],
    });
    let shown = format!("{:?}", taken(with(fields)));
    assert!(!shown.contains("hunter2"), "{shown}");
}
