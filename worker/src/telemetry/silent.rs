//! Figures that count nothing: a worker without them shows what they cost.
//!
//! Only in a build with the feature `uncounted`, which `target/debug/cost` sets beside a usual one.

use super::names::{Entered, Registered};
use prometheus::{Opts, Registry, Result};
use std::marker::PhantomData;

/// In place of a counter, a gauge or a histogram, with labels or without.
#[derive(Clone, Debug)]
pub(super) struct Silent<V>(PhantomData<V>);

pub(super) type IntCounter = Silent<u64>;
pub(super) type IntCounterVec = Silent<u64>;
pub(super) type IntGauge = Silent<i64>;
pub(super) type IntGaugeVec = Silent<i64>;
pub(super) type Gauge = Silent<f64>;
pub(super) type GaugeVec = Silent<f64>;
pub(super) type Histogram = Silent<f64>;
pub(super) type HistogramVec = Silent<f64>;

#[expect(clippy::unused_self, reason = "they stand for methods of what counts")]
impl<V: Default> Silent<V> {
    pub(super) fn inc(&self) {}

    pub(super) fn dec(&self) {}

    pub(super) fn inc_by(&self, _: V) {}

    pub(super) fn set(&self, _: V) {}

    pub(super) fn observe(&self, _: V) {}

    pub(super) fn get(&self) -> V {
        V::default()
    }

    pub(super) fn with_label_values<W>(&self, _: &[W]) -> Self {
        Self(PhantomData)
    }

    pub(super) fn remove_label_values<W>(&self, _: &[W]) -> Result<()> {
        Ok(())
    }
}

impl<V> Entered for Silent<V> {
    fn enter(self, _: &Registry) {}
}

impl<V: Clone> Registered for Silent<V> {
    fn make(_: Opts, _: &[&str], _: &[f64]) -> Result<Self> {
        Ok(Self(PhantomData))
    }
}
