# PROPERTY: Nobody can be told by a local socket that a job is another user or process than it is
# FROM: SCM_CREDENTIALS and SO_PEERCRED, by which services know their callers
# EXPECTED: CONTAINED
from wall import *
import socket, struct
a, b = socket.socketpair()
b.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
own = os.getpid()
for pid, uid, gid in ((1, 1000, 1000), (own, 0, 1000), (own, 1001, 1000), (own, 1000, 0), (own, 65534, 1000), (3, 1000, 1000), (2**22, 1000, 1000)):
    credentials = [(socket.SOL_SOCKET, 2, struct.pack("3i", pid, uid, gid))]
    refused("credentials %s" % ((pid, uid, gid),), lambda: (a.sendmsg([b"x"], credentials), 0), also=(errno.EINVAL, errno.ESRCH))
a.sendmsg([b"x"])
told = struct.unpack("3i", b.recvmsg(1, 64)[1][0][2])
if told != (own, 1000, 1000):
    bad("the socket says %s" % (told,))
ok()
