//! What may stand in `kiln.toml`, as a JSON Schema for editors?

use super::section::{CREDENTIAL, Kind, PLAIN, SECRET, Section, TENANT};
use kiln_protocol::limits::{LimitName, LimitUnit};
use serde_json::{Map, Value, json};

/// JSON Schema 2020-12 of `kiln.toml`.
///
/// It says less than is checked: what two keys mean together is not in it.
pub fn schema() -> Value {
    let mut sections = Map::new();
    for section in PLAIN {
        sections.insert(section.name.to_owned(), table(section));
    }
    let tenant = json!({
        "type": "object",
        "description": "Tenants with queues of their own",
        "propertyNames": {"pattern": "^[A-Za-z0-9_-]{1,64}$"},
        "additionalProperties": table(&TENANT),
    });
    sections.insert(TENANT.name.to_owned(), tenant);
    let secrets = json!({
        "type": "object",
        "description": SECRET.what,
        "additionalProperties": table(&SECRET),
    });
    sections.insert(SECRET.name.to_owned(), secrets);
    let credentials = json!({
        "type": "object",
        "description": CREDENTIAL.what,
        "additionalProperties": table(&CREDENTIAL),
    });
    sections.insert(CREDENTIAL.name.to_owned(), credentials);
    let profiles = json!({
        "type": "object",
        "description": "The kinds of sandbox",
        "propertyNames": {"pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"},
        "additionalProperties": profile(),
    });
    sections.insert("profiles".to_owned(), profiles);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:kiln:kiln.toml",
        "title": "kiln.toml",
        "type": "object",
        "additionalProperties": false,
        "properties": sections,
    })
}

fn table(section: &Section) -> Value {
    let mut keys = Map::new();
    for key in section.keys {
        let mut value = if section.name == TENANT.name && key.name == "ceilings" {
            json!({"not": {}})
        } else {
            kind(key.kind)
        };
        value["description"] = key.what.into();
        keys.insert(key.name.to_owned(), value);
    }
    json!({
        "type": "object",
        "description": section.what,
        "additionalProperties": false,
        "properties": keys,
    })
}

fn kind(kind: Kind) -> Value {
    match kind {
        Kind::Text | Kind::Secret => json!({"type": "string"}),
        Kind::Folder => json!({"type": "string", "pattern": "^/"}),
        Kind::Count { least, most } => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Words(words) => json!({"enum": words}),
        Kind::Size => json!({"type": "string", "pattern": "^[0-9.]+([KMG]i?)?B$"}),
        Kind::Rows(section) => json!({"type": "array", "items": table(section)}),
        Kind::SomeOf(words) => json!({
            "type": "array", "items": {"enum": words}, "minItems": 1, "uniqueItems": true,
        }),
    }
}

fn profile() -> Value {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let count =
        |least: u32, most: u32| json!({"type": "integer", "minimum": least, "maximum": most});
    let keys = json!({
        "base": {"type": "string", "description": "The profile that this one starts from"},
        "ceilings": figures("The most that a job may ask for"),
        "host_extra": {"type": "array", "items": {"type": "string"},
            "description": "Folders of the host that are shown beyond the usual"},
        "image": {"type": "string", "pattern": "^(host$|dir:/)",
            "description": "`host`, or `dir:/path` of a root file system"},
        "interpreter": {"type": "array", "items": {"type": "string"}, "minItems": 1,
            "description": "The program that runs code, with its arguments"},
        "isolation": {"enum": ["standard", "strict"], "description": "The least isolation of a job"},
        "limits": figures("What a job gets that asks for nothing"),
        "main": {"type": "string", "description": "The file name of a job's code"},
        "max_age": {"type": "string", "description": "The age at which a sandbox retires: `30m`"},
        "max_uses": {"type": "integer", "minimum": 1, "maximum": 100_000,
            "description": "Jobs after which a sandbox retires"},
        "network": {"type": "object", "additionalProperties": false, "properties": {"allow": texts},
            "description": "What a job may ask to reach; not served yet"},
        "pool": {"type": "object", "additionalProperties": false,
            "properties": {"min": count(0, 1_024), "max": count(1, 4_096)},
            "description": "How many sandboxes are kept ready"},
        "reuse": {"enum": ["any", "tenant", "never"],
            "description": "Whose job may follow on a used sandbox"},
    });
    json!({
        "type": "object",
        "description": "A kind of sandbox",
        "additionalProperties": false,
        "properties": keys,
    })
}

fn figures(what: &str) -> Value {
    let mut keys = Map::new();
    for limit in LimitName::ALL {
        let value = match limit.unit() {
            LimitUnit::Duration => json!({"type": "string", "pattern": "^[0-9.]+(ms|s|m|h)$"}),
            LimitUnit::Size => json!({"type": "string", "pattern": "^[0-9.]+([KMG]i?)?B$"}),
            LimitUnit::Cpus => json!({"type": ["number", "string"]}),
            LimitUnit::Count => json!({"type": "integer", "minimum": 0}),
        };
        keys.insert(limit.cli_name().replace('-', "_"), value);
    }
    json!({
        "type": "object",
        "description": what,
        "additionalProperties": false,
        "properties": keys,
    })
}
