//! Under which name does each thing lie in the store?
//!
//! Names are made of what cannot leave its place: ids, tenants, hex, tokens of ours. An artifact's
//! path is the job's own choice, so it is escaped, and where it is long its digest stands for it.

use kiln_protocol::digest::sha256_hex;
use kiln_protocol::id::{JobId, Tenant};
use std::fmt::Write as _;

/// Where runs keep what their jobs wrote and made.
pub(super) const RUNS: [&str; 3] = ["logs", "artifacts", "quarantine"];
/// What a program prints to.
const STREAMS: [&str; 2] = ["stdout", "stderr"];
/// What is written to see whether the store takes anything.
pub(super) const PROBE: &str = "probe.json";

/// Bytes of one part of a name: below what file systems take.
const PART_MAX: usize = 200;
/// Bytes of an escaped path: with what goes before it, below the 1,024 that S3 takes.
const PATH_MAX: usize = 700;

pub(super) fn job(id: &JobId) -> String {
    format!("jobs/{id}.json")
}

pub(super) fn result(id: &JobId) -> String {
    format!("results/{id}.json")
}

pub(super) fn stream(id: &JobId, run: &str, name: &str) -> String {
    format!("logs/{id}/{run}/{name}")
}

pub(super) fn artifact(id: &JobId, run: &str, path: &str) -> String {
    format!("artifacts/{id}/{run}/{}", escaped(path))
}

/// Where a file goes that is not let out.
pub(super) fn withheld(id: &JobId, run: &str, path: &str) -> String {
    format!("quarantine/{id}/{run}/{}", escaped(path))
}

/// Where a stream goes that is not let out: no escaped path has a `~` before a name.
pub(super) fn withheld_stream(id: &JobId, run: &str, name: &str) -> String {
    format!("quarantine/{id}/{run}/~{name}")
}

/// Where a stream goes that is let out after all, and the stream, by what follows `quarantine/`;
/// `None` where that is no stream.
pub(super) fn stream_let_out(rest: &str) -> Option<(String, &'static str)> {
    let (run, name) = rest.split_once("/~")?;
    let name = STREAMS.into_iter().find(|it| *it == name)?;
    (run.split('/').count() == 2).then(|| (format!("logs/{run}/{name}"), name))
}

pub(super) fn idempotency(tenant: &Tenant, key: &str) -> String {
    format!("idempotency/{tenant}/{}.json", sha256_hex(key.as_bytes()))
}

/// All deaths of workers under one job.
pub(super) fn crashes(id: &JobId) -> String {
    format!("crashes/{id}")
}

/// `None` where `run` is no token.
pub(super) fn crash(id: &JobId, run: &str) -> Option<String> {
    let token = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let good = (1..=64).contains(&run.len()) && run.bytes().all(token);
    good.then(|| format!("crashes/{id}/{run}.json"))
}

/// Everything that operators did with what a job made.
pub(super) fn audits(id: &JobId) -> String {
    format!("audit/{id}")
}

/// One of these; in order of time.
pub(super) fn audit(id: &JobId, at_unix_ms: u64) -> String {
    let token = uuid::Uuid::now_v7().simple();
    format!("audit/{id}/{at_unix_ms:014}-{token}.json")
}

/// A wish in a tenant's name has a place of its own: another's does not take it.
pub(super) fn cancel(id: &JobId, tenant: Option<&Tenant>) -> String {
    match tenant {
        None => format!("cancel/{id}.json"),
        Some(tenant) => format!("cancel/{id}~{tenant}.json"),
    }
}

/// Whether a key that a job named lies where its tenant's inputs do.
pub(super) fn is_input(tenant: &Tenant, key: &str) -> bool {
    let Some(rest) = key.strip_prefix(&format!("inputs/{tenant}/")) else {
        return false;
    };
    let part = |part: &str| {
        !matches!(part, "" | "." | "..") && part.len() <= 255 && !part.contains(char::is_control)
    };
    key.len() <= 1_024 && rest.split('/').all(part)
}

/// A path as a name: different paths have different names, and none leaves its folder.
pub(super) fn escaped(path: &str) -> String {
    let mut name = String::with_capacity(path.len());
    for (at, part) in path.split('/').enumerate() {
        if at > 0 {
            name.push('/');
        }
        // What is only dots is a way, not a name.
        let dots = part.bytes().all(|b| b == b'.');
        for byte in part.bytes() {
            match byte {
                b'.' if dots => name.push_str("%2E"),
                b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'.' | b'_' | b'-' => {
                    name.push(char::from(byte));
                }
                _ => write!(name, "%{byte:02X}").expect("writing to a string does not fail"),
            }
        }
    }
    let long = |part: &str| part.is_empty() || part.len() > PART_MAX;
    if name.len() > PATH_MAX || name.split('/').any(long) {
        // No escaped path has a `~`.
        return format!("~{}", sha256_hex(path.as_bytes()));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_path_is_escaped_to_a_name_that_stays_in_its_folder() {
        for (path, name) in [
            ("plots/a-1_b.png", "plots/a-1_b.png"),
            ("a b%20.csv", "a%20b%2520.csv"),
            ("ü~", "%C3%BC%7E"),
            ("../x/./.../.a", "%2E%2E/x/%2E/%2E%2E%2E/.a"),
            ("a\\b:c*", "a%5Cb%3Ac%2A"),
        ] {
            assert_eq!(escaped(path), name, "{path}");
        }
    }

    #[test]
    fn what_is_long_or_empty_is_named_by_its_digest() {
        let long = "ü".repeat(120);
        let deep = "d/".repeat(800) + "x";
        let names: HashSet<_> = [&*long, &*deep, "a//b", "", "/a", "a/"]
            .into_iter()
            .map(escaped)
            .collect();
        assert_eq!(names.len(), 6);
        assert!(
            names
                .iter()
                .all(|name| name.len() == 65 && name.starts_with('~'))
        );
    }

    #[test]
    fn a_stream_that_is_let_out_goes_where_streams_are() {
        let id = "j".parse().expect("an id");
        for name in STREAMS {
            let held = withheld_stream(&id, "r", name);
            let rest = held.strip_prefix("quarantine/").expect("there");
            assert_eq!(
                stream_let_out(rest),
                Some((stream(&id, "r", name), name)),
                "{held}"
            );
        }
        // No file is one, whatever it is called.
        for path in ["stdout", "~stdout", "a/~stdout", &"/~stdout".repeat(99)] {
            let held = withheld(&id, "r", path);
            let rest = held.strip_prefix("quarantine/").expect("there");
            assert_eq!(stream_let_out(rest), None, "{held}");
        }
        for rest in ["j/~stdout", "j/r/a/~stdout", "j/r/~stdin", "j/r/~stdout/a"] {
            assert_eq!(stream_let_out(rest), None, "{rest}");
        }
    }

    #[test]
    fn inputs_lie_below_their_tenant() {
        let acme = "acme".parse().expect("a tenant");
        assert!(is_input(&acme, "inputs/acme/a b/x.parquet"));
        for wrong in [
            "inputs/acme/",
            "inputs/acme",
            "inputs/acme2/x",
            "inputs/x",
            "inputs/acme/../other/x",
            "inputs/acme//x",
            "inputs/acme/./x",
            "inputs/acme/\n",
            "results/x.json",
            "/inputs/acme/x",
        ] {
            assert!(!is_input(&acme, wrong), "{wrong}");
        }
    }

    #[test]
    fn a_crash_is_named_by_a_token_only() {
        let id = "j".parse().expect("an id");
        assert_eq!(crash(&id, "k3v9").as_deref(), Some("crashes/j/k3v9.json"));
        for wrong in ["", "../x", "a/b", "a.b"] {
            assert_eq!(crash(&id, wrong), None, "{wrong}");
        }
    }
}
