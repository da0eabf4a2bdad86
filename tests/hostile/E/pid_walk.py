# PROPERTY: No number in /proc names a process that is not the job's
# FROM: hidepid and its bypasses
# EXPECTED: CONTAINED
from wall import *
own = str(os.getpid())
if [name for name in os.listdir("/proc") if name.isdigit() and name != own]:
    bad("others are listed")
for pid in range(1, 8192):
    if str(pid) == own:
        continue
    for path in ("/proc/%d/comm", "/proc/%d/task", "/proc/self/task/%d/comm", "/proc/%d/status"):
        if os.path.exists(path % pid):
            bad(path % pid + " is there")
ok()
