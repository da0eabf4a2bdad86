//! Which job do the arguments of `kiln run` describe?
//!
//! The arguments become a job message that is decoded like any other, so that the rules are the
//! same for all who ask. Files of this machine go beside it, opened and not read.

use super::code::{self, CodeError};
use super::inputs::{self, InputError};
use super::limits::{self, LimitError};
use super::run::RunArgs;
use crate::egress::allow::Ceiling;
use crate::engine::{Delivered, LocalInput, Place, Submission};
use crate::secrets::Secrets;
use crate::unserved::{self, Offer};
use kiln_protocol::admission::{Admission, IdRule, ProfileSource, TenantRule};
use kiln_protocol::decode::{Accepted, Rejection, decode};
use kiln_protocol::id::{JobId, Tenant};
use kiln_protocol::job::{JOB_SCHEMA, Payload};
use kiln_protocol::limits::Limits;
use kiln_protocol::refusal::Refusal;
use kiln_protocol::units::format_size;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The folder below which a job's files go where no other is named.
pub(super) const OUT: &str = "kiln-out";

/// Why the arguments describe no job.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    #[error(
        "nothing to run; give a FILE, or a command after `--`; usage: kiln run [OPTIONS] FILE [-- ARGS...]"
    )]
    Nothing,
    #[error(transparent)]
    Code(CodeError),
    #[error(transparent)]
    Input(InputError),
    #[error(transparent)]
    Limit(LimitError),
    #[error("`--env {given}` is not NAME=VALUE")]
    Env { given: String },
    #[error("read `{path}` as standard input")]
    Stdin { path: PathBuf, source: io::Error },
    #[error("`{path}` is a directory; standard input is a file")]
    StdinDirectory { path: PathBuf },
    #[error("`{path}` is not a folder; `--out` needs one, or a name that is free")]
    Out { path: PathBuf },
    #[error("{0}")]
    Refused(String),
    #[error(
        "the input `{dest}` has the name that the code is saved as; give another by `SRC:DEST`"
    )]
    IsMain { dest: String },
    #[error(
        "the inputs have {}, more than the disk limit of {}; ask for more by `--limit disk=`",
        format_size(*.bytes), format_size(*.limit)
    )]
    InputsTooLarge { bytes: u64, limit: u64 },
    #[error("look at the input `{dest}`")]
    Look { dest: String, source: io::Error },
}

/// Everything that can be known without the profiles.
#[derive(Debug)]
pub(super) struct Request {
    id: JobId,
    message: Vec<u8>,
    /// The limits as they were asked for, to name them in a refusal.
    limits: Vec<String>,
    inputs: Vec<LocalInput>,
    stdin: Option<File>,
    out_dir: PathBuf,
}

/// Reads the arguments and what they name.
pub(super) fn read(args: &RunArgs) -> Result<Request, RequestError> {
    let id: JobId = uuid::Uuid::now_v7()
        .to_string()
        .parse()
        .expect("a UUID is a job id");
    let message = message(args)?;
    let inputs = inputs::open_all(&args.inputs).map_err(RequestError::Input)?;
    let stdin = args.stdin.as_deref().map(open_stdin).transpose()?;
    let out_dir = match &args.out {
        Some(dir) => dir.clone(),
        None => Path::new(OUT).join(id.as_str()),
    };
    check_out(&out_dir)?;
    Ok(Request {
        id,
        message,
        limits: args.limits.clone(),
        inputs,
        stdin,
        out_dir,
    })
}

impl Request {
    /// The folder that the job's outcome goes to.
    pub(super) fn out_dir(&self) -> &Path {
        &self.out_dir
    }

    /// The submission and its limits, by the rules that hold for every job.
    pub(super) fn admit(
        self,
        profiles: &dyn ProfileSource,
    ) -> Result<(Submission, Limits), RequestError> {
        let admission = Admission {
            profiles,
            id: IdRule::Given(self.id),
            tenant: TenantRule::Default(Tenant::default()),
            class: None,
        };
        let Accepted {
            job,
            limits,
            warnings,
        } = decode(&self.message, &admission)
            .map_err(|rejection| RequestError::Refused(refusal(&rejection, &self.limits)))?;
        let secrets = Secrets::default();
        let offer = Offer {
            network: Ceiling::of_own(profiles, &job),
            secrets: &secrets,
            proven: true,
            store: false,
        };
        if let Some(refusal) = unserved::first(&job, offer) {
            return Err(RequestError::Refused(refusal.message));
        }
        if let Payload::Code(_) = job.payload {
            let main = profiles.profile(&job.profile).and_then(|p| p.main);
            not_main(&self.inputs, main)?;
        }
        let bytes = total(&self.inputs)?;
        fits(bytes, &limits)?;
        let submission = Submission {
            job,
            warnings,
            inputs: self.inputs,
            stdin: self.stdin,
            place: Place::Folder(self.out_dir),
            delivery: Delivered::default(),
        };
        Ok((submission, limits))
    }
}

/// The job as a message, without its id, inputs and standard input.
fn message(args: &RunArgs) -> Result<Vec<u8>, RequestError> {
    let mut job = Map::new();
    job.insert("schema".into(), JOB_SCHEMA.into());
    let profile = match (&args.file, args.rest.is_empty()) {
        (None, true) => return Err(RequestError::Nothing),
        (None, false) => {
            job.insert("command".into(), json!(args.rest));
            None
        }
        (Some(file), _) => {
            let code = code::read(file).map_err(RequestError::Code)?;
            job.insert("code".into(), code.into());
            if !args.rest.is_empty() {
                job.insert("args".into(), json!(args.rest));
            }
            match args.profile {
                Some(_) => None,
                None => Some(code::profile(file).map_err(RequestError::Code)?),
            }
        }
    };
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            job.insert(name.into(), value);
        }
    };
    put(
        "profile",
        args.profile.as_deref().or(profile).map(Value::from),
    );
    put("tenant", args.tenant.as_deref().map(Value::from));
    put("isolation", args.isolation.as_deref().map(Value::from));
    let some = |list: &[String]| (!list.is_empty()).then(|| json!(list));
    put("artifacts", some(&args.artifacts));
    put(
        "network",
        some(&args.allow).map(|allow| json!({ "allow": allow })),
    );
    put("env", env(&args.env)?);
    let limits = limits::parse(&args.limits).map_err(RequestError::Limit)?;
    put("limits", (!limits.is_empty()).then(|| json!(limits)));
    Ok(Value::Object(job).to_string().into_bytes())
}

fn env(given: &[String]) -> Result<Option<Value>, RequestError> {
    if given.is_empty() {
        return Ok(None);
    }
    let mut all = Map::new();
    for variable in given {
        let (name, value) = variable
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| RequestError::Env {
                given: variable.clone(),
            })?;
        all.insert(name.into(), value.into());
    }
    Ok(Some(Value::Object(all)))
}

/// `-` is our own standard input.
fn open_stdin(path: &Path) -> Result<File, RequestError> {
    let failed = |source| RequestError::Stdin {
        path: path.into(),
        source,
    };
    if path == Path::new("-") {
        return rustix::io::dup(io::stdin())
            .map(File::from)
            .map_err(|errno| failed(errno.into()));
    }
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(RequestError::StdinDirectory { path: path.into() });
    }
    Ok(file)
}

/// A folder, or nothing yet.
pub(super) fn check_out(path: &Path) -> Result<(), RequestError> {
    match path.metadata() {
        Ok(meta) if !meta.is_dir() => Err(RequestError::Out { path: path.into() }),
        _ => Ok(()),
    }
}

/// The first thing that is wrong, and how much else is.
fn refusal(rejection: &Rejection, limits: &[String]) -> String {
    let first = as_typed(&rejection.main, limits);
    match rejection.others.len() {
        0 => first,
        1 => format!("{first} (and 1 more thing is wrong)"),
        more => format!("{first} (and {more} more things are wrong)"),
    }
}

/// What is wrong with a limit, under the argument that asked for it and not under the field that
/// the argument became.
fn as_typed(refusal: &Refusal, limits: &[String]) -> String {
    let argument = refusal
        .pointer
        .strip_prefix("/limits/")
        .and_then(|field| limits::argument(limits, field));
    match (argument, refusal.message.split_once(", ")) {
        (Some(argument), Some((asked, bound))) => match (in_words(asked), in_words(bound)) {
            // A figure with a unit may be typed in another one than the bound is in.
            (Some((_, asked)), Some((side, bound))) => {
                format!("`--limit {argument}`: {asked} is {side}{bound}")
            }
            _ => format!("`--limit {argument}`: {bound}"),
        },
        _ => refusal.message.clone(),
    }
}

/// What stands before a figure, and the figure as a person writes it: of
/// `above the ceiling of 4294967296 (4 GiB)` the words and `4 GiB`.
fn in_words(text: &str) -> Option<(&str, &str)> {
    let (before, figure) = text.strip_suffix(')')?.split_once(" (")?;
    let words = before.rfind(' ').map_or(before, |at| &before[..=at]);
    Some((words, figure))
}

fn not_main(inputs: &[LocalInput], main: Option<&str>) -> Result<(), RequestError> {
    let below_main = |dest: &str| {
        main.is_some_and(|main| {
            dest.strip_prefix(main)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    match inputs.iter().find(|input| below_main(&input.path)) {
        Some(input) => Err(RequestError::IsMain {
            dest: input.path.clone(),
        }),
        None => Ok(()),
    }
}

fn total(inputs: &[LocalInput]) -> Result<u64, RequestError> {
    let mut bytes: u64 = 0;
    for input in inputs {
        let meta = input.file.metadata().map_err(|source| RequestError::Look {
            dest: input.path.clone(),
            source,
        })?;
        bytes = bytes.saturating_add(meta.len());
    }
    Ok(bytes)
}

/// What can never fit is told at once; what just does not is told by the cell.
fn fits(bytes: u64, limits: &Limits) -> Result<(), RequestError> {
    if bytes > limits.disk_bytes {
        return Err(RequestError::InputsTooLarge {
            bytes,
            limit: limits.disk_bytes,
        });
    }
    Ok(())
}

#[cfg(test)]
#[path = "request/tests.rs"]
mod tests;
