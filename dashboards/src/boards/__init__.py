"""Which dashboards are there?"""

from .fleet import FLEET
from .gate import GATE
from .pool import POOL
from .queue import QUEUE
from .worker import WORKER

DASHBOARDS = (FLEET, WORKER, POOL, GATE, QUEUE)
