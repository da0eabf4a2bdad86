# PROPERTY: No release agent can be set: no tree of groups is mounted and none can be
# FROM: CVE-2022-0492
# EXPECTED: CONTAINED
from wall import *
import glob
if [line for line in open("/proc/self/mountinfo") if " - cgroup" in line]: bad("a tree of groups is mounted")
for path in glob.glob("/sys/fs/cgroup/**/release_agent", recursive=True) + glob.glob("/*/release_agent"): bad("%s is there" % path)
for kind, data in ((b"cgroup", b"rdma"), (b"cgroup", b"memory"), (b"cgroup2", b"")): refused("mount %s" % kind.decode(), lambda: raw(165, b"cgroup", b"/tmp", kind, 0, data))
ok()
