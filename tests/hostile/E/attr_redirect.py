# PROPERTY: No write to /proc reaches another file than it names; labels cannot be set
# FROM: runc CVE-2025-52881
# EXPECTED: CONTAINED
from wall import *
for path in ("/proc/self/attr/exec", "/proc/self/attr/current", "/proc/self/attr/apparmor/exec", "/proc/self/oom_score_adj"):
    try:
        fd = os.open(path, os.O_WRONLY)
        os.write(fd, b"-1000" if "oom" in path else b"unconfined")
        bad("%s takes a write" % path)
    except OSError:
        pass
for path in ("/proc/self/attr", "/proc/sys/kernel"):
    try:
        os.rename(path, "/tmp/x")
        bad("%s can be renamed" % path)
    except OSError:
        pass
ok()
