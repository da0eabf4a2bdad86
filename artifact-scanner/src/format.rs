//! Whether a file is of its type to the last byte, and what is hidden where its readers do not look.

pub(crate) mod columnar;
pub(crate) mod frames;
pub(crate) mod gif;
pub(crate) mod hdf5;
pub(crate) mod jpeg;
pub(crate) mod json;
pub(crate) mod mp4;
pub(crate) mod npy;
pub(crate) mod parquet;
pub(crate) mod png;
pub(crate) mod rdata;
pub(crate) mod riff;
pub(crate) mod safetensors;
pub(crate) mod sqlite;
pub(crate) mod thrift;
pub(crate) mod tiff;
pub(crate) mod xml;
pub(crate) mod yaml;

use crate::{Budget, Limit, Notes, Severity, Unscannable};

/// Hands on what follows the end of a file, if it is more than padding.
pub(crate) fn trailing(bytes: &[u8], end: usize, notes: &mut Notes) {
    let rest = bytes.get(end..).unwrap_or_default();
    if rest
        .iter()
        .all(|byte| matches!(byte, 0 | b'\n' | b'\r' | b' '))
    {
        return;
    }
    let place = format!("offset {end}");
    notes.find(
        "polyglot.trailing",
        Severity::Suspicious,
        place.as_str(),
        format!("{} bytes follow the end of the file's format", rest.len()),
    );
    notes.part(place, None, None, rest.to_vec());
}

/// Refuses pictures that fill the memory of who draws them.
pub(crate) fn pixels(width: u64, height: u64, budget: &Budget) -> Result<(), Unscannable> {
    if width.saturating_mul(height) > budget.limits().pixels {
        return Err(Unscannable::Limit(Limit::Pixels));
    }
    Ok(())
}
