//! Quantiles of what was measured, in one line.

use std::time::Duration;

/// The value below which `share` of the samples lie.
pub(crate) fn quantile(samples: &mut [f64], share: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let last = samples.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index into a few thousand samples"
    )]
    let at = (last as f64 * share).round() as usize;
    samples.get(at).copied().unwrap_or(f64::NAN)
}

/// Prints p50, p90 and p99 of samples in milliseconds.
pub(crate) fn line(name: &str, mut samples: Vec<f64>) {
    let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|share| quantile(&mut samples, share));
    println!(
        "{name:44} n={:<5} p50 {p50:8.3}  p90 {p90:8.3}  p99 {p99:8.3}  ms",
        samples.len()
    );
}

pub(crate) fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}
