# PROPERTY: No io_uring ring can be made, with any flag
# FROM: CVE-2021-41073, CVE-2022-29582, CVE-2023-2598
# EXPECTED: CONTAINED
from wall import *
params = (ctypes.c_uint32 * 30)()
for flags in (0, 1, 2, 0x40, 0x1000):
    params[2] = flags
    refused("io_uring_setup(%#x)" % flags, lambda: raw(425, 8, ctypes.byref(params)))
for number in (426, 427): refused("io_uring %d" % number, lambda: raw(number, 0, 0, 0, 0, 0, 0))
ok()
