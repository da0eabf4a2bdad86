# PROPERTY: No hard limit can be raised
# FROM: prlimit64 and setrlimit
# EXPECTED: CONTAINED
from wall import *
import resource
for name in ("RLIMIT_NOFILE", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE", "RLIMIT_SIGPENDING", "RLIMIT_NICE", "RLIMIT_RTPRIO"):
    number = getattr(resource, name)
    hard = resource.getrlimit(number)[1]
    if hard == resource.RLIM_INFINITY: bad("%s has no bound" % name)
    try:
        resource.setrlimit(number, (hard + 1, hard + 1))
        bad("%s can be raised" % name)
    except (OSError, ValueError):
        pass
ok()
