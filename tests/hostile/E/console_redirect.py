# PROPERTY: There is no console or terminal to be redirected
# FROM: runc CVE-2025-52565
# EXPECTED: CONTAINED
from wall import *
closed("/dev/console", "/dev/ptmx", "/dev/pts/0", "/dev/tty0", "/dev/tty1", "/dev/ttyS0", "/dev/vcs", mode=os.O_RDWR)
for fd in (0, 1, 2):
    if os.isatty(fd):
        bad("descriptor %d is a terminal" % fd)
try:
    os.open("/dev/tty", os.O_RDWR)
    bad("there is a controlling terminal")
except OSError:
    pass
ok()
