//! How does a job stand in JSON? The one description of its fields, for the schema and for the store.

use crate::id::{JobId, Tenant};
use crate::job::{Class, Content, InputFile, Isolation, JOB_SCHEMA, Job, Payload};
use crate::limits::LimitRequest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

type Map<'a> = Cow<'a, BTreeMap<String, String>>;

/// A job: one program, what it is given, and what it may use.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "kiln.job.v1", extend("oneOf" = [{"required": ["code"]}, {"required": ["command"]}]))]
pub(crate) struct JobDocument<'a> {
    /// The version of the message.
    #[schemars(extend("const" = JOB_SCHEMA))]
    schema: Cow<'a, str>,
    /// Its id; on the queue it may come from `message-id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Cow<'a, JobId>>,
    /// `python` with `code` and `command` with `command`, where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Cow<'a, str>>,
    /// The text of the profile's main file; this or `command`.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Cow<'a, str>>,
    /// The program and its arguments; this or `code`.
    #[schemars(extend("minItems" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Cow<'a, [String]>>,
    /// What lies in the job's folder.
    #[schemars(extend("maxItems" = crate::decode::FILES_MAX))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<FileDocument<'a>>,
    /// What follows the main file; only with `code`.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    args: Cow<'a, [String]>,
    /// What the program reads.
    #[serde(skip_serializing_if = "str::is_empty")]
    stdin: Cow<'a, str>,
    /// Variables by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: Map<'a>,
    /// Globs of what is taken out; left out, everything new or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifacts: Option<Cow<'a, [String]>>,
    /// Limits by name; each may be left out.
    #[serde(skip_serializing_if = "LimitRequest::is_empty")]
    limits: LimitRequest,
    /// What may be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<NetworkDocument<'a>>,
    /// References to secrets by the name of their variable.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    secrets: Map<'a>,
    /// The profile's, where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    isolation: Option<Isolation>,
    /// For whom; `default` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<Cow<'a, Tenant>>,
    /// `interactive` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<Class>,
    /// When the answer is of no more use: milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_unix_ms: Option<u64>,
    /// Two jobs of one tenant with the same key run once.
    #[schemars(extend("minLength" = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<Cow<'a, str>>,
    /// Words of the client's own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: Map<'a>,
}

/// A file in the job's folder: exactly one of `text`, `base64` and `object`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InputFile", extend("oneOf" = [
    {"required": ["text"]},
    {"required": ["base64"]},
    {"required": ["object", "sha256"]},
]))]
struct FileDocument<'a> {
    /// Relative to the job's folder.
    #[schemars(extend("minLength" = 1))]
    path: Cow<'a, str>,
    /// What is in it, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    /// What is in it, as standard base64 without line breaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    /// The key of an object below `inputs/<tenant>/`; needs `sha256`.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<Cow<'a, str>>,
    /// What its bytes hash to: 64 lower-case hex digits.
    #[schemars(extend("pattern" = "^[0-9a-f]{64}$"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<Cow<'a, str>>,
    /// The job cannot change it.
    #[serde(skip_serializing_if = "is_false")]
    read_only: bool,
    /// Mode 0755, else 0644.
    #[serde(skip_serializing_if = "is_false")]
    executable: bool,
}

/// The hosts a job asks to reach.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Network")]
struct NetworkDocument<'a> {
    /// Each `host:port`.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    allow: Cow<'a, [String]>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn is_false(value: &bool) -> bool {
    !value
}

impl<'a> From<&'a Job> for JobDocument<'a> {
    fn from(job: &'a Job) -> Self {
        let (code, command) = match &job.payload {
            Payload::Code(code) => (Some(code.as_str().into()), None),
            Payload::Command(argv) => (None, Some(argv.as_slice().into())),
        };
        Self {
            schema: JOB_SCHEMA.into(),
            id: Some(Cow::Borrowed(&job.id)),
            profile: Some(job.profile.as_str().into()),
            code,
            command,
            files: job.files.iter().map(FileDocument::from).collect(),
            args: job.args.as_slice().into(),
            stdin: job.stdin.as_str().into(),
            env: Cow::Borrowed(&job.env),
            artifacts: job.artifacts.as_deref().map(Cow::Borrowed),
            limits: job.limits,
            network: (!job.network.is_empty()).then(|| NetworkDocument {
                allow: job.network.as_slice().into(),
            }),
            secrets: Cow::Borrowed(&job.secrets),
            isolation: job.isolation,
            tenant: Some(Cow::Borrowed(&job.tenant)),
            class: Some(job.class),
            deadline_unix_ms: job.deadline_unix_ms,
            idempotency_key: job.idempotency_key.as_deref().map(Cow::Borrowed),
            labels: Cow::Borrowed(&job.labels),
        }
    }
}

impl<'a> From<&'a InputFile> for FileDocument<'a> {
    fn from(file: &'a InputFile) -> Self {
        let mut document = Self {
            path: file.path.as_str().into(),
            text: None,
            base64: None,
            object: None,
            sha256: None,
            read_only: file.read_only,
            executable: file.executable,
        };
        match &file.content {
            Content::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => document.text = Some(text.into()),
                Err(_) => document.base64 = Some(STANDARD.encode(bytes)),
            },
            Content::Object { key, sha256 } => {
                document.object = Some(key.as_str().into());
                document.sha256 = Some(sha256.as_str().into());
            }
        }
        document
    }
}
