# PROPERTY: No overlay of one's own can be mounted by way of a user namespace
# FROM: CVE-2021-3493, CVE-2023-0386, CVE-2023-2640
# EXPECTED: CONTAINED
from wall import *
def overlay():
    value, error = raw(NR["unshare"], 0x10020000)
    if value == 0:
        for name in ("l", "u", "w", "m"): os.makedirs("/tmp/o/" + name, exist_ok=True)
        return raw(165, b"overlay", b"/tmp/o/m", b"overlay", 0, b"lowerdir=/tmp/o/l,upperdir=/tmp/o/u,workdir=/tmp/o/w")
    return value, error
refused("overlay in a user namespace", overlay)
refused("overlay", lambda: raw(165, b"overlay", b"/tmp", b"overlay", 0, b"lowerdir=/usr,upperdir=/tmp,workdir=/job"))
ok()
