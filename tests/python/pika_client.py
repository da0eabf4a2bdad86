#!/usr/bin/env python3
"""Submits one job to Kiln and prints its outcome: written from the contract alone, with plain pika.

usage: pika_client.py AMQP-URL JOB.json [--key interactive] [--direct] [--timeout 60]
"""
import argparse
import json
import sys
import uuid

import pika


def main():
    words = argparse.ArgumentParser()
    words.add_argument("url")
    words.add_argument("job")
    words.add_argument("--key", default="interactive", help="<class> or <class>.<tenant>")
    words.add_argument("--direct", action="store_true", help="answer by direct reply-to, not by a queue")
    words.add_argument("--timeout", type=float, default=60)
    words = words.parse_args()

    with open(words.job) as file:
        job = json.load(file)
    job.setdefault("schema", "kiln.job.v1")
    job.setdefault("id", str(uuid.uuid4()))
    correlation = "call-" + job["id"]

    connection = pika.BlockingConnection(pika.URLParameters(words.url))
    channel = connection.channel()
    answers = []

    def heard(channel, method, properties, body):
        if properties.correlation_id == correlation:
            answers.append((properties, body))
            channel.stop_consuming()

    if words.direct:
        reply_to = "amq.rabbitmq.reply-to"
    else:
        reply_to = "kiln.reply." + job["id"]
        channel.queue_declare(reply_to, durable=True, arguments={"x-expires": 600_000})
    channel.basic_consume(reply_to, heard, auto_ack=True)

    channel.confirm_delivery()
    channel.basic_publish(
        exchange="kiln.jobs",
        routing_key=words.key,
        body=json.dumps(job).encode(),
        mandatory=True,
        properties=pika.BasicProperties(
            content_type="application/json",
            delivery_mode=2,
            type="kiln.job.v1",
            message_id=job["id"],
            correlation_id=correlation,
            reply_to=reply_to,
        ),
    )

    connection.call_later(words.timeout, channel.stop_consuming)
    channel.start_consuming()
    if not answers:
        print("no outcome of %s within %g s" % (job["id"], words.timeout), file=sys.stderr)
        return 1
    properties, body = answers[0]
    outcome = json.loads(body)
    assert properties.type == "kiln.outcome.v1", properties.type
    assert properties.message_id == job["id"] == outcome["job_id"], properties.message_id
    if not words.direct:
        channel.queue_delete(reply_to)
    connection.close()
    sys.stdout.buffer.write(body + b"\n")
    return 0 if outcome["status"] == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
