# PROPERTY: The tables of sockets are the cell's own: empty
# FROM: /proc/net of the host by other names
# EXPECTED: CONTAINED
from wall import *
for base in ("/proc/net", "/proc/self/net", "/proc/thread-self/net", "/proc/1/net"):
    for name in ("tcp", "tcp6", "udp", "unix", "packet", "netlink", "route", "arp"):
        try:
            lines = open(base + "/" + name).read().splitlines()
        except OSError:
            continue
        if name == "netlink": lines = [line for line in lines if " 0 " not in line[:14] and line.split()[2:3] != ["0"]]
        if len(lines) > 1: bad("%s/%s has %d entries" % (base, name, len(lines) - 1))
ok()
