//! Why a server that was set without a model did not tell one, and what to set.

use std::{borrow::Cow, time::Duration};

use reqwest::header::HeaderMap;

use super::{Endpoint, Meaning, clean, find_in_body, is_address_right, of_redirect, plain, tell};
use crate::model::{ErrorKind, ModelError};

/// How a model is set.
const NAME_MODEL: &str = "--model, ASKLS_MODEL";

/// A refusal to tell the models, with a status.
pub(in crate::model::http) fn of_list_status(
    endpoint: &Endpoint,
    address: &str,
    status: u16,
    headers: &HeaderMap,
    body: &str,
) -> ModelError {
    if (300..400).contains(&status) {
        return of_redirect(endpoint, address, headers);
    }
    let error = find_in_body(body);
    let words = clean(endpoint, error.code_alone().unwrap_or(&error.message));
    let said = if words.is_empty() { String::new() } else { format!(": {words}") };
    match (error.meaning(Some(status)), status) {
        (Meaning::Auth, _) => {
            tell(endpoint, address, Meaning::Auth, Some(status), error.code_alone(), &error.message)
        }
        (_, 404 | 405 | 501) => ModelError::new(
            ErrorKind::Settings,
            format!(
                "no model is set, and the server cannot be asked for one, since {address} is not there ({status}): {}set model ({NAME_MODEL})",
                is_address_right(endpoint).or_else()
            ),
        ),
        (Meaning::RateLimited | Meaning::Overloaded | Meaning::Failed, _) => ModelError::new(
            ErrorKind::Overloaded,
            format!(
                "{address} cannot answer now ({status}){said}; try again, or set model ({NAME_MODEL}) so that it need not be asked"
            ),
        ),
        _ => ModelError::new(
            ErrorKind::Rejected,
            format!("{address} does not say which models it has ({status}){said}; set model ({NAME_MODEL})"),
        ),
    }
}

/// What came in place of a list of models.
pub(in crate::model::http) fn of_no_list(endpoint: &Endpoint, address: &str, body: &str) -> ModelError {
    let shown = match plain(body) {
        Cow::Owned(page) => clean(endpoint, &page),
        Cow::Borrowed(_) => "something that is not a list of models".to_owned(),
    };
    ModelError::new(
        ErrorKind::Settings,
        format!(
            "no model is set, and {address} answered with {shown}: {}set model ({NAME_MODEL})",
            is_address_right(endpoint).or_else()
        ),
    )
}

/// No list of models in time.
pub(in crate::model::http) fn of_slow_list(endpoint: &Endpoint, within: Duration) -> ModelError {
    let (server, seconds) = (endpoint.server(), within.as_secs_f64());
    ModelError::new(
        ErrorKind::Network,
        format!(
            "{server} did not list its models within {seconds} s: is it reachable? Set model ({NAME_MODEL}) so that it need not be asked"
        ),
    )
}
