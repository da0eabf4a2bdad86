# PROPERTY: Of /proc beside processes nothing says anything but what is listed here: what a newer kernel adds is seen
# FROM: /proc/sched_debug, /proc/timer_list, /proc/keys, /proc/pressure, each added after the masks of some runtime
# EXPECTED: CONTAINED
from wall import *
# The machine's make, without its load or its neighbours; the job's own view of mounts and sockets.
KNOWN = {"cpuinfo", "crypto", "devices", "dma", "execdomains", "fb", "filesystems", "loadavg", "meminfo", "misc", "modules",
         "mounts", "stat", "uptime", "version", "version_signature"}
OWN = {"net", "self", "sys", "sysvipc", "thread-self"}
for name in os.listdir("/proc"):
    path = "/proc/" + name
    if name.isdigit() or name in OWN | KNOWN:
        continue
    if os.path.isdir(path):
        if os.listdir(path):
            bad("%s has entries" % path)
        continue
    closed(path)
for name in os.listdir("/proc/sysvipc"):
    if open("/proc/sysvipc/" + name).read().count("\n") > 1:
        bad("/proc/sysvipc/%s has entries" % name)
if open("/proc/modules").read() if os.path.exists("/proc/modules") else "":
    bad("the modules of the host are listed")
ok()
