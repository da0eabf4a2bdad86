//! How does a store that cannot be used end a command?

use super::exit::Exit;
use super::stop::Stop;
use crate::config::Store;
use crate::fault::chain;
use crate::store::StoreError;
use crate::store::ledger::Ledger;
use crate::telemetry::metric::Metrics;

/// As [`store_stop`], with the store's name.
pub(super) fn store_stop_at(store: &Store, error: &StoreError) -> Stop {
    let (why, place) = (chain(error), store.to_string());
    let line = if why.contains(&place) {
        why
    } else {
        format!("{why}; the store is `{place}`")
    };
    Stop::new(store_exit(error), vec![line])
}

/// Opens a store to change it; one that is not there is not made.
pub(super) async fn open_existing(store: &Store) -> Result<Ledger, StoreError> {
    drop(Ledger::open_to_read(store, Metrics::new())?);
    Ledger::open(store, Metrics::new()).await
}

/// A store that can never work is a matter of the configuration.
pub(super) fn store_stop(error: &StoreError) -> Stop {
    Stop::new(store_exit(error), vec![chain(error)])
}

fn store_exit(error: &StoreError) -> Exit {
    if error.is_configuration() {
        Exit::Config
    } else {
        Exit::Unavailable
    }
}
