//! What is in a message that was packed?

use crate::heavy;
use kiln_protocol::decode::MESSAGE_BYTES_MAX;
use std::borrow::Cow;
use std::io::Read;

/// The body of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decoded<'a> {
    Whole(Cow<'a, [u8]>),
    /// More than a job may have; the rest was not unpacked.
    TooLong,
}

/// Unpacks a body; never more than a job may have, nor from more: what unpacks to nothing takes its
/// time, too.
///
/// # Errors
///
/// For people: the encoding is not known, or the body is not of it.
pub(super) fn decoded<'a>(body: &'a [u8], encoding: Option<&str>) -> Result<Decoded<'a>, String> {
    match encoding {
        None | Some("" | "identity" | "gzip" | "zstd") if body.len() > MESSAGE_BYTES_MAX => {
            Ok(Decoded::TooLong)
        }
        None | Some("" | "identity") => Ok(Decoded::Whole(Cow::Borrowed(body))),
        Some("gzip") => heavy::unpack(body.len(), || {
            unpacked("gzip", flate2::read::MultiGzDecoder::new(body))
        }),
        Some("zstd") => heavy::unpack(body.len(), || {
            let reader = ruzstd::decoding::StreamingDecoder::new(body)
                .map_err(|error| format!("content-encoding: the body is not zstd: {error}"))?;
            unpacked("zstd", reader)
        }),
        Some(other) => {
            let shown = super::reply::shown(other, 32);
            Err(format!(
                "content-encoding: `{shown}` is not known; send `gzip`, `zstd` or none"
            ))
        }
    }
}

fn unpacked(name: &str, reader: impl Read) -> Result<Decoded<'static>, String> {
    let mut body = Vec::new();
    reader
        .take(MESSAGE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut body)
        .map_err(|error| format!("content-encoding: the body is not {name}: {error}"))?;
    if body.len() > MESSAGE_BYTES_MAX {
        return Ok(Decoded::TooLong);
    }
    Ok(Decoded::Whole(Cow::Owned(body)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).expect("memory takes it");
        packer.finish().expect("memory takes it")
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn what_was_packed_is_unpacked() {
        for (encoding, body) in [
            (None, b"{}".to_vec()),
            (Some("identity"), b"{}".to_vec()),
            (Some("gzip"), gzip(b"{}")),
            (Some("zstd"), zstd(b"{}")),
        ] {
            let whole = Decoded::Whole(Cow::Borrowed(b"{}"));
            assert_eq!(decoded(&body, encoding), Ok(whole), "{encoding:?}");
        }
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let bomb = vec![b' '; MESSAGE_BYTES_MAX * 4];
        for (encoding, body) in [
            (None, bomb.clone()),
            (Some("gzip"), gzip(&bomb)),
            (Some("zstd"), zstd(&bomb)),
        ] {
            assert_eq!(
                decoded(&body, encoding),
                Ok(Decoded::TooLong),
                "{encoding:?}"
            );
        }
    }

    #[test]
    fn what_unpacks_to_nothing_is_not_read_for_longer_than_a_job_is() {
        let nothing = gzip(b"").repeat(MESSAGE_BYTES_MAX / 20 + 1);
        for encoding in ["gzip", "zstd"] {
            let told = decoded(&nothing, Some(encoding));
            assert_eq!(told, Ok(Decoded::TooLong), "{encoding}");
        }
    }

    #[test]
    fn what_is_not_of_its_encoding_is_told() {
        for (encoding, wanted) in [
            ("gzip", "not gzip"),
            ("zstd", "not zstd"),
            ("br", "`br` is not known"),
        ] {
            let told = decoded(b"{}", Some(encoding)).expect_err("it is none");
            assert!(told.contains(wanted), "{told}");
        }
        let cut = &gzip(b"0123456789")[..12];
        assert!(decoded(cut, Some("gzip")).is_err());
    }
}
