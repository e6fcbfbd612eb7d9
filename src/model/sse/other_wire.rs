//! Events of another wire than the one in which a server was asked.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};

use crate::{
    model::{ErrorKind, ModelError, Retry, http::Endpoint},
    protocol::Wire,
};

/// What tells the wire of an event.
#[derive(Default, Deserialize)]
struct Signs<'a> {
    #[serde(borrow, default)]
    r#type: Option<Cow<'a, str>>,
    choices: Option<IgnoredAny>,
}

/// # Errors
/// That the event is one of another wire than the one in which the server was asked: asking again does not help.
pub(in crate::model) fn refuse_other_wire(
    endpoint: &Endpoint,
    asked: Wire,
    data: &str,
) -> Result<(), ModelError> {
    let signs: Signs<'_> = serde_json::from_str(data).unwrap_or_default();
    let spoken = match signs.r#type.as_deref() {
        Some(kind) if kind.starts_with("response.") => Wire::Responses,
        Some("message_start") => Wire::Messages,
        _ if signs.choices.is_some() => Wire::Chat,
        _ => return Ok(()),
    };
    if spoken == asked {
        return Ok(());
    }
    let server = endpoint.server();
    let message = format!(
        "{server} was asked in the wire {asked} and answers in the wire {spoken}: set wire to {spoken} (--wire, ASKLS_WIRE)"
    );
    Err(ModelError { retry: Retry::Never, ..ModelError::new(ErrorKind::Malformed, message) })
}
