# PROPERTY: init_module ends the job at once
# FROM: code for the kernel
# EXPECTED: KILLED syscall
from wall import *
value, error = raw(175, ctypes.create_string_buffer(64), 64, b'')
bad("init_module came back: %s, errno %d" % (value, error))
