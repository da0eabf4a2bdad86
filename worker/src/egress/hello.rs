//! Whom do the first bytes of a tunnel name: is it the host that the tunnel was granted for?
//!
//! A granted name may lead to an address that serves many. The one thing that a tunnel says in
//! plain of whom it wants there is the name in TLS's first message (SNI, RFC 6066), so that is read,
//! and nothing is ended or changed. What it says later is enciphered, and not seen.

/// Bytes of a first message at most; those of today's clients are below 4 KiB.
const HELLO_BYTES_MAX: usize = 16 * 1024;
/// Bytes of a record's content at most.
const RECORD_BYTES_MAX: usize = 16 * 1024;
/// Bytes at most that are read of a job before its first message is whole.
pub(crate) const SAID_BYTES_MAX: usize = 64 * 1024;

const RECORD_HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const HOST_NAME: u8 = 0;
/// Encrypted `ClientHello`, and the draft before it.
const HIDDEN: [u16; 2] = [0xfe0d, 0xffce];

/// Why a tunnel is not one to its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unlike {
    #[error("it does not begin with TLS")]
    NotTls,
    #[error("its first TLS message cannot be understood")]
    Malformed,
    #[error("its first TLS message is longer than 16 KiB")]
    TooLong,
    #[error("its TLS does not name a host")]
    Nameless,
    #[error("its TLS names another host")]
    Another,
    #[error("its TLS hides whom it names (ECH)")]
    Hidden,
}

/// Whether what a job has said so far begins TLS for this host: `Some` when it does, `None` where
/// more must be heard.
pub(crate) fn names(said: &[u8], host: &str) -> Result<Option<()>, Unlike> {
    let Some(hello) = hello(said)? else {
        return if said.len() < SAID_BYTES_MAX {
            Ok(None)
        } else {
            Err(Unlike::TooLong)
        };
    };
    let extensions = extensions(&hello).ok_or(Unlike::Malformed)?;
    if extensions.iter().any(|(kind, _)| HIDDEN.contains(kind)) {
        return Err(Unlike::Hidden);
    }
    let mut lists = extensions.iter().filter(|(kind, _)| *kind == SERVER_NAME);
    match (lists.next(), lists.next()) {
        (None, _) => Err(Unlike::Nameless),
        (Some((_, list)), None) => {
            let name = only_name(list).ok_or(Unlike::Malformed)?;
            let same = name.eq_ignore_ascii_case(host.as_bytes());
            same.then_some(Some(())).ok_or(Unlike::Another)
        }
        (Some(_), Some(_)) => Err(Unlike::Malformed),
    }
}

/// The body of the first message, out of its records, when it is whole.
fn hello(said: &[u8]) -> Result<Option<Vec<u8>>, Unlike> {
    let mut rest = said;
    let mut message = Vec::new();
    loop {
        // Who speaks something else is told so at its first byte.
        match rest {
            [] => return Ok(None),
            [kind, ..] if *kind != RECORD_HANDSHAKE => return Err(other(&message)),
            [_, major, ..] if *major != 3 => return Err(other(&message)),
            _ => {}
        }
        let Some((head, body)) = rest.split_first_chunk::<5>() else {
            return Ok(None);
        };
        let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
        if !(1..=RECORD_BYTES_MAX).contains(&length) {
            return Err(Unlike::Malformed);
        }
        let Some((record, more)) = body.split_at_checked(length) else {
            return Ok(None);
        };
        message.extend_from_slice(record);
        rest = more;
        let Some((&[kind, a, b, c], body)) = message.split_first_chunk::<4>() else {
            continue;
        };
        if kind != CLIENT_HELLO {
            return Err(Unlike::Malformed);
        }
        let wanted = usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap_or(usize::MAX);
        if wanted > HELLO_BYTES_MAX {
            return Err(Unlike::TooLong);
        }
        match body.len() {
            length if length == wanted => return Ok(Some(message.split_off(4))),
            // A record that goes on after the message could be read in two ways.
            length if length > wanted => return Err(Unlike::Malformed),
            _ => {}
        }
    }
}

/// What it is that does not begin, or go on, as TLS does.
fn other(message: &[u8]) -> Unlike {
    if message.is_empty() {
        Unlike::NotTls
    } else {
        Unlike::Malformed
    }
}

/// The extensions of a first message, every byte of which is accounted for.
fn extensions(hello: &[u8]) -> Option<Vec<(u16, &[u8])>> {
    let mut hello = Reader(hello);
    hello.take(2 + 32)?;
    let (session, ciphers) = (hello.short()?, hello.long()?);
    let compressions = hello.short()?;
    if session.len() > 32 || ciphers.is_empty() || compressions.is_empty() {
        return None;
    }
    if hello.0.is_empty() {
        return Some(Vec::new());
    }
    let mut all = Reader(hello.long()?);
    let mut found = Vec::new();
    while !all.0.is_empty() {
        found.push((all.number()?, all.long()?));
    }
    hello.0.is_empty().then_some(found)
}

/// The one name of a list of names.
fn only_name(list: &[u8]) -> Option<&[u8]> {
    let mut list = Reader(list);
    let mut entries = Reader(list.long()?);
    let kind = *entries.take(1)?.first()?;
    let name = entries.long()?;
    let one = kind == HOST_NAME && !name.is_empty() && entries.0.is_empty() && list.0.is_empty();
    one.then_some(name)
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        let bytes = self.take(2)?.first_chunk::<2>()?;
        Some(u16::from_be_bytes(*bytes))
    }

    /// What follows its length in one byte.
    fn short(&mut self) -> Option<&'a [u8]> {
        let length = *self.take(1)?.first()?;
        self.take(length.into())
    }

    /// What follows its length in two bytes.
    fn long(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length.into())
    }
}

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod made;
#[cfg(test)]
mod tests;
