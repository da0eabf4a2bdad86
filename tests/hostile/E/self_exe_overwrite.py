# PROPERTY: The program that runs cannot be written through /proc/self/exe or a descriptor of it
# FROM: runc CVE-2019-5736
# EXPECTED: CONTAINED
from wall import *
for mode in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
    try:
        os.open("/proc/self/exe", mode)
        bad("/proc/self/exe opens for writing")
    except OSError:
        pass
fd = os.open("/proc/self/exe", os.O_PATH)
try:
    os.open("/proc/self/fd/%d" % fd, os.O_WRONLY)
    bad("a path descriptor of the program can be reopened for writing")
except OSError:
    pass
ok()
