# PROPERTY: Processes that fork without end are gone before the next job
# FROM: fork bombs against a kill by loop (piston#206)
# EXPECTED: job 1 prints PLANTED; job 2 in the same sandbox prints CONTAINED; so does one beside it
from wall import *
import time
if PHASE in ("plant", "hold"):
    for _ in range(8):
        if os.fork() == 0:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
            for fd in (0, 1, 2): os.close(fd)
            while True:
                try:
                    if os.fork() != 0: os._exit(0)
                except OSError:
                    pass
    time.sleep(0.5)
    if PHASE == "plant": planted()
    os.write(1, b"PLANTED -\n"); time.sleep(float(ARG.get("S", "3"))); os._exit(0)
for _ in range(20):
    others = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in (1, os.getpid())]
    if others: bad("processes of another job: %s" % others)
    time.sleep(0.02)
if os.getpid() != 2: bad("the numbers go on: %d" % os.getpid())
ok()
