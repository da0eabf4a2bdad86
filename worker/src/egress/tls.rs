//! How does the proxy speak TLS for a job whose credential it attaches?

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("read certificates from `{}`", .0.display())]
    File(PathBuf, #[source] rustls::pki_types::pem::Error),
    #[error("take a certificate of `{}`", .0.display())]
    Certificate(PathBuf, #[source] rustls::Error),
    #[error("find certificates of this machine")]
    None,
    #[error("set up TLS")]
    Setup(#[source] rustls::Error),
}

/// Makes connections whose other end has shown who it is.
pub(crate) struct Tls(TlsConnector);

impl Tls {
    /// Trusts the machine's authorities and those of a file. To be called while files can be read.
    pub(crate) fn new(file: Option<&Path>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        let (_, ignored) = roots.add_parsable_certificates(found.certs);
        if ignored > 0 {
            tracing::debug!(ignored, "certificates that are none");
        }
        if let Some(path) = file {
            let failed = |error| TlsError::File(path.to_owned(), error);
            for certificate in CertificateDer::pem_file_iter(path).map_err(failed)? {
                let certificate = certificate.map_err(failed)?;
                let wrong = |error| TlsError::Certificate(path.to_owned(), error);
                roots.add(certificate).map_err(wrong)?;
            }
        }
        if roots.is_empty() {
            return Err(TlsError::None);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Setup)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        // Nothing of one job's connection may help another's.
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Speaks TLS to a host that must show that it is the one of this name.
    pub(crate) async fn connect(
        &self,
        name: &str,
        far: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(name.to_owned()).map_err(io::Error::other)?;
        self.0.connect(name, far).await
    }
}
