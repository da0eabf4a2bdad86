# PROPERTY: A call by x32 numbers or through the 32-bit entry is none
# FROM: seccomp filters that check one convention
# EXPECTED: CONTAINED
from wall import *
for number in (0x40000000 + 39, 0x40000000 + 101, 0x40000000 + 520):
    value, error = trial(lambda: raw(number, 0, 0, 0, 0))
    if value == "killed" and error == signal.SIGSYS: continue
    if (value, error) != (-1, errno.ENOSYS): bad("call %#x: %s, %s" % (number, value, error))
ok()
