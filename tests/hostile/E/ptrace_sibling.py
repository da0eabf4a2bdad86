# PROPERTY: No process can be traced, a child of one's own either
# FROM: seccomp bypass and CVE-2019-13272
# EXPECTED: CONTAINED
from wall import *
import time
child = os.fork()
if child == 0:
    time.sleep(5)
    os._exit(0)
for request, pid in ((16, child), (0x4206, child), (16, 1), (0, 0), (0x4206, os.getppid())):
    refused("ptrace(%#x, %d)" % (request, pid), lambda: raw(NR["ptrace"], request, pid, 0, 0))
os.kill(child, 9)
ok()
