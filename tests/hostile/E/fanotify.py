# PROPERTY: No watch on a whole file system
# FROM: fanotify sees every job's files
# EXPECTED: CONTAINED
from wall import *
for flags in (0, 1, 0x200, 0x10): refused("fanotify_init(%#x)" % flags, lambda: raw(300, flags, 0))
refused("fanotify_mark", lambda: raw(301, 0, 1, 0x20, -100, b"/"))
ok()
