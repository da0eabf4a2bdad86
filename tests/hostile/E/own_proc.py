# PROPERTY: What a job writes to its own /proc folder takes nothing from others: no protection from the killer of memory, no group's priority, no login
# FROM: oom_score_adj of -1000 in a container that shares a host; autogroup of a session; loginuid forged for audit
# EXPECTED: CONTAINED
from wall import *
def write(path, value):
    def action():
        fd = os.open(path, os.O_WRONLY)
        return os.write(fd, value), 0
    return action
for path, value in (
    ("oom_score_adj", b"-1"), ("oom_score_adj", b"-1000"), ("oom_adj", b"-17"), ("autogroup", b"-20"), ("uid_map", b"0 0 1"),
    ("gid_map", b"0 0 1"), ("projid_map", b"0 0 1"), ("setgroups", b"allow"), ("timens_offsets", b"monotonic 100 0"),
):
    refused("%s = %r" % (path, value), write("/proc/self/" + path, value), also=(errno.ENOENT, errno.EINVAL))
refused("loginuid", write("/proc/self/loginuid", b"0"), also=(errno.ENOENT, errno.EINVAL))
if int(open("/proc/self/oom_score_adj").read()) < 0:
    bad("it is protected from the killer of memory")
ok()
