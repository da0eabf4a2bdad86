# PROPERTY: Every mask is the null device, a closed file or an empty read-only folder, and not a link
# FROM: runc CVE-2025-31133 (mask source not verified)
# EXPECTED: CONTAINED
from wall import *
import stat
for line in open("/proc/self/mountinfo"):
    at = line.split()[4]
    if not at.startswith("/proc/") or at == "/proc/sys":
        continue
    status = os.lstat(at)
    if stat.S_ISLNK(status.st_mode):
        bad("%s is a link" % at)
    if stat.S_ISDIR(status.st_mode) and os.listdir(at):
        bad("%s is not empty" % at)
    if os.access(at, os.W_OK) and not stat.S_ISCHR(status.st_mode):
        try:
            os.open(at, os.O_WRONLY)
            bad("%s opens for writing" % at)
        except OSError:
            pass
ok()
