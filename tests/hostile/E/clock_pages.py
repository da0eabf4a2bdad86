# PROPERTY: The clock is the machine's, and cannot be set or offset for the next
# FROM: vdso pages, time namespaces, POSIX clocks
# EXPECTED: CONTAINED
from wall import *
import time
for path in ("/proc/self/timens_offsets",):
    try:
        fd = os.open(path, os.O_WRONLY)
        os.write(fd, b"monotonic 1000 0\n")
        bad("%s takes a write" % path)
    except OSError:
        pass
a, b = time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME)
if abs(b - a) > 86400 * 365: bad("clocks differ by %s" % (b - a))
refused("unshare(NEWTIME)", lambda: raw(NR["unshare"], 0x80))
ok()
