# PROPERTY: No performance event opens, of any type
# FROM: CVE-2023-5717, CVE-2013-2094
# EXPECTED: CONTAINED
from wall import *
attr = (ctypes.c_uint8 * 128)()
for kind in range(6):
    attr[0] = kind; attr[4] = 128
    refused("perf_event_open(%d)" % kind, lambda: raw(298, ctypes.byref(attr), 0, -1, -1, 0))
ok()
