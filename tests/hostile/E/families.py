# PROPERTY: No socket of any family but UNIX, IPv4 and IPv6, whatever the upper bits say
# FROM: CVE-2026-31431 (AF_ALG), AF_VSOCK, AF_PACKET, netlink
# EXPECTED: CONTAINED
from wall import *
NONE = (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT, errno.EINVAL)
for family in [n for n in range(0, 64) if n not in (1, 2, 10)] + [0x10026, 0x100000010]:
    for kind in (1, 2, 3, 5, 2 | 0x80000, 10):
        value, error = raw(41, family, kind, 0)
        if value != -1 or error not in WALLS + NONE: bad("socket(%#x, %#x): %s, errno %d" % (family, kind, value, error))
for kind in (3, 3 | 0x800, 10): 
    for family in (2, 10, 1):
        value, error = raw(41, family, kind, 0)
        if value != -1: bad("raw socket of family %d" % family)
for family in (2, 16, 38, 40):
    pair = (ctypes.c_int * 2)()
    if raw(53, family, 1, 0, ctypes.byref(pair))[0] != -1: bad("socketpair of family %d" % family)
ok()
