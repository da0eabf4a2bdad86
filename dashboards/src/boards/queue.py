"""Does work come in, do answers get out, and what of broker, store and Redis is at fault?"""

from model import BAD, GOOD, Dashboard, Panel, Query, Row, Step

from .common import ALL_WELL, C, I, UP, percentiles, quantile, state, total

BLOCKED = {"0": ("takes", GOOD), "1": ("blocked", BAD)}

QUEUE = Dashboard(
    "kiln-queue", "Kiln / Queue and dependencies", "Does work come in, do answers get out, and which dependency is at fault?",
    variables=("instance", "class"),
    rows=(
        Row("The queue", (
            Panel("Messages that wait", "Do more jobs come than are taken?", (Query("queue:kiln_queue_ready:max", "{{queue}}"),),
                  stacked=True, runbook="KilnQueueGrows"),
            Panel("Wait in the queue", "How long do jobs wait before a worker takes them?", percentiles("kiln_queue_wait_seconds"), unit="s", log=True,
                  low=None, runbook="KilnLatencyFastBurn"),
            Panel("Deliveries", "How many messages come, and how many of them for the second time?", (
                Query(total("kiln_amqp_deliveries_total"), "deliveries"), Query(total("kiln_amqp_redeliveries_total"), "again"),
                Query(total("kiln_duplicates_total"), "answered already")), unit="ops", runbook="KilnConsumerWedged"),
            Panel("Latency of a class, 99 %", "How long does a job take beyond its program?",
                  (Query(quantile(0.99, "kiln_job_latency_seconds", "class", f"{I},{C}"), "{{class}}"),), unit="s", log=True, low=None,
                  runbook="KilnLatencyFastBurn"),
            Panel("Dead letters", "Which messages are given up on?", (Query(total("kiln_dead_lettered_total", "reason"), "{{reason}}"),), unit="ops",
                  stacked=True, runbook="KilnDeadLetters"),
            Panel("Slots in use", "Is there room for more?", (Query(f"instance:kiln_slots:utilization_ratio{{{I}}}", "{{instance}}"),),
                  unit="percentunit", high=1),
        )),
        Row("RabbitMQ", (
            state("Connections", "Do the two connections stand?", (Query(f"kiln_amqp_connected{{{I}}}", "{{instance}} {{role}}"),), UP,
                  width=8, height=7, runbook="KilnBrokerAway"),
            state("Consumers", "Is every queue consumed from?", (Query(f"kiln_amqp_consumer_up{{{I}}}", "{{instance}} {{queue}}"),), UP,
                  width=8, height=7, runbook="KilnConsumerMissing"),
            state("Takes messages", "Does the broker take what we publish?", (Query(f"kiln_amqp_blocked{{{I}}}", "{{instance}}"),), BLOCKED,
                  width=8, height=7, runbook="KilnBrokerBlocked"),
            Panel("Confirms", "How long does the broker take to confirm a message?", percentiles("kiln_amqp_publish_confirm_seconds"), unit="s",
                  log=True, low=None, runbook="KilnConfirmsSlow"),
            Panel("Answers", "What does the broker make of our answers to deliveries?", (Query(total("kiln_amqp_acks_total", "result"), "{{result}}"),),
                  unit="ops", stacked=True, runbook="KilnStaleAcks"),
            Panel("Trouble", "Are connections rebuilt, or messages taken by nobody?", (
                Query(total("kiln_amqp_reconnects_total"), "reconnects"), Query(total("kiln_amqp_returned_total"), "returned")), unit="ops"),
            Panel("Outcomes that wait", "Are outcomes stored that nobody was told of?", (Query(f"sum by (instance) (kiln_results_pending{{{I}}})", "{{instance}}"),),
                  steps=ALL_WELL, runbook="KilnOutcomesPending"),
            Panel("Oldest delivery", "How near is a delivery to the broker's own limit?", (
                Query(f"kiln_job_unacked_age_seconds_max{{{I}}} / kiln_amqp_consumer_timeout_seconds{{{I}}}", "{{instance}}"),),
                unit="percentunit", high=1, steps=(Step(None, GOOD), Step(0.8, BAD)), runbook="KilnConsumerTimeoutNear"),
            Panel("Publish, 99 %", "How long until everybody is told of an outcome?",
                  (Query(quantile(0.99, "kiln_job_stage_seconds", "", f'{I},stage="publish"'), "publish"),), unit="s", log=True, low=None),
        )),
        Row("The store", (
            state("Store", "Does the store do what it is asked?", (Query(f"kiln_store_up{{{I}}}", "{{instance}}"),), UP, width=8, height=7,
                  runbook="KilnStoreAway"),
            Panel("Requests, 99 %", "How long does the store take?", (Query(quantile(0.99, "kiln_store_request_seconds", "op"), "{{op}}"),), unit="s",
                  log=True, low=None, runbook="KilnStoreSlow"),
            Panel("Failed requests", "Which requests does the store fail?",
                  (Query(total("kiln_store_request_seconds_count", "op", f'{I},result="error"') + " > 0", "{{op}}"),), unit="ops", stacked=True,
                  runbook="KilnStoreAway", quiet="a store that is well fails nothing"),
            Panel("Bytes", "How much goes to the store and comes from it?", (Query(total("kiln_store_bytes_total", "direction"), "{{direction}}"),),
                  unit="binBps", width=12),
            Panel("Room", "Is there room, where the store is a folder?", (Query(f'kiln_disk_free_bytes{{{I},place="store"}}', "{{instance}}"),),
                  unit="bytes", width=12, runbook="KilnDiskFull"),
        )),
        Row("Redis: no job waits for it", (
            state("Redis", "Does Redis answer?", (Query(f"kiln_redis_up{{{I}}}", "{{instance}}"),), UP, width=6, height=7, runbook="KilnRedisAway"),
            Panel("Behind", "How long has the fleet's record lacked something, and was news given up on?", (
                Query(f"kiln_redis_lag_seconds{{{I}}}", "{{instance}}"),), unit="s", width=6, runbook="KilnRedisBehind"),
            Panel("Calls, 99 %", "How long does Redis take?", (Query(quantile(0.99, "kiln_redis_command_seconds", "call"), "{{call}}"),), unit="s",
                  log=True, low=None, width=6, runbook="KilnRedisBehind"),
            Panel("Dropped news", "How much news waits for the next whole record?", (Query(total("kiln_redis_dropped_total", "instance"), "{{instance}}"),),
                  unit="ops", width=6, runbook="KilnRedisBehind"),
        )),
        Row("Traces: no job waits for them", (
            Panel("Spans", "Does the collector of traces take what it is sent?", (Query(total("kiln_trace_spans_total", "result"), "{{result}}"),), unit="ops"),
        )),
    ),
)
