//! Writes the JSON Schemas to `protocol/schema/`: `cargo run -p kiln-protocol --example schema`.

use kiln_protocol::schema;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    for (name, schema) in [
        ("kiln.job.v1.json", schema::job()),
        ("kiln.outcome.v1.json", schema::outcome()),
    ] {
        std::fs::write(folder.join(name), schema::pretty(&schema))?;
    }
    Ok(())
}
