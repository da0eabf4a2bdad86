"""Are there sandboxes for the jobs, and are they clean?"""

from model import BAD, GOOD, Dashboard, Panel, Query, Row, Step

from .common import I, P, percentiles, quantile, total

IP = f"{I},{P}"

POOL = Dashboard(
    "kiln-pool", "Kiln / Pool and sandboxes", "Are there sandboxes for the jobs, and are they clean?",
    variables=("instance", "profile"),
    rows=(
        Row("Is there a sandbox for the next job?", (
            Panel("Sandboxes by phase", "What do the sandboxes do?",
                  (Query(f"sum by (phase) (kiln_pool_sandboxes{{{IP}}})", "{{phase}}"),), stacked=True),
            Panel("Warm against wanted", "Are as many ready as the pool wants?", (
                Query(f'sum by (profile) (kiln_pool_sandboxes{{{IP},phase="warm"}})', "{{profile}} warm"),
                Query(f"sum by (profile) (kiln_pool_target{{{IP}}}) > 0", "{{profile}} wanted"))),
            Panel("Jobs that wait for one", "Do jobs wait for a sandbox?",
                  (Query(f"sum by (profile) (kiln_pool_waiting{{{IP}}})", "{{profile}}"),), steps=(Step(None, GOOD), Step(1, BAD)),
                  runbook="KilnPoolExhausted", quiet="a profile has this figure from its first job that waits"),
            Panel("Time to empty", "When are the warm ones used up if all goes on like this (a day and more is never)?",
                  (Query(f"clamp_max(instance_profile:kiln_pool_time_to_empty:seconds{{{IP}}}, 86400)", "{{instance}} {{profile}}"),),
                  unit="s", log=True, low=None, runbook="KilnPoolExhausted"),
            Panel("Alive against ceiling", "How near is the pool to its ceiling?", (
                Query(f"sum by (profile) (kiln_pool_sandboxes{{{IP}}}) / sum by (profile) (kiln_pool_size_max{{{IP}}})", "{{profile}}"),),
                unit="percentunit", high=1, runbook="KilnPoolExhausted"),
            Panel("Wait for a sandbox", "How long does a job wait for its sandbox?", percentiles("kiln_pool_acquire_seconds"), unit="s", log=True,
                  low=None),
        )),
        Row("Does the refill keep up?", (
            Panel("Warm and cold starts", "Was the sandbox there when its job came?",
                  (Query(total("kiln_pool_acquire_total", "start", IP), "{{start}}"),), unit="ops", stacked=True),
            Panel("Cold", "Which part of the jobs waits while its sandbox is made?",
                  (Query(f"instance:kiln_pool_cold:ratio_rate5m{{{I}}}", "{{instance}}"),), unit="percentunit", high=1,
                  steps=(Step(None, GOOD), Step(0.05, BAD)), runbook="KilnColdStarts"),
            Panel("Refill busy", "Is the warden busy with making sandboxes?",
                  (Query(f"instance:kiln_pool_refill:utilization_ratio{{{I}}}", "{{instance}}"),), unit="percentunit",
                  steps=(Step(None, GOOD), Step(0.7, BAD)), runbook="KilnRefillSaturated"),
            Panel("To make one", "How long does it take to make a sandbox?", percentiles("kiln_pool_refill_seconds"), unit="s", log=True, low=None,
                  quiet="a pool that is full makes none"),
            Panel("Could not be made", "Do sandboxes fail to be made?", (Query(total("kiln_pool_refill_failures_total", "instance"), "{{instance}}"),),
                  unit="ops", runbook="KilnSandboxesFail"),
            Panel("Retired", "Why do sandboxes go?", (Query(total("kiln_pool_discards_total", "reason"), "{{reason}}"),), unit="ops",
                  stacked=True, quiet="a sandbox that is reused retires after an hour"),
        )),
        Row("Are they clean, and does nothing stay?", (
            Panel("Resets", "Can sandboxes be proved clean after a job?", (Query(total("kiln_resets_total", "result"), "{{result}}"),), unit="ops",
                  stacked=True, runbook="KilnResetsFail"),
            Panel("Residue", "What had jobs left that a reset found?", (Query(total("kiln_residue_total", "kind"), "{{kind}}"),), unit="ops",
                  stacked=True, runbook="KilnResidue"),
            Panel("Resetting now", "How many sandboxes are between two jobs?",
                  (Query(f"sum by (instance) (kiln_pool_sandboxes{{{IP},phase=\"resetting\"}})", "{{instance}}"),)),
            Panel("Canaries", "How long ago did jobs of the worker's own last find every wall whole?",
                  (Query(f"time() - max by (instance, kind) (kiln_canary_last_success_timestamp_seconds{{{I}}})", "{{instance}} {{kind}}"),), unit="s",
                  runbook="KilnResidue", quiet="no worker has `canary_ms`, or none came back yet"),
            Panel("Of the kernel's", "What do the sandboxes hold of the kernel's, and does it grow?",
                  (Query(f"sum by (kind) (kiln_sandbox_resources{{{I}}})", "{{kind}}"),), log=True, low=None, runbook="KilnSandboxLeak"),
            Panel("To take one down", "How long does it take to end a sandbox?", (
                Query(quantile(0.99, "kiln_sandbox_cleanup_seconds"), "99 %"),), unit="s", log=True, low=None,
                  quiet="a sandbox that is reused is not taken down"),
            Panel("Left behind", "Is something of dead sandboxes or dead workers left, or was it removed?", (
                Query(f"sum (increase(kiln_sandbox_cleanup_failures_total{{{I}}}[1h]))", "left of a sandbox"),
                Query(f"sum by (kind) (increase(kiln_orphans_reaped_total{{{I}}}[1h]))", "removed: {{kind}}")),
                  runbook="KilnCleanupFails"),
        )),
    ),
)
