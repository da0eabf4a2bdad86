//! Which host and port does a name on the wire mean?
//!
//! One spelling each: a host is lower-case letters, digits, `-`, `_` and dots whose last label is
//! not a number, or an address in the one form that the standard library prints. Decimal, octal,
//! hexadecimal and short addresses, zone ids, trailing dots, percent signs, letters beyond ASCII
//! and user names are none of these, and are refused before anything is looked up.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of a host name at most.
const HOST_BYTES_MAX: usize = 253;
/// Bytes of one of its labels at most.
const LABEL_BYTES_MAX: usize = 63;

/// A name to resolve, or an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Host {
    /// In lower case.
    Name(String),
    Address(IpAddr),
}

/// Where a connection is to go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    pub(crate) host: Host,
    pub(crate) port: u16,
}

/// Why a text names no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TargetError {
    #[error("it has no port")]
    NoPort,
    #[error("its port is not a number from 1 to 65535")]
    Port,
    #[error("its host is not written as `name.example.com`, as `192.0.2.1` or as `[2001:db8::1]`")]
    Host,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(v4)) => v4.fmt(f),
            Self::Address(IpAddr::V6(v6)) => write!(f, "[{v6}]"),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Target {
    /// `host:port`; where no port is written, `default` stands for it.
    pub(crate) fn parse(text: &str, default: Option<u16>) -> Result<Self, TargetError> {
        let (host, port) = split(text)?;
        let port = match (port, default) {
            (Some(port), _) => parse_port(port)?,
            (None, Some(port)) => port,
            (None, None) => return Err(TargetError::NoPort),
        };
        let host = Host::parse(host)?;
        Ok(Self { host, port })
    }

    /// As an HTTP `Host` field says it.
    pub(crate) fn authority(&self, default: u16) -> String {
        if self.port == default {
            self.host.to_string()
        } else {
            self.to_string()
        }
    }
}

/// The host, brackets and all, and the port where there is one.
fn split(text: &str) -> Result<(&str, Option<&str>), TargetError> {
    if text.starts_with('[') {
        let end = text.find(']').ok_or(TargetError::Host)? + 1;
        let (host, rest) = text.split_at(end);
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(TargetError::Host),
        };
    }
    Ok(match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    })
}

fn parse_port(text: &str) -> Result<u16, TargetError> {
    let plain = !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| plain).ok_or(TargetError::Port)
}

impl Host {
    /// A name or an address, in its one spelling; an IPv6 address in brackets.
    pub(crate) fn parse(text: &str) -> Result<Self, TargetError> {
        if let Some(rest) = text.strip_prefix('[') {
            let inner = rest.strip_suffix(']').ok_or(TargetError::Host)?;
            let v6: Ipv6Addr = inner.parse().map_err(|_| TargetError::Host)?;
            let same = v6.to_string().eq_ignore_ascii_case(inner);
            return same
                .then_some(Self::Address(v6.into()))
                .ok_or(TargetError::Host);
        }
        // The standard parser takes four plain decimals and nothing else.
        if let Ok(v4) = text.parse::<Ipv4Addr>() {
            return Ok(Self::Address(v4.into()));
        }
        let good = text.len() <= HOST_BYTES_MAX && text.split('.').all(is_label);
        let last = text.rsplit('.').next().unwrap_or_default();
        if good && !is_number(last) {
            Ok(Self::Name(text.to_ascii_lowercase()))
        } else {
            Err(TargetError::Host)
        }
    }
}

pub(crate) fn is_label(label: &str) -> bool {
    (1..=LABEL_BYTES_MAX).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// Whether some resolver would read a label as a number, and the name as an address.
fn is_number(label: &str) -> bool {
    let hex = |digits: &str| digits.bytes().all(|b| b.is_ascii_hexdigit());
    label.bytes().all(|b| b.is_ascii_digit())
        || label
            .get(..2)
            .is_some_and(|start| start.eq_ignore_ascii_case("0x") && hex(&label[2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_read_and_written_in_one_way() {
        for (text, written) in [
            ("api.example.com:443", "api.example.com:443"),
            ("API.Example.COM:443", "api.example.com:443"),
            ("localhost:1", "localhost:1"),
            ("xn--bcher-kva.example:65535", "xn--bcher-kva.example:65535"),
            ("1.2.3.4:80", "1.2.3.4:80"),
            ("[2001:DB8::1]:80", "[2001:db8::1]:80"),
            ("3com.example:80", "3com.example:80"),
            ("a_b.example:80", "a_b.example:80"),
        ] {
            let target = Target::parse(text, None).expect(text);
            assert_eq!(target.to_string(), written);
        }
        let default = Target::parse("a.example", Some(80)).expect("the default");
        assert_eq!(default.authority(80), "a.example");
        assert_eq!(default.authority(443), "a.example:80");
    }

    /// Spellings by which proxies have been led to an address that they would have refused.
    #[test]
    fn every_other_spelling_is_refused() {
        for text in [
            "2130706433:80",
            "0x7f000001:80",
            "0x7F.0.0.1:80",
            "017700000001:80",
            "0177.0.0.1:80",
            "127.1:80",
            "127.0.1:80",
            "127.0.0.01:80",
            "127.0.0.0x1:80",
            "0:80",
            "0.0:80",
            "1.2.3.4.5:80",
            "127.0.0.1.:80",
            "localhost.:80",
            "example.com.:443",
            "127。0。0。1:80",
            "①②⑦.0.0.1:80",
            "ⓔxample.com:80",
            "exämple.com:80",
            "ex%61mple.com:80",
            "127.0.0.1%00.example.com:80",
            "%31%32%37.0.0.1:80",
            "a@127.0.0.1:80",
            "127.0.0.1@example.com:80",
            "example.com#@x:80",
            "example.com?x:80",
            "example.com/:80",
            "example.com\\@x:80",
            " example.com:80",
            "example.com :80",
            "exa mple.com:80",
            "example.com\t:80",
            "example..com:80",
            ".example.com:80",
            "-a.example:80",
            "a-.example:80",
            "*.example.com:80",
            "::1:80",
            "[::1:80",
            "::1]:80",
            "[::1]80",
            "[::1%lo]:80",
            "[fe80::1%25eth0]:80",
            "[::ffff:7f00:1]:80",
            "[0:0:0:0:0:0:0:1]:80",
            "[::01]:80",
            "[127.0.0.1]:80",
            "[v1.x]:80",
            "[]:80",
            ":80",
            "",
            "example.com:",
            "example.com:0",
            "example.com:080",
            "example.com:+80",
            "example.com:65536",
            "example.com:80:80",
            "example.com:8O",
            "example.com:80 ",
            "1.2.3.0x4:80",
            "a.0x:80",
            "a.123:80",
        ] {
            assert!(Target::parse(text, None).is_err(), "{text}");
        }
        assert_eq!(Target::parse("example.com", None), Err(TargetError::NoPort));
        let long = format!("{}.example:80", "a".repeat(64));
        assert!(Target::parse(&long, None).is_err());
        let long = format!("{}example:80", "a.".repeat(130));
        assert!(Target::parse(&long, None).is_err());
    }
}
