//! Which files does a job bring, and can they all be put into its folder?

use crate::digest::{is_sha256_hex, sha256_hex};
use crate::fields::{Fields, Report, quoted, text_kind};
use crate::id::Tenant;
use crate::job::{Content, InputFile};
use crate::paths::{self, Clash};
use crate::refusal::Refusal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The most files of one job.
pub const FILES_MAX: usize = 1_000;

/// The files of a job whose code, where there is some, is saved as `main`.
pub(super) fn read(
    fields: &mut Fields,
    main: Option<&str>,
    tenant: Option<&Tenant>,
    report: &mut Report,
) -> Vec<InputFile> {
    let list = fields.list("files", report).unwrap_or_default();
    if list.len() > FILES_MAX {
        report.refuse(
            Refusal::bad(
                fields.at("files"),
                format!(
                    "there are {} files; at most {FILES_MAX} are taken",
                    list.len()
                ),
                format!("{} files", list.len()),
                format!("at most {FILES_MAX} files"),
            )
            .too_large(),
        );
        return Vec::new();
    }
    let (places, files): (Vec<String>, Vec<InputFile>) = list
        .into_iter()
        .filter_map(|(at, value)| {
            let file = file(Fields::of(value, at.clone(), report)?, tenant, report)?;
            Some((at, file))
        })
        .unzip();
    let paths: Vec<&str> = files
        .iter()
        .map(|file| file.path.as_str())
        .chain(main)
        .collect();
    for clash in paths::clashes(&paths) {
        let (one, other, relation) = match clash {
            Clash::Same { earlier, later } => (later, earlier, "has the path of"),
            Clash::Parent { file, below } => (below, file, "would lie below"),
        };
        // The main file is the last of the paths and has no place in the message.
        let (one, other, relation) = match (places.get(one), relation) {
            (Some(_), _) => (one, other, relation),
            (None, "would lie below") => (other, one, "would be a folder of"),
            (None, _) => (other, one, relation),
        };
        let whom = match places.get(other) {
            Some(place) => format!("the file `{place}`"),
            None => format!("the main file {}", quoted(paths[other])),
        };
        report.refuse(Refusal::bad(
            format!("{}/path", places[one]),
            format!("the file {relation} {whom}"),
            text_kind(paths[one]),
            "a path of its own",
        ));
    }
    files
}

fn file(mut fields: Fields, tenant: Option<&Tenant>, report: &mut Report) -> Option<InputFile> {
    let path = path(&mut fields, report);
    let read_only = fields.boolean("read_only", report);
    let executable = fields.boolean("executable", report);
    let content = content(&mut fields, tenant, report);
    fields.finish(report);
    Some(InputFile {
        path: path?,
        content: content?,
        read_only,
        executable,
    })
}

fn path(fields: &mut Fields, report: &mut Report) -> Option<String> {
    let at = fields.at("path");
    if !fields.has("path") {
        report.refuse(Refusal::bad(
            at,
            "a file needs a `path`",
            "nothing",
            "a path",
        ));
        return None;
    }
    let path = fields.string("path", report)?;
    match paths::check(&path) {
        Ok(()) => Some(path),
        Err(why) => {
            report.refuse(Refusal::bad(at, why, text_kind(&path), "a relative path"));
            None
        }
    }
}

fn content(fields: &mut Fields, tenant: Option<&Tenant>, report: &mut Report) -> Option<Content> {
    const ONE: &str = "exactly one of `text`, `base64` and `object`";
    let given: Vec<&str> = ["text", "base64", "object"]
        .into_iter()
        .filter(|name| fields.has(name))
        .collect();
    if given.len() != 1 {
        let (at, got) = match given.get(1) {
            Some(second) => (fields.at(second), given.join(" and ")),
            None => (fields.at("text"), "nothing".to_owned()),
        };
        report.refuse(Refusal::bad(at, format!("a file has {ONE}"), got, ONE));
    }
    let text = fields.string("text", report);
    let base64 = fields.string("base64", report);
    let object = fields.string("object", report);
    let named = fields.has("sha256");
    let sha256 = fields.string("sha256", report).and_then(|sha256| {
        let good = is_sha256_hex(&sha256);
        if !good {
            let at = fields.at("sha256");
            let message = "a `sha256` is 64 lower-case hex digits";
            report.refuse(Refusal::bad(
                at,
                message,
                text_kind(&sha256),
                "64 hex digits",
            ));
        }
        good.then_some(sha256)
    });
    if given.len() != 1 {
        return None;
    }
    if let Some(key) = object {
        return self::object(fields, key, sha256, named, tenant, report);
    }
    let bytes = match base64 {
        Some(base64) => decoded(fields, &base64, report)?,
        None => text?.into_bytes(),
    };
    if let Some(wanted) = sha256 {
        let found = sha256_hex(&bytes);
        if found != wanted {
            report.refuse(Refusal::bad(
                fields.at("sha256"),
                "the content has another sha256",
                found,
                wanted,
            ));
            return None;
        }
    }
    Some(Content::Bytes(bytes))
}

fn decoded(fields: &Fields, base64: &str, report: &mut Report) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(base64).ok();
    if bytes.is_none() {
        report.refuse(Refusal::bad(
            fields.at("base64"),
            "`base64` is not standard base64 with padding and without line breaks",
            text_kind(base64),
            "standard base64",
        ));
    }
    bytes
}

fn object(
    fields: &Fields,
    key: String,
    sha256: Option<String>,
    named: bool,
    tenant: Option<&Tenant>,
    report: &mut Report,
) -> Option<Content> {
    // Without a tenant the job is refused anyway, for that.
    let below = format!("inputs/{}/", tenant?);
    let good = key
        .strip_prefix(&below)
        .is_some_and(|rest| paths::check(rest).is_ok());
    if !good {
        report.refuse(Refusal::bad(
            fields.at("object"),
            format!("an object lies below `{below}`"),
            text_kind(&key),
            format!("a key below `{below}`"),
        ));
    }
    if !named {
        report.refuse(Refusal::bad(
            fields.at("sha256"),
            "an `object` needs its `sha256`",
            "nothing",
            "64 hex digits",
        ));
    }
    let sha256 = sha256?;
    good.then_some(Content::Object { key, sha256 })
}
