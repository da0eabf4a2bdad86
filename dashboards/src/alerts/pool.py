"""Are there sandboxes for the jobs, and does nothing of the dead ones stay?"""

from alert import Alert, Case

W1 = {"instance": "w1"}
PYTHON = {**W1, "profile": "python"}
WARM = 'kiln_pool_sandboxes{instance="w1",phase="warm",profile="python"}'
WAITING = 'kiln_pool_waiting{instance="w1",profile="python"}'
FAILED = 'kiln_pool_refill_failures_total{instance="w1"}'
START = 'kiln_pool_acquire_total{{instance="w1",profile="python",start="{}"}}'
RESETS = 'kiln_resets_total{{instance="w1",result="{}"}}'
GROUPS = 'kiln_sandbox_resources{instance="w1",kind="cgroup"}'

ALERTS = (
    Alert(
        "KilnPoolExhausted", "page",
        """min_over_time(kiln_pool_waiting[2m]) > 0 and on (instance)
           sum by (instance) (increase(kiln_pool_refill_failures_total[5m])) == 0""", "3m",
        "Jobs of {{ $labels.instance }} wait for sandboxes of {{ $labels.profile }}: all there may be are in use",
        ("kiln_pool_waiting", "kiln_pool_size_max", "kiln_pool_sandboxes"),
        Case("10m", {WAITING: "3x60", FAILED: "0x60"}, (PYTHON,)),
        Case("10m", {WAITING: "3 3 3 0 3 3 3 0 3 3 3 0 3 3 3 0 3 3 3 0 3 3 3 0 3 3 3 0 3 3 3 0 3 3 3 0 3 3 3 0", FAILED: "0x60"}),
    ),
    Alert(
        "KilnSandboxesFail", "ticket", "increase(kiln_pool_refill_failures_total[5m]) > 2", "30s",
        "The worker {{ $labels.instance }} cannot make sandboxes",
        ("kiln_pool_refill_failures_total", "kiln_faults_total"),
        Case("10m", {FAILED: "0x10 0+1x40"}, (W1,)),
        Case("10m", {FAILED: "0x10 1x40"}),
    ),
    Alert(
        "KilnWardenGone", "page", 'kiln_ready_condition{condition="pool"} == 0', "30s",
        "The warden of {{ $labels.instance }} is gone, and every sandbox with it",
        ("kiln_ready_condition", "kiln_pool_sandboxes"),
        Case("5m", {'kiln_ready_condition{condition="pool",instance="w1"}': "0x30"}, ({**W1, "condition": "pool"},)),
        Case("5m", {'kiln_ready_condition{condition="pool",instance="w1"}': "0x2 1x30"}),
    ),
    Alert(
        "KilnColdStarts", "ticket",
        "instance:kiln_pool_cold:ratio_rate5m > 0.05 and on (instance) sum by (instance) (rate(kiln_pool_acquire_total[5m])) > 0.1",
        "10m",
        "Over 5 % of the jobs of {{ $labels.instance }} wait while their sandbox is made",
        ("kiln_pool_acquire_total", "kiln_pool_target", "kiln_pool_refill_seconds"),
        Case("20m", {START.format("cold"): "0+1x100", START.format("warm"): "0+9x100"}, (W1,)),
        Case("20m", {START.format("cold"): "0x100", START.format("warm"): "0+9x100"}),
    ),
    Alert(
        "KilnRefillSaturated", "ticket", "instance:kiln_pool_refill:utilization_ratio > 0.7", "10m",
        "The warden of {{ $labels.instance }} does little else than make sandboxes",
        ("kiln_pool_refill_seconds", "kiln_pool_discards_total"),
        Case("20m", {'kiln_pool_refill_seconds_sum{instance="w1"}': "0+12x100"}, (W1,)),
        Case("20m", {'kiln_pool_refill_seconds_sum{instance="w1"}': "0+3x100"}),
    ),
    Alert(
        "KilnResetsFail", "ticket",
        """sum by (instance) (rate(kiln_resets_total{result="failed"}[15m]))
           / sum by (instance) (rate(kiln_resets_total[15m])) > 0.05""", "10m",
        "Over 5 % of the sandboxes of {{ $labels.instance }} cannot be proved clean after a job",
        ("kiln_resets_total", "kiln_residue_total", "kiln_pool_discards_total"),
        Case("30m", {RESETS.format("failed"): "0+1x150", RESETS.format("clean"): "0+9x150"}, (W1,)),
        Case("30m", {RESETS.format("failed"): "0x150", RESETS.format("clean"): "0+9x150"}),
    ),
    Alert(
        "KilnCleanupFails", "ticket", "increase(kiln_sandbox_cleanup_failures_total[15m]) > 0", "0s",
        "Something of a dead sandbox of {{ $labels.instance }} is left",
        ("kiln_sandbox_cleanup_failures_total", "kiln_sandbox_resources"),
        Case("15m", {'kiln_sandbox_cleanup_failures_total{instance="w1"}': "0x30 1x30"}, (W1,)),
        Case("15m", {'kiln_sandbox_cleanup_failures_total{instance="w1"}': "1x60"}),
    ),
    Alert(
        "KilnSandboxLeak", "page",
        """kiln_sandbox_resources{kind="cgroup"} > on (instance) group_left ()
           (4 * sum by (instance) (kiln_pool_size_max) + 32)""", "10m",
        "The worker {{ $labels.instance }} has more control groups than its sandboxes can need",
        ("kiln_sandbox_resources", "kiln_pool_size_max", "kiln_sandbox_cleanup_failures_total"),
        Case("20m", {GROUPS: "0+10x100", 'kiln_pool_size_max{instance="w1",profile="python"}': "16x100"},
             ({**W1, "kind": "cgroup"},)),
        Case("20m", {GROUPS: "50x100", 'kiln_pool_size_max{instance="w1",profile="python"}': "16x100"}),
    ),
)
