# PROPERTY: A namespace's descriptor gives no way to its parent or its owner
# FROM: NS_GET_PARENT, NS_GET_USERNS, NS_GET_NSTREE
# EXPECTED: CONTAINED
from wall import *
import fcntl
for name in ("user", "pid"):
    fd = os.open("/proc/self/ns/" + name, os.O_RDONLY)
    for number in (0xb702, 0xb701):
        try:
            got = fcntl.ioctl(fd, number)
        except OSError:
            continue
        if os.readlink("/proc/self/fd/%d" % got) != os.readlink("/proc/self/ns/user"):
            bad("ioctl %#x of ns/%s leads to %s" % (number, name, os.readlink("/proc/self/fd/%d" % got)))
fd = os.open("/proc/self/ns/mnt", os.O_RDONLY)
for number in (0x8010b70a, 0x8010b70b, 0x8010b70c):
    try:
        fcntl.ioctl(fd, number, bytes(16))
        bad("ioctl %#x walks mount namespaces" % number)
    except OSError:
        pass
ok()
