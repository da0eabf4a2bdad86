# PROPERTY: No descriptor, working directory or root leads out of the mount namespace
# FROM: runc CVE-2024-21626
# EXPECTED: CONTAINED
from wall import *
for fd in range(3, 4096):
    try:
        bad("descriptor %d is open: %s" % (fd, os.readlink("/proc/self/fd/%d" % fd)))
    except OSError:
        pass
for up in ("/proc/self/cwd/../../../../../../etc/shadow", "/proc/self/root/../../../etc/shadow", "/job/../../../../root/.bashrc"):
    if os.path.exists(up):
        bad("%s is there" % up)
for fd in (0, 1, 2):
    for up in ("..", "../../../etc/shadow"):
        try:
            os.open(up, os.O_RDONLY, dir_fd=fd)
            bad("descriptor %d leads to %s" % (fd, up))
        except OSError:
            pass
ok()
