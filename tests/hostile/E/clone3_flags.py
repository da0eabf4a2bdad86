# PROPERTY: clone3 is absent whatever its argument holds, and so are namespaces by clone
# FROM: seccomp sees no argument behind a pointer
# EXPECTED: CONTAINED
from wall import *
class Args(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("flags", "pidfd", "child", "parent", "signal", "stack", "size", "tls", "tids", "count", "cgroup")]
for flags in (0, 0x10000000, 0x10020000, 0x200000000, 0x40000000):
    args = Args(flags=flags, signal=17)
    for size in (64, 80, 88, 4096):
        value, error = raw(435, ctypes.byref(args), size)
        if value == 0: os._exit(0)
        if (value, error) != (-1, errno.ENOSYS):
            bad("clone3(%#x, %d): %s, errno %d" % (flags, size, value, error))
for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000):
    refused("clone(%#x)" % flag, lambda: raw(NR["clone"], flag | 17, 0, 0, 0, 0))
ok()
