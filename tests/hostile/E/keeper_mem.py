# PROPERTY: No process but its own has memory that can be read or written
# FROM: runc CVE-2016-9962, a joined process
# EXPECTED: CONTAINED
from wall import *
own = os.getpid()
for pid in range(1, 2048):
    if pid == own:
        continue
    for name in ("mem", "maps", "environ"):
        try:
            os.open("/proc/%d/%s" % (pid, name), os.O_RDWR if name == "mem" else os.O_RDONLY)
            bad("/proc/%d/%s opens" % (pid, name))
        except OSError:
            pass
ok()
