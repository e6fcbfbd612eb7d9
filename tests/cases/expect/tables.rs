//! Tables: every row yields what it says.

use askls::workspace::paths::{self, Style};
use serde_json::Value;

use super::{Faults, Seen, endings::error_faults};

fn rows<'a>(seen: &Seen<'a>) -> &'a [Value] {
    seen.run.given["table"].as_array().map_or(&[], Vec::as_slice)
}

/// The rows of Windows do not depend on the host.
fn style(row: &Value) -> Style {
    if row["platform"] == "windows" { Style::Windows } else { Style::Unix }
}

fn path(row: &Value) -> Option<String> {
    paths::path_in(style(row), row["uri"].as_str()?)
}

pub(super) fn all_rows(value: &Value, seen: &Seen<'_>) -> Faults {
    let column = value.as_str().unwrap_or_default();
    let mut faults = Vec::new();
    for (number, row) in rows(seen).iter().enumerate() {
        let found = match row.get("uri") {
            Some(_) => path(row),
            None => seen.observed.rows.get(number).and_then(|row| row.path.clone()),
        };
        if found.as_deref() != row[column].as_str() {
            faults.push(format!("row {number}: {found:?}, not {}", row[column]));
        }
    }
    Ok(faults)
}

/// Rows that name another are the same document: one key.
pub(super) fn same_as(seen: &Seen<'_>) -> Faults {
    let mut faults = Vec::new();
    let key = |row: &Value| row["uri"].as_str().map(|uri| paths::document_key_in(style(row), uri));
    for (number, row) in rows(seen).iter().enumerate() {
        let other = row["same_as"].as_u64().and_then(|other| usize::try_from(other).ok());
        if let Some(other) = other.and_then(|other| rows(seen).get(other))
            && key(row) != key(other)
        {
            faults.push(format!("row {number} is not the same document as {other}"));
        }
    }
    Ok(faults)
}

pub(super) fn round_trip(seen: &Seen<'_>) -> Faults {
    let comes_back = |row: &&Value| {
        let there = path(row);
        let again = there.as_ref().map(|path| paths::uri_in(style(row), path));
        there.is_some() && again.and_then(|uri| paths::path_in(style(row), &uri)) == there
    };
    let lost = rows(seen).iter().filter(|row| !comes_back(row));
    Ok(lost.map(|row| format!("{} does not come back", row["uri"])).collect())
}

pub(super) fn paths_any(value: &Value, seen: &Seen<'_>) -> Faults {
    let allowed: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut faults = Vec::new();
    for (number, row) in seen.observed.rows.iter().enumerate() {
        if row.path.as_deref().is_none_or(|path| !allowed.contains(&path)) {
            faults.push(format!("row {number}: {:?} is none of {allowed:?}", row.path));
        }
    }
    Ok(faults)
}

/// Every row fails like this.
pub(super) fn errors(value: &Value, seen: &Seen<'_>) -> Faults {
    let mut faults = Vec::new();
    for (number, row) in seen.observed.rows.iter().enumerate() {
        let Some(end) = &row.end else {
            faults.push(format!("row {number} did not end"));
            continue;
        };
        if end.outcome != "failed" {
            faults.push(format!("row {number} {}", end.outcome));
        }
        faults.extend(error_faults(value, end).into_iter().map(|fault| format!("row {number}: {fault}")));
    }
    if seen.observed.rows.is_empty() {
        faults.push("the table has no row".to_owned());
    }
    Ok(faults)
}
