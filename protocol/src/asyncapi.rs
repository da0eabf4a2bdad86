//! What is the `AsyncAPI` 3 document: which messages go where, over AMQP?
//!
//! Made from the topology and the schemas, and checked in beside them, so that a client's tools can
//! read what its people read in the contract.

use crate::control::CONTROL_SCHEMA;
use crate::job::{Class, JOB_SCHEMA};
use crate::outcome::OUTCOME_SCHEMA;
use crate::topology::{CONTROL, DEAD, JOBS, RESULTS};
use serde_json::{Value, json};

/// The version of the AMQP bindings that are used.
const BINDING: &str = "0.3.0";

/// The document.
pub fn document() -> Value {
    let classes = Class::ALL.map(Class::as_str);
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Kiln",
            "version": "1.0.0",
            "description": "Jobs in, outcomes out, over RabbitMQ. Every message is JSON in UTF-8.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {
            "jobs": channel(
                "{class}", JOBS, "direct", "job",
                "A job. The routing key is its class, or `<class>.<tenant>` for a tenant with queues of its own.",
                &json!({"class": {
                    "description": "`interactive` or `batch`, with `.<tenant>` where the tenant has queues of its own",
                    "examples": classes,
                }}),
            ),
            "results": channel(
                "{tenant}.{status}", RESULTS, "topic", "outcome",
                "Every outcome, byte for byte as it is stored. Bind a queue of your own.",
                &json!({
                    "tenant": {"description": "whose job it was; `default` where nobody said it"},
                    "status": {"description": "the outcome's `status`"},
                }),
            ),
            "control": channel(
                CONTROL, CONTROL, "fanout", "cancellation",
                "To every worker: a job is to end.",
                &json!({}),
            ),
            "dead": channel(
                DEAD, DEAD, "direct", "dead",
                "Messages that nobody could be told of, or whose job no worker survived: as they came, with `x-kiln-reason` and `x-kiln-detail`.",
                &json!({}),
            ),
            "replies": {
                "address": null,
                "description": "The queue that a job names in `reply-to`: `amq.rabbitmq.reply-to` or one whose name begins with `kiln.reply.`",
                "messages": {"outcome": {"$ref": "#/components/messages/outcome"}},
            },
        },
        "operations": {
            "submit": {
                "action": "send",
                "channel": {"$ref": "#/channels/jobs"},
                "messages": [{"$ref": "#/channels/jobs/messages/job"}],
                "reply": {
                    "address": {"location": "$message.header#/reply-to"},
                    "channel": {"$ref": "#/channels/replies"},
                },
                "bindings": {"amqp": {"deliveryMode": 2, "mandatory": true, "bindingVersion": BINDING}},
            },
            "results": {
                "action": "receive",
                "channel": {"$ref": "#/channels/results"},
                "messages": [{"$ref": "#/channels/results/messages/outcome"}],
            },
            "cancel": {
                "action": "send",
                "channel": {"$ref": "#/channels/control"},
                "messages": [{"$ref": "#/channels/control/messages/cancellation"}],
            },
        },
        "components": {"messages": {
            "job": message(JOB_SCHEMA, &json!({
                "type": "object",
                "properties": {
                    "x-tenant": {"type": "string"},
                    "x-deadline-unix-ms": {"type": ["integer", "string"]},
                    "idempotency-key": {"type": "string"},
                    "traceparent": {"type": "string"},
                    "reply-to": {"type": "string"},
                },
            })),
            "outcome": message(OUTCOME_SCHEMA, &json!({"type": "object"})),
            "cancellation": message(CONTROL_SCHEMA, &json!({"type": "object"})),
            "dead": {
                "name": "dead",
                "headers": {
                    "type": "object",
                    "properties": {
                        "x-kiln-reason": {"enum": ["bad_message", "no_id", "too_large", "worker_crash", "retries"]},
                        "x-kiln-detail": {"type": "string"},
                        "x-kiln-queue": {"type": "string"},
                    },
                },
                "payload": {},
            },
        }},
    })
}

fn channel(
    address: &str,
    exchange: &str,
    kind: &str,
    message: &str,
    description: &str,
    parameters: &Value,
) -> Value {
    let mut channel = json!({
        "address": address,
        "description": description,
        "messages": {message: {"$ref": format!("#/components/messages/{message}")}},
        "bindings": {"amqp": {
            "is": "routingKey",
            "exchange": {"name": exchange, "type": kind, "durable": true, "autoDelete": false},
            "bindingVersion": BINDING,
        }},
    });
    if parameters.as_object().is_some_and(|all| !all.is_empty()) {
        channel["parameters"] = parameters.clone();
    }
    channel
}

fn message(schema: &str, headers: &Value) -> Value {
    json!({
        "name": schema,
        "contentType": "application/json",
        "headers": headers,
        "payload": {
            "schemaFormat": "application/schema+json;version=draft-2020-12",
            "schema": {"$ref": format!("./{schema}.json")},
        },
        "bindings": {"amqp": {"messageType": schema, "bindingVersion": BINDING}},
    })
}
