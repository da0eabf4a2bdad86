# PROPERTY: No memory of another process by process_vm_readv, writev, madvise or mrelease
# FROM: process_vm_*
# EXPECTED: CONTAINED
from wall import *
import time
child = os.fork()
if child == 0:
    time.sleep(5)
    os._exit(0)
buffer = ctypes.create_string_buffer(16)
class Vec(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
vec = Vec(ctypes.cast(buffer, ctypes.c_void_p), 16)
for number in (310, 311): refused("process_vm %d" % number, lambda: raw(number, child, ctypes.byref(vec), 1, ctypes.byref(vec), 1, 0))
refused("process_madvise", lambda: raw(440, os.pidfd_open(child), ctypes.byref(vec), 1, 4, 0))
refused("process_mrelease", lambda: raw(448, os.pidfd_open(child), 0))
os.kill(child, 9)
ok()
