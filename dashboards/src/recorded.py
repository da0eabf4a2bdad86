"""Which figures are made of others, once for all dashboards and alerts?"""

from alert import Recording

WINDOWS = ("5m", "30m", "1h", "6h")

# What is promised over 30 days.
ERRORS_MAX = 0.001
"""Of all tries of jobs, those that fail by our fault."""
SLOW_MAX = 0.01
"""Of all jobs, those that wait for us longer than their class bears."""
BEARS = {"interactive": "1", "batch": "60"}
"""Seconds beside the program's own time; bounds of `kiln_job_latency_seconds`."""


def errors(window: str) -> Recording:
    return Recording(
        f"kiln:job_errors:ratio_rate{window}",
        f"sum(rate(kiln_faults_total[{window}])) "
        f"/ (sum(rate(kiln_jobs_total[{window}])) + sum(rate(kiln_faults_total[{window}])))",
        "Of the tries of jobs, those that failed by our fault",
    )


def slow(window: str) -> Recording:
    within = " or ".join(
        f'sum by (class) (rate(kiln_job_latency_seconds_bucket{{class="{name}",le="{bound}"}}[{window}]))'
        for name, bound in BEARS.items()
    )
    return Recording(
        f"class:kiln_job_slow:ratio_rate{window}",
        f"1 - ({within}) / sum by (class) (rate(kiln_job_latency_seconds_count[{window}]))",
        "Of a class's jobs, those that waited for us longer than it bears",
    )


RECORDINGS = (
    *(errors(window) for window in WINDOWS),
    *(slow(window) for window in WINDOWS),
    Recording(
        "instance:kiln_slots:utilization_ratio",
        "kiln_slots_busy / kiln_slots",
        "How much of a worker's slots is in use",
    ),
    Recording(
        "instance:kiln_pool_cold:ratio_rate5m",
        'sum by (instance) (rate(kiln_pool_acquire_total{start="cold"}[5m])) '
        "/ sum by (instance) (rate(kiln_pool_acquire_total[5m]))",
        "Of the sandboxes that jobs got, those that were made while the job waited",
    ),
    Recording(
        "instance:kiln_pool_refill:utilization_ratio",
        "sum by (instance) (rate(kiln_pool_refill_seconds_sum[5m]))",
        "How busy a worker's one warden is with making sandboxes: 1 is all the time",
    ),
    Recording(
        "instance_profile:kiln_pool_time_to_empty:seconds",
        'sum by (instance, profile) (kiln_pool_sandboxes{phase="warm"}) '
        '/ clamp_min(-sum by (instance, profile) (deriv(kiln_pool_sandboxes{phase="warm"}[5m])), 0.001)',
        "When the warm sandboxes are used up if all goes on as in the last minutes; days where it does not",
    ),
    Recording(
        "queue:kiln_queue_ready:max",
        "max by (queue) (kiln_queue_ready_messages)",
        "Messages that wait in a queue; every worker sees the same ones",
    ),
)
