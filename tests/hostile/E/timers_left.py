# PROPERTY: No timer, alarm or event of another job fires
# FROM: timerfd, POSIX timers, itimers
# EXPECTED: job 1 prints PLANTED; job 2 in the same sandbox prints CONTAINED; so does one beside it
from wall import *
import time
if PHASE in ("plant", "hold"):
    signal.signal(signal.SIGALRM, lambda *a: None)
    signal.setitimer(signal.ITIMER_REAL, 0.3, 0.3)
    fd = LIBC.timerfd_create(1, 0)
    if PHASE == "plant": planted()
    os.write(1, b"PLANTED -\n")
    end_at = time.monotonic() + float(ARG.get("S", "3"))
    while time.monotonic() < end_at: time.sleep(0.1)
    os._exit(0)
fired = []
for number in (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO): signal.signal(number, lambda n, f: fired.append(n))
if signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0): bad("an alarm is set")
time.sleep(0.7)
if fired or signal.sigpending(): bad("a signal came: %s" % fired)
ok()
