# What comes by a socket, to its end or to this.
def hear(s, end=b""):
    data = b""
    while not (end and end in data):
        try: part = s.recv(65536)
        except ConnectionError: break
        if not part: break
        data += part
    return data
