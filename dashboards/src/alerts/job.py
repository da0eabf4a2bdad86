"""Is the worker there, does it end when it should, and does any job take it down?"""

from alert import Alert, Case

W1 = {"instance": "w1"}
STARTED = 'process_start_time_seconds{instance="w1",job="kiln"}'

ALERTS = (
    Alert(
        "KilnWorkerDown", "page", 'up{job="kiln"} == 0', "2m",
        "The worker {{ $labels.instance }} does not answer",
        ("up", "process_start_time_seconds"),
        Case("10m", {'up{instance="w1",job="kiln"}': "1x10 0x40"}, ({**W1, "job": "kiln"},)),
        Case("10m", {'up{instance="w1",job="kiln"}': "1x20 0 0 1x30"}),
    ),
    Alert(
        "KilnAllWorkersGone", "page", 'absent(up{job="kiln"})', "5m",
        "No worker is known to Prometheus",
        ("up",),
        Case("10m", {'up{instance="x",job="other"}': "1x60"}, ({"job": "kiln"},)),
        Case("10m", {'up{instance="w1",job="kiln"}': "0x60"}),
    ),
    Alert(
        "KilnWorkerRestarts", "ticket", 'changes(process_start_time_seconds{job="kiln"}[15m]) > 2', "0s",
        "The worker {{ $labels.instance }} starts again and again",
        ("process_start_time_seconds", "kiln_orphans_reaped_total"),
        Case("15m", {STARTED: "10x15 20x15 30x15 40x15"}, ({**W1, "job": "kiln"},)),
        Case("15m", {STARTED: "10x30 20x30"}),
    ),
    Alert(
        "KilnPoisonJob", "page", 'sum(increase(kiln_dead_lettered_total{reason="worker_crash"}[10m])) > 0', "0s",
        "A job has killed workers twice and was given up",
        ("kiln_dead_lettered_total", "kiln_orphans_reaped_total"),
        Case("10m", {'kiln_dead_lettered_total{instance="w1",reason="worker_crash"}': "0x20 1x20"}, ({},)),
        Case("10m", {'kiln_dead_lettered_total{instance="w1",reason="worker_crash"}': "1x40",
                     'kiln_dead_lettered_total{instance="w1",reason="no_id"}': "0+1x40"}),
    ),
    Alert(
        "KilnDeadLetters", "ticket",
        'sum by (reason) (increase(kiln_dead_lettered_total{reason!="worker_crash"}[10m])) > 0', "0s",
        "Messages become dead letters: {{ $labels.reason }}",
        ("kiln_dead_lettered_total",),
        Case("10m", {'kiln_dead_lettered_total{instance="w1",reason="bad_message"}': "0x20 3x20"},
             ({"reason": "bad_message"},)),
        Case("10m", {'kiln_dead_lettered_total{instance="w1",reason="bad_message"}': "7x40"}),
    ),
    Alert(
        "KilnPanics", "ticket", "increase(kiln_panics_total[30m]) > 0", "0s",
        "A task of the worker {{ $labels.instance }} panicked",
        ("kiln_panics_total",),
        Case("30m", {'kiln_panics_total{instance="w1"}': "0x60 1x60"}, (W1,)),
        Case("30m", {'kiln_panics_total{instance="w1"}': "1x120"}),
    ),
    Alert(
        "KilnDrainOverdue", "ticket",
        "time() - kiln_drain_started_timestamp_seconds > on (instance) group_left () (kiln_drain_grace_seconds + <30s>)",
        "0s",
        "The worker {{ $labels.instance }} should have ended and has not",
        ("kiln_drain_started_timestamp_seconds", "kiln_drain_grace_seconds", "kiln_slots_busy"),
        Case("10m", {'kiln_drain_started_timestamp_seconds{instance="w1"}': "60x40",
                     'kiln_drain_grace_seconds{instance="w1"}': "30x40"}, (W1,)),
        Case("10m", {'kiln_drain_started_timestamp_seconds{instance="w1"}': "60x40",
                     'kiln_drain_grace_seconds{instance="w1"}': "900x40"}),
    ),
)
