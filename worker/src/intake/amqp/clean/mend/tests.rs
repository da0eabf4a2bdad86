//! Is everything mended that lapin would not read, and nothing else?

use super::*;

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let size = u32::try_from(payload.len()).expect("small").to_be_bytes();
    let mut frame = vec![kind, 0, 1];
    frame.extend(size);
    frame.extend(payload);
    frame.push(0xce);
    frame
}

fn sized(bytes: &[u8]) -> Vec<u8> {
    let size = u32::try_from(bytes.len()).expect("small").to_be_bytes();
    [&size, bytes].concat()
}

fn text(bytes: &[u8]) -> Vec<u8> {
    let size = u8::try_from(bytes.len()).expect("short");
    [&[size], bytes].concat()
}

/// A content header with a content type, these headers, and a message id.
fn header(table: &[u8], id: &[u8]) -> Vec<u8> {
    let flags: u16 = 1 << 15 | 1 << 13 | 1 << 12 | 1 << 7;
    let mut payload = vec![0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6];
    payload.extend(flags.to_be_bytes());
    payload.extend(text(b"application/json"));
    payload.extend(sized(table));
    payload.push(2);
    payload.extend(text(id));
    frame(HEADER, &payload)
}

fn through(stream: &[u8], piece: usize) -> Vec<u8> {
    let mut mender = Mender::default();
    let mut out = Vec::new();
    for piece in stream.chunks(piece) {
        mender.feed(piece);
        let mut buffer = [0; 13];
        loop {
            let n = mender.take(&mut buffer);
            if n == 0 {
                break;
            }
            out.extend_from_slice(&buffer[..n]);
        }
    }
    out
}

#[test]
fn what_can_be_read_is_left_alone_however_it_comes() {
    let table = [text("kü".as_bytes()), b"S".to_vec(), sized(b"\xff")].concat();
    let stream = [
        frame(8, b""),
        header(&table, "id-ü".as_bytes()),
        frame(3, b"\xff\xfe body \xce"),
        frame(METHOD, b"\0\x3c\0\x50\0\0\0\0\0\0\0\x01\0"),
    ]
    .concat();
    for piece in 1..=stream.len() {
        assert_eq!(through(&stream, piece), stream, "in pieces of {piece}");
    }
}

#[test]
fn a_name_that_is_not_utf8_gets_question_marks() {
    let nested = [text(b"\xfe"), b"t\x01".to_vec()].concat();
    let table = [text(b"a\xff"), b"F".to_vec(), sized(&nested)].concat();
    let nested = [text(b"?"), b"t\x01".to_vec()].concat();
    let mended = [text(b"a?"), b"F".to_vec(), sized(&nested)].concat();
    let stream = header(&table, b"id\xc3");
    assert_eq!(through(&stream, 5), header(&mended, b"id?"));
    let deliver = |tag: &[u8], key: &[u8]| {
        let head = [&[0, 60, 0, 60], text(tag).as_slice(), &[0; 9]].concat();
        frame(METHOD, &[head, text(b"kiln.jobs"), text(key)].concat())
    };
    assert_eq!(
        through(&deliver(b"\xff", b"k\xff"), 9),
        deliver(b"?", b"k?")
    );
}

#[test]
fn headers_that_nobody_can_read_are_left_out() {
    for table in [
        [text(b"a"), b"?".to_vec()].concat(),
        [text(b"a"), b"S\xff\xff\xff\xff".to_vec()].concat(),
        b"\xff".to_vec(),
    ] {
        assert_eq!(through(&header(&table, b"id\xff"), 7), header(b"", b"id?"));
    }
}

#[test]
fn a_table_within_tables_without_end_becomes_bytes() {
    let mut table = Vec::new();
    for _ in 0..1000 {
        table = [text(b"t"), b"F".to_vec(), sized(&table)].concat();
    }
    let out = through(&header(&table, b"id"), 4096);
    let tables = |bytes: &[u8]| bytes.windows(3).filter(|w| w == b"\x01tF").count();
    assert_eq!(tables(&header(&table, b"id")), 1000);
    let bytes = out
        .windows(3)
        .position(|w| w == b"\x01tx")
        .expect("it ends");
    assert_eq!(tables(&out[..bytes]), DEPTH_MAX);
}

#[test]
fn the_broker_s_version_is_heard_once() {
    let properties = [text(b"version"), b"S".to_vec(), sized(b"3.10.8")].concat();
    let start = [vec![0, 10, 0, 10, 0, 9], sized(&properties)].concat();
    let mut mender = Mender::default();
    mender.feed(&frame(METHOD, &start));
    assert_eq!(mender.version().as_deref(), Some("3.10.8"));
    assert_eq!(mender.version(), None);
    for cut in 4..start.len() {
        mender.feed(&frame(METHOD, &start[..cut]));
        assert_eq!(mender.version(), None);
    }
}

#[test]
fn nothing_that_a_broker_may_say_makes_it_panic() {
    let whole = header(
        &[text(b"a"), b"A".to_vec(), sized(b"t\x01I")].concat(),
        b"id",
    );
    for at in HEAD..whole.len() {
        for byte in [0, 1, 0x7f, 0xff] {
            let mut stream = whole.clone();
            stream[at] = byte;
            through(&stream, 11);
            through(&frame(METHOD, &stream[HEAD..at]), 3);
            through(&frame(HEADER, &stream[HEAD..at]), 3);
        }
    }
    through(b"AMQP\0\0\x09\x01", 3);
}
