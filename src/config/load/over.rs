//! One value over another of the same setting: it replaces, adds to a list, or changes single members of a table.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::config::{
    Origin,
    schema::{Key, Shape, Values},
};

/// Lays a value over what is set, and gives all of it, typed.
pub(super) fn lay_over(
    set: &mut BTreeMap<&'static str, (Value, Origin)>,
    key: &'static Key,
    value: Value,
    origin: &Origin,
) -> serde_json::Result<Values> {
    let value = match (set.remove(key.name), key.shape) {
        (None, _) | (Some(_), Shape::Value) => value,
        (Some((below, _)), Shape::Table | Shape::Models) => merged(below, value),
        (Some((below, _)), Shape::Rules) => added(below, value),
    };
    set.insert(key.name, (value, origin.clone()));
    let whole = set.iter().map(|(name, (value, _))| ((*name).to_owned(), value.clone()));
    serde_json::from_value(Value::Object(whole.collect()))
}

/// One list behind another, what both hold once.
fn added(below: Value, more: Value) -> Value {
    match (below, more) {
        (Value::Array(mut list), Value::Array(more)) => {
            for value in more {
                if !list.contains(&value) {
                    list.push(value);
                }
            }
            Value::Array(list)
        }
        (_, more) => more,
    }
}

/// One table over another, member by member.
fn merged(below: Value, above: Value) -> Value {
    match (below, above) {
        (Value::Object(mut below), Value::Object(above)) => {
            for (name, value) in above {
                let value = match below.remove(&name) {
                    Some(old) => merged(old, value),
                    None => value,
                };
                below.insert(name, value);
            }
            Value::Object(below)
        }
        (_, above) => above,
    }
}
