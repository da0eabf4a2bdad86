# PROPERTY: No call of a number that this filter was not written for reaches the kernel
# FROM: statmount, listmount, open_tree_attr, file_setattr and whatever is numbered next
# EXPECTED: CONTAINED
from wall import *
# What a job may call from 424 on: signals and descriptors of its own, landlock, futexes, attributes of its own files.
KNOWN = {424, 434, 436, 437, 439, 441, 444, 445, 446, 449, 452, 453, 454, 455, 456, 462, 463, 464, 465, 466, 468}
# These are noted, and too many of them end the job: each has a probe of its own.
NOTED = {428, 429, 430, 431, 432, 433, 438, 440, 442, 443, 448, 460, 467}
for number in set(range(424, 1024)) - KNOWN - NOTED:
    result, error = raw(number, -1, 0, 0, 0, 0, 0)
    if result != -1 or error != errno.ENOSYS:
        bad("call %d reached the kernel (result %s, errno %s)" % (number, result, errno.errorcode.get(error, error)))
for number in NOTED - {440}:
    refused("call %d" % number, lambda: raw(number, -1, 0, 0, 0, 0, 0))
ok()
