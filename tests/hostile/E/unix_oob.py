# PROPERTY: No urgent byte is sent over a local socket, whose code in the kernel lets a sandbox out
# FROM: CVE-2025-38236 (MSG_OOB on AF_UNIX, from Chrome's renderer)
# EXPECTED: CONTAINED
from wall import *
import socket
OOB = socket.MSG_OOB
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
    a, b = socket.socketpair(socket.AF_UNIX, kind)
    for flags in (OOB, OOB | socket.MSG_DONTWAIT, OOB | socket.MSG_NOSIGNAL):
        refused("send with MSG_OOB, type %d" % kind, lambda: (a.send(b"x", flags), 0))
        refused("sendmsg with MSG_OOB, type %d" % kind, lambda: (a.sendmsg([b"x"], [], flags), 0))
    # sendmmsg, with the flag in its argument; and with upper bits that the kernel cuts off.
    vector = (ctypes.c_long * 2)(ctypes.addressof(ctypes.create_string_buffer(b"x")), 1)
    message = (ctypes.c_long * 8)(0, 0, ctypes.addressof(vector), 1, 0, 0, 0, 0)
    refused("sendmmsg with MSG_OOB", lambda: raw(307, a.fileno(), ctypes.byref(message), 1, OOB))
    refused("send with MSG_OOB and upper bits", lambda: raw(44, a.fileno(), b"x", 1, OOB | 1 << 40, 0, 0))
    a.send(b"plain")
    if b.recv(9) != b"plain":
        bad("inconclusive: an ordinary byte does not come")
ok()
