"""Do clients get what they were promised? Errors and slowness, by how fast the budget of 30 days burns."""

from alert import Alert, Case
from recorded import ERRORS_MAX, SLOW_MAX

JOBS = 'kiln_jobs_total{class="batch",instance="w1",profile="python",status="succeeded"}'
FAULTS = 'kiln_faults_total{instance="w1",step="lease"}'
WITHIN = 'kiln_job_latency_seconds_bucket{class="interactive",instance="w1",le="1"}'
ALL = 'kiln_job_latency_seconds_count{class="interactive",instance="w1"}'


def burns(record: str, long: str, short: str, factor: float, most: float) -> str:
    """Both windows: the long one says that it matters, the short one that it goes on."""
    limit = f"{factor} * {most}"
    return f"{record}{long} > {limit} and {record}{short} > {limit}"


SEVERAL = " and sum(increase(kiln_faults_total[1h])) >= 5"
"""Where few jobs run, one failure is many in a hundred; nobody is woken for one."""

ALERTS = (
    Alert(
        "KilnErrorsFastBurn", "page", burns("kiln:job_errors:ratio_rate", "1h", "5m", 14.4, ERRORS_MAX) + SEVERAL, "2m",
        "Kiln fails jobs so often that the month's budget is gone in two days",
        ("kiln_faults_total",),
        Case("70m", {JOBS: "0+97x400", FAULTS: "0+3x400"}, ({},)),
        # Three of a hundred, but three.
        Case("70m", {JOBS: "0x20 97x400", FAULTS: "0x20 3x400"}),
    ),
    Alert(
        "KilnErrorsSlowBurn", "ticket", burns("kiln:job_errors:ratio_rate", "6h", "30m", 6, ERRORS_MAX), "15m",
        "Kiln fails jobs so often that the month's budget is gone in five days",
        ("kiln_faults_total",),
        Case("7h", {JOBS: "0+990x2000", FAULTS: "0+10x2000"}, ({},)),
        # Bad for an hour, and good again since.
        Case("7h", {JOBS: "0+990x2000", FAULTS: "0+10x240 2400x1760"}),
    ),
    Alert(
        "KilnLatencyFastBurn", "page", burns("class:kiln_job_slow:ratio_rate", "1h", "5m", 14.4, SLOW_MAX), "2m",
        "Jobs of class {{ $labels.class }} wait for Kiln so long that the month's budget is gone in two days",
        ("kiln_job_latency_seconds", "kiln_queue_wait_seconds", "kiln_job_stage_seconds"),
        Case("70m", {WITHIN: "0+80x400", ALL: "0+100x400"}, ({"class": "interactive"},)),
        Case("70m", {WITHIN: "0+99x400", ALL: "0+100x400"}),
    ),
    Alert(
        "KilnLatencySlowBurn", "ticket", burns("class:kiln_job_slow:ratio_rate", "6h", "30m", 6, SLOW_MAX), "15m",
        "Jobs of class {{ $labels.class }} wait for Kiln so long that the month's budget is gone in five days",
        ("kiln_job_latency_seconds", "kiln_queue_wait_seconds", "kiln_job_stage_seconds"),
        Case("7h", {WITHIN: "0+90x2000", ALL: "0+100x2000"}, ({"class": "interactive"},)),
        Case("7h", {WITHIN: "0+96x2000", ALL: "0+100x2000"}),
    ),
)
