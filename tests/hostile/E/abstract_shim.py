# PROPERTY: No abstract socket of a runtime answers
# FROM: containerd-shim CVE-2020-15257
# EXPECTED: CONTAINED
from wall import *
import socket
if len(open("/proc/net/unix").read().splitlines()) > 1: bad("sockets are listed")
for name in ("\0/containerd-shim/hostile.sock", "\0hostile_canary", "\0/tmp/dbus-x", "\0/org/kernel/linux/storage/multipathd"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        s = socket.socket(socket.AF_UNIX, kind)
        try:
            s.connect(name)
            bad("%r answers" % name)
        except OSError:
            pass
ok()
