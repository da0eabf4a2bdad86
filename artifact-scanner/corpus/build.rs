//! Writes archives by hand, true ones and ones that lie.

use std::io::Write as _;

/// A member of a zip, as each of its two headers tells of it.
#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) local: &'static str,
    pub(crate) central: &'static str,
    pub(crate) data: Vec<u8>,
    pub(crate) flags: u16,
    pub(crate) crc_xor: u32,
    pub(crate) listed: bool,
    pub(crate) mode: u32,
}

pub(crate) fn member(name: &'static str, data: &[u8]) -> Member {
    Member {
        local: name,
        central: name,
        data: data.to_vec(),
        flags: 0,
        crc_xor: 0,
        listed: true,
        mode: 0o100_644,
    }
}

fn fields(out: &mut Vec<u8>, member: &Member, name: &str) {
    out.extend(member.flags.to_le_bytes());
    out.extend([0; 6]);
    out.extend((crc32fast::hash(&member.data) ^ member.crc_xor).to_le_bytes());
    for _ in 0..2 {
        out.extend(number32(member.data.len()));
    }
    out.extend(number16(name.len()));
    out.extend([0, 0]);
}

fn number32(number: usize) -> [u8; 4] {
    u32::try_from(number).expect("small").to_le_bytes()
}

fn number16(number: usize) -> [u8; 2] {
    u16::try_from(number).expect("small").to_le_bytes()
}

/// A zip of stored members.
pub(crate) fn zip(members: &[Member]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for member in members {
        let offset = number32(out.len());
        out.extend(b"PK\x03\x04\x14\x00");
        fields(&mut out, member, member.local);
        out.extend(member.local.as_bytes());
        out.extend(&member.data);
        if member.listed {
            directory.extend(b"PK\x01\x02\x14\x03\x14\x00");
            fields(&mut directory, member, member.central);
            directory.extend([0; 6]);
            directory.extend((member.mode << 16).to_le_bytes());
            directory.extend(offset);
            directory.extend(member.central.as_bytes());
        }
    }
    let listed = number16(members.iter().filter(|member| member.listed).count());
    let start = number32(out.len());
    let length = number32(directory.len());
    out.extend(directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([listed, listed].concat());
    out.extend(length);
    out.extend(start);
    out.extend([0, 0]);
    out
}

/// A header of a tar and its data, padded.
pub(crate) fn tar_member(name: &str, kind: u8, mode: u32, link: &str, data: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 512];
    out[..name.len()].copy_from_slice(name.as_bytes());
    out[100..107].copy_from_slice(format!("{mode:07o}").as_bytes());
    out[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
    out[156] = kind;
    out[157..157 + link.len()].copy_from_slice(link.as_bytes());
    out[257..265].copy_from_slice(b"ustar\x0000");
    out[148..156].fill(b' ');
    let sum: u32 = out.iter().map(|byte| u32::from(*byte)).sum();
    out[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    out.extend(data);
    out.resize(out.len().div_ceil(512) * 512, 0);
    out
}

pub(crate) fn tar(members: &[Vec<u8>]) -> Vec<u8> {
    [members.concat(), vec![0; 1024]].concat()
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).expect("to memory");
    encoder.finish().expect("to memory")
}

pub(crate) fn zlib(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).expect("to memory");
    encoder.finish().expect("to memory")
}

pub(crate) fn bzip2(content: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(content).expect("to memory");
    encoder.finish().expect("to memory")
}

pub(crate) fn png(width: u32, chunks: &[(&[u8], &[u8])], tail: &[u8]) -> Vec<u8> {
    let header = [
        &width.to_be_bytes()[..],
        &8u32.to_be_bytes(),
        &[8, 0, 0, 0, 0],
    ]
    .concat();
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let data = zlib(&[0; 72]);
    let mut all: Vec<(&[u8], &[u8])> = vec![(b"IHDR", &header)];
    all.extend(chunks);
    all.extend([(&b"IDAT"[..], data.as_slice()), (b"IEND", b"")]);
    for (kind, body) in all {
        let both = [kind, body].concat();
        png.extend(u32::try_from(body.len()).expect("small").to_be_bytes());
        png.extend(&both);
        png.extend(crc32fast::hash(&both).to_be_bytes());
    }
    png.extend(tail);
    png
}
