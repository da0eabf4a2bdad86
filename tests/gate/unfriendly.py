# Leaves what no collector should follow, wait for, or name as it is; beside it, one table that may leave.
import os, signal, socket, sys, time


def save(name, data=b"a,b\n1,2\n"):
    with open(name, "wb") as file:
        file.write(data)


save("good.csv")
save("empty.csv", b"")
for name in (b"line\nbreak.csv", b"esc\x1b[31m.csv", "turned\u202efdp.csv".encode(), b"-rf", b"no\xff\xfeutf8.csv"):
    save(name)
os.link("good.csv", "linked.csv")
for target, name in (("/etc/shadow", "shadow.txt"), ("/etc", "etc"), ("good.csv", "within.csv")):
    os.symlink(target, name)
for name in ("/etc/passwd", "/proc/self/exe"):
    try:
        os.link(name, "passwd.txt")
        sys.exit("a file of the machine's is linked")
    except OSError:
        pass
os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")
with open("sparse.bin", "wb") as file:
    file.truncate(10 << 40)
here = os.getcwd()
for _ in range(200):
    os.mkdir("d")
    os.chdir("d")
save("deep.csv")
os.chdir(here)
# One goes on writing when the main process has ended.
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    line = 0
    while True:
        line += 1
        save("changing.csv", b"%d,1\n" % line * 1000)
time.sleep(0.2)
print("done")
