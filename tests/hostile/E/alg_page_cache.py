# PROPERTY: The page cache of the image is not written through AF_ALG
# FROM: CVE-2026-31431 (Copy Fail)
# EXPECTED: CONTAINED
from wall import *
import socket
try:
    socket.socket(38, socket.SOCK_SEQPACKET, 0)
    bad("AF_ALG opens")
except OSError as e:
    if e.errno not in WALLS + (errno.EAFNOSUPPORT,): bad("the kernel answered: %s" % e)
ok()
