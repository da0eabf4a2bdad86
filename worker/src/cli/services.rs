//! Which services beside this machine are configured?
//!
//! The one place that answers it: commands that need a service ask here.

use crate::config::{Config, Redis, Secret, Store};

/// What a worker talks to; `None` is nothing of that kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Services {
    pub(super) broker: Option<Secret>,
    pub(super) redis: Option<Redis>,
    /// The store that workers use.
    pub(super) store: Option<Store>,
}

impl Services {
    /// Those of a configuration.
    pub(super) fn of(config: &Config) -> Self {
        Self {
            broker: config.amqp.as_ref().map(|amqp| amqp.url.clone()),
            redis: config.redis.clone(),
            store: match (&config.store, &config.amqp) {
                // Without a broker there is no worker, and nobody uses the default.
                (Store::Files(_), None) => None,
                (store, _) => Some(store.clone()),
            },
        }
    }
}
