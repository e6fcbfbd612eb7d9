//! Events that are errors by their name alone.

use serde_json::{Value, json};

use crate::model::{event_json, http::ServerError};

/// The event that all wires have for an error, from one that only its name calls so.
pub(super) fn error_event(data: &str) -> String {
    let error = serde_json::from_str(&event_json::mended(data)).unwrap_or_else(|_| Value::from(data));
    match error.get("error") {
        Some(said) if ServerError::is_said(&said.to_string()) => error.to_string(),
        _ => json!({"type": "error", "error": error}).to_string(),
    }
}
