//! Which secrets may jobs refer to, and which does the proxy attach for them?

use super::section::{CREDENTIAL, SECRET};
use super::sources::Sources;
use super::worker::path;
use crate::egress::credential::{Rule as Credential, is_field_name};
use crate::egress::target::{Host, Target};
use crate::secrets::{Place, Rule, Secrets};
use kiln_protocol::id::{TENANT_GRAMMAR, Tenant};
use kiln_warden::profile::keys::Keys;
use std::collections::BTreeMap;
use toml::Value;
use toml::value::{Datetime, Offset};

/// The port of a credential's host where none is said.
const HTTPS: u16 = 443;

/// `[secrets.<ref>]`.
pub(super) fn secrets(sources: &Sources) -> Secrets {
    let mut all = BTreeMap::new();
    let Some(table) = sources.table(SECRET.name) else {
        return Secrets(all);
    };
    let secrets = Keys::new(table, SECRET.name, &sources.errors);
    for (name, _) in secrets.each() {
        let Some(keys) = secrets.table(name) else {
            continue;
        };
        keys.only(&SECRET.names());
        if let Some(rule) = secret(&keys, name, &secrets) {
            all.insert(name.to_owned(), rule);
        }
    }
    Secrets(all)
}

fn secret(keys: &Keys, name: &str, secrets: &Keys) -> Option<Rule> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'/');
    if !name.bytes().all(plain) || name.is_empty() {
        secrets.wrong(
            name,
            "a reference is made of letters, digits, `.`, `_`, `-` and `/`",
        );
    }
    let variable = keys.text("environment").map(str::to_owned);
    let place = match (keys.has("file"), variable) {
        (true, None) => path(keys, "file").map(Place::File),
        (false, Some(variable)) => Some(Place::Environment(variable)),
        (true, Some(_)) => {
            keys.wrong("environment", "`file` is given too; a secret has one place");
            None
        }
        (false, None) if keys.has("environment") => None,
        (false, None) => {
            keys.wrong("file", "say where it is: `file`, or `environment`");
            None
        }
    };
    let tenants = tenants(keys);
    let profiles = listed(keys, "profiles", "whose profiles may have it");
    let expires_unix_ms = expires(keys);
    Some(Rule {
        place: place?,
        tenants,
        profiles,
        expires_unix_ms,
    })
}

/// A list that must say something: what is left out is not everybody.
fn listed(keys: &Keys, name: &str, what: &str) -> Vec<String> {
    let given = keys.texts(name);
    if given.as_ref().map_or(!keys.has(name), Vec::is_empty) {
        keys.wrong(name, format!("say {what}; without it nobody could"));
    }
    given.unwrap_or_default()
}

fn tenants(keys: &Keys) -> Vec<Tenant> {
    let mut tenants = Vec::new();
    for text in listed(keys, "tenants", "whose jobs may have it") {
        match text.parse() {
            Ok(tenant) => tenants.push(tenant),
            Err(_) => keys.wrong("tenants", format!("a tenant's name is {TENANT_GRAMMAR}")),
        }
    }
    tenants
}

/// A moment with its offset; a day alone is its first moment in UTC.
fn expires(keys: &Keys) -> Option<u64> {
    let (_, value) = keys.each().find(|(name, _)| *name == "expires")?;
    let moment = match value {
        Value::Datetime(moment) => Some(*moment),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    let found = moment.as_ref().and_then(unix_ms);
    if found.is_none() {
        keys.wrong(
            "expires",
            "it must be a moment such as `2027-01-31T12:00:00Z`, or a day such as `2027-01-31`",
        );
    }
    found
}

fn unix_ms(moment: &Datetime) -> Option<u64> {
    let date = moment.date?;
    let (time_s, offset_s) = match (moment.time, moment.offset) {
        (None, None) => (0, 0),
        (Some(time), Some(offset)) => {
            let offset = match offset {
                Offset::Z => 0,
                Offset::Custom { minutes } => i64::from(minutes) * 60,
            };
            let minutes = i64::from(time.hour) * 60 + i64::from(time.minute);
            (minutes * 60 + i64::from(time.second.unwrap_or(0)), offset)
        }
        _ => return None,
    };
    let days = days(
        i64::from(date.year),
        i64::from(date.month),
        i64::from(date.day),
    );
    u64::try_from((days * 86_400 + time_s - offset_s) * 1_000).ok()
}

/// Days from 1970 to a date of the Gregorian calendar, counted in years that begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// `[credentials.<name>]`.
pub(super) fn credentials(sources: &Sources, secrets: &Secrets) -> Vec<Credential> {
    let mut all = Vec::new();
    let Some(table) = sources.table(CREDENTIAL.name) else {
        return all;
    };
    let credentials = Keys::new(table, CREDENTIAL.name, &sources.errors);
    for (name, _) in credentials.each() {
        if let Some(keys) = credentials.table(name) {
            keys.only(&CREDENTIAL.names());
            all.extend(credential(&keys, secrets));
        }
    }
    all
}

fn credential(keys: &Keys, secrets: &Secrets) -> Option<Credential> {
    let needed = |name: &str, what: &str| {
        if !keys.has(name) {
            keys.wrong(name, format!("say {what}"));
        }
        keys.text(name)
    };
    let secret = needed("secret", "which secret it is").filter(|secret| {
        let known = secrets.0.contains_key(*secret);
        if !known {
            keys.wrong("secret", format!("there is no `[secrets.\"{secret}\"]`"));
        }
        known
    });
    let target = needed("host", "for which host it is").and_then(|host| {
        let target = Target::parse(host, Some(HTTPS)).ok();
        let named = target.filter(|target| matches!(target.host, Host::Name(_)));
        if named.is_none() {
            keys.wrong(
                "host",
                format!("`{host}` is not a name such as `api.example.com`"),
            );
        }
        named
    });
    let path = needed("path", "below which path it is attached; `/` is everywhere");
    let path = path.filter(|path| {
        let good = path.starts_with('/') && path.bytes().all(|b| b.is_ascii_graphic() && b != b'?');
        if !good {
            keys.wrong("path", "it must be a path that begins with `/`");
        }
        good
    });
    let field = keys.text("header").unwrap_or("Authorization");
    let before = keys.text("before").unwrap_or("");
    if !is_field_name(field) {
        keys.wrong(
            "header",
            "it must be the name of a field that requests may have",
        );
    }
    if !before.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        keys.wrong("before", "it must be plain text");
    }
    Some(Credential {
        secret: secret?.to_owned(),
        target: target?,
        path: path?.to_owned(),
        field: field.to_owned(),
        before: before.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::{load, told};

    #[test]
    fn both_sections_are_read() {
        let config = load(
            "[secrets.'acme/api']\nfile = '/run/secrets/api'\ntenants = ['acme']\n\
             profiles = ['python']\nexpires = 2027-01-31T12:00:00+01:00\n\
             [secrets.day]\nenvironment = 'DAY'\ntenants = ['a', 'b']\nprofiles = ['bash']\n\
             expires = '2024-02-29'\n\
             [credentials.api]\nsecret = 'acme/api'\nhost = 'API.example.com'\npath = '/v1/'\n\
             before = 'Bearer '\n",
            &[],
        )
        .map_err(|errors| errors.to_string());
        let config = config.expect("it is right");
        let api = &config.secrets.0["acme/api"];
        assert_eq!(api.place, Place::File("/run/secrets/api".into()));
        assert_eq!(api.expires_unix_ms, Some(1_801_393_200_000));
        assert_eq!(
            config.secrets.0["day"].expires_unix_ms,
            Some(1_709_164_800_000)
        );
        let credential = &config.credentials[0];
        assert_eq!(credential.target.to_string(), "api.example.com:443");
        assert_eq!(
            (credential.field.as_str(), credential.before.as_str()),
            ("Authorization", "Bearer ")
        );
    }

    #[test]
    fn what_is_wrong_is_named_by_its_key() {
        let said = told(
            "[secrets.a]\n[secrets.b]\nfile = '/x'\nenvironment = 'X'\ntenants = ['a b']\n\
             profiles = ['p']\nexpires = '2027-01-31T12:00:00'\n\
             [secrets.'a b']\nfile = 'x'\ntenants = ['a']\nprofiles = ['p']\n\
             [credentials.c]\nsecret = 'none'\nhost = '127.0.0.1'\npath = 'v1'\nheader = 'Host'\nbefore = \"a\\nb\"\n\
             [credentials.d]\nsecrets = 'a'\n",
            &[],
        );
        for wanted in [
            "take `secrets.a.file`: say where it is",
            "take `secrets.a.tenants`: say whose jobs",
            "take `secrets.a.profiles`: say whose profiles",
            "take `secrets.b.environment`: `file` is given too",
            "take `secrets.b.tenants`: a tenant's name is",
            "take `secrets.b.expires`: it must be a moment",
            "take `secrets.a b`: a reference is made of",
            "take `secrets.a b.file`: it must be an absolute path",
            "take `credentials.c.secret`: there is no",
            "take `credentials.c.host`: `127.0.0.1` is not a name",
            "take `credentials.c.path`: it must be a path",
            "take `credentials.c.header`",
            "take `credentials.c.before`",
            "take `credentials.d.secrets`: `secrets` is not known here; did you mean `secret`?",
            "take `credentials.d.host`: say for which host",
        ] {
            assert!(said.contains(wanted), "`{wanted}` is not in:\n{said}");
        }
    }

    #[test]
    fn days_are_counted_from_1970() {
        for (date, wanted) in [
            ((1970, 1, 1), 0),
            ((1970, 3, 1), 59),
            ((2000, 2, 29), 11_016),
            ((2000, 3, 1), 11_017),
            ((2027, 1, 31), 20_849),
            ((2100, 3, 1), 47_541),
        ] {
            assert_eq!(days(date.0, date.1, date.2), wanted, "{date:?}");
        }
    }
}
