//! Which variables, secrets and hosts does a job ask for?

use crate::fields::{Fields, Report, text_kind};
use crate::pointer;
use crate::refusal::Refusal;
use std::collections::BTreeMap;

/// The most variables of one job, and the most secrets.
pub const VARIABLES_MAX: usize = 256;
/// The most bytes of all variables, each with its `=` and the byte that ends it.
pub const VARIABLES_BYTES_MAX: usize = 128 * 1024;
/// The longest reference to a secret.
const REFERENCE_BYTES_MAX: usize = 256;
/// The longest name of a host.
const HOST_BYTES_MAX: usize = 253;

/// The variables.
pub(super) fn env(fields: &mut Fields, report: &mut Report) -> BTreeMap<String, String> {
    let at = fields.at("env");
    let env = fields.string_map("env", report);
    names(&env, &at, report);
    for (name, value) in &env {
        if value.contains('\0') {
            report.refuse(Refusal::bad(
                pointer::child(&at, name),
                "a variable may not hold a NUL byte",
                text_kind(value),
                "a string without NUL",
            ));
        }
    }
    let bytes: usize = env
        .iter()
        .map(|(name, value)| name.len() + value.len() + 2)
        .sum();
    if bytes > VARIABLES_BYTES_MAX {
        report.refuse(
            Refusal::bad(
                at,
                format!(
                    "the variables take {bytes} bytes; at most {VARIABLES_BYTES_MAX} are taken"
                ),
                format!("{bytes} bytes"),
                format!("at most {VARIABLES_BYTES_MAX} bytes"),
            )
            .too_large(),
        );
    }
    env
}

/// The references to secrets, none of them under the name of a variable.
pub(super) fn secrets(
    fields: &mut Fields,
    env: &BTreeMap<String, String>,
    report: &mut Report,
) -> BTreeMap<String, String> {
    let at = fields.at("secrets");
    let secrets = fields.string_map("secrets", report);
    names(&secrets, &at, report);
    for (name, reference) in &secrets {
        let good = !reference.is_empty()
            && reference.len() <= REFERENCE_BYTES_MAX
            && reference
                .split('/')
                .all(|part| !matches!(part, "" | "." | ".."))
            && reference
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'/'));
        if !good {
            report.refuse(Refusal::bad(
                pointer::child(&at, name),
                "a reference to a secret is made of letters, digits, `.`, `_`, `-` and `/`",
                text_kind(reference),
                "a reference such as `acme/api`",
            ));
        }
        if env.contains_key(name) {
            report.refuse(Refusal::bad(
                pointer::child(&at, name),
                "`env` has a variable of this name too",
                "two variables of one name",
                "one variable of each name",
            ));
        }
    }
    secrets
}

/// The hosts.
pub(super) fn network(fields: &mut Fields, report: &mut Report) -> Vec<String> {
    let Some(mut network) = fields.object("network", report) else {
        return Vec::new();
    };
    let at = network.at("allow");
    let allow = network.strings("allow", report).unwrap_or_default();
    network.finish(report);
    for (index, host) in allow.iter().enumerate() {
        if !is_host_and_port(host) {
            report.refuse(Refusal::bad(
                format!("{at}/{index}"),
                "an entry of `allow` is not a host and a port such as `api.example.com:443`",
                text_kind(host),
                "`host:port`, the port from 1 to 65535",
            ));
        }
    }
    allow
}

/// Whether all keys can be names of variables, and are not too many.
fn names(map: &BTreeMap<String, String>, at: &str, report: &mut Report) {
    if map.len() > VARIABLES_MAX {
        report.refuse(
            Refusal::bad(
                at,
                format!(
                    "there are {} variables; at most {VARIABLES_MAX} are taken",
                    map.len()
                ),
                format!("{} variables", map.len()),
                format!("at most {VARIABLES_MAX} variables"),
            )
            .too_large(),
        );
        return;
    }
    for name in map.keys() {
        if name.is_empty() || name.contains(['=', '\0']) {
            report.refuse(Refusal::bad(
                pointer::child(at, name),
                "the name of a variable may not be empty and may not hold `=` or a NUL byte",
                text_kind(name),
                "a name without `=` and NUL",
            ));
        }
    }
}

fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let port_is_good = !port.starts_with('0')
        && port.bytes().all(|b| b.is_ascii_digit())
        && port.parse::<u16>().is_ok();
    let v6 = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let host_is_good = match v6 {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => host.len() <= HOST_BYTES_MAX && host.split('.').all(is_label),
    };
    port_is_good && host_is_good
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_port() {
        for good in [
            "a:1",
            "api.example.com:443",
            "10.0.0.1:65535",
            "[::1]:80",
            "_x.a-b.c:8",
        ] {
            assert!(is_host_and_port(good), "{good}");
        }
        for bad in [
            "",
            ":",
            "a",
            "a:",
            ":1",
            "a:0",
            "a:01",
            "a:65536",
            "a:+1",
            "a b:1",
            "a..b:1",
            "-a:1",
            "*.a:1",
            "http://a:1",
            "::1:80",
            "[::1:80",
            "[x]:80",
            "a:1/x",
        ] {
            assert!(!is_host_and_port(bad), "{bad}");
        }
    }
}
