# PROPERTY: A read-only file of the image does not change through a spliced pipe
# FROM: CVE-2022-0847
# EXPECTED: CONTAINED
from wall import *
before = open("/etc/passwd", "rb").read()
r, w = os.pipe()
for _ in range(16): os.write(w, b"x" * 4096)
for _ in range(16): os.read(r, 4096)
fd = os.open("/etc/passwd", os.O_RDONLY)
os.splice(fd, w, 1, offset_src=0)
os.write(w, b"HOSTILE")
if open("/etc/passwd", "rb").read() != before: bad("/etc/passwd has changed")
ok()
