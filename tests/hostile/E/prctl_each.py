# PROPERTY: No attribute of a process but those that concern it alone: no core-scheduling group, no map of its own memory, no IO class
# FROM: PR_SCHED_CORE (idles the sibling of a core), PR_SET_MM, PR_SET_IO_FLUSHER, PR_SET_PTRACER and numbers to come
# EXPECTED: CONTAINED
from wall import *
HARMLESS = {1, 2, 3, 4, 7, 8, 15, 16, 21, 22, 23, 27, 29, 30, 34, 36, 37, 38, 39, 40, 41, 42, 47, 52, 53, 65, 66}
for option in set(range(0, 200)) - HARMLESS | {0x59616d61, 0x6d6d, 0x53564d42}:
    for argument in (0, 1, 2):
        refused("prctl(%d, %d)" % (option, argument), lambda: raw(157, option, argument, 0, 0, 0), also=(errno.EINVAL,))
# The upper half of a number is cut off by the kernel: it must be for the filter too.
refused("prctl(62) with upper bits", lambda: raw(157, 62 | 1 << 32, 1, 0, 0, 0), also=(errno.EINVAL,))
ok()
