"""Can outcomes be kept, is the fleet's record true, and is there room?"""

from alert import Alert, Case

W1 = {"instance": "w1"}
STORE_UP = 'kiln_store_up{instance="w1"}'
FREE, SIZE = 'kiln_disk_free_bytes{instance="w1",place="store"}', 'kiln_disk_size_bytes{instance="w1",place="store"}'
STATE = 'kiln_ready_condition{condition="state",instance="w1"}'
STATE_FREE = 'kiln_disk_free_bytes{instance="w1",place="state"}'
PUTS = 'kiln_store_request_seconds_bucket{{instance="w1",le="{}",op="put",result="ok"}}'
FULL = "128 * 1024 * 1024"
"""Twice the room below which a worker takes no job."""

ALERTS = (
    Alert(
        "KilnStoreAway", "page",
        f'kiln_store_up == 0 unless on (instance) kiln_disk_free_bytes{{place="store"}} < {FULL}', "30s",
        "The store does not do what {{ $labels.instance }} asks: no new job is taken",
        ("kiln_store_up", "kiln_store_request_seconds"),
        Case("5m", {STORE_UP: "1x8 0x20", FREE: "9e9x30"}, (W1,)),
        Case("5m", {STORE_UP: "0x30", FREE: "1e7x30"}),
    ),
    Alert(
        "KilnStoreSlow", "ticket",
        'histogram_quantile(0.99, sum by (instance, le) (rate(kiln_store_request_seconds_bucket{op="put"}[5m]))) > 1', "5m",
        "The store takes over a second to keep a document of {{ $labels.instance }}",
        ("kiln_store_request_seconds", "kiln_job_stage_seconds"),
        Case("15m", {PUTS.format("1"): "0+1x100", PUTS.format("2.5"): "0+9x100", PUTS.format("+Inf"): "0+9x100"}, (W1,)),
        Case("15m", {PUTS.format("1"): "0+9x100", PUTS.format("2.5"): "0+9x100", PUTS.format("+Inf"): "0+9x100"}),
    ),
    Alert(
        "KilnDiskFull", "page", f"kiln_disk_free_bytes < {FULL}", "1m",
        "No room is left for the {{ $labels.place }} folder of {{ $labels.instance }}: no new job is taken",
        ("kiln_disk_free_bytes", "kiln_disk_size_bytes"),
        Case("5m", {FREE: "1e7x30"}, ({**W1, "place": "store"},)),
        Case("5m", {FREE: "1e9x30"}),
    ),
    Alert(
        "KilnDiskFilling", "ticket",
        f"""predict_linear(kiln_disk_free_bytes[1h], <4h>) < 0 and kiln_disk_free_bytes < 0.5 * kiln_disk_size_bytes
            and kiln_disk_free_bytes >= {FULL}""", "15m",
        "The disk of the {{ $labels.place }} folder of {{ $labels.instance }} is full within four hours",
        ("kiln_disk_free_bytes", "kiln_disk_size_bytes"),
        Case("2h", {FREE: "9e9-1e7x600", SIZE: "1e11x600"}, ({**W1, "place": "store"},)),
        Case("2h", {FREE: "9e9-1e4x600", SIZE: "1e11x600"}),
    ),
    Alert(
        "KilnStateUnwritable", "page",
        f'kiln_ready_condition{{condition="state"}} == 0 unless on (instance) kiln_disk_free_bytes{{place="state"}} < {FULL}', "1m",
        "The worker {{ $labels.instance }} cannot write down which jobs run: it takes none",
        ("kiln_ready_condition", "kiln_disk_free_bytes"),
        Case("5m", {STATE: "0x30", STATE_FREE: "9e9x30"}, ({**W1, "condition": "state"},)),
        Case("5m", {STATE: "0x30", STATE_FREE: "1e6x30"}),
    ),
    Alert(
        "KilnRedisAway", "ticket", "kiln_redis_up == 0", "30s",
        "Redis does not answer {{ $labels.instance }}: jobs go on, the fleet's record does not",
        ("kiln_redis_up", "kiln_redis_lag_seconds"),
        Case("5m", {'kiln_redis_up{instance="w1"}': "0x30"}, (W1,)),
        Case("5m", {'kiln_redis_up{instance="w1"}': "1x10 0x4 1x30"}),
    ),
    Alert(
        "KilnRedisBehind", "ticket", "kiln_redis_lag_seconds > <60s> and on (instance) kiln_redis_up == 1", "2m",
        "The record that {{ $labels.instance }} keeps in Redis is old",
        ("kiln_redis_lag_seconds", "kiln_redis_dropped_total", "kiln_redis_command_seconds"),
        Case("10m", {'kiln_redis_lag_seconds{instance="w1"}': "0+15x40", 'kiln_redis_up{instance="w1"}': "1x40"}, (W1,)),
        Case("10m", {'kiln_redis_lag_seconds{instance="w1"}': "2x40", 'kiln_redis_up{instance="w1"}': "1x40"}),
    ),
)
