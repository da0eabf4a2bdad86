# PROPERTY: Neither pid 1 nor anything outside takes a signal
# FROM: the keeper must outlive its job
# EXPECTED: CONTAINED
from wall import *
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
    for pid in (1, 3):
        try:
            os.kill(pid, number)
            bad("pid %d took signal %d" % (pid, number))
        except OSError:
            pass
try:
    fd = os.pidfd_open(1)
    signal.pidfd_send_signal(fd, signal.SIGKILL)
    bad("pid 1 took a signal by descriptor")
except OSError:
    pass
ok()
