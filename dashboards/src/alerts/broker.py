"""Does work come in and do answers get out?"""

from alert import Alert, Case

W1 = {"instance": "w1"}
UP = 'kiln_amqp_connected{instance="w1",role="consumer"}'
OUT = 'kiln_amqp_connected{instance="w1",role="publisher"}'
READY = 'kiln_queue_ready_messages{instance="w1",queue="kiln.jobs.batch"}'
TAKEN = 'kiln_amqp_deliveries_total{instance="w1"}'
BUSY, SLOTS = 'kiln_slots_busy{instance="w1"}', 'kiln_slots{instance="w1"}'
STANDS = 'kiln_amqp_consumer_up{instance="w1",queue="kiln.jobs.batch"}'
ENDS = 'kiln_amqp_connected{instance="w2",role="consumer"}'
DRAINS = 'kiln_drain_started_timestamp_seconds{instance="w2"}'
READY_ALL = 'kiln_ready{instance="w1"}'
CONFIRMS = 'kiln_amqp_publish_confirm_seconds_bucket{{instance="w1",le="{}"}}'

ALERTS = (
    Alert(
        "KilnBrokerAway", "page",
        """min by (instance) (kiln_amqp_connected) == 0
           unless on (instance) kiln_drain_started_timestamp_seconds > 0""", "30s",
        "The worker {{ $labels.instance }} has no connection to RabbitMQ",
        ("kiln_amqp_connected", "kiln_amqp_reconnects_total"),
        Case("5m", {UP: "1x8 0x20", OUT: "1x40"}, (W1,)),
        Case("5m", {UP: "1x8 0x2 1x30", OUT: "1x40", ENDS: "1x8 0x20", DRAINS: "60x40"}),
    ),
    Alert(
        "KilnBrokerBlocked", "page", "kiln_amqp_blocked == 1", "1m",
        "RabbitMQ takes no messages from {{ $labels.instance }}: outcomes pile up",
        ("kiln_amqp_blocked", "kiln_results_pending"),
        Case("5m", {'kiln_amqp_blocked{instance="w1"}': "0x8 1x20"}, (W1,)),
        Case("5m", {'kiln_amqp_blocked{instance="w1"}': "0x8 1x2 0x30"}),
    ),
    Alert(
        "KilnConsumerMissing", "page",
        """min by (instance, queue) (kiln_amqp_consumer_up) == 0
           unless on (instance) min by (instance) (kiln_amqp_connected) == 0
           unless on (instance) kiln_drain_started_timestamp_seconds > 0""", "2m",
        "The worker {{ $labels.instance }} is connected and does not consume {{ $labels.queue }}",
        ("kiln_amqp_consumer_up", "kiln_amqp_connected"),
        Case("5m", {STANDS: "0x30", UP: "1x30"}, ({**W1, "queue": "kiln.jobs.batch"},)),
        Case("5m", {STANDS: "0x30", UP: "0x30"}),
    ),
    Alert(
        "KilnConsumerWedged", "page",
        """sum by (instance) (kiln_queue_ready_messages) > 0
           and on (instance) kiln_ready == 1 and on (instance) kiln_slots_busy == 0
           and on (instance) rate(kiln_amqp_deliveries_total[5m]) == 0""", "5m",
        "The worker {{ $labels.instance }} is idle and ready, and takes nothing while messages wait",
        ("kiln_queue_ready_messages", "kiln_amqp_deliveries_total", "kiln_slots_busy"),
        Case("20m", {READY: "7x100", READY_ALL: "1x100", BUSY: "0x100", TAKEN: "50x100"}, (W1,)),
        Case("20m", {READY: "7x100", READY_ALL: "1x100", BUSY: "0x100", TAKEN: "0+1x100"}),
    ),
    Alert(
        "KilnOutcomesPending", "page",
        """kiln_results_pending > 0 unless on (instance) kiln_amqp_blocked == 1
           unless on (instance) min by (instance) (kiln_amqp_connected) == 0""", "3m",
        "Outcomes of {{ $labels.instance }} are stored and cannot be published",
        ("kiln_results_pending", "kiln_amqp_publish_confirm_seconds"),
        Case("5m", {'kiln_results_pending{instance="w1"}': "2x30", UP: "1x30"}, (W1,)),
        Case("5m", {'kiln_results_pending{instance="w1"}': "2x30", UP: "0x30"}),
    ),
    Alert(
        "KilnQueueGrows", "ticket",
        """queue:kiln_queue_ready:max > 10 * scalar(sum(kiln_slots))
           and deriv(queue:kiln_queue_ready:max[15m]) > 0""", "10m",
        "More jobs come to {{ $labels.queue }} than the fleet can run",
        ("kiln_queue_ready_messages", "kiln_slots_busy", "kiln_slots"),
        Case("40m", {READY: "0+10x200", SLOTS: "4x200"}, ({"queue": "kiln.jobs.batch"},)),
        Case("40m", {READY: "3000-10x200", SLOTS: "4x200"}),
    ),
    Alert(
        "KilnConfirmsSlow", "ticket",
        "histogram_quantile(0.99, sum by (le) (rate(kiln_amqp_publish_confirm_seconds_bucket[5m]))) > 1", "10m",
        "RabbitMQ takes over a second to confirm a message",
        ("kiln_amqp_publish_confirm_seconds",),
        Case("20m", {CONFIRMS.format("1"): "0+1x100", CONFIRMS.format("2.5"): "0+9x100", CONFIRMS.format("+Inf"): "0+9x100"},
             ({},)),
        Case("20m", {CONFIRMS.format("1"): "0+9x100", CONFIRMS.format("2.5"): "0+9x100", CONFIRMS.format("+Inf"): "0+9x100"}),
    ),
    Alert(
        "KilnStaleAcks", "ticket", 'increase(kiln_amqp_acks_total{result="stale"}[15m]) > 5', "0s",
        "Deliveries of {{ $labels.instance }} are taken away before they are answered",
        ("kiln_amqp_acks_total", "kiln_amqp_reconnects_total", "kiln_job_unacked_age_seconds_max"),
        Case("15m", {'kiln_amqp_acks_total{instance="w1",result="stale"}': "0x30 0+1x30"}, ({**W1, "result": "stale"},)),
        Case("15m", {'kiln_amqp_acks_total{instance="w1",result="stale"}': "0x30 2x30"}),
    ),
    Alert(
        "KilnConsumerTimeoutNear", "page",
        "kiln_job_unacked_age_seconds_max > on (instance) (0.8 * kiln_amqp_consumer_timeout_seconds)", "0s",
        "A delivery of {{ $labels.instance }} will soon be taken away by RabbitMQ",
        ("kiln_job_unacked_age_seconds_max", "kiln_amqp_consumer_timeout_seconds"),
        Case("5m", {'kiln_job_unacked_age_seconds_max{instance="w1"}': "1500x30",
                    'kiln_amqp_consumer_timeout_seconds{instance="w1"}': "1800x30"}, (W1,)),
        Case("5m", {'kiln_job_unacked_age_seconds_max{instance="w1"}': "1300x30",
                    'kiln_amqp_consumer_timeout_seconds{instance="w1"}': "1800x30"}),
    ),
)
