# PROPERTY: No map of ids can be written, its own or another's
# FROM: newuidmap, CVE-2018-18955
# EXPECTED: CONTAINED
from wall import *
for name in ("uid_map", "gid_map", "setgroups", "projid_map"):
    try:
        fd = os.open("/proc/self/" + name, os.O_WRONLY)
        os.write(fd, b"0 0 1\n" if "map" in name else b"allow")
        bad("%s takes a write" % name)
    except OSError:
        pass
if open("/proc/self/uid_map").read().split()[0::3][:1] == ["0"]: bad("root is mapped")
ok()
