"""How does it stand with one worker?"""

from model import BAD, GOOD, WARN, Dashboard, Panel, Query, Row, Step

from .common import ALL_WELL, HOLDS, I, percentiles, quantile, rate, state, total

J = f'{I},job="kiln"'

WORKER = Dashboard(
    "kiln-worker", "Kiln / Worker", "How does it stand with one worker?",
    rows=(
        Row("Does it take jobs?", (
            state("Conditions", "Does the worker take jobs, and if not, what is missing?",
                  (Query(f"kiln_ready_condition{{{I}}}", "{{condition}}"),), HOLDS, width=12, height=7),
            Panel("Slots", "How many jobs run, of how many that may?",
                  (Query(f"kiln_slots_busy{{{I}}}", "busy"), Query(f"kiln_slots{{{I}}}", "slots"),
                   Query(f"kiln_jobs_in_flight{{{I}}}", "taken, not answered")), width=12),
            Panel("Up for", "Since when does it run?", (Query(f"time() - process_start_time_seconds{{{J}}}", "{{instance}}"),),
                  unit="s", kind="stat", width=4, height=4, runbook="KilnWorkerRestarts"),
            Panel("Draining for", "Since when does it end, if it does?",
                  (Query(f"time() - kiln_drain_started_timestamp_seconds{{{I}}}", "{{instance}}"),), unit="s", kind="stat", width=4,
                  height=4, runbook="KilnDrainOverdue", quiet="only a worker that ends drains"),
            Panel("Grace", "How long may running jobs take when it ends?", (Query(f"kiln_drain_grace_seconds{{{I}}}", "{{instance}}"),),
                  unit="s", kind="stat", width=4, height=4),
            Panel("Oldest delivery", "How long has a delivery waited for its answer?",
                  (Query(f"kiln_job_unacked_age_seconds_max{{{I}}}", "{{instance}}"),), unit="s", kind="stat", width=4, height=4,
                  runbook="KilnConsumerTimeoutNear"),
            Panel("Panics", "Did a bug of ours end a task in the last hour?", (Query(f"increase(kiln_panics_total{{{I}}}[1h])", "{{instance}}"),),
                  kind="stat", width=4, height=4, steps=ALL_WELL, runbook="KilnPanics"),
            Panel("Clock", "How far is its clock from Prometheus'?",
                  (Query(f"timestamp(kiln_clock_seconds{{{I}}}) - kiln_clock_seconds{{{I}}}", "{{instance}}"),), unit="s", kind="stat",
                  width=4, height=4, steps=(Step(None, BAD), Step(-5, GOOD), Step(5, BAD)), runbook="KilnClockSkew"),
        )),
        Row("What becomes of its jobs?", (
            Panel("Outcomes", "How do its jobs end?", (Query(total("kiln_jobs_total", "status"), "{{status}}"),), unit="ops", stacked=True),
            Panel("Our own failures", "At which step does it fail jobs?", (Query(total("kiln_faults_total", "step"), "{{step}}"),),
                  unit="ops", stacked=True, runbook="KilnErrorsFastBurn"),
            Panel("Limits reached", "What do jobs run into?", (Query(total("kiln_limits_hit_total", "limit"), "{{limit}}"),), unit="ops",
                  stacked=True),
            Panel("Programs", "How long do programs run?", percentiles("kiln_job_run_seconds"), unit="s", log=True, low=None),
            Panel("Overhead", "What does Kiln add to a job, its wait in the queue left out?", percentiles("kiln_job_overhead_seconds"),
                  unit="s", log=True, low=None),
            Panel("Stages, 95 %", "Which stage is slow?", (Query(quantile(0.95, "kiln_job_stage_seconds", "stage"), "{{stage}}"),), unit="s",
                  log=True, low=None),
        )),
        Row("What does it use?", (
            Panel("CPU", "How many cores does the worker itself use?", (Query(rate("process_cpu_seconds_total", J), "{{instance}}"),), unit="short"),
            Panel("Memory", "How much memory does the worker itself use?", (Query(f"process_resident_memory_bytes{{{J}}}", "{{instance}}"),),
                  unit="bytes", runbook="KilnMemoryGrows"),
            Panel("Descriptors", "Are there file descriptors left?", (Query(f"process_open_fds{{{J}}} / process_max_fds{{{J}}}", "{{instance}}"),),
                  unit="percentunit", high=1, steps=(Step(None, GOOD), Step(0.8, BAD)), runbook="KilnDescriptorsLow"),
            Panel("Room on disks", "How much room is left under the worker's folders?",
                  (Query(f"kiln_disk_free_bytes{{{I}}}", "{{place}} free"),), unit="bytes", runbook="KilnDiskFull"),
            Panel("Disks used", "How full are these disks?",
                  (Query(f"1 - kiln_disk_free_bytes{{{I}}} / kiln_disk_size_bytes{{{I}}}", "{{place}}"),), unit="percentunit", high=1,
                  steps=(Step(None, GOOD), Step(0.9, WARN), Step(0.98, BAD)), runbook="KilnDiskFilling"),
            Panel("Address space", "How much memory is reserved, used or not?", (Query(f"process_virtual_memory_bytes{{{J}}}", "{{instance}}"),),
                  unit="bytes"),
        )),
    ),
)
