//! What is the header `traceparent` of W3C, which one system hands to the next?

use kiln_protocol::digest::hex;

/// Who a trace is of: the sender's, by the header `traceparent` of W3C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
    pub(super) sampled: bool,
}

impl Parent {
    /// What a header says; one that is wrong in any part is ignored, as the standard wants it.
    pub fn parse(header: &str) -> Option<Self> {
        let mut parts = header.split('-');
        let [version] = bytes(parts.next()?)?;
        let (trace, span) = (bytes(parts.next()?)?, bytes(parts.next()?)?);
        let [flags] = bytes(parts.next()?)?;
        // A later version may have more parts, this one has not.
        let whole = version != 0 || parts.next().is_none();
        let named = trace != [0; 16] && span != [0; 8] && version != 0xff;
        (whole && named).then_some(Self {
            trace,
            span,
            sampled: flags & 1 == 1,
        })
    }

    pub(super) fn header(&self) -> String {
        let flags = u8::from(self.sampled);
        format!("00-{}-{}-{flags:02x}", hex(&self.trace), hex(&self.span))
    }
}

/// Lower-case hex digits of exactly so many bytes.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let lower = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != N * 2 || !text.bytes().all(lower) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}
