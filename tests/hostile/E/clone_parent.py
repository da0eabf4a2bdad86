# PROPERTY: No sibling can be made under the cell's init, which reaps it
# FROM: CLONE_PARENT
# EXPECTED: CONTAINED
from wall import *
refused("clone(CLONE_PARENT)", lambda: raw(NR["clone"], 0x8000 | 17, 0, 0, 0, 0), also=(errno.EINVAL,))
ok()
