"""Which alerts are there?"""

from . import broker, job, machine, objectives, outputs, pool, store

ALERTS = (
    *objectives.ALERTS, *job.ALERTS, *broker.ALERTS, *store.ALERTS, *pool.ALERTS, *outputs.ALERTS, *machine.ALERTS,
)
