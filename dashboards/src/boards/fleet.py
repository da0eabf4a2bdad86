"""Are jobs answered, and if not, which part is at fault and who must act?"""

from model import BAD, GOOD, WARN, Dashboard, Panel, Query, Row, Step
from recorded import ERRORS_MAX

from .common import C, FIRING, HOLDS, I, P, RATIO, R, percentiles, state, total

BUDGET = (
    "1 - (sum(increase(kiln_faults_total[30d])) / (sum(increase(kiln_jobs_total[30d])) + sum(increase(kiln_faults_total[30d])))) "
    f"/ {ERRORS_MAX}"
)

FLEET = Dashboard(
    "kiln-fleet", "Kiln / Fleet", "Are jobs answered, and if not, which part is at fault?",
    variables=("instance", "profile", "class"),
    rows=(
        Row("Are jobs answered?", (
            Panel("Jobs answered", "How many jobs a second get their outcome?",
                  (Query(total("kiln_jobs_total", "", f"{I},{P},{C}"), "jobs"),), unit="ops", kind="stat", width=4, height=4),
            Panel("Failed by us", "Which part of the tries of jobs fails by our fault, by the last five minutes?",
                  (Query("kiln:job_errors:ratio_rate5m", "of all tries"),), unit="percentunit", kind="stat", width=4, height=4,
                  steps=RATIO, runbook="KilnErrorsFastBurn"),
            Panel("Budget left", "How much of the month's budget of failures is left?", (Query(BUDGET, "of the budget"),),
                  unit="percentunit", kind="stat", width=4, height=4,
                  steps=(Step(None, BAD), Step(0.1, WARN), Step(0.5, GOOD)), runbook="KilnErrorsSlowBurn"),
            Panel("Workers that answer", "How many workers does Prometheus reach?", (Query('sum(up{job="kiln"})', "workers"),),
                  kind="stat", width=4, height=4, steps=(Step(None, BAD), Step(1, GOOD)), runbook="KilnWorkerDown"),
            Panel("Ready", "How many of them take jobs?", (Query(f"sum(kiln_ready{{{I}}})", "workers"),), kind="stat", width=4, height=4,
                  steps=(Step(None, BAD), Step(1, GOOD))),
            Panel("Wait in queues", "How many messages are nobody's yet?", (Query("sum(queue:kiln_queue_ready:max)", "messages"),),
                  kind="stat", width=4, height=4, runbook="KilnQueueGrows"),
            FIRING,
            state("What does not hold", "Which condition of which worker fails, so that it takes no jobs?",
                  (Query(f"kiln_ready_condition{{{I}}}", "{{instance}} {{condition}}"),), HOLDS, width=16, height=8),
        )),
        Row("How do they end?", (
            Panel("Outcomes", "How do jobs end, and did that change?",
                  (Query(total("kiln_jobs_total", "status", f"{I},{P},{C}"), "{{status}}"),), unit="ops", stacked=True),
            Panel("Our own failures", "At which step do we fail jobs?",
                  (Query(total("kiln_faults_total", "step"), "{{step}}"),), unit="ops", stacked=True,
                  runbook="KilnErrorsFastBurn"),
            Panel("Burn of the budget", "How fast do we use up what may fail: at 14.4 it is gone in two days?",
                  (Query(f"kiln:job_errors:ratio_rate1h / {ERRORS_MAX}", "in an hour"),
                   Query(f"kiln:job_errors:ratio_rate5m / {ERRORS_MAX}", "in five minutes")),
                  steps=(Step(None, GOOD), Step(14.4, BAD)), runbook="KilnErrorsFastBurn"),
        )),
        Row("How long do clients wait for us?", (
            Panel("Beyond the program", "How long does a job take beyond its own program, its wait in the queue included?",
                  percentiles("kiln_job_latency_seconds", f"{I},{C}"), unit="s", log=True, low=None, runbook="KilnLatencyFastBurn"),
            Panel("Too slow", "Which part of a class's jobs waits longer than it bears (interactive 1 s, batch 60 s)?",
                  (Query('class:kiln_job_slow:ratio_rate5m{class=~"$class"}', "{{class}}"),), unit="percentunit", high=1,
                  steps=(Step(None, GOOD), Step(0.144, BAD)), runbook="KilnLatencyFastBurn"),
            Panel("Where the time goes", "Which stage takes the time of jobs?",
                  (Query(total("kiln_job_stage_seconds_sum", "stage"), "{{stage}}"),), unit="s", stacked=True),
        )),
        Row("Who must act?", (
            Panel("Workers", "Which worker stands out?", (
                Query(f"kiln_ready{{{I}}}", "ready"),
                Query(f"kiln_slots_busy{{{I}}}", "busy"),
                Query(f"kiln_slots{{{I}}}", "slots"),
                Query(f"sum by (instance) ({'rate(kiln_jobs_total{' + I + '}' + R + ')'})", "jobs/s"),
                Query(f"sum by (instance) (rate(kiln_faults_total{{{I}}}{R}))", "failures/s"),
                Query(f"time() - process_start_time_seconds{{{I},job=\"kiln\"}}", "up for (s)"),
                Query(f"process_resident_memory_bytes{{{I},job=\"kiln\"}} / 1048576", "MiB"),
            ), kind="table", width=16, height=6),
            Panel("Versions", "Which builds run, and how many of each?",
                  (Query("count by (version, revision, rustc, features) (kiln_build_info)", "workers"),), kind="table", width=8, height=6, runbook="KilnVersionsMixed"),
        )),
    ),
)
