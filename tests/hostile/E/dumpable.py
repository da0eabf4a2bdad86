# PROPERTY: The job cannot make what is not its own dumpable, and sees no secret of the starter in itself
# FROM: PR_SET_DUMPABLE, PR_SET_MM, auxv
# EXPECTED: CONTAINED
from wall import *
refused("prctl(PR_SET_MM)", lambda: raw(157, 35, 8, 0, 0, 0))
environ = open("/proc/self/environ", "rb").read()
for word in (b"KILN_", b"AMQP", b"REDIS", b"SECRET", b"TOKEN", b"AWS_"):
    if word in environ.upper(): bad("the environment names %s" % word)
maps = open("/proc/self/maps").read()
if "memfd:" in maps or "kiln" in maps: bad("something of the starter is mapped")
ok()
