# PROPERTY: No protocol above TCP is entered and no program put on a socket: kTLS, espintcp, SMC, classic and extended BPF
# FROM: CVE-2023-0461, CVE-2024-26583, CVE-2025-39682 (kTLS); CVE-2022-27666 (espintcp); BPF JIT spraying
# EXPECTED: CONTAINED
from wall import *
import socket, struct
SOL_TCP, TCP_ULP, TCP_REPAIR = 6, 31, 19
listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen()
tcp = socket.create_connection(listener.getsockname())
for name in (b"tls\0", b"espintcp\0", b"smc\0", b"mptcp\0", b"none\0"):
    refused("TCP_ULP %r" % name, lambda: (tcp.setsockopt(SOL_TCP, TCP_ULP, name), 0))
refused("TCP_ULP with upper bits", lambda: raw(54, tcp.fileno(), SOL_TCP | 1 << 40, TCP_ULP | 1 << 40, b"tls\0", 4))
refused("TCP_REPAIR", lambda: (tcp.setsockopt(SOL_TCP, TCP_REPAIR, 1), 0))
code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xffff))
program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(code))
unix = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
for sock in (tcp, unix):
    for name, option in (("SO_ATTACH_FILTER", 26), ("SO_ATTACH_BPF", 50), ("SO_ATTACH_REUSEPORT_CBPF", 51), ("SO_ATTACH_REUSEPORT_EBPF", 52)):
        refused(name, lambda: (sock.setsockopt(socket.SOL_SOCKET, option, program), 0))
# Marks, priorities, devices and forced buffers are an administrator's.
for name, option, value in (("SO_MARK", 36, 1), ("SO_RCVBUFFORCE", 33, 1 << 26), ("SO_SNDBUFFORCE", 32, 1 << 26), ("SO_PRIORITY", 12, 7), ("SO_DEBUG", 1, 1)):
    refused(name, lambda: (tcp.setsockopt(socket.SOL_SOCKET, option, value), 0))
refused("IP_TRANSPARENT", lambda: (tcp.setsockopt(socket.IPPROTO_IP, 19, 1), 0))
tcp.setsockopt(SOL_TCP, socket.TCP_NODELAY, 1)
ok()
