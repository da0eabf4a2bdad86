# PROPERTY: Nothing of the image can be written, renamed, linked, truncated or have its mode changed
# FROM: a read-only view
# EXPECTED: CONTAINED
from wall import *
for path in ("/usr/bin/env", "/etc/passwd", "/etc/ld.so.cache", "/usr/lib"):
    for what, action in (("truncate", lambda: os.truncate(path, 0)), ("chmod", lambda: os.chmod(path, 0o777)), ("rename", lambda: os.rename(path, path + "x")), ("unlink", lambda: os.unlink(path)),
                         ("utime", lambda: os.utime(path)), ("setxattr", lambda: os.setxattr(path, "user.kiln", b"x")), ("link", lambda: os.link(path, "/usr/kiln")), ("chown", lambda: os.chown(path, 1000, 1000))):
        try:
            action()
            bad("%s of %s works" % (what, path))
        except OSError:
            pass
ok()
