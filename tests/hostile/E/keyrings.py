# PROPERTY: No key can be made, read, joined or found, and none of anybody is listed
# FROM: CVE-2016-0728, keys that outlive a job
# EXPECTED: CONTAINED
from wall import *
for command in (0, 1, 6, 11, 14, 15, 22, 31): refused("keyctl(%d)" % command, lambda: raw(250, command, -3, 0, 0, 0))
refused("add_key", lambda: raw(248, b"user", b"kiln", b"x", 1, -4))
refused("request_key", lambda: raw(249, b"user", b"kiln", None, -4))
closed("/proc/keys", "/proc/key-users")
ok()
