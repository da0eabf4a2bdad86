//! How is the topology given to `rabbitmqctl import_definitions`?

use super::{Argument, Arguments, Topology};
use serde_json::{Map, Value, json};

impl Topology {
    /// The definitions of one virtual host, as the broker imports them.
    pub fn definitions(&self, vhost: &str) -> Value {
        let exchanges = self.exchanges.iter().map(|exchange| {
            json!({
                "name": exchange.name,
                "vhost": vhost,
                "type": exchange.kind.as_str(),
                "durable": true,
                "auto_delete": false,
                "internal": false,
                "arguments": arguments(&exchange.arguments),
            })
        });
        let queues = self.queues.iter().map(|queue| {
            json!({
                "name": queue.name,
                "vhost": vhost,
                "durable": true,
                "auto_delete": false,
                "arguments": arguments(&queue.arguments),
            })
        });
        let bindings = self.bindings.iter().map(|binding| {
            json!({
                "source": binding.exchange,
                "vhost": vhost,
                "destination": binding.queue,
                "destination_type": "queue",
                "routing_key": binding.routing_key,
                "arguments": {},
            })
        });
        json!({
            "exchanges": exchanges.collect::<Vec<_>>(),
            "queues": queues.collect::<Vec<_>>(),
            "bindings": bindings.collect::<Vec<_>>(),
        })
    }
}

fn arguments(all: &Arguments) -> Map<String, Value> {
    let value = |value: &Argument| match value {
        Argument::Text(text) => json!(text),
        Argument::Integer(number) => json!(number),
    };
    all.iter()
        .map(|(name, held)| ((*name).to_owned(), value(held)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_says_its_virtual_host() {
        let definitions = Topology::new(&[]).definitions("/jobs");
        for part in ["exchanges", "queues", "bindings"] {
            let all = definitions[part].as_array().expect("a list");
            assert!(!all.is_empty());
            assert!(all.iter().all(|one| one["vhost"] == "/jobs"), "{part}");
        }
        let shared = &definitions["exchanges"][1]["arguments"];
        assert_eq!(shared["alternate-exchange"], "kiln.jobs.shared");
        assert_eq!(
            definitions["queues"][0]["arguments"],
            json!({"x-queue-type": "quorum", "x-delivery-limit": 1_000_000})
        );
    }
}
