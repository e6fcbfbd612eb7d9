//! One value as one place says it: a line of a file, a member of the editor's section, an argument.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue, ValueDeserializer},
};

use super::{
    Warning,
    schema::{Key, Shape},
};

/// One value as one place says it.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) value: Value,
    /// Where it stands, for a warning.
    pub(super) place: String,
    /// The members of a table, each with its own place.
    pub(super) members: Vec<Self>,
}

impl Entry {
    pub(super) fn new(name: &str, value: &Value, place: &str) -> Self {
        let members = value.as_object().into_iter().flatten();
        Self {
            name: name.to_owned(),
            value: value.clone(),
            place: place.to_owned(),
            members: members
                .map(|(name, value)| Self::new(name, value, &format!("{place}.{name}")))
                .collect(),
        }
    }
}

/// The values of a file in their order. Lines that are not valid TOML become one warning, and the lines around them
/// count.
pub(super) fn of_file(path: &Path, text: &str) -> (Vec<Entry>, Option<Warning>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let broken = errors.iter().filter_map(toml::de::Error::span).map(|span| span.start).collect();
    let file = File { path, text, broken };
    let warning = errors.first().map(|error| Warning {
        place: file.place(file.broken.first().copied().unwrap_or_default()),
        message: format!("not valid TOML: {}; the other lines are used", error.message()),
    });
    let levels = |name: &str| match Key::named(name).map(|key| key.shape) {
        None | Some(Shape::Value) => 0,
        Some(Shape::Table) => 1,
        Some(Shape::Models) => 2,
    };
    (file.entries(table.into_inner(), &levels), warning)
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
    /// Where it is not valid TOML.
    broken: Vec<usize>,
}

impl File<'_> {
    fn place(&self, offset: usize) -> String {
        let (line, column) = position(self.text, offset);
        format!("{}:{line}:{column}", self.path.display())
    }

    /// `levels` is how many levels of tables a value holds of which each member stands for itself.
    fn entries(&self, table: DeTable<'_>, levels: &dyn Fn(&str) -> usize) -> Vec<Entry> {
        let mut entries: Vec<_> = table
            .into_iter()
            .map(|(key, value)| (levels(key.get_ref()), key, value))
            .filter(|(levels, key, value)| *levels > 0 || !self.is_broken(key, value))
            .collect();
        entries.sort_by_key(|(_, key, _)| key.span().start);
        entries
            .into_iter()
            .map(|(levels, key, value)| {
                let inner = match value.get_ref() {
                    DeValue::Table(inner) if levels > 0 => Some(inner.clone()),
                    _ => None,
                };
                Entry {
                    place: self.place(key.span().start),
                    name: key.into_inner().into_owned(),
                    value: plain(value),
                    members: inner.map(|inner| self.entries(inner, &|_| levels - 1)).unwrap_or_default(),
                }
            })
            .collect()
    }

    /// Whether the lines of a value are not valid.
    fn is_broken(&self, key: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) -> bool {
        let before = self.text.get(..key.span().start).unwrap_or_default();
        let line = before.rfind('\n').map_or(0, |newline| newline + 1);
        let end = value.span().end;
        let rest = self.text.get(end..).and_then(|rest| rest.find('\n'));
        let end = rest.map_or(self.text.len(), |more| end + more);
        self.broken.iter().any(|offset| (line..=end).contains(offset))
    }
}

/// The value in JSON. What JSON has no form for fits no setting either, but is not nothing.
fn plain(value: Spanned<DeValue<'_>>) -> Value {
    match Value::deserialize(ValueDeserializer::from(value)) {
        Ok(Value::Null) | Err(_) => json!({"float": "no number"}),
        Ok(value) => value,
    }
}

/// One-based line and column, the column in characters.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(line_start..).unwrap_or_default().chars().count();
    (before.matches('\n').count() + 1, column + 1)
}
