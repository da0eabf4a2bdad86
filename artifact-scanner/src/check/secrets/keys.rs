//! Does a view hold a private key as bytes, without the lines that tell of it in text?

use super::stretches::Spots;

type Told<'a> = dyn FnMut(&'static str, &str, usize) + 'a;

/// The version of a key, and the sequence that says of what kind it is.
pub(super) const PKCS8: &[u8] = b"\x02\x01\0\x30";
/// The version of a key of RSA, and a long number.
pub(super) const RSA: &[u8] = b"\x02\x01\0\x02\x82";
/// The version of a store of keys, and a long sequence.
pub(super) const PKCS12: &[u8] = b"\x02\x01\x03\x30\x82";

/// Kinds of keys: RSA, curves, Ed25519, Ed448 and X25519, all as object identifiers.
const KINDS: [&[u8]; 5] = [
    b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01",
    b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01",
    b"\x06\x03\x2b\x65\x70",
    b"\x06\x03\x2b\x65\x71",
    b"\x06\x03\x2b\x65\x6e",
];
/// The content of a store.
const STORED: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07";

/// Looks for keys at the marks that were seen.
pub(super) fn search(view: &[u8], spots: &Spots, told: &mut Told<'_>) {
    if is_store_of_java(view) {
        told("secrets.private_key", "a store of keys of Java", 0);
    }
    for mark in &spots.marks {
        let mut from = mark.start;
        while let Some(found) = memchr::memchr(2, &view[from..mark.end]) {
            let at = from + found;
            from = at + 1;
            let rest = &view[at..];
            if let Some(kind) = rest.strip_prefix(PKCS8) {
                let kind = kind.get(1..).unwrap_or_default();
                if within_sequence(view, at) && KINDS.iter().any(|known| kind.starts_with(known)) {
                    told("secrets.private_key", "a private key", at);
                }
            } else if rest.starts_with(RSA) {
                // Numbers of this length begin with a nought, for their sign.
                let is_long = matches!(rest.get(5..8), Some([1 | 2 | 4, 1, 0]));
                if within_sequence(view, at) && is_long {
                    told("secrets.private_key", "a private key of RSA", at);
                }
            } else if rest.starts_with(PKCS12) {
                let stored = rest.get(7..).unwrap_or_default();
                if within_sequence(view, at) && stored.starts_with(STORED) {
                    told("secrets.private_key", "a store of keys", at);
                }
            }
        }
    }
}

/// Whether a sequence begins right before.
fn within_sequence(view: &[u8], at: usize) -> bool {
    matches!(
        view[..at],
        [.., 0x30, 0x82, _, _] | [.., 0x30, 0x81, _] | [.., 0x30, 0..=0x7f]
    )
}

/// Stores of Java whose first entry is a key; most hold only certificates.
fn is_store_of_java(view: &[u8]) -> bool {
    view.starts_with(b"\xfe\xed\xfe\xed") && view.get(12..16) == Some(&[0, 0, 0, 1])
}

/// Whether what begins so may be a key, or packed: worth to be decoded though it is no text.
pub(super) fn begins(head: &[u8]) -> bool {
    let ([0x30, 0x82, _, _, inner @ ..]
    | [0x30, 0x81, _, inner @ ..]
    | [0x30, 0..=0x7f, inner @ ..]) = head
    else {
        return false;
    };
    inner.starts_with(PKCS8) || inner.starts_with(RSA) || inner.starts_with(PKCS12)
}

#[cfg(test)]
mod tests {
    use super::super::tests::rules;
    use crate::check::decode::to_base64;

    #[test]
    fn keys_without_their_lines_are_found() {
        let number: Vec<u8> = (0..=255).map(|at: u8| at.wrapping_mul(89) | 1).collect();
        let ed = [
            &b"\x30\x2e\x02\x01\0\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20"[..],
            &number[..32],
        ]
        .concat();
        let ec = [
            &b"\x30\x81\x87\x02\x01\0\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08"[..],
            &number[..100],
        ]
        .concat();
        let rsa = [
            &b"\x30\x82\x04\xa4\x02\x01\0\x02\x82\x01\x01\0"[..],
            &number,
        ]
        .concat();
        let store = [&b"\x30\x82\x09\xa4\x02\x01\x03\x30\x82\x09\x6a\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01"[..], &number].concat();
        for key in [&ed, &ec, &rsa, &store] {
            assert_eq!(rules(key), ["secrets.private_key"]);
            assert_eq!(
                rules(&[b"\0\x01", &key[..]].concat()),
                ["secrets.private_key"]
            );
            assert_eq!(rules(&to_base64(key, false)), ["secrets.private_key"]);
        }
        let java = b"\xfe\xed\xfe\xed\0\0\0\x02\0\0\0\x01\0\0\0";
        assert_eq!(
            rules(&[&java[..], b"\x01\0\x05alias"].concat()),
            ["secrets.private_key"]
        );
        assert!(rules(&[&java[..], b"\x02\0\x05alias"].concat()).is_empty());
        // A certificate has the kind of a key, and no key.
        let certificate = [&b"\x30\x82\x03\x30\x30\x82\x02\x18\xa0\x03\x02\x01\x02\x02\x01\x01\x30\x0d\x06\x09"[..], &number].concat();
        assert!(rules(&certificate).is_empty());
        assert!(rules(&to_base64(&certificate, false)).is_empty());
    }
}
