# PROPERTY: No call that administers the machine works
# FROM: docker's own deny list
# EXPECTED: CONTAINED
from wall import *
for name, call in (("swapon", (167, b"/tmp/x", 0)), ("swapoff", (168, b"/tmp/x")), ("acct", (163, b"/tmp/x")), ("quotactl", (179, 0, None, 0, None)), ("reboot", (169, 0xfee1dead, 672274793, 0, None)),
                   ("kexec_load", (246, 0, 0, None, 0)), ("kexec_file_load", (320, 0, 0, 0, None, 0)), ("sethostname", (170, b"x", 1)), ("setdomainname", (171, b"x", 1)), ("settimeofday", (164, None, None)),
                   ("clock_settime", (227, 0, ctypes.create_string_buffer(16))), ("adjtimex", (159, ctypes.create_string_buffer(208))), ("vhangup", (153,)), ("syslog", (103, 3, None, 0)), ("iopl", (172, 3)), ("ioperm", (173, 0x70, 1, 1)), ("modify_ldt", (154, 0, None, 0))):
    refused(name, lambda: raw(*call))
ok()
