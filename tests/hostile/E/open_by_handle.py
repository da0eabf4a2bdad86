# PROPERTY: open_by_handle_at ends the job at once
# FROM: shocker
# EXPECTED: KILLED syscall
from wall import *
value, error = raw(304, 0, ctypes.create_string_buffer(136), 0)
bad("open_by_handle_at came back: %s, errno %d" % (value, error))
