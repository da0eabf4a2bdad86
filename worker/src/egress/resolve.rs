//! Which addresses has a host, and may they be reached?
//!
//! The proxy asks by itself, never by the machine's own resolver, so that the address that was
//! judged is the one that is connected to. One forbidden address among others refuses the name:
//! no honest host is at home in public and in private at once. Nothing is cached between jobs; a
//! job's own answers are pinned by its lease.

use super::address::{self, Range};
use super::target::Host;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ServerOrderingStrategy,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::Name;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

/// Addresses of one host that are judged and tried.
const ADDRESSES_MAX: usize = 16;
/// How long one server is waited for.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// The port of name servers.
pub(crate) const PORT: u16 = 53;

/// Asks for names.
pub(crate) struct Resolver {
    names: TokioResolver,
    allow_private: Vec<Range>,
}

/// Why a host is not connected to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("its name has no address")]
    Unresolved,
    #[error("its address {0} is {1}")]
    Forbidden(IpAddr, &'static str),
}

/// Why there is no resolver.
#[derive(Debug, thiserror::Error)]
#[error("make a resolver: {0}")]
pub(crate) struct ResolverError(String);

impl Resolver {
    pub(crate) fn new(
        servers: &[SocketAddr],
        allow_private: Vec<Range>,
    ) -> Result<Self, ResolverError> {
        let servers = servers.iter().map(|server| {
            let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
            let at_port = connections.map(|mut connection| {
                connection.port = server.port();
                connection
            });
            NameServerConfig::new(server.ip(), true, at_port.into())
        });
        let config = ResolverConfig::from_name_servers(servers.collect());
        let mut builder =
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        let options = builder.options_mut();
        options.timeout = ANSWER_WITHIN;
        options.attempts = 1;
        options.cache_size = 0;
        options.use_hosts_file = ResolveHosts::Never;
        options.server_ordering_strategy = ServerOrderingStrategy::UserProvidedOrder;
        options.num_concurrent_reqs = 1;
        let names = builder
            .build()
            .map_err(|error| ResolverError(error.to_string()))?;
        Ok(Self {
            names,
            allow_private,
        })
    }

    /// The addresses of a host, each of them fit to be reached.
    pub(crate) async fn addresses(&self, host: &Host) -> Result<Arc<[IpAddr]>, Unfit> {
        let found: Vec<IpAddr> = match host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                // With its last dot: no search list, and never read as an address.
                let name = Name::from_ascii(format!("{name}.")).map_err(|_| Unfit::Unresolved)?;
                match self.names.lookup_ip(name).await {
                    Ok(found) => found.iter().take(ADDRESSES_MAX).collect(),
                    Err(error) => {
                        tracing::debug!(%error, "a name was not resolved");
                        return Err(Unfit::Unresolved);
                    }
                }
            }
        };
        if found.is_empty() {
            return Err(Unfit::Unresolved);
        }
        for address in &found {
            self.judge(*address)?;
        }
        Ok(found.into())
    }

    fn judge(&self, address: IpAddr) -> Result<(), Unfit> {
        if let Some(what) = address::forbidden(address, &self.allow_private) {
            return Err(Unfit::Forbidden(address, what));
        }
        let listed = |range: &Range| range.contains(address);
        if is_own(address) && !self.allow_private.iter().any(listed) {
            return Err(Unfit::Forbidden(address, "this machine's own"));
        }
        Ok(())
    }
}

/// Whether an address is one of this machine's: one that a socket can be bound to. Nothing is sent
/// to find out.
fn is_own(address: IpAddr) -> bool {
    let binds = |address: IpAddr| UdpSocket::bind((address, 0)).is_ok();
    // Where the machine lets sockets be bound to any address, the kernel says it in another way.
    let nobodys: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    binds(address) && (!binds(nobodys) || is_source(address))
}

/// Whether the kernel would connect to an address from itself.
fn is_source(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, PORT))?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == address)
}

/// The name servers of a `resolv.conf`.
pub(crate) fn servers(text: &str) -> Vec<SocketAddr> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some("nameserver")).then(|| words.next())?
        })
        .filter_map(|address| address.parse::<IpAddr>().ok())
        .map(|address| SocketAddr::new(address, PORT))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolver(open: &[&str]) -> Resolver {
        let open = open.iter().map(|range| range.parse().expect("a range"));
        Resolver::new(&[], open.collect()).expect("a resolver")
    }

    #[test]
    fn an_address_of_this_machine_is_known() {
        assert!(is_own(Ipv4Addr::LOCALHOST.into()));
        assert!(is_own("127.9.9.9".parse().expect("an address")));
        assert!(!is_own("192.0.2.1".parse().expect("an address")));
        assert!(is_source(Ipv4Addr::LOCALHOST.into()));
        assert!(!is_source("192.0.2.1".parse().expect("an address")));
    }

    #[tokio::test]
    async fn a_written_address_is_judged_as_a_resolved_one() {
        let host = |text: &str| Host::parse(text).expect("a host");
        let closed = resolver(&[]);
        for text in [
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "[::1]",
            "[fd00::1]",
            "0.0.0.0",
        ] {
            let judged = closed.addresses(&host(text)).await;
            assert!(
                matches!(judged, Err(Unfit::Forbidden(..))),
                "{text}: {judged:?}"
            );
        }
        let open = resolver(&["127.0.0.1/32"]);
        assert!(open.addresses(&host("127.0.0.1")).await.is_ok());
        assert!(open.addresses(&host("127.0.0.2")).await.is_err());
        assert_eq!(
            open.addresses(&host("a.example")).await,
            Err(Unfit::Unresolved)
        );
    }

    #[test]
    fn the_machines_servers_are_read() {
        let text =
            "# a\nnameserver 10.0.0.53\nsearch x\nnameserver  ::1 \noptions y\nnameserver z\n";
        let found: Vec<_> = servers(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["10.0.0.53:53", "[::1]:53"]);
    }
}
