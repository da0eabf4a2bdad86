//! What do `[egress]` and the profiles' ceilings say about the network of jobs?

use super::section::{CONNECT_MS, CONNECTIONS, EGRESS, EGRESS_BYTES, IDLE_MS};
use super::sources::Sources;
use super::worker::path;
use crate::egress::address::Range;
use crate::egress::allow::Pattern;
use crate::egress::client::{Options, uid};
use crate::egress::resolve::PORT;
use crate::egress::target::TargetError;
use kiln_protocol::limits::LimitUnit;
use kiln_warden::profile::Profiles;
use kiln_warden::profile::keys::Keys;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// `[egress]`; `uid_base` is the worker's.
pub(super) fn settle(sources: &Sources, uid_base: Option<u32>) -> Options {
    let options = sources.section(&EGRESS, read);
    Options {
        uid: uid(uid_base.unwrap_or(kiln_warden::UID_BASE)),
        ..options
    }
}

fn read(keys: &Keys) -> Options {
    let default = Options::default();
    let count = |name, (least, most)| keys.figure(name, LimitUnit::Count, least, most);
    let ms = |name, bounds, default| count(name, bounds).map_or(default, Duration::from_millis);
    let connections = count("connections", CONNECTIONS);
    Options {
        allow_private: ranges(keys),
        plain_tunnels: plain_tunnels(keys),
        ca_file: path(keys, "ca_file"),
        bytes: count("bytes", EGRESS_BYTES).unwrap_or(default.bytes),
        connect: ms("connect_ms", CONNECT_MS, default.connect),
        connections: connections
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(default.connections),
        idle: ms("idle_ms", IDLE_MS, default.idle),
        resolvers: resolvers(keys),
        ..default
    }
}

fn ranges(keys: &Keys) -> Vec<Range> {
    let texts = keys.texts("allow_private").unwrap_or_default();
    let mut ranges = Vec::new();
    for text in texts {
        match text.parse::<Range>() {
            Ok(range) => ranges.push(range),
            Err(error) => keys.wrong("allow_private", format!("`{text}`: {error}")),
        }
    }
    ranges
}

fn plain_tunnels(keys: &Keys) -> Vec<Pattern> {
    let texts = keys.texts("plain_tunnels").unwrap_or_default();
    let mut patterns = Vec::new();
    for text in texts {
        match Pattern::parse(&text) {
            Ok(pattern) => patterns.push(pattern),
            Err(error) => keys.wrong("plain_tunnels", no_target(&text, error)),
        }
    }
    patterns
}

/// What is said of an entry that is no pattern.
fn no_target(entry: &str, error: TargetError) -> String {
    format!(
        "`{entry}` is no host and port: {error}; one label may be left open, as in \
         `*.example.com:443`"
    )
}

fn resolvers(keys: &Keys) -> Vec<SocketAddr> {
    let texts = keys.texts("resolvers").unwrap_or_default();
    let mut resolvers = Vec::new();
    for text in texts {
        let at_port = || text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, PORT));
        match text.parse::<SocketAddr>().or_else(|_| at_port()) {
            Ok(resolver) => resolvers.push(resolver),
            Err(_) => keys.wrong(
                "resolvers",
                format!("`{text}` is not the address of a name server, such as `10.0.0.53` or `10.0.0.53:53`"),
            ),
        }
    }
    resolvers
}

/// Every entry of a profile's ceiling is one that can be judged by.
pub(super) fn ceilings(sources: &Sources, profiles: &Profiles) {
    for profile in profiles.iter() {
        for entry in &profile.network_allow {
            if let Err(error) = Pattern::parse(entry) {
                let key = format!("profiles.{}.network.allow", profile.name);
                sources.wrong(key, no_target(entry, error));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tests::{load, told};
    use std::time::Duration;

    #[test]
    fn the_section_is_read() {
        let text = "[egress]\nresolvers = ['10.0.0.53', '[::1]:5353']\n\
                    allow_private = ['10.1.0.0/16']\nplain_tunnels = ['db.example.com:5432']\nconnections = 5\nbytes = 1000\n\
                    connect_ms = 50\nidle_ms = 70\n[worker]\nuid_base = 4194304\n";
        let egress = load(text, &[("KILN_EGRESS__CONNECTIONS", "7")])
            .expect("it is right")
            .egress;
        let resolvers: Vec<_> = egress.resolvers.iter().map(ToString::to_string).collect();
        assert_eq!(resolvers, ["10.0.0.53:53", "[::1]:5353"]);
        assert_eq!(egress.allow_private[0].to_string(), "10.1.0.0/16");
        assert_eq!(egress.plain_tunnels[0].to_string(), "db.example.com:5432");
        assert_eq!(
            (egress.connections, egress.bytes, egress.uid),
            (7, 1000, 4_194_303)
        );
        assert_eq!(egress.connect, Duration::from_millis(50));
        assert_eq!(egress.idle, Duration::from_millis(70));
        let egress = load("", &[]).expect("nothing is wrong").egress;
        assert_eq!((egress.connections, egress.bytes), (200, 1 << 30));
        assert!(egress.allow_private.is_empty() && egress.resolvers.is_empty());
    }

    #[test]
    fn what_is_wrong_is_named_by_its_key() {
        let said = told(
            "[egress]\nallow = []\nresolvers = ['ns.example']\nallow_private = ['10.0.0.1/8', 'all']\n\
             plain_tunnels = ['*']\nconnections = 0\n[profiles.python.network]\nallow = ['*.com:443', '127.1:80', '*.a.example:1']\n",
            &[],
        );
        for wanted in [
            "take `egress.allow`: `allow` is not known here",
            "take `egress.resolvers`: `ns.example` is not the address of a name server",
            "take `egress.allow_private`: `10.0.0.1/8`: it must be an address and a prefix",
            "take `egress.allow_private`: `all`",
            "take `egress.plain_tunnels`: `*` is no host and port",
            "take `egress.connections`: 0 is not between 1 and",
            "take `profiles.python.network.allow`: `*.com:443` is no host and port",
            "take `profiles.python.network.allow`: `127.1:80` is no host and port",
        ] {
            assert!(said.contains(wanted), "`{wanted}` is not in:\n{said}");
        }
        assert_eq!(said.lines().count(), 8, "{said}");
    }
}
