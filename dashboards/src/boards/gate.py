"""Is what comes out looked at, what is found, and what tries to get out by itself?"""

from model import Dashboard, Panel, Query, Row

from .common import I, UP, percentiles, quantile, state, total

GATE = Dashboard(
    "kiln-gate", "Kiln / Artifact gate and security", "Is what comes out looked at, and what tries to get out by itself?",
    rows=(
        Row("What comes out?", (
            Panel("Artifacts", "How many files are let out, and how many are kept back?",
                  (Query(total("kiln_artifacts_total", "state"), "{{state}}"),), unit="ops", stacked=True, width=6, runbook="KilnMaliciousArtifacts",
                  quiet="jobs that make no files"),
            Panel("Verdicts", "What does the gate think of what jobs make?", (Query(total("kiln_scan_total", "verdict"), "{{verdict}}"),),
                  unit="ops", stacked=True, width=6, runbook="KilnScannerBlind", quiet="jobs that make no files"),
            Panel("Kept back", "Which part of the files is kept back?", (
                Query(f"sum(rate(kiln_artifacts_total{{{I},state=\"withheld\"}}[$__rate_interval])) / sum(rate(kiln_artifacts_total{{{I}}}[$__rate_interval]))",
                      "withheld"),), unit="percentunit", high=1, width=6, quiet="jobs that make no files"),
            Panel("Outputs cut", "How many outputs are cut, for a secret?",
                  (Query(total("kiln_streams_withheld_total"), "outputs"),), unit="ops", width=6),
        )),
        Row("Does the gate hold up?", (
            state("clamd answers", "Is the other engine there that is asked about files: without it all are withheld?",
                  (Query(f"kiln_clamd_up{{{I}}}", "{{instance}}"),), UP, width=24, height=4, runbook="KilnClamdAway",
                  quiet="a worker that asks no clamd"),
            Panel("Scans", "How long does the gate take for all that one job made?", percentiles("kiln_scan_seconds"), unit="s", log=True, low=None,
                  runbook="KilnScansSlow", quiet="jobs that make no files"),
            Panel("Stage scan, 99 %", "How long does the gate hold up a job?",
                  (Query(quantile(0.99, "kiln_job_stage_seconds", "", f'{I},stage="scan"'), "scan"),), unit="s", log=True, low=None),
            Panel("Not to be scanned", "Which part cannot be looked at?", (
                Query(f"sum(rate(kiln_scan_total{{{I},verdict=~\"unscannable|unscanned\"}}[$__rate_interval])) / sum(rate(kiln_scan_total{{{I}}}[$__rate_interval]))",
                      "unscannable"),), unit="percentunit", high=1, runbook="KilnScannerBlind", quiet="jobs that make no files"),
        )),
        Row("What do jobs try?", (
            Panel("Not allowed", "Which calls and connections are refused to jobs?",
                  (Query(total("kiln_limits_hit_total", "limit", f'{I},limit=~"syscall|network"'), "{{limit}}"),), unit="ops", stacked=True),
            Panel("Way out", "What is decided of jobs' connections to allowed hosts?", (Query(total("kiln_egress_total", "decision"), "{{decision}}"),),
                  unit="ops", stacked=True, runbook="KilnEgressDenied", quiet="jobs that ask for no host"),
            Panel("Limits reached", "Is somebody trying how far they get?",
                  (Query(total("kiln_limits_hit_total", "limit", f'{I},limit!~"syscall|network"'), "{{limit}}"),), unit="ops", stacked=True),
            Panel("Residue", "What had jobs left that a reset found?", (Query(total("kiln_residue_total", "kind"), "{{kind}}"),), unit="ops",
                  stacked=True, runbook="KilnResidue"),
            Panel("Denied by policy", "How many jobs end because they did what is not allowed?",
                  (Query(total("kiln_jobs_total", "profile", f'{I},status="policy_denied"'), "{{profile}}"),), unit="ops", stacked=True),
            Panel("Workers that died", "Were workers killed, and did a job do it?", (
                Query(f'sum(increase(kiln_orphans_reaped_total{{{I},kind="instance"}}[1h]))', "swept after a kill"),
                Query(f'sum(increase(kiln_dead_lettered_total{{{I},reason="worker_crash"}}[1h]))', "jobs given up")), runbook="KilnPoisonJob"),
        )),
    ),
)
