//! Whom can a job speak to over a network or a local socket?

use super::{Look, Seen, unsure};
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as Local, UnixStream};
use std::time::Duration;

pub(crate) const LOOKS: &[Look] = &[
    ("interfaces", interfaces),
    ("addresses", addresses),
    ("host-services", services),
    ("local-sockets", local),
    ("own-loopback", loopback),
];

fn interfaces() -> Seen {
    let text = fs::read_to_string("/proc/net/dev").map_err(|e| unsure("/proc/net/dev", e))?;
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name.trim())
        .collect();
    if names != ["lo"] {
        return Err(format!("{names:?}"));
    }
    let routes = fs::read_to_string("/proc/net/route").map_err(|e| unsure("routes", e))?;
    if routes.lines().count() > 1 {
        return Err("there are routes".to_owned());
    }
    Ok("lo alone, no route".to_owned())
}

/// The metadata service, the outside, and private ranges: by TCP and by a datagram.
fn addresses() -> Seen {
    const FAR: [&str; 8] = [
        "169.254.169.254:80",
        "8.8.8.8:53",
        "10.0.0.1:80",
        "172.17.0.1:80",
        "192.168.1.1:80",
        "[fd00:ec2::254]:80",
        "[2001:4860:4860::8888]:53",
        "[::ffff:169.254.169.254]:80",
    ];
    for text in FAR {
        let address: SocketAddr = text.parse().map_err(|e| unsure(text, e))?;
        if TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok() {
            return Err(format!("`{text}` answers"));
        }
        let own = if address.is_ipv4() {
            "0.0.0.0:0"
        } else {
            "[::]:0"
        };
        let sent = UdpSocket::bind(own).and_then(|socket| socket.send_to(b"x", address));
        if sent.is_ok() {
            return Err(format!("a datagram to `{text}` leaves"));
        }
    }
    Ok(format!(
        "{} addresses, none takes a connection or a datagram",
        FAR.len()
    ))
}

/// What listens on a host's loopback is not on this one.
fn services() -> Seen {
    for port in [
        22, 80, 111, 443, 2375, 5432, 5672, 6379, 8080, 9000, 9464, 15_672,
    ] {
        for host in ["127.0.0.1", "[::1]"] {
            let text = format!("{host}:{port}");
            let address: SocketAddr = text.parse().map_err(|e| unsure(&text, e))?;
            if TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok() {
                return Err(format!("`{text}` answers"));
            }
        }
    }
    Ok("nothing listens on loopback".to_owned())
}

fn local() -> Seen {
    let text = fs::read_to_string("/proc/net/unix").map_err(|e| unsure("/proc/net/unix", e))?;
    let named: Vec<&str> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().nth(7))
        .collect();
    if !named.is_empty() {
        return Err(format!("{named:?}"));
    }
    for name in ["/containerd-shim/1.sock", "dbus-session", "hostile_canary"] {
        let address = Local::from_abstract_name(name).map_err(|e| unsure(name, e))?;
        if UnixStream::connect_addr(&address).is_ok() {
            return Err(format!("`@{name}` answers"));
        }
    }
    for path in [
        "/run/docker.sock",
        "/run/dbus/system_bus_socket",
        "/run/kiln/control.sock",
    ] {
        if UnixStream::connect(path).is_ok() {
            return Err(format!("`{path}` answers"));
        }
    }
    Ok("no named socket of anybody".to_owned())
}

/// What a job does with loopback is its own affair, and must work, or the looks above say nothing.
fn loopback() -> Seen {
    let tried = || -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        drop(TcpStream::connect(listener.local_addr()?)?);
        listener.accept().map(drop)
    };
    tried().map_err(|e| unsure("loopback of its own", e))?;
    Ok("a connection to itself works".to_owned())
}
