//! Is a first message taken for this host's only where no reader could take it for another's?

use super::made::{extension, for_host, in_pieces, long, message, name, real, record};
use super::*;

const HOST: &str = "api.example.com";

#[test]
fn a_real_client_is_heard_however_its_bytes_come() {
    let said = real(HOST);
    assert_eq!(names(&said, HOST), Ok(Some(())));
    assert_eq!(names(&said, "API.example.com"), Ok(Some(())));
    assert_eq!(names(&said, "example.com"), Err(Unlike::Another));
    for end in 0..said.len() {
        assert_eq!(names(&said[..end], HOST), Ok(None), "{end}");
    }
    // What it says after that is not for us to read.
    assert_eq!(names(&[&said[..], b"more"].concat(), HOST), Ok(Some(())));
}

#[test]
fn a_message_in_pieces_is_one_message() {
    for size in [1, 2, 3, 5, 64] {
        let said = in_pieces(HOST, size);
        assert_eq!(names(&said, HOST), Ok(Some(())), "pieces of {size}");
        assert_eq!(names(&said, "other.example"), Err(Unlike::Another));
    }
}

#[test]
fn what_is_not_for_the_host_is_told_apart() {
    let is = |extensions: &[u8], unlike| {
        let said = record(&message(extensions));
        assert_eq!(names(&said, HOST), Err(unlike), "{extensions:02x?}");
    };
    assert_eq!(names(&for_host(HOST), HOST), Ok(Some(())));
    let own = name(HOST);
    is(&[], Unlike::Nameless);
    is(&extension(43, &[2, 3, 4]), Unlike::Nameless);
    is(&name("evil.example.com"), Unlike::Another);
    is(&name("api.example.com."), Unlike::Another);
    is(&name("api.example.com\0"), Unlike::Another);
    is(&name(""), Unlike::Malformed);
    is(&[own.clone(), own.clone()].concat(), Unlike::Malformed);
    for kind in HIDDEN {
        is(
            &[own.clone(), extension(kind, &[0; 8])].concat(),
            Unlike::Hidden,
        );
    }
    // Two names in one list, a name of no known kind, bytes after the list.
    let entry = |kind, name: &str| [&[kind][..], &long(name.as_bytes())].concat();
    let both = [entry(0, HOST), entry(0, "evil.example")].concat();
    is(&extension(SERVER_NAME, &long(&both)), Unlike::Malformed);
    is(
        &extension(SERVER_NAME, &long(&entry(1, HOST))),
        Unlike::Malformed,
    );
    let after = [long(&entry(0, HOST)), vec![0]].concat();
    is(&extension(SERVER_NAME, &after), Unlike::Malformed);
    is(&own[..own.len() - 1], Unlike::Malformed);
}

#[test]
fn what_is_no_first_message_is_refused_at_once() {
    assert_eq!(names(b"GET / HTTP/1.1\r\n", HOST), Err(Unlike::NotTls));
    assert_eq!(names(b"SSH-2.0-x\r\n", HOST), Err(Unlike::NotTls));
    // The first message of SSL 2, as some old clients say it.
    assert_eq!(names(&[0x80, 0x2e, 1, 3, 1], HOST), Err(Unlike::NotTls));
    assert_eq!(names(&[22, 2, 0], HOST), Err(Unlike::NotTls));
    assert_eq!(names(&[22, 3, 1, 0, 0], HOST), Err(Unlike::Malformed));
    assert_eq!(names(&[22, 3, 1, 0xff, 0xff], HOST), Err(Unlike::Malformed));
    assert_eq!(names(&record(&[2, 0, 0, 0]), HOST), Err(Unlike::Malformed));
    let whole = message(&name(HOST));
    let (one, two) = whole.split_at(10);
    let broken = [record(one), vec![23, 3, 3, 0, 1, 0], record(two)].concat();
    assert_eq!(names(&broken, HOST), Err(Unlike::Malformed));
    let more = record(&[whole.clone(), vec![1]].concat());
    assert_eq!(names(&more, HOST), Err(Unlike::Malformed));
}

#[test]
fn what_has_no_end_is_bounded() {
    let long = record(&[CLIENT_HELLO, 0, 0x40, 1]);
    assert_eq!(names(&long, HOST), Err(Unlike::TooLong));
    // One byte a record: six times as many are read as are said.
    let head = message(&name(HOST))[..4].to_vec();
    let mut said: Vec<_> = [CLIENT_HELLO, 0, 0x40, 0]
        .chunks(1)
        .flat_map(record)
        .collect();
    while said.len() < SAID_BYTES_MAX {
        assert_eq!(names(&said, HOST), Ok(None));
        said.extend(head.chunks(1).cycle().take(2048).flat_map(record));
    }
    assert_eq!(names(&said, HOST), Err(Unlike::TooLong));
}
