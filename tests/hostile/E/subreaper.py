# PROPERTY: An orphan of a subreaper ends with the job all the same
# FROM: PR_SET_CHILD_SUBREAPER and double forks
# EXPECTED: job 1 prints PLANTED; job 2 in the same sandbox prints CONTAINED; so does one beside it
from wall import *
import time
if PHASE == "plant":
    LIBC.prctl(36, 1, 0, 0, 0)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for fd in (0, 1, 2): os.close(fd)
            LIBC.prctl(15, b"orphan", 0, 0, 0)
            time.sleep(60)
        os._exit(0)
    time.sleep(0.2)
    planted()
if [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in (1, os.getpid())]:
    bad("a process of the job before")
ok()
