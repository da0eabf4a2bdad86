# PROPERTY: A job may listen on its own loopback, and nobody else is there
# FROM: a look at nothing proves nothing
# EXPECTED: CONTAINED
from wall import *
import socket
listener = socket.create_server(("127.0.0.1", 0))
socket.create_connection(listener.getsockname()).close()
for port in (22, 80, 2375, 2376, 4243, 5672, 6379, 6443, 8080, 9464, 10250, 15672):
    try:
        socket.create_connection(("127.0.0.1", port), 0.2)
        bad("port %d answers" % port)
    except OSError:
        pass
ok()
