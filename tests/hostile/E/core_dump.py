# PROPERTY: A crash leaves no core file and runs no helper
# FROM: core_pattern
# EXPECTED: CONTAINED
from wall import *
child = os.fork()
if child == 0:
    LIBC.prctl(4, 1, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSEGV)
status = os.waitpid(child, 0)[1]
if os.WCOREDUMP(status): bad("a core was dumped")
if [name for name in os.listdir(".") if name.startswith("core")]: bad("a core file is there")
ok()
