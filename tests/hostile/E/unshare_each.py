# PROPERTY: No flag of unshare makes a namespace, alone or with others
# FROM: CVE-2022-0492, CVE-2022-0185
# EXPECTED: CONTAINED
from wall import *
flags = {"NEWUSER": 0x10000000, "NEWNS": 0x20000, "NEWCGROUP": 0x2000000, "NEWUTS": 0x4000000, "NEWIPC": 0x8000000, "NEWPID": 0x20000000, "NEWNET": 0x40000000, "NEWTIME": 0x80}
for name, flag in flags.items():
    refused("unshare(%s)" % name, lambda: raw(NR["unshare"], flag))
    refused("unshare(NEWUSER|%s|FILES)" % name, lambda: raw(NR["unshare"], flag | 0x10000000 | 0x400))
ok()
