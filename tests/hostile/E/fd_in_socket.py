# PROPERTY: Descriptors in flight in sockets that nobody reads are gone with their job
# FROM: SCM_RIGHTS cycles (CVE-2021-4083)
# EXPECTED: job 1 prints PLANTED; job 2 in the same sandbox prints CONTAINED; so does one beside it
from wall import *
import array, socket, time
if PHASE in ("plant", "hold"):
    keep = []
    for _ in range(50):
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [a.fileno(), b.fileno()]))])
        keep += [a, b]
    name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); name.bind("\0kiln-flight")
    if PHASE == "plant": planted()
    os.write(1, b"PLANTED -\n"); time.sleep(float(ARG.get("S", "3"))); os._exit(0)
if len(open("/proc/net/unix").read().splitlines()) > 1: bad("sockets of another job")
try:
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).connect("\0kiln-flight")
    bad("the name answers")
except OSError:
    pass
ok()
