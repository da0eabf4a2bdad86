# PROPERTY: A watch on files of the image sees no other job's use of them
# FROM: inotify on shared inodes
# EXPECTED: job 1 prints PLANTED; job 2 in the same sandbox prints CONTAINED; so does one beside it
from wall import *
import select, time
if PHASE == "look":
    for path in ("/usr/bin/env", "/usr/bin/python3", "/etc/passwd"): open(path, "rb").read(1)
    time.sleep(0.2)
    ok()
fd = LIBC.inotify_init1(0x800)
for path in (b"/usr/bin", b"/etc", b"/usr"): LIBC.inotify_add_watch(fd, path, 0xfff)
if PHASE == "plant": planted()
os.write(1, b"PLANTED -\n")
end_at = time.monotonic() + float(ARG.get("S", "3"))
while time.monotonic() < end_at:
    if select.select([fd], [], [], 0.1)[0]: bad("it saw another's use: %r" % os.read(fd, 4096)[:80])
os._exit(0)
