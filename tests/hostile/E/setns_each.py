# PROPERTY: No namespace can be entered, its own or another's
# FROM: setns on inherited or opened descriptors
# EXPECTED: CONTAINED
from wall import *
for name in sorted(os.listdir("/proc/self/ns")):
    fd = os.open("/proc/self/ns/" + name, os.O_RDONLY)
    refused("setns(%s)" % name, lambda: raw(NR["setns"], fd, 0))
refused("setns(pidfd)", lambda: raw(NR["setns"], os.pidfd_open(os.getpid()), 0x20000))
ok()
