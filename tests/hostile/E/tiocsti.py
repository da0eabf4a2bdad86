# PROPERTY: Nothing can be typed into a terminal, also by a number with upper bits set
# FROM: CVE-2016-2568, CVE-2017-5226, CVE-2023-1523
# EXPECTED: CONTAINED
from wall import *
for number in (0x5412, 0x541c, 0x541d, 0x5423, 0x100005412, 0xffffffff00005412 - (1 << 64)):
    value, error = raw(NR["ioctl"], 0, number, ctypes.create_string_buffer(b"x"))
    if (value, error) != (-1, errno.EPERM): bad("ioctl(%#x): %s, errno %d" % (number, value, error))
ok()
