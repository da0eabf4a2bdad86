# PROPERTY: No flag, lease or version of an image's file can be set
# FROM: FS_IOC_SETFLAGS, F_SETLEASE, fs-verity on shared inodes
# EXPECTED: CONTAINED
from wall import *
import fcntl
fd = os.open("/usr/bin/env", os.O_RDONLY)
for number in (0x40086602, 0x401c5820, 0x40087602, 0x40806685, 0xc0185879):
    try:
        fcntl.ioctl(fd, number, bytes(128))
        bad("ioctl %#x is taken" % number)
    except OSError:
        pass
try:
    fcntl.fcntl(fd, 1024, fcntl.F_WRLCK)
    bad("a write lease is given")
except OSError:
    pass
ok()
