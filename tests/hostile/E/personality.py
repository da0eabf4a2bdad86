# PROPERTY: No personality that weakens a process
# FROM: READ_IMPLIES_EXEC, ADDR_NO_RANDOMIZE, ADDR_COMPAT_LAYOUT
# EXPECTED: CONTAINED
from wall import *
for flag in (0x0400000, 0x0040000, 0x0200000, 0x0100000, 0x8000000): refused("personality(%#x)" % flag, lambda: raw(NR["personality"], flag))
if raw(NR["personality"], 0xffffffff)[0] not in (0, 8): bad("it starts with a weak personality")
ok()
