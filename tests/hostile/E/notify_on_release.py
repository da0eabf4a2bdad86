# PROPERTY: No file of a control group can be written, by any path
# FROM: notify_on_release, cgroup.procs
# EXPECTED: CONTAINED
from wall import *
for line in open("/proc/self/cgroup"):
    path = line.rstrip("\n").split(":", 2)[2]
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/proc/self/root/sys/fs/cgroup"):
        closed(*[root + path + "/" + name for name in ("cgroup.procs", "tasks", "notify_on_release", "memory.limit_in_bytes", "memory.max", "cgroup.subtree_control")], mode=os.O_WRONLY)
ok()
