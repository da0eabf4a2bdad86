//! Which implementation of cryptography do connections use? One for the whole process.

use rustls::crypto::{CryptoProvider, ring};

/// Sees to it that there is one, whoever connects first.
pub(crate) fn install() {
    if CryptoProvider::get_default().is_none()
        && ring::default_provider().install_default().is_err()
    {
        tracing::trace!("another thread was first, and its provider is the same");
    }
}
