# PROPERTY: No file's handle is told, which another could be guessed from
# FROM: shocker (open_by_handle_at)
# EXPECTED: CONTAINED
from wall import *
handle = (ctypes.c_uint8 * 256)(); handle[0] = 128
mount = ctypes.c_int()
for path in (b"/", b"/usr", b"/job", b"/etc/passwd"):
    for flags in (0, 0x1000, 0x400): refused("name_to_handle_at(%s)" % path.decode(), lambda: raw(303, -100, path, ctypes.byref(handle), ctypes.byref(mount), flags))
ok()
