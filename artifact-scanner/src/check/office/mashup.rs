//! Does a workbook carry queries that are run by themselves, packed in a text of XML?

use super::super::decode;
use super::package;
use crate::bytes::{index, le32, slice};
use crate::{Budget, Kind, Notes, Severity, Unscannable};

/// Hands on the package of queries of a part, if it has any; what they do the rules tell.
pub(super) fn look(
    place: &str,
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    // The part may be in two bytes a letter.
    let wide = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    if !wide && memchr::memmem::find(bytes, b"DataMashup").is_none() {
        return Ok(());
    }
    budget.unpack(bytes.len().max(1) as u64)?;
    let text = package::text(bytes);
    let Some((_, behind)) = text.split_once("DataMashup") else {
        return Ok(());
    };
    let body = behind.split_once('>').map_or("", |(_, body)| body);
    let body = body.split('<').next().unwrap_or("");
    let packed = decode::base64(body.as_bytes());
    // A version, the length of the package, the package; then rights and settings.
    let package = le32(&packed, 4).and_then(|length| slice(&packed, 8, index(length)));
    match package {
        Some(package) if package.starts_with(b"PK") => {
            notes.part("queries", None, Some(Kind::Zip), package.to_vec());
        }
        _ => notes.find(
            "office.data_query",
            Severity::Suspicious,
            place,
            "the workbook has queries that cannot be read",
        ),
    }
    Ok(())
}
