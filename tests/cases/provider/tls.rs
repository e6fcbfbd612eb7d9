//! A throw-away authority and a certificate for `localhost` by it, made anew for each run.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, pki_types::PrivateKeyDer},
};

pub(crate) struct Authority {
    /// The authority's certificate, which a client has to trust.
    pub pem: String,
    pub acceptor: TlsAcceptor,
}

/// # Errors
/// When the machine cannot make keys.
pub(crate) fn authority() -> Result<Authority, String> {
    let fault = |error: rcgen::Error| format!("a certificate: {error}");
    let mut params = CertificateParams::new(Vec::new()).map_err(fault)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().map_err(fault)?).map_err(fault)?;

    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let key = KeyPair::generate().map_err(fault)?;
    let certificate =
        CertificateParams::new(names).map_err(fault)?.signed_by(&key, &issuer).map_err(fault)?;
    let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(|error| error.to_string())?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .map_err(|error| error.to_string())?;
    Ok(Authority { pem: issuer.pem(), acceptor: TlsAcceptor::from(Arc::new(config)) })
}
