//! How are bytes made into a file whose sums are right, so that what they guard is read?

use crate::variants::build::{Member, member, zip};

fn word(bytes: &[u8], at: usize) -> Option<[u8; 4]> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok()
}

fn put(bytes: &mut [u8], at: usize, sum: [u8; 4]) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(4)) {
        place.copy_from_slice(&sum);
    }
}

fn index(word: [u8; 4]) -> usize {
    usize::try_from(u32::from_be_bytes(word)).expect("32 bits")
}

/// The sum of each chunk.
pub(super) fn png(bytes: &[u8]) -> Vec<u8> {
    let (mut bytes, mut at) = (bytes.to_vec(), 8);
    while let Some(length) = word(&bytes, at).map(index) {
        let end = at + 8 + length;
        let Some(body) = bytes.get(at + 4..end) else {
            break;
        };
        let sum = crc32fast::hash(body);
        put(&mut bytes, end, sum.to_be_bytes());
        at = end + 4;
    }
    bytes
}

/// The sum of each block: of those that are data it spoils eight bytes.
pub(super) fn tar(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for block in bytes.chunks_exact_mut(512) {
        if block[257..].starts_with(b"ustar") {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        }
    }
    bytes
}

/// The sums of the first header and of the one it points to.
pub(super) fn sevenzip(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let little = |bytes: &[u8], at| {
        let eight = bytes.get(at..at + 8)?.try_into().ok()?;
        usize::try_from(u64::from_le_bytes(eight)).ok()
    };
    if let (Some(offset), Some(length)) = (little(&bytes, 12), little(&bytes, 20)) {
        let start = offset.saturating_add(32);
        if let Some(header) = bytes.get(start..start.saturating_add(length)) {
            let sum = crc32fast::hash(header);
            put(&mut bytes, 28, sum.to_le_bytes());
        }
        if let Some(sum) = bytes.get(12..32).map(crc32fast::hash) {
            put(&mut bytes, 8, sum.to_le_bytes());
        }
    }
    bytes
}

const TYPES: &[u8] = b"<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Default Extension=\"xml\" ContentType=\"application/xml\"/></Types>";

/// Parts of documents, with what each begins with.
const OFFICE: &[(&str, &[u8])] = &[
    ("word/document.xml", b"<w:document><w:body><w:p><w:r><w:fldChar w:fldCharType=\"begin\"/><w:instrText>DDEAUTO c:\\x \"y\"</w:instrText><w:fldChar w:fldCharType=\"end\"/><w:t>a</w:t></w:r></w:p></w:body></w:document>"),
    ("word/_rels/document.xml.rels", b"<Relationships><Relationship Id=\"a\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/attachedTemplate\" Target=\"http://example.invalid/t.dotm\" TargetMode=\"External\"/></Relationships>"),
    ("[Content_Types].xml", b"<Types><Override PartName=\"/word/vbaProject.bin\" ContentType=\"application/vnd.ms-office.vbaProject\"/></Types>"),
    ("xl/workbook.xml", b"<workbook><definedNames><definedName name=\"_xlnm.Auto_Open\">Macro!$A$1</definedName></definedNames><sheets><sheet name=\"a\" state=\"veryHidden\"/></sheets></workbook>"),
    ("xl/worksheets/sheet1.xml", b"<worksheet><sheetData><row><c t=\"str\"><f>HYPERLINK(\"http://example.invalid\")</f><v>a</v></c></row></sheetData></worksheet>"),
    ("xl/externalLinks/externalLink1.xml", b"<externalLink><ddeLink ddeService=\"cmd\" ddeTopic=\"/c calc\"/></externalLink>"),
    ("ppt/slides/slide1.xml", b"<p:sld><a:hlinkClick action=\"ppaction://program?calc\"/><a:t>a</a:t></p:sld>"),
    ("word/settings.xml", b"<w:settings xmlns:w=\"a\"><w:attachedTemplate r:id=\"a\"/><!-- a --><![CDATA[b]]>&#x61;</w:settings>"),
    ("word/vbaProject.bin", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    ("xl/macrosheets/sheet1.xml", b"<worksheet><f>EXEC(\"calc\")</f></worksheet>"),
];

const OPEN: &[(&str, &[u8])] = &[
    ("content.xml", b"<office:document-content><office:event-listeners><script:event-listener xlink:href=\"vnd.sun.star.script:a?language=Basic\"/></office:event-listeners><text:a xlink:href=\"http://example.invalid\"/></office:document-content>"),
    ("styles.xml", b"<style:background-image xlink:href=\"http://example.invalid/a.png\"/>"),
    ("META-INF/manifest.xml", b"<manifest:manifest><manifest:encryption-data/></manifest:manifest>"),
    ("Basic/Standard/Module1.xml", b"<script:module>Sub a\nShell(\"calc\")\nEnd Sub</script:module>"),
    ("mimetype", b"application/vnd.oasis.opendocument.text"),
];

/// The first byte picks the part, the others are its content.
fn part(parts: &'static [(&str, &[u8])], first: &Member, bytes: &[u8]) -> Vec<u8> {
    let (pick, content) = bytes.split_first().unwrap_or((&0, &[]));
    let (name, _) = parts[usize::from(*pick) % parts.len()];
    zip(&[first.clone(), member(name, content)])
}

fn seeds(parts: &[(&str, &[u8])]) -> Vec<Vec<u8>> {
    let seed = |(pick, (_, content)): (u8, &(&str, &[u8]))| [&[pick], *content].concat();
    (0..).zip(parts).map(seed).collect()
}

/// A part of a document of Office.
pub(super) fn office(bytes: &[u8]) -> Vec<u8> {
    part(OFFICE, &member("[Content_Types].xml", TYPES), bytes)
}

pub(super) fn office_seeds() -> Vec<Vec<u8>> {
    seeds(OFFICE)
}

/// A part of an `OpenDocument` file.
pub(super) fn open(bytes: &[u8]) -> Vec<u8> {
    let first = member("mimetype", b"application/vnd.oasis.opendocument.text");
    part(OPEN, &first, bytes)
}

pub(super) fn open_seeds() -> Vec<Vec<u8>> {
    seeds(OPEN)
}
