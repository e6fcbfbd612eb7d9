//! What reached the provider and the second site.

use serde_json::Value;

use super::{Faults, Seen, short};
use crate::observed::{Request, Traffic};

pub(super) fn count(what: &str, value: &Value, found: usize) -> Vec<String> {
    let found = found as u64;
    let limit = |name: &str| value[name].as_u64();
    let exact = value.as_u64().or_else(|| limit("eq"));
    let fits = exact.is_none_or(|wanted| found == wanted)
        && limit("min").is_none_or(|least| found >= least)
        && limit("max").is_none_or(|most| found <= most);
    if fits { Vec::new() } else { vec![format!("{found} {what}, not {value}")] }
}

/// Requests for an answer, which is what cases count by number.
pub(super) fn posted<'a>(seen: &Seen<'a>) -> Vec<&'a Request> {
    seen.observed.provider.requests.iter().filter(|request| request.is_for_an_answer()).collect()
}

/// The n-th request, counted from 1; below zero from the end.
pub(super) fn numbered<'a>(requests: &[&'a Request], on: &Value) -> Option<&'a Request> {
    let number = on.as_i64()?;
    let length = i64::try_from(requests.len()).ok()?;
    let index = if number < 0 { length + number } else { number - 1 };
    requests.get(usize::try_from(index).ok()?).copied()
}

pub(super) fn paths(value: &Value, seen: &Seen<'_>) -> Vec<String> {
    let requests = posted(seen);
    let mut faults = Vec::new();
    for wanted in value.as_array().into_iter().flatten() {
        let path = numbered(&requests, &wanted["on"]).map(|request| request.path.as_str());
        let fits = match (path, wanted["equals"].as_str(), wanted["matches"].as_str()) {
            (Some(path), Some(equal), _) => path == equal,
            (Some(path), None, Some(pattern)) => {
                regex::Regex::new(pattern).is_ok_and(|regex| regex.is_match(path))
            }
            _ => false,
        };
        if !fits {
            faults.push(format!("request {} went to {path:?}, not as {wanted}", wanted["on"]));
        }
    }
    faults
}

pub(super) fn headers(value: &Value, traffic: &Traffic) -> Vec<String> {
    let requests: Vec<&Request> = traffic.requests.iter().collect();
    let mut faults = Vec::new();
    for wanted in value.as_array().into_iter().flatten() {
        let on: Vec<&Request> = match &wanted["on"] {
            Value::Number(_) => numbered(&requests, &wanted["on"]).into_iter().collect(),
            _ => requests.clone(),
        };
        if on.is_empty() && wanted["absent"] != true {
            faults.push(format!("there is no request for {wanted}"));
        }
        for request in on {
            let name = wanted["name"].as_str().unwrap_or_default();
            let found = request.header(name);
            let mut fits = true;
            if wanted["absent"] == true {
                fits &= found.is_none();
            }
            if let Some(equal) = wanted["equals"].as_str() {
                fits &= found == Some(equal);
            }
            for (member, must) in [("contains", true), ("not_contains", false)] {
                if let Some(part) = wanted[member].as_str() {
                    fits &= found.is_some_and(|found| found.contains(part)) == must;
                }
            }
            if !fits {
                faults.push(format!("the header {name} is {found:?}, not as {wanted}"));
            }
        }
    }
    faults
}

pub(super) fn site_hits(value: &Value, seen: &Seen<'_>) -> Faults {
    let mut faults = Vec::new();
    for (port, wanted) in value.as_object().into_iter().flatten() {
        let site = seen.observed.sites.get(port).ok_or_else(|| format!("there is no site at {port}"))?;
        faults.extend(count(&format!("hits at {port}"), wanted, site.requests.len()));
    }
    Ok(faults)
}

pub(super) fn site_headers(value: &Value, seen: &Seen<'_>) -> Faults {
    let mut faults = Vec::new();
    for (port, wanted) in value.as_object().into_iter().flatten() {
        let site = seen.observed.sites.get(port).ok_or_else(|| format!("there is no site at {port}"))?;
        faults.extend(headers(wanted, site));
    }
    Ok(faults)
}

pub(super) fn checks(value: &Value, seen: &Seen<'_>) -> Faults {
    let requests = posted(seen);
    let mut faults = Vec::new();
    for check in value.as_array().into_iter().flatten() {
        let on: Vec<&Request> = match &check["on"] {
            Value::String(all) if all == "all" => requests.clone(),
            Value::Array(numbers) => {
                numbers.iter().filter_map(|number| numbered(&requests, number)).collect()
            }
            number => numbered(&requests, number).into_iter().collect(),
        };
        if on.is_empty() && check["if_present"] != true {
            faults.push(format!("request {} was not made", check["on"]));
        }
        for request in on {
            let start = match check.get("find") {
                None => Some(&request.json),
                Some(find) => found(&request.json, find),
            };
            let value = start.and_then(|start| pointed(start, check["pointer"].as_str().unwrap_or_default()));
            if let Some(fault) = one_check(check, value)? {
                faults.push(fault);
            }
        }
    }
    Ok(faults)
}

/// The first element of an array that has this role and this member.
fn found<'a>(body: &'a Value, find: &Value) -> Option<&'a Value> {
    let elements = pointed(body, find["path"].as_str()?)?.as_array()?;
    let wanted = &find["where"];
    elements.iter().find(|element| {
        wanted.as_object().into_iter().flatten().all(|(name, value)| match name.as_str() {
            "has" => value.as_str().is_some_and(|name| element.get(name).is_some()),
            _ => element.get(name) == Some(value),
        })
    })
}

/// A JSON pointer in which `-1` is the last element.
pub(super) fn pointed<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    if pointer.is_empty() {
        return Some(value);
    }
    pointer.strip_prefix('/')?.split('/').try_fold(value, |value, part| match value {
        Value::Array(elements) => {
            let index = match part.strip_prefix('-') {
                Some(back) => elements.len().checked_sub(back.parse().ok()?)?,
                None => part.parse().ok()?,
            };
            elements.get(index)
        }
        _ => value.get(part.replace("~1", "/").replace("~0", "~")),
    })
}

/// The text of a value, or its JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn one_check(check: &Value, value: Option<&Value>) -> Result<Option<String>, String> {
    let wanted = &check["value"];
    let op = check["op"].as_str().unwrap_or_default();
    let fits = match (op, value) {
        ("absent", value) => value.is_none(),
        ("exists", value) => value.is_some(),
        ("not_contains_text", None) => true,
        ("equals" | "matches" | "matches_text" | "contains_text" | "max_len", None) => false,
        ("equals", Some(value)) => value == wanted,
        ("matches" | "matches_text", Some(value)) => {
            let regex = regex::Regex::new(wanted.as_str().unwrap_or_default())
                .map_err(|error| format!("{wanted} is not a regular expression: {error}"))?;
            (op == "matches_text" || value.is_string()) && regex.is_match(&text(value))
        }
        ("contains_text", Some(value)) => text(value).contains(wanted.as_str().unwrap_or_default()),
        ("not_contains_text", Some(value)) => !text(value).contains(wanted.as_str().unwrap_or_default()),
        ("max_len", Some(value)) => value.to_string().len() as u64 <= wanted.as_u64().unwrap_or(0),
        _ => return Err(format!("the driver has no op {op}")),
    };
    if fits {
        return Ok(None);
    }
    let found = value.map_or("absent".to_owned(), |value| match op {
        "max_len" => format!("{} bytes", value.to_string().len()),
        _ => short(value),
    });
    Ok(Some(format!(
        "request {}: {} is {found}, not {op} {}",
        check["on"],
        check["pointer"].as_str().unwrap_or_default(),
        short(wanted)
    )))
}

/// What askls tells the model of the selection stands in the first request.
pub(super) fn selected_text(value: &Value, seen: &Seen<'_>) -> Faults {
    let requests = posted(seen);
    let request = requests.first().ok_or("no request shows what is selected")?;
    let allowed: Vec<&str> = match value {
        Value::Array(allowed) => allowed.iter().filter_map(Value::as_str).collect(),
        one => vec![one.as_str().unwrap_or_default()],
    };
    let mut texts = Vec::new();
    super::rules::all_texts(&request.json, &mut texts);
    let selected = |text: &str| {
        let fence = "```";
        texts.iter().any(|message| {
            message.contains(&format!("{fence}\n{text}\n{fence}"))
                || (text.ends_with('\n') && message.contains(&format!("{fence}\n{text}{fence}")))
                || (text.is_empty() && !message.contains("Selected lines"))
        })
    };
    if allowed.iter().any(|text| selected(text)) {
        return Ok(Vec::new());
    }
    Ok(vec![format!("the model was not told that {allowed:?} is selected")])
}
