# PROPERTY: The host's core_pattern cannot be written
# FROM: CVE-2022-0811 (cr8escape)
# EXPECTED: CONTAINED
from wall import *
closed("/proc/sys/kernel/core_pattern", "/proc/self/root/proc/sys/kernel/core_pattern", "/proc/sys/kernel/core_pipe_limit", "/proc/sys/fs/suid_dumpable", mode=os.O_WRONLY)
ok()
