# PROPERTY: A mask of /proc cannot be taken off, moved, covered or reached by another way
# FROM: runc CVE-2025-31133
# EXPECTED: CONTAINED
from wall import *
for path in ("/proc/kcore", "/proc/keys", "/proc/sysrq-trigger", "/proc/timer_list", "/proc/sys"):
    for flags in (0, 1, 2, 8): refused("umount2(%s, %d)" % (path, flags), lambda: raw(166, path.encode(), flags))
for path in ("/proc/self/root/proc/kcore", "/proc/thread-self/root/proc/kcore", "/proc/self/cwd/../proc/kcore"):
    closed(path)
for path in ("/proc/keys", "/proc/kallsyms", "/proc/interrupts"):
    try:
        os.unlink(path)
        bad("%s can be unlinked" % path)
    except OSError:
        pass
ok()
