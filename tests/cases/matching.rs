//! Whether a JSON value is like another: each member that is wanted is there and like it; `{"$regex": …}` and
//! `{"$any": true}` stand for values.

use regex::Regex;
use serde_json::{Value, json};

/// The message with what the driver adds: `kind`, and the `label` of the step whose response it is.
pub(crate) fn described(message: &Value, label: impl Fn(&Value) -> Option<String>) -> Value {
    let mut described = message.clone();
    let kind = match (message.get("method"), message.get("id")) {
        (Some(_), Some(_)) => "request",
        (Some(_), None) => "notification",
        (None, _) => "response",
    };
    described["kind"] = json!(kind);
    if kind == "response"
        && let Some(label) = label(&message["id"])
    {
        described["label"] = json!(label);
    }
    described
}

pub(crate) fn is_match(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::Object(members) => {
            if let Some(pattern) = members.get("$regex").and_then(Value::as_str) {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                return Regex::new(pattern).is_ok_and(|regex| regex.is_match(&text));
            }
            if members.contains_key("$any") {
                return true;
            }
            members.iter().all(|(name, wanted)| value.get(name).is_some_and(|value| is_match(wanted, value)))
        }
        Value::Array(elements) => value.as_array().is_some_and(|values| {
            values.len() == elements.len()
                && elements.iter().zip(values).all(|(wanted, value)| is_match(wanted, value))
        }),
        _ => wanted == value,
    }
}
