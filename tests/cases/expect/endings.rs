//! How turns ended, what ran in them, and how long that took.

use std::time::Duration;

use serde_json::Value;

use super::{Faults, Seen, short, text_faults};
use crate::{
    observed::{CallResult, End, Execution},
    stretched,
};

fn only_end<'a>(seen: &Seen<'a>) -> Option<&'a End> {
    let table = seen.observed.rows.first().and_then(|row| row.end.as_ref());
    seen.observed.only_end().or(table)
}

fn missing(label: &str) -> Vec<String> {
    vec![format!("{label} did not end")]
}

fn end<'a>(seen: &Seen<'a>, label: &str) -> Option<&'a End> {
    seen.observed.ask(label).and_then(|ask| ask.end.as_ref())
}

pub(super) fn outcomes(name: &str, value: &Value, seen: &Seen<'_>) -> Faults {
    let check = |label: &str, found: Option<&End>, allowed: Vec<&str>| match found {
        None => missing(label),
        Some(end) if allowed.contains(&end.outcome) => Vec::new(),
        Some(end) => {
            vec![format!("{label} {} instead of {}{}", end.outcome, allowed.join(" or "), reason(end))]
        }
    };
    if name == "outcome" {
        return Ok(check("the turn", only_end(seen), vec![value.as_str().unwrap_or_default()]));
    }
    let mut faults = Vec::new();
    for (label, allowed) in value.as_object().into_iter().flatten() {
        let allowed = match allowed {
            Value::Array(allowed) => allowed.iter().filter_map(Value::as_str).collect(),
            one => vec![one.as_str().unwrap_or_default()],
        };
        faults.extend(check(label, end(seen, label), allowed));
    }
    Ok(faults)
}

fn reason(end: &End) -> String {
    if end.error_text.is_empty() { String::new() } else { format!(" ({})", short(&end.error_text)) }
}

pub(super) fn texts(name: &str, value: &Value, seen: &Seen<'_>) -> Faults {
    let check = |label: &str, found: Option<&End>, wanted: &Value| match found {
        None => missing(label),
        Some(end) => text_faults("the answer", wanted, &end.text),
    };
    if name == "final_text" {
        return Ok(check("the turn", only_end(seen), value));
    }
    let labels = value.as_object().into_iter().flatten();
    Ok(labels.flat_map(|(label, wanted)| check(label, end(seen, label), wanted)).collect())
}

pub(super) fn error(value: &Value, seen: &Seen<'_>) -> Faults {
    let Some(end) = only_end(seen) else { return Ok(missing("the turn")) };
    Ok(error_faults(value, end))
}

pub(super) fn error_faults(wanted: &Value, end: &End) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(kind) = wanted["kind"].as_str()
        && !end.error_kinds.contains(&kind)
    {
        faults.push(format!("the error is {:?}, not {kind}{}", end.error_kinds, reason(end)));
    }
    faults.extend(text_faults("the error", wanted, &end.error_text));
    faults
}

pub(super) fn usage(value: &Value, seen: &Seen<'_>) -> Faults {
    let Some(end) = only_end(seen) else { return Ok(missing("the turn")) };
    let mut faults = Vec::new();
    for (name, wanted) in value.as_object().into_iter().flatten() {
        let found = match name.as_str() {
            "input_tokens" => end.input_tokens,
            "output_tokens" => end.output_tokens,
            _ => return Err(format!("usage.{name} is not counted")),
        };
        if wanted.as_u64() != Some(found) {
            faults.push(format!("usage.{name} is {found}, not {wanted}"));
        }
    }
    Ok(faults)
}

pub(super) fn tool_calls(value: &Value, seen: &Seen<'_>) -> Faults {
    let executions = seen.observed.executions.as_ref().ok_or("tool executions cannot be seen here")?;
    let wanted: Vec<Execution> = value
        .as_array()
        .into_iter()
        .flatten()
        .map(|call| Execution {
            name: call["name"].as_str().unwrap_or_default().to_owned(),
            arguments: call["arguments"].clone(),
        })
        .collect();
    // A case that names no arguments asks for none in particular.
    let is_same = |wanted: &Execution, found: &Execution| {
        wanted.name == found.name && (wanted.arguments.is_null() || wanted.arguments == found.arguments)
    };
    if wanted.len() == executions.len()
        && wanted.iter().zip(executions).all(|(wanted, found)| is_same(wanted, found))
    {
        return Ok(Vec::new());
    }
    let list = |calls: &[Execution]| {
        let calls: Vec<String> =
            calls.iter().map(|call| format!("{} {}", call.name, call.arguments)).collect();
        short(&format!("[{}]", calls.join(", ")))
    };
    Ok(vec![format!("executed {}, not {}", list(executions), list(&wanted))])
}

pub(super) fn asked_for(value: &Value, seen: &Seen<'_>) -> Faults {
    let mut wanted: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // Where no yes is to be had, a refusal without a question is the stricter of the two.
    let is_no = seen.run.when["answer_to_ask"] == "deny";
    let refused = seen.observed.refused.iter().filter(|_| is_no);
    let mut found: Vec<String> = seen.observed.asked_for.iter().chain(refused).cloned().collect();
    // When a question appears depends on the product: askls asks about an edit when it is applied.
    wanted.sort_unstable();
    found.sort_unstable();
    Ok(if found == wanted { Vec::new() } else { vec![format!("asked for {found:?}, not {wanted:?}")] })
}

pub(super) fn approval_asked(value: &Value, seen: &Seen<'_>) -> Vec<String> {
    let asked = !seen.observed.asked_for.is_empty();
    if value.as_bool() == Some(asked) { Vec::new() } else { vec![format!("approval asked: {asked}")] }
}

pub(super) fn decisions(value: &Value, seen: &Seen<'_>) -> Faults {
    if seen.observed.decisions.is_empty() {
        return Err("no command was proposed".to_owned());
    }
    let wanted: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if wanted.len() != seen.observed.decisions.len() {
        return Ok(vec![format!(
            "{} commands were decided, not {}",
            seen.observed.decisions.len(),
            wanted.len()
        )]);
    }
    let faults =
        wanted.into_iter().zip(&seen.observed.decisions).enumerate().filter_map(|(row, (wanted, found))| {
            let allowed = wanted.split("_or_").any(|allowed| allowed == found);
            (!allowed).then(|| format!("command {row} was decided as {found}, not {wanted}"))
        });
    Ok(faults.collect())
}

pub(super) fn results(value: &Value, seen: &Seen<'_>) -> Faults {
    let wanted = value.as_array().cloned().unwrap_or_default();
    let found = &seen.observed.results;
    if wanted.len() != found.len() {
        return Ok(vec![format!("{} results instead of {}", found.len(), wanted.len())]);
    }
    let mut faults = Vec::new();
    for (number, (wanted, found)) in wanted.iter().zip(found).enumerate() {
        faults.extend(result(&format!("result {}", number + 1), wanted, found)?);
    }
    Ok(faults)
}

fn result(what: &str, wanted: &Value, found: &CallResult) -> Faults {
    let mut faults = text_faults(what, wanted, &found.text);
    let mut compare = |name: &str, same: bool, text: String| {
        if !same {
            faults.push(format!("{what}: {name} {text}: {:?}", short(&found.text)));
        }
    };
    for (name, value) in wanted.as_object().into_iter().flatten() {
        match name.as_str() {
            "ok" => compare(name, value.as_bool() == Some(found.ok), format!("is {}", found.ok)),
            "exit_code" => {
                compare(name, value.as_i64() == exit_code(&found.text), format!("is not {value}"));
            }
            "exit_code_not" => compare(name, value.as_i64() != exit_code(&found.text), format!("is {value}")),
            "timed_out" => {
                let timed_out = found.text.starts_with("timed out after");
                compare(name, value.as_bool() == Some(timed_out), format!("is {timed_out}"));
            }
            "max_bytes" => {
                let most = value.as_u64().unwrap_or(0);
                let bytes = found.text.len() as u64;
                compare(name, bytes <= most, format!("{most} is less than {bytes}"));
            }
            "equals" | "contains" | "contains_all" | "contains_any" | "not_contains" | "matches" => {}
            _ => return Err(format!("the driver has no check for results.{name}")),
        }
    }
    Ok(faults)
}

/// `exit code 3 (0.1 s)` is how askls begins.
fn exit_code(text: &str) -> Option<i64> {
    let rest = text.strip_prefix("exit code ")?;
    rest.split(|c: char| !c.is_ascii_digit() && c != '-').next()?.parse().ok()
}

pub(super) fn duration(what: &str, wanted: &Value, found: Duration) -> Vec<String> {
    let mut faults = Vec::new();
    let limit = |name: &str| wanted[name].as_u64().map(Duration::from_millis);
    if limit("min").is_some_and(|least| found < least) {
        faults.push(format!("{what} took {found:?}, less than {:?}", limit("min").unwrap_or_default()));
    }
    if let Some(most) = limit("max").map(stretched)
        && found > most
    {
        faults.push(format!("{what} took {found:?}, more than {most:?}"));
    }
    faults
}

pub(super) fn after_cancel(value: &Value, seen: &Seen<'_>) -> Vec<String> {
    match seen.observed.after_cancel {
        Some(took) => duration("the end after the cancel", value, took),
        None => vec!["the cancelled turn did not end".to_owned()],
    }
}

pub(super) fn connection_closed(value: &Value, seen: &Seen<'_>) -> Vec<String> {
    let limit = stretched(Duration::from_millis(value.as_u64().unwrap_or(0)));
    let closed = seen.observed.cancelled_at.and_then(|cancelled| {
        let left = &seen.observed.provider.left;
        left.iter().map(|left| left.saturating_duration_since(cancelled)).min()
    });
    match closed {
        Some(took) if took <= limit => Vec::new(),
        Some(took) => vec![format!("the provider's connection was closed {took:?} after the cancel")],
        None => vec!["the provider's connection was never closed".to_owned()],
    }
}
