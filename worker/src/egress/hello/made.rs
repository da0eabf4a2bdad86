//! First messages of TLS, real ones and made ones, for whoever tries what reads them.

use super::{CLIENT_HELLO, HOST_NAME, RECORD_HANDSHAKE, SERVER_NAME};

pub(crate) fn long(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("short");
    [&length.to_be_bytes(), bytes].concat()
}

pub(crate) fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &long(body)].concat()
}

pub(crate) fn name(name: &str) -> Vec<u8> {
    let entry = [&[HOST_NAME][..], &long(name.as_bytes())].concat();
    extension(SERVER_NAME, &long(&entry))
}

/// A message with these extensions.
pub(crate) fn message(extensions: &[u8]) -> Vec<u8> {
    let body = [
        &[3, 3][..],
        &[7; 32],
        &[0],
        &long(&[0x13, 0x01]),
        &[1, 0],
        &long(extensions),
    ]
    .concat();
    let length = u32::try_from(body.len()).expect("short");
    [&[CLIENT_HELLO][..], &length.to_be_bytes()[1..], &body].concat()
}

pub(crate) fn record(bytes: &[u8]) -> Vec<u8> {
    [&[RECORD_HANDSHAKE, 3, 1][..], &long(bytes)].concat()
}

/// The first bytes of TLS for a host.
pub(crate) fn for_host(host: &str) -> Vec<u8> {
    record(&message(&name(host)))
}

/// What a real client says first.
pub(crate) fn real(host: &str) -> Vec<u8> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let host = rustls::pki_types::ServerName::try_from(host.to_owned()).expect("a name");
    let mut client = rustls::ClientConnection::new(config.into(), host).expect("a client");
    let mut said = Vec::new();
    client.write_tls(&mut said).expect("a vector takes it");
    said
}

/// The same, in records of so many bytes.
pub(crate) fn in_pieces(host: &str, size: usize) -> Vec<u8> {
    message(&name(host)).chunks(size).flat_map(record).collect()
}
