//! Which addresses may a job's connection go to?
//!
//! Only what is global unicast, and of that nothing that leads back to private ground: no address
//! that carries another in it (mapped, compatible, NAT64, 6to4, Teredo), no documentation, no
//! metadata service on a public address. What an operator lists in `egress.allow_private` is let
//! through, in the spelling it is listed in.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Range {
    first: IpAddr,
    prefix: u8,
}

/// Why a range was not understood.
#[derive(Debug, thiserror::Error)]
#[error(
    "it must be an address and a prefix such as `10.1.0.0/16` or `fd00:1::/64`, with no bit set after the prefix"
)]
pub struct RangeError;

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        let (first, prefix) = text.split_once('/').ok_or(RangeError)?;
        let first: IpAddr = first.parse().map_err(|_| RangeError)?;
        let plain = !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_digit());
        let prefix: u8 = prefix.parse().map_err(|_| RangeError)?;
        let range = Self { first, prefix };
        let width = if first.is_ipv4() { 32 } else { 128 };
        if !plain || prefix > width || range.masked(first) != Some(bits(first)) {
            return Err(RangeError);
        }
        Ok(range)
    }
}

impl TryFrom<String> for Range {
    type Error = RangeError;

    fn try_from(text: String) -> Result<Self, RangeError> {
        text.parse()
    }
}

impl From<Range> for String {
    fn from(range: Range) -> Self {
        range.to_string()
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

impl Range {
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.masked(address) == Some(bits(self.first))
    }

    /// The address without its last bits, where it is of the same family.
    fn masked(&self, address: IpAddr) -> Option<u128> {
        let width = match (self.first, address) {
            (IpAddr::V4(_), IpAddr::V4(_)) => 32,
            (IpAddr::V6(_), IpAddr::V6(_)) => 128,
            _ => return None,
        };
        let host = width - u32::from(self.prefix);
        let mask = u128::MAX.checked_shl(host).unwrap_or(0);
        Some(bits(address) & mask)
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Range {
    Range {
        first: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        prefix,
    }
}

const fn v6(a: u16, b: u16, c: u16, prefix: u8) -> Range {
    Range {
        first: IpAddr::V6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)),
        prefix,
    }
}

/// What may never be reached, and what it is. The first that holds an address names it.
#[rustfmt::skip]
const FORBIDDEN: &[(Range, &str)] = &[
    (v4(0, 0, 0, 0, 8), "this network"),
    (v4(10, 0, 0, 0, 8), "private"),
    (v4(100, 64, 0, 0, 10), "shared by a carrier (CGNAT)"),
    (v4(127, 0, 0, 0, 8), "loopback"),
    (v4(169, 254, 0, 0, 16), "link-local (metadata services)"),
    (v4(168, 63, 129, 16, 32), "a metadata service"),
    (v4(172, 16, 0, 0, 12), "private"),
    (v4(192, 0, 0, 0, 24), "reserved for protocols"),
    (v4(192, 0, 2, 0, 24), "documentation"),
    (v4(192, 31, 196, 0, 24), "reserved (AS112)"),
    (v4(192, 52, 193, 0, 24), "reserved (AMT)"),
    (v4(192, 88, 99, 0, 24), "reserved (6to4 relays)"),
    (v4(192, 168, 0, 0, 16), "private"),
    (v4(192, 175, 48, 0, 24), "reserved (AS112)"),
    (v4(198, 18, 0, 0, 15), "reserved for benchmarks"),
    (v4(198, 51, 100, 0, 24), "documentation"),
    (v4(203, 0, 113, 0, 24), "documentation"),
    (v4(224, 0, 0, 0, 4), "multicast"),
    (v4(240, 0, 0, 0, 4), "reserved"),
    (v6(0x2001, 0, 0, 32), "Teredo, which carries another address"),
    (v6(0x2001, 0, 0, 23), "reserved for protocols"),
    (v6(0x2001, 0xdb8, 0, 32), "documentation"),
    (v6(0x2002, 0, 0, 16), "6to4, which carries another address"),
    (v6(0x2620, 0x4f, 0x8000, 48), "reserved (AS112)"),
    (v6(0x3fff, 0, 0, 20), "documentation"),
    (v6(0x64, 0xff9b, 0, 96), "NAT64, which carries another address"),
    (v6(0x64, 0xff9b, 1, 48), "local NAT64, which carries another address"),
    (v6(0xfc00, 0, 0, 7), "private (unique local)"),
    (v6(0xfe80, 0, 0, 10), "link-local"),
    (v6(0xfec0, 0, 0, 10), "private (site-local)"),
    (v6(0xff00, 0, 0, 8), "multicast"),
];

/// The only IPv6 addresses that are global unicast today.
const GLOBAL_V6: Range = v6(0x2000, 0, 0, 3);

/// What an address is, where no job may reach it.
pub(crate) fn forbidden(address: IpAddr, allowed: &[Range]) -> Option<&'static str> {
    if allowed.iter().any(|range| range.contains(address)) {
        return None;
    }
    if let Some((_, what)) = FORBIDDEN.iter().find(|(range, _)| range.contains(address)) {
        return Some(what);
    }
    match address {
        IpAddr::V6(v6) if v6.is_loopback() => Some("loopback"),
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => Some("an IPv4 address in disguise"),
        IpAddr::V6(_) if !GLOBAL_V6.contains(address) => Some("not global"),
        IpAddr::V4(_) | IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_back_to_private_ground_is_forbidden() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.0.1",
            "169.254.169.254",
            "169.254.170.2",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "192.168.255.255",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::ffff:0:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b::8.8.8.8",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:0:7f00:1::",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "3fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "ff05::2",
        ] {
            let address = text.parse().expect("an address");
            assert!(forbidden(address, &[]).is_some(), "{text}");
        }
    }

    #[test]
    fn what_is_global_is_not() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "2a00::1",
            "2001:200::1",
        ] {
            let address = text.parse().expect("an address");
            assert_eq!(forbidden(address, &[]), None, "{text}");
        }
    }

    #[test]
    fn an_operator_opens_a_range_and_no_other_spelling_of_it() {
        let open = [
            "10.1.0.0/16".parse().expect("a range"),
            "fd00:1::/64".parse().expect("one"),
        ];
        let judged = |text: &str| forbidden(text.parse().expect("an address"), &open).is_some();
        assert!(!judged("10.1.255.255") && !judged("fd00:1::9"));
        for text in [
            "10.2.0.0",
            "10.0.255.255",
            "fd00:2::",
            "::ffff:10.1.0.1",
            "64:ff9b::10.1.0.1",
        ] {
            assert!(judged(text), "{text}");
        }
    }

    #[test]
    fn a_range_is_written_exactly() {
        for good in [
            "0.0.0.0/0",
            "10.0.0.0/8",
            "10.0.0.1/32",
            "::/0",
            "::1/128",
            "fc00::/7",
        ] {
            let range: Range = good.parse().expect(good);
            assert_eq!(range.to_string(), good);
            assert!(range.contains(range.first));
        }
        for bad in [
            "10.0.0.0",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "10.0.0.0/",
            "x/8",
            "::1/129",
            "10.0/8",
            "fc01::/7",
            "127.1/32",
        ] {
            assert!(bad.parse::<Range>().is_err(), "{bad}");
        }
    }
}
