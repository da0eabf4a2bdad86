# PROPERTY: No descriptor of another process by pidfd_getfd or kcmp
# FROM: pidfd_getfd, kcmp
# EXPECTED: CONTAINED
from wall import *
import time
child = os.fork()
if child == 0:
    time.sleep(5)
    os._exit(0)
fd = os.pidfd_open(child)
for target in range(3): refused("pidfd_getfd(%d)" % target, lambda: raw(438, fd, target, 0))
for kind in range(7): refused("kcmp(%d)" % kind, lambda: raw(312, os.getpid(), child, kind, 0, 0))
os.kill(child, 9)
ok()
