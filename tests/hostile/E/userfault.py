# PROPERTY: No userfaultfd, by call or by device
# FROM: CVE-2021-22555 and others use it to win races
# EXPECTED: CONTAINED
from wall import *
for flags in (0, 1, 0x800, 0x80000): refused("userfaultfd(%#x)" % flags, lambda: raw(323, flags))
closed("/dev/userfaultfd", mode=os.O_RDWR)
ok()
