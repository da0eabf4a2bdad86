//! How is each kind of figure made of a name, its labels and its bounds?

use super::names::Registered;
use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    IntGaugeVec, Opts,
};

impl Registered for IntCounter {
    fn make(opts: Opts, _: &[&str], _: &[f64]) -> prometheus::Result<Self> {
        Self::with_opts(opts)
    }
}

impl Registered for IntCounterVec {
    fn make(opts: Opts, labels: &[&str], _: &[f64]) -> prometheus::Result<Self> {
        Self::new(opts, labels)
    }
}

impl Registered for IntGauge {
    fn make(opts: Opts, _: &[&str], _: &[f64]) -> prometheus::Result<Self> {
        Self::with_opts(opts)
    }
}

impl Registered for IntGaugeVec {
    fn make(opts: Opts, labels: &[&str], _: &[f64]) -> prometheus::Result<Self> {
        Self::new(opts, labels)
    }
}

impl Registered for Gauge {
    fn make(opts: Opts, _: &[&str], _: &[f64]) -> prometheus::Result<Self> {
        Self::with_opts(opts)
    }
}

impl Registered for GaugeVec {
    fn make(opts: Opts, labels: &[&str], _: &[f64]) -> prometheus::Result<Self> {
        Self::new(opts, labels)
    }
}

impl Registered for Histogram {
    fn make(opts: Opts, _: &[&str], buckets: &[f64]) -> prometheus::Result<Self> {
        Self::with_opts(HistogramOpts::from(opts).buckets(buckets.to_vec()))
    }
}

impl Registered for HistogramVec {
    fn make(opts: Opts, labels: &[&str], buckets: &[f64]) -> prometheus::Result<Self> {
        Self::new(HistogramOpts::from(opts).buckets(buckets.to_vec()), labels)
    }
}
