# PROPERTY: No listener of its own that could answer for the kernel, and no filter taken off
# FROM: SECCOMP_FILTER_FLAG_NEW_LISTENER
# EXPECTED: CONTAINED
from wall import *
class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
code = (ctypes.c_uint64 * 1)(0x7fff000000000006)
program = Program(1, ctypes.cast(code, ctypes.c_void_p))
refused("a listener", lambda: raw(317, 1, 8, ctypes.byref(program)))
refused("a listener with TSYNC", lambda: raw(317, 1, 8 | 1 | 16, ctypes.byref(program)))
if raw(317, 1, 0, ctypes.byref(program))[0] != 0: bad("inconclusive: a filter of one's own is refused")
refused("bpf under its own allowing filter", lambda: raw(321, 0, None, 0))
ok()
