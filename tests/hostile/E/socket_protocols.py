# PROPERTY: Of the IP protocols only TCP and UDP: no SCTP, DCCP, MPTCP, UDP-Lite or ping
# FROM: CVE-2017-6074 (DCCP), CVE-2019-8956 (SCTP), CVE-2023-1829
# EXPECTED: CONTAINED
from wall import *
for family in (2, 10):
    for kind, protocol in ((1, 132), (5, 132), (6, 33), (1, 262), (2, 136), (2, 1), (2, 58), (1, 33), (2, 115)):
        value, error = raw(41, family, kind, protocol)
        if value != -1: bad("socket(%d, %d, %d) opens" % (family, kind, protocol))
ok()
