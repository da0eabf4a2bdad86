"""Is what comes out, or wants out, as it should be?"""

from alert import Alert, Case

W1 = {"instance": "w1"}
SCANS = 'kiln_scan_total{{instance="w1",verdict="{}"}}'
SCAN_TIME = 'kiln_scan_seconds_bucket{{instance="w1",le="{}"}}'
EGRESS = 'kiln_egress_total{{decision="{}",instance="w1"}}'
RESIDUE = 'kiln_residue_total{instance="w1",kind="process"}'

ALERTS = (
    Alert(
        "KilnMaliciousArtifacts", "ticket", 'sum by (instance) (increase(kiln_scan_total{verdict="malicious"}[15m])) > 0', "0s",
        "Jobs of {{ $labels.instance }} made files that the gate holds for malicious",
        ("kiln_scan_total", "kiln_artifacts_total"),
        Case("15m", {SCANS.format("malicious"): "0x30 1x30"}, (W1,)),
        Case("15m", {SCANS.format("malicious"): "4x60", SCANS.format("clean"): "0+9x60"}),
    ),
    Alert(
        "KilnScannerBlind", "page",
        """sum by (instance) (rate(kiln_scan_total{verdict=~"unscannable|unscanned"}[5m]))
           / sum by (instance) (rate(kiln_scan_total[5m])) > 0.5
           unless on (instance) kiln_clamd_up == 0""", "5m",
        "The gate of {{ $labels.instance }} cannot look at most of what jobs make, and withholds it",
        ("kiln_scan_total", "kiln_scan_seconds"),
        Case("15m", {SCANS.format("unscannable"): "0+9x60", SCANS.format("clean"): "0+1x60"}, (W1,)),
        Case("15m", {SCANS.format("unscannable"): "0+1x60", SCANS.format("clean"): "0+9x60"}),
    ),
    Alert(
        "KilnClamdAway", "page", "kiln_clamd_up == 0", "30s",
        "The worker {{ $labels.instance }} does not reach its clamd: every file that a job makes is withheld",
        ("kiln_clamd_up", "kiln_scan_total"),
        Case("5m", {'kiln_clamd_up{instance="w1"}': "1x8 0x20"}, (W1,)),
        Case("5m", {'kiln_clamd_up{instance="w1"}': "1x8 0 1x30"}),
    ),
    Alert(
        "KilnScansSlow", "ticket",
        "histogram_quantile(0.99, sum by (instance, le) (rate(kiln_scan_seconds_bucket[10m]))) > 5", "10m",
        "The gate of {{ $labels.instance }} takes over five seconds for what one job made",
        ("kiln_scan_seconds", "kiln_job_stage_seconds"),
        Case("30m", {SCAN_TIME.format("2.5"): "0+1x150", SCAN_TIME.format("10"): "0+9x150", SCAN_TIME.format("+Inf"): "0+9x150"},
             (W1,)),
        Case("30m", {SCAN_TIME.format("2.5"): "0+9x150", SCAN_TIME.format("10"): "0+9x150", SCAN_TIME.format("+Inf"): "0+9x150"}),
    ),
    Alert(
        "KilnEgressDenied", "ticket",
        'sum by (instance) (increase(kiln_egress_total{decision=~"not_listed|forbidden_address|bad_request|misnamed"}[15m])) > 100', "0s",
        "Jobs of {{ $labels.instance }} try again and again to reach what they may not",
        ("kiln_egress_total", "kiln_limits_hit_total"),
        Case("15m", {EGRESS.format("not_listed"): "0+9x60"}, (W1,)),
        Case("15m", {EGRESS.format("not_listed"): "0x30 5x30", EGRESS.format("allowed"): "0+99x60", EGRESS.format("timed_out"): "0+99x60"}),
    ),
    Alert(
        "KilnResidue", "page", "sum by (instance, kind) (increase(kiln_residue_total[15m])) > 0", "0s",
        "A job on {{ $labels.instance }} left something behind that a reset had to find: {{ $labels.kind }}",
        ("kiln_residue_total", "kiln_resets_total"),
        Case("15m", {RESIDUE: "0x30 1x30"}, ({**W1, "kind": "process"},)),
        Case("15m", {RESIDUE: "2x60"}),
    ),
)
