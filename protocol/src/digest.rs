//! What is the sha256 of some bytes, in hex?

use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The sha256 of bytes: 64 lower-case hex digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes as lower-case hex digits, for a digest that was taken as the bytes went by.
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a string takes what is written");
            text
        })
}

/// Whether text is a sha256 as [`sha256_hex`] writes it.
pub fn is_sha256_hex(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_known_one() {
        let empty = sha256_hex(b"");
        assert_eq!(
            empty,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert!(is_sha256_hex(&empty));
        assert!(!is_sha256_hex(&empty.to_uppercase()));
        assert!(!is_sha256_hex(&empty[1..]));
    }
}
