//! Do the fields beside the members, which unpackers show and nobody reads, hold a secret?

use super::Sink;
use crate::check::secrets;
use crate::{Notes, Unscannable};

/// Shorter fields hold times and owners.
const FIELD_BYTES_MIN: usize = 20;

/// Searches a comment or an extra field of what is at `place`.
pub(super) fn search(place: &str, field: &[u8], sink: &mut dyn Sink) -> Result<(), Unscannable> {
    if field.len() < FIELD_BYTES_MIN {
        return Ok(());
    }
    let mut own = Notes::default();
    let end = secrets::check(field, &mut own, sink.budget());
    sink.notes().absorb(place, own);
    end
}

/// The header of a member of gzip: an extra field, a name, a comment.
pub(super) fn of_gzip(bytes: &[u8]) -> &[u8] {
    const FIXED: usize = 10;
    let (Some(flags), Some(rest)) = (bytes.get(3), bytes.get(FIXED..)) else {
        return &[];
    };
    let mut end = 0;
    if flags & 4 != 0 {
        let length = rest
            .first_chunk()
            .map_or(0, |size| u16::from_le_bytes(*size));
        end = (2 + usize::from(length)).min(rest.len());
    }
    for text in [8, 16] {
        if flags & text != 0 {
            let length = memchr::memchr(0, &rest[end..]);
            end = length.map_or(rest.len(), |length| end + length + 1);
        }
    }
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::super::tests::Kept;
    use super::super::{stream, tar, zip};
    use crate::{Kind, Limits};
    use std::io::Write as _;

    fn token() -> String {
        format!("{}{}", "ghp_", "op6FasrEF582wWhLUSQWhnSCynAd8U1lWSRy")
    }

    #[test]
    fn the_header_of_gzip_is_read() {
        for comment in [token(), "made by nobody in particular".to_owned()] {
            let mut packer = flate2::GzBuilder::new()
                .filename("a.txt")
                .extra(vec![0; 30])
                .comment(comment.as_str())
                .write(Vec::new(), flate2::Compression::fast());
            packer.write_all(b"hello").expect("to memory");
            let bytes = packer.finish().expect("to memory");
            let mut kept = Kept::new(Limits::default());
            stream::read(Kind::Gzip, &bytes, "a.gz", &mut kept).expect("whole");
            assert_eq!(kept.rules().contains(&"secrets.github"), comment == token());
        }
    }

    #[test]
    fn the_records_of_a_tar_are_read() {
        let record = format!(" comment={}\n", token());
        let record = format!("{}{record}", record.len() + 2);
        let mut bytes = vec![0; 512];
        bytes[..4].copy_from_slice(b"a.px");
        bytes[124..136].copy_from_slice(format!("{:011o}\0", record.len()).as_bytes());
        bytes[148..156].fill(b' ');
        bytes[156] = b'g';
        let sum: u32 = bytes.iter().map(|byte| u32::from(*byte)).sum();
        bytes[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        bytes.extend(record.as_bytes());
        bytes.resize(2048, 0);
        let mut kept = Kept::new(Limits::default());
        tar::read(&bytes, &mut kept).expect("whole");
        assert_eq!(kept.rules(), ["secrets.github"]);
    }

    #[test]
    fn the_extra_fields_and_comments_of_a_zip_are_read() {
        let token = token();
        let length = u16::try_from(token.len()).expect("short");
        let extra = [&b"xx"[..], &length.to_le_bytes(), token.as_bytes()].concat();
        let extra_length = u16::try_from(extra.len()).expect("short").to_le_bytes();
        for (of_local, of_central, of_comment) in [
            (true, false, false),
            (false, true, false),
            (false, false, true),
        ] {
            let sizes = |has: bool| if has { extra_length } else { [0; 2] };
            let part = |has: bool, bytes: &[u8]| if has { bytes.to_vec() } else { Vec::new() };
            let mut bytes = [&b"PK\x03\x04\x14\0"[..], &[0; 20], &[1, 0]].concat();
            bytes.extend(sizes(of_local));
            bytes.extend(b"a");
            bytes.extend(part(of_local, &extra));
            let start = u32::try_from(bytes.len()).expect("short");
            bytes.extend([&b"PK\x01\x02\x14\x03\x14\0"[..], &[0; 20], &[1, 0]].concat());
            bytes.extend(sizes(of_central));
            let comment = if of_comment {
                length.to_le_bytes()
            } else {
                [0; 2]
            };
            bytes.extend([&comment[..], &[0; 12], b"a"].concat());
            bytes.extend(part(of_central, &extra));
            bytes.extend(part(of_comment, token.as_bytes()));
            let size = u32::try_from(bytes.len()).expect("short") - start;
            bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
            bytes.extend(size.to_le_bytes());
            bytes.extend(start.to_le_bytes());
            bytes.extend([0; 2]);
            let mut kept = Kept::new(Limits::default());
            zip::read(&bytes, &mut kept).expect("whole");
            assert_eq!(kept.rules(), ["secrets.github"]);
        }
    }
}
