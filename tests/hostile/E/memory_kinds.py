# PROPERTY: No memory that the group does not count, that cannot be taken away, or that another can see: secret, huge, poisoned, merged
# FROM: memfd_secret (never swapped), MAP_HUGETLB (counted elsewhere), MADV_HWPOISON, MADV_MERGEABLE (tells pages of neighbours by their time)
# EXPECTED: CONTAINED
from wall import *
import mmap
refused("memfd_secret", lambda: raw(447, 0))
refused("mbind", lambda: raw(237, 0, 4096, 1, None, 0, 0))
refused("migrate_pages", lambda: raw(256, os.getpid(), 0, None, None))
refused("move_pages", lambda: raw(279, os.getpid(), 0, None, None, None, 0))
huge = raw(9, None, 2 << 20, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000, -1, 0)
if huge[0] != -1:
    bad("a huge page of the pool of the machine was mapped")
size = 4 << 20
area = raw(9, None, size, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)[0] & (1 << 64) - 1
for name, advice in (("MADV_HWPOISON", 100), ("MADV_SOFT_OFFLINE", 101)):
    refused(name, lambda: raw(28, ctypes.c_ulong(area), 4096, advice), also=(errno.EINVAL,))
refused("process_madvise", lambda: raw(440, -1, None, 0, 0, 0))
locked = raw(149, ctypes.c_ulong(area), size)
soft = int([line.split()[3] for line in open("/proc/self/limits") if line.startswith("Max locked memory")][0].replace("unlimited", "-1"))
if locked[0] == 0 and (soft < 0 or soft < size):
    bad("memory beyond the limit of locked memory (%d) is locked" % soft)
ok()
