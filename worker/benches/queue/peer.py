"""The peer: Celery, whose every task runs `true` under bubblewrap.

As who cares for a job would set it up: acknowledged after it ran, its outcome kept in Redis.

usage: peer.py JOBS IN_FLIGHT   (with PEER_BROKER and PEER_RESULTS; the worker is `celery --app peer worker`)
"""

import collections
import os
import subprocess
import sys
import time

from celery import Celery

app = Celery("peer", broker=os.environ["PEER_BROKER"], backend=os.environ["PEER_RESULTS"])
app.conf.task_acks_late = True
SANDBOX = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]


@app.task
def run():
    subprocess.run(SANDBOX, check=True)


def main(jobs, in_flight):
    out = collections.deque(run.delay() for _ in range(in_flight))
    while out:  # what is made once is made before anything is measured
        out.popleft().get(timeout=60)
    began = time.monotonic()
    for _ in range(jobs):
        out.append(run.delay())
        if len(out) >= in_flight:
            out.popleft().get(timeout=60)
    while out:
        out.popleft().get(timeout=60)
    print(f"{jobs / (time.monotonic() - began):.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
