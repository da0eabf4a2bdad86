"""Does the machine under a worker hold?"""

from alert import Alert, Case

W1 = {"instance": "w1"}
BUILD = 'kiln_build_info{{instance="{}",version="1",revision="{}",features="{}"}}'

ALERTS = (
    Alert(
        "KilnClockSkew", "ticket", "abs(timestamp(kiln_clock_seconds) - kiln_clock_seconds) > 5", "2m",
        "The clock of {{ $labels.instance }} differs from Prometheus' by over five seconds",
        ("kiln_clock_seconds",),
        Case("10m", {'kiln_clock_seconds{instance="w1"}': "60+15x60"}, (W1,)),
        Case("10m", {'kiln_clock_seconds{instance="w1"}': "0+15x60"}),
    ),
    Alert(
        "KilnDescriptorsLow", "ticket", 'process_open_fds{job="kiln"} > 0.8 * process_max_fds{job="kiln"}', "5m",
        "The worker {{ $labels.instance }} has few file descriptors left",
        ("process_open_fds", "process_max_fds", "kiln_pool_sandboxes"),
        Case("15m", {'process_open_fds{instance="w1",job="kiln"}': "900x60", 'process_max_fds{instance="w1",job="kiln"}': "1024x60"},
             ({**W1, "job": "kiln"},)),
        Case("15m", {'process_open_fds{instance="w1",job="kiln"}': "500x60", 'process_max_fds{instance="w1",job="kiln"}': "1024x60"}),
    ),
    Alert(
        "KilnMemoryGrows", "ticket",
        """process_resident_memory_bytes{job="kiln"} > 1024 * 1024 * 1024
           and deriv(process_resident_memory_bytes{job="kiln"}[1h]) > 0""", "30m",
        "The worker {{ $labels.instance }} itself uses over 1 GiB and more and more",
        ("process_resident_memory_bytes", "kiln_jobs_in_flight"),
        Case("2h", {'process_resident_memory_bytes{instance="w1",job="kiln"}': "2e9+1e6x600"}, ({**W1, "job": "kiln"},)),
        Case("2h", {'process_resident_memory_bytes{instance="w1",job="kiln"}': "2e8+1e5x600"}),
    ),
    Alert(
        "KilnVersionsMixed", "ticket", "count(count by (version, revision) (kiln_build_info)) > 1", "6h",
        "Workers of two builds have run beside each other for six hours",
        ("kiln_build_info",),
        Case("7h", {BUILD.format("w1", "1111111", "none"): "1x1800", BUILD.format("w2", "2222222", "none"): "1x1800"},
             ({},)),
        Case("7h", {BUILD.format("w1", "1111111", "none"): "1x1800", BUILD.format("w2", "1111111", "none"): "1x1800"}),
    ),
    Alert(
        "KilnTestBuild", "ticket", 'max by (instance, features) (kiln_build_info{features!="none"}) > 0', "0s",
        "The worker {{ $labels.instance }} is built for tests: {{ $labels.features }}",
        ("kiln_build_info",),
        Case("5m", {BUILD.format("w1", "1111111", "unguarded"): "1x30"}, ({**W1, "features": "unguarded"},)),
        Case("5m", {BUILD.format("w1", "1111111", "none"): "1x30"}),
    ),
)
