# PROPERTY: Nothing of pid 1 opens, by any name that leads to it
# FROM: runc CVE-2019-5736, CVE-2016-9962
# EXPECTED: CONTAINED
from wall import *
for base in ("/proc/1", "/proc/1/task/1", "/proc/self/../1", "/proc/thread-self/../../../1"):
    for name in ("exe", "mem", "maps", "environ", "root", "cwd", "fd/0", "fdinfo/0", "stack", "auxv", "pagemap", "ns/mnt", "map_files", "uid_map"):
        path = base + "/" + name
        for mode in (os.O_RDONLY, os.O_WRONLY, os.O_PATH):
            try:
                os.close(os.open(path, mode))
                bad("%s opens" % path)
            except OSError:
                pass
ok()
