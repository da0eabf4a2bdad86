# PROPERTY: A program in memory with set-uid and another owner's bits gains nothing
# FROM: memfd_create, execveat
# EXPECTED: CONTAINED
from wall import *
fd = os.memfd_create("x", 0)
os.write(fd, open("/usr/bin/id", "rb").read())
try:
    os.fchmod(fd, 0o6755)
except OSError:
    pass
r, w = os.pipe()
child = os.fork()
if child == 0:
    os.dup2(w, 1)
    try:
        os.execve("/proc/self/fd/%d" % fd, ["id", "-u"], {})
    except OSError:
        os._exit(0)
os.close(w)
told = os.read(r, 64).strip()
os.waitpid(child, 0)
if told not in (b"", b"1000"): bad("it ran as %s" % told)
ok()
