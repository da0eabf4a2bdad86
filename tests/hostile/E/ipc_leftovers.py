# PROPERTY: No SysV or POSIX object of another job is found, by key, name, id or list
# FROM: ipc namespaces that are kept
# EXPECTED: job 1 prints PLANTED; job 2 in the same sandbox prints CONTAINED; so does one beside it
from wall import *
import time
def objects(create):
    flags = 0o1666 if create else 0
    return [LIBC.shmget(0x4b494c4e, 4096 if create else 0, flags), LIBC.semget(0x4b494c4e, 1 if create else 0, flags), LIBC.msgget(0x4b494c4e, flags),
            LIBC.syscall(240, b"kiln-e", 0o102 if create else 0, 0o666, None)]
if PHASE in ("plant", "hold"):
    made = objects(True)
    open("/dev/shm/kiln-e", "w").write("x")
    if min(made) < 0: bad("inconclusive: it could not plant: %s" % made)
    if PHASE == "plant": planted()
    os.write(1, b"PLANTED -\n"); time.sleep(float(ARG.get("S", "3"))); os._exit(0)
if max(objects(False)) >= 0 or os.path.exists("/dev/shm/kiln-e"): bad("an object of another job")
for name in ("shm", "sem", "msg"):
    if len(open("/proc/sysvipc/" + name).read().splitlines()) > 1: bad("%s objects are listed" % name)
for number in range(64):
    if LIBC.shmctl(number, 2, ctypes.create_string_buffer(256)) >= 0: bad("shared memory by its id")
ok()
