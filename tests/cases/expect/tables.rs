//! Tables: every row yields what it says.

use askls::workspace::paths;
use serde_json::Value;

use super::{Faults, Seen, endings::error_faults};

fn rows<'a>(seen: &Seen<'a>) -> &'a [Value] {
    seen.run.given["table"].as_array().map_or(&[], Vec::as_slice)
}

fn is_of_host(row: &Value) -> bool {
    row["platform"] != "windows"
}

/// Why the rows of another platform say nothing here.
fn other_platforms(seen: &Seen<'_>) -> Result<(), String> {
    if rows(seen).iter().all(is_of_host) {
        return Ok(());
    }
    Err("rows for Windows need a path style that only the unit tests of askls can choose; the others hold"
        .to_owned())
}

pub(super) fn all_rows(value: &Value, seen: &Seen<'_>) -> Faults {
    let column = value.as_str().unwrap_or_default();
    let mut faults = Vec::new();
    for (number, row) in rows(seen).iter().enumerate() {
        let found = match row["uri"].as_str() {
            Some(_) if !is_of_host(row) => continue,
            Some(uri) => paths::from_uri(uri).map(|path| path.display().to_string()),
            None => seen.observed.rows.get(number).and_then(|row| row.path.clone()),
        };
        if found.as_deref() != row[column].as_str() {
            faults.push(format!("row {number}: {found:?}, not {}", row[column]));
        }
    }
    if faults.is_empty() {
        other_platforms(seen)?;
    }
    Ok(faults)
}

/// Rows that name another are the same document: one path.
pub(super) fn same_as(seen: &Seen<'_>) -> Faults {
    let mut faults = Vec::new();
    let path = |row: &Value| row["uri"].as_str().and_then(paths::from_uri);
    for (number, row) in rows(seen).iter().enumerate().filter(|(_, row)| is_of_host(row)) {
        let other = row["same_as"].as_u64().and_then(|other| usize::try_from(other).ok());
        if let Some(other) = other.and_then(|other| rows(seen).get(other))
            && path(row) != path(other)
        {
            faults.push(format!("row {number} is not the same document as {other}"));
        }
    }
    Ok(faults)
}

pub(super) fn round_trip(seen: &Seen<'_>) -> Faults {
    let rows = rows(seen).iter().filter(|row| is_of_host(row));
    let paths = rows.filter_map(|row| row["uri"].as_str().and_then(paths::from_uri));
    let faults = paths.filter(|path| paths::from_uri(&paths::to_uri(path)).as_ref() != Some(path));
    Ok(faults.map(|path| format!("{} does not come back", path.display())).collect())
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
