# PROPERTY: No table of a packet filter or of traffic control can be reached
# FROM: CVE-2022-34918, CVE-2024-1086, CVE-2021-22555
# EXPECTED: CONTAINED
from wall import *
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for level, option in ((0, 64), (0, 65), (41, 64), (0, 96), (0, 128)):
    for size in (4, 64, 256):
        try:
            s.setsockopt(level, option, bytes(size))
            bad("setsockopt(%d, %d) is taken" % (level, option))
        except OSError:
            pass
ok()
