//! What are the JSON Schemas of a job and of an outcome?

use crate::asyncapi;
use crate::control::{CONTROL_SCHEMA, Cancellation};
use crate::document::JobDocument;
use crate::job::JOB_SCHEMA;
use crate::outcome::{OUTCOME_SCHEMA, Outcome};
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::Value;

/// JSON Schema 2020-12 of `kiln.job.v1`: what clients may send.
///
/// It says less than [`crate::decode()`] checks: a profile's ceilings, the sizes that are taken in
/// and what two fields mean together are not in it.
pub fn job() -> Schema {
    let mut schema = generate::<JobDocument<'static>>(JOB_SCHEMA);
    LeftOutIsNotNull.transform(&mut schema);
    schema
}

/// JSON Schema 2020-12 of `kiln.outcome.v1`: what clients get.
pub fn outcome() -> Schema {
    generate::<Outcome>(OUTCOME_SCHEMA)
}

/// JSON Schema 2020-12 of `kiln.control.v1`: what clients may ask of all workers.
pub fn control() -> Schema {
    let mut schema = generate::<Cancellation>(CONTROL_SCHEMA);
    LeftOutIsNotNull.transform(&mut schema);
    schema
}

/// Everything that is made from the types and checked in, by the name of its file.
pub fn checked_in() -> [(&'static str, String); 4] {
    [
        ("kiln.job.v1.json", pretty(&job())),
        ("kiln.outcome.v1.json", pretty(&outcome())),
        ("kiln.control.v1.json", pretty(&control())),
        ("asyncapi.json", pretty(&asyncapi::document())),
    ]
}

/// Indented, with a newline at its end.
fn pretty(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("a schema is JSON");
    text.push('\n');
    text
}

fn generate<T: JsonSchema>(name: &str) -> Schema {
    let mut schema = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), format!("urn:kiln:{name}").into());
    schema
}

/// A field of a job may be left out, and may not be null.
#[derive(Clone, Debug)]
struct LeftOutIsNotNull;

impl Transform for LeftOutIsNotNull {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else {
            return;
        };
        if let Some(Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                object.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
            choices.retain(|choice| choice["type"] != "null");
            if let [Value::Object(only)] = choices.as_slice() {
                let only = only.clone();
                object.remove("anyOf");
                object.extend(only);
            }
        }
    }
}
