//! How a value is spelt where askls speaks of it.

use serde_json::Value;

/// Longest value that a warning repeats, in characters.
const LONGEST_SHOWN: usize = 60;

/// The one member of what stands for a value that JSON has no form for: its spelling in TOML.
pub(in crate::config) const NOT_IN_JSON: &str = "$toml";

/// How a place writes its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) enum Notation {
    Toml,
    Json,
}

/// A value as its place writes it, not too long.
pub(super) fn spelling(value: &Value, notation: Notation) -> String {
    let spelling = whole_spelling(value, notation);
    match spelling.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}…", &spelling[..end]),
        None => spelling,
    }
}

/// The same, however long.
pub(super) fn whole_spelling(value: &Value, notation: Notation) -> String {
    if let Some(foreign) = value.get(NOT_IN_JSON).and_then(Value::as_str) {
        return foreign.to_owned();
    }
    match (value, notation) {
        (Value::Object(members), Notation::Toml) if members.is_empty() => "{}".to_owned(),
        (Value::Object(members), Notation::Toml) => {
            let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let members = members.iter().map(|(name, value)| {
                let value = whole_spelling(value, notation);
                match !name.is_empty() && name.chars().all(is_bare) {
                    true => format!("{name} = {value}"),
                    false => format!("{} = {value}", Value::from(name.as_str())),
                }
            });
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        (Value::Array(parts), Notation::Toml) => {
            let parts: Vec<_> = parts.iter().map(|part| whole_spelling(part, notation)).collect();
            format!("[{}]", parts.join(", "))
        }
        // Texts, numbers, true and false are written alike.
        _ => value.to_string(),
    }
}

/// Scheme, host, port and path of a URL.
pub(super) fn without_credentials(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}
