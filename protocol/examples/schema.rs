//! Writes the JSON Schemas and the `AsyncAPI` document to `protocol/schema/`: `cargo run -p kiln-protocol --example schema`.

use kiln_protocol::schema;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
    for (name, text) in schema::checked_in() {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}
