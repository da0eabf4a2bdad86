# PROPERTY: RLIMIT_CORE is 1 and stays so
# FROM: a piped core_pattern runs as the host's root; systemd-coredump CVE-2025-4598
# EXPECTED: CONTAINED
from wall import *
import resource
if resource.getrlimit(resource.RLIMIT_CORE) != (1, 1): bad("the limit is %s" % (resource.getrlimit(resource.RLIMIT_CORE),))
limits = (ctypes.c_uint64 * 2)(0, 0)
for number, args in ((160, (4, ctypes.byref(limits))), (302, (0, 4, ctypes.byref(limits), None)), (302, (os.getpid(), 4 + (1 << 32), ctypes.byref(limits), None))):
    refused("setting the core limit", lambda: raw(number, *args))
if resource.getrlimit(resource.RLIMIT_CORE) != (1, 1): bad("it was changed")
ok()
