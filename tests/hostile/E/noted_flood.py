# PROPERTY: A job that goes on making refused calls is ended, and floods no log
# FROM: no seccomp log: a notification costs the caller
# EXPECTED: KILLED syscall
from wall import *
for n in range(100000): raw(321, 0, None, 0)
bad("100,000 refused calls, and it lives")
