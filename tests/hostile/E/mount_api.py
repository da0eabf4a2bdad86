# PROPERTY: No call of either mount interface works, with right or wrong arguments
# FROM: CVE-2022-0185 (fsconfig)
# EXPECTED: CONTAINED
from wall import *
refused("mount tmpfs", lambda: raw(165, b"none", b"/tmp", b"tmpfs", 0, None))
refused("remount /", lambda: raw(165, b"none", b"/", None, 0x20 | 0x1000, None))
refused("bind /proc", lambda: raw(165, b"/proc", b"/tmp", None, 0x1000, None))
refused("umount a mask", lambda: raw(166, b"/proc/kcore", 2))
refused("pivot_root", lambda: raw(155, b"/tmp", b"/tmp"))
refused("chroot", lambda: raw(161, b"/tmp"))
for name, call in (("open_tree", (428, -100, b"/", 1)), ("move_mount", (429, -100, b"/tmp", -100, b"/job", 0)), ("fsopen", (430, b"tmpfs", 0)),
                   ("fsconfig", (431, 0, 0, b"a" * 4096, None, 0)), ("fsmount", (432, 0, 0, 0)), ("fspick", (433, -100, b"/", 0)),
                   ("mount_setattr", (442, -100, b"/", 0, None, 0)), ("open_tree_attr", (467, -100, b"/", 1, None, 0))):
    refused(name, lambda: raw(*call))
ok()
