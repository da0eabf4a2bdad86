# PROPERTY: A lock on a file of the image is seen by no other job
# FROM: flock and leases on shared inodes
# EXPECTED: job 1 prints PLANTED; job 2 in the same sandbox prints CONTAINED; so does one beside it
from wall import *
import fcntl, time
paths = [path for path in ("/usr/bin/env", "/etc/passwd", "/usr/bin/python3") if os.path.exists(path)]
files = [os.open(path, os.O_RDONLY) for path in paths]
for fd, path in zip(files, paths):
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        bad("%s is locked by another" % path)
if PHASE == "plant": planted()
if PHASE == "hold":
    os.write(1, b"PLANTED -\n"); time.sleep(float(ARG.get("S", "3"))); os._exit(0)
ok()
