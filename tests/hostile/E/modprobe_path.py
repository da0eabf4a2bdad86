# PROPERTY: The host's modprobe and hotplug paths cannot be written, nor a format registered
# FROM: modprobe_path overwrites, binfmt_misc
# EXPECTED: CONTAINED
from wall import *
closed("/proc/sys/kernel/modprobe", "/proc/sys/kernel/hotplug", "/proc/sys/kernel/poweroff_cmd", "/proc/sys/fs/binfmt_misc/register", "/sys/kernel/uevent_helper", "/proc/sys/kernel/usermodehelper/bset", mode=os.O_WRONLY)
ok()
