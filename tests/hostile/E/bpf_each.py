# PROPERTY: No BPF command works, and no classic filter can be put on a foreign socket
# FROM: CVE-2020-8835, CVE-2021-3490, CVE-2021-31440
# EXPECTED: CONTAINED
from wall import *
attr = (ctypes.c_uint8 * 128)()
for command in (0, 1, 5, 6, 11, 13, 14, 18, 28, 36): refused("bpf(%d)" % command, lambda: raw(321, command, ctypes.byref(attr), 128))
closed("/sys/fs/bpf", mode=os.O_RDONLY | os.O_DIRECTORY)
ok()
