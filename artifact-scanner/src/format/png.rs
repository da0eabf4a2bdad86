//! Whether a PNG is whole, how large it claims to be, and what its text chunks hold.

use super::{pixels, trailing};
use crate::archive::unpack::zlib;
use crate::bytes::{be32, count, index, slice};
use crate::{Budget, Notes, Unscannable};

/// The chunks that say how the picture is drawn; what is in any other is handed on.
const DRAWS: [&[u8]; 16] = [
    b"PLTE", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"sBIT", b"bKGD", b"hIST", b"pHYs", b"tIME",
    b"cICP", b"mDCV", b"cLLI", b"acTL", b"fcTL", b"fdAT",
];

/// Walks the chunks; text of them is handed on.
pub(crate) fn check(
    bytes: &[u8],
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let mut at = 8;
    let (mut header, mut data) = (false, false);
    loop {
        let length = index(be32(bytes, at).ok_or(Unscannable::Corrupt)?);
        let body =
            slice(bytes, at + 4, 4usize.saturating_add(length)).ok_or(Unscannable::Corrupt)?;
        let sum = be32(bytes, at + 8 + length).ok_or(Unscannable::Corrupt)?;
        budget.charge(count(length) + 12)?;
        if crc32fast::hash(body) != sum {
            return Err(Unscannable::Corrupt);
        }
        let (kind, body) = body.split_at(4);
        at += 12 + length;
        if matches!(kind, b"tEXt" | b"zTXt" | b"iTXt" | b"iCCP") {
            keyword(body, at, notes);
        }
        match kind {
            b"IHDR" if !header => {
                let (Some(width), Some(height)) = (be32(body, 0), be32(body, 4)) else {
                    return Err(Unscannable::Corrupt);
                };
                pixels(width.into(), height.into(), budget)?;
                header = true;
            }
            b"IDAT" if header => data = true,
            b"IEND" if data => break,
            b"IEND" | b"IHDR" | b"IDAT" => return Err(Unscannable::Corrupt),
            b"tEXt" => text(body, at, notes),
            b"zTXt" | b"iTXt" | b"iCCP" => packed(kind, body, at, notes, budget)?,
            kind if DRAWS.contains(&kind) || body.is_empty() => {}
            kind => notes.part(
                format!("chunk {} before offset {at}", String::from_utf8_lossy(kind)),
                None,
                None,
                body.to_vec(),
            ),
        }
    }
    trailing(bytes, at, notes);
    Ok(())
}

/// The name before a text: an ordinary one is a word.
fn keyword(body: &[u8], at: usize, notes: &mut Notes) {
    const WORD_BYTES: usize = 20;
    let name = body.split(|byte| *byte == 0).next().unwrap_or_default();
    if name.len() >= WORD_BYTES && name.len() < body.len() {
        notes.part(
            format!("name of the chunk before offset {at}"),
            None,
            None,
            name.to_vec(),
        );
    }
}

fn text(body: &[u8], at: usize, notes: &mut Notes) {
    let start = body
        .iter()
        .position(|byte| *byte == 0)
        .map_or(0, |end| end + 1);
    notes.part(
        format!("chunk tEXt before offset {at}"),
        None,
        None,
        body[start..].to_vec(),
    );
}

fn packed(
    kind: &[u8],
    body: &[u8],
    at: usize,
    notes: &mut Notes,
    budget: &mut Budget,
) -> Result<(), Unscannable> {
    let keyword = body
        .iter()
        .position(|byte| *byte == 0)
        .ok_or(Unscannable::Corrupt)?
        + 1;
    let rest = &body[keyword..];
    let place = format!("chunk {} before offset {at}", String::from_utf8_lossy(kind));
    let (is_packed, text) = if kind == b"iTXt" {
        let fields = rest.get(2..).ok_or(Unscannable::Corrupt)?;
        let mut parts = fields.splitn(3, |byte| *byte == 0).skip(2);
        (rest[0] == 1, parts.next().ok_or(Unscannable::Corrupt)?)
    } else {
        (true, rest.get(1..).ok_or(Unscannable::Corrupt)?)
    };
    if !is_packed {
        notes.part(place, None, None, text.to_vec());
        return Ok(());
    }
    let unpacked = zlib(text, budget);
    unpacked.end?;
    notes.part(place, None, None, unpacked.bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limit, Limits, Severity};

    fn chunk(kind: &[u8], body: &[u8]) -> Vec<u8> {
        let both = [kind, body].concat();
        let length = u32::try_from(body.len()).expect("small").to_be_bytes();
        [&length[..], &both, &crc32fast::hash(&both).to_be_bytes()].concat()
    }

    fn png(width: u32, chunks: &[Vec<u8>], tail: &[u8]) -> Vec<u8> {
        let header = [
            &width.to_be_bytes()[..],
            &8u32.to_be_bytes(),
            &[8, 0, 0, 0, 0],
        ]
        .concat();
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        png.extend(chunk(b"IHDR", &header));
        png.extend(chunks.concat());
        png.extend(chunk(b"IDAT", b"\x78\x9c\x63\x00"));
        png.extend(chunk(b"IEND", b""));
        png.extend(tail);
        png
    }

    fn run(bytes: &[u8]) -> (Notes, Result<(), Unscannable>) {
        let (mut notes, mut budget) = (Notes::default(), Budget::new(Limits::default()));
        let end = check(bytes, &mut notes, &mut budget);
        (notes, end)
    }

    #[test]
    fn whole_cut_huge_and_with_a_tail() {
        let (notes, end) = run(&png(8, &[], b""));
        assert_eq!((end, notes.worst()), (Ok(()), None));
        let whole = png(8, &[], b"");
        assert_eq!(run(&whole[..whole.len() - 5]).1, Err(Unscannable::Corrupt));
        assert_eq!(
            run(&png(1 << 30, &[], b"")).1,
            Err(Unscannable::Limit(Limit::Pixels))
        );
        let (notes, end) = run(&png(8, &[], b"PK\x03\x04"));
        assert_eq!((end, notes.worst()), (Ok(()), Some(Severity::Suspicious)));
        assert_eq!(notes.parts()[0].bytes, b"PK\x03\x04");
    }

    #[test]
    fn names_and_profiles_are_handed_on() {
        let stored = b"\x78\x01\x01\x02\0\xfd\xffhi\x01\x3b\0\xd2";
        let profile = [&b"icc\0\0"[..], stored].concat();
        let (notes, end) = run(&png(8, &[chunk(b"iCCP", &profile)], b""));
        assert_eq!(end, Ok(()));
        assert_eq!(notes.parts()[0].bytes, b"hi");
        let named = b"a name that is more than a word\0";
        let (notes, _) = run(&png(8, &[chunk(b"tEXt", named)], b""));
        assert_eq!(notes.parts()[0].bytes, named[..named.len() - 1]);
        let (notes, _) = run(&png(8, &[chunk(b"sPLT", b"name")], b""));
        assert_eq!(notes.parts()[0].bytes, b"name");
    }

    #[test]
    fn text_chunks_are_handed_on() {
        let (notes, end) = run(&png(8, &[chunk(b"tEXt", b"Comment\0<script>")], b""));
        assert_eq!(end, Ok(()));
        assert_eq!(notes.parts()[0].bytes, b"<script>");
        let (notes, _) = run(&png(8, &[chunk(b"iTXt", b"k\0\0\0en\0k\0text")], b""));
        assert_eq!(notes.parts()[0].bytes, b"text");
        let (notes, _) = run(&png(
            8,
            &[chunk(b"gAMA", b"1234"), chunk(b"prVt", b"own")],
            b"",
        ));
        assert_eq!(notes.parts().len(), 1);
        assert_eq!(notes.parts()[0].bytes, b"own");
    }
}
