//! Holds what a run showed against what its case expects. Every member of `expect` has its check here; one that has none
//! makes the run one that cannot be expressed, so that nothing passes unseen.

mod disk;
mod endings;
mod messages;
mod requests;
mod rules;
mod tables;

use serde_json::Value;

use crate::{
    case::Run,
    observed::{Observed, Request},
    world::World,
};

/// What a check looks at.
pub(crate) struct Seen<'a> {
    pub run: &'a Run,
    pub world: &'a World,
    pub observed: &'a Observed,
}

/// What came out of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Pass,
    Fail(Vec<String>),
    /// Why this driver, or askls, has no words for it.
    NotExpressed(String),
}

/// `Err` says what cannot be expressed.
pub(crate) type Faults = Result<Vec<String>, String>;

pub(crate) fn judge(seen: &Seen<'_>) -> Verdict {
    let Checked { faults, unexpressed } = all(&seen.run.expect, seen);
    let faults = [common(seen), faults].concat();
    match unexpressed {
        _ if !faults.is_empty() => Verdict::Fail(faults),
        Some(reason) => Verdict::NotExpressed(reason),
        None => Verdict::Pass,
    }
}

/// What a whole `expect` came to: a fault counts even where something else could not be looked at.
struct Checked {
    faults: Vec<String>,
    unexpressed: Option<String>,
}

/// What holds in every run without being written down.
fn common(seen: &Seen<'_>) -> Vec<String> {
    let mut faults = seen.observed.faults.clone();
    faults.extend(messages::responses(seen));
    faults
}

/// All members of one `expect`, or of one alternative of `one_of`.
fn all(expect: &Value, seen: &Seen<'_>) -> Checked {
    let mut checked = Checked { faults: Vec::new(), unexpressed: None };
    // A variant takes a member away with null.
    let members = expect.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    for (name, value) in members {
        match one(name, value, expect, seen) {
            Ok(faults) => checked.faults.extend(faults),
            Err(reason) => checked.unexpressed = Some(reason),
        }
    }
    checked
}

fn one(name: &str, value: &Value, expect: &Value, seen: &Seen<'_>) -> Faults {
    match name {
        "one_of" => one_of(value, seen),
        "outcome" | "outcomes" | "outcomes_any" => endings::outcomes(name, value, seen),
        "final_text" | "final_texts" => endings::texts(name, value, seen),
        "error" => endings::error(value, seen),
        "usage" => endings::usage(value, seen),
        "tool_calls" => endings::tool_calls(value, seen),
        "asked_for" => endings::asked_for(value, seen),
        "approval_asked" => Ok(endings::approval_asked(value, seen)),
        "results" => endings::results(value, seen),
        "elapsed_ms" => Ok(endings::duration("the run", value, seen.observed.elapsed)),
        "elapsed_after_cancel_ms" => Ok(endings::after_cancel(value, seen)),
        "provider_connection_closed_within_ms" => Ok(endings::connection_closed(value, seen)),
        "files" => Ok(disk::files(value, &seen.world.workspace)),
        "outside_files" => Ok(disk::files(value, &seen.world.outside)),
        "disk_any" => Ok(disk::any(value, &seen.world.workspace)),
        "dir_listing" => Ok(disk::listing(value, &seen.world.workspace)),
        "buffers" => Ok(disk::buffers(value, seen)),
        "edit_version" => Ok(disk::edit_version(value, seen)),
        "edits_in_bounds" => Ok(seen.observed.edit_faults.clone()),
        "edit_uri" => Ok(disk::edit_uri(seen)),
        // For orientation only.
        "reference_range" => Ok(Vec::new()),
        "selected_text" | "selected_text_any" => requests::selected_text(value, seen),
        "requests" => Ok(requests::count("requests", value, seen.observed.provider.requests.len())),
        "connections" => Ok(requests::count("connections", value, seen.observed.provider.connections)),
        "request_paths" => Ok(requests::paths(value, seen)),
        "request_headers" => Ok(requests::headers(value, &seen.observed.provider)),
        "request_checks" => requests::checks(value, seen),
        "request_rules" => rules::check(value, seen),
        "site_hits" => requests::site_hits(value, seen),
        "site_headers" => requests::site_headers(value, seen),
        "forbid_text" => Ok(messages::forbidden(value, &expect["forbid_scopes"], seen)),
        "forbid_scopes" => Ok(Vec::new()),
        "must" => messages::must(value, seen),
        "must_not" => messages::must_not(value, seen),
        // Reported beside the verdict.
        "should" => Ok(Vec::new()),
        "responses" => messages::labelled_responses(value, seen),
        "lsp_rules" => messages::rules(value, seen),
        "process" => messages::process(value, seen),
        "server_alive" => Ok(messages::alive(value, seen)),
        "lsp_still_answers" => Ok(messages::still_answers(value, seen)),
        "server_rss_growth_mb" => messages::growth(value, seen),
        // Looked at where the processes are.
        "cleanup" => Ok(Vec::new()),
        "decisions" => endings::decisions(value, seen),
        "all_rows" => tables::all_rows(value, seen),
        "same_as" => tables::same_as(seen),
        "round_trip" => tables::round_trip(seen),
        "paths_any" => tables::paths_any(value, seen),
        "errors" => tables::errors(value, seen),
        _ => Err(format!("the driver has no check for expect.{name}")),
    }
}

/// At least one alternative holds completely.
fn one_of(value: &Value, seen: &Seen<'_>) -> Faults {
    let mut reasons = Vec::new();
    for (number, alternative) in value.as_array().into_iter().flatten().enumerate() {
        let Checked { faults, unexpressed } = all(alternative, seen);
        match unexpressed {
            None if faults.is_empty() => return Ok(Vec::new()),
            Some(reason) if faults.is_empty() => return Err(reason),
            _ => reasons.push(format!("alternative {}: {}", number + 1, faults.join(", "))),
        }
    }
    Ok(vec![format!("no alternative holds: {}", reasons.join("; "))])
}

/// What one rule finds in one request, for the test of the driver.
pub(crate) fn rule_faults(rule: &str, request: &Request, args: &Value) -> Faults {
    rules::one(rule, request, args, &[request])
}

/// Members of `should` that do not hold; they are told and fail nothing.
pub(crate) fn wishes(seen: &Seen<'_>) -> Vec<String> {
    match &seen.run.expect["should"] {
        Value::Null => Vec::new(),
        should => messages::must(should, seen).unwrap_or_default(),
    }
}

/// A value in a message, short enough for a line.
pub(crate) fn short(value: &impl ToString) -> String {
    const LONGEST: usize = 300;
    let text = value.to_string().replace('\n', "\\n");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// `contains` (all), `contains_all`, `contains_any` (one), `not_contains` (none) and `matches` of an object about a text;
/// each a text or a list of texts.
pub(crate) fn text_faults(what: &str, wanted: &Value, text: &str) -> Vec<String> {
    let list = |name: &str| -> Vec<String> {
        match &wanted[name] {
            Value::String(one) => vec![one.clone()],
            Value::Array(many) => many.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        }
    };
    let mut faults = Vec::new();
    if let Some(equal) = wanted["equals"].as_str()
        && equal != text
    {
        faults.push(format!("{what} is {:?}, not {:?}", short(&text), short(&equal)));
    }
    for part in [list("contains"), list("contains_all")].concat() {
        if !text.contains(&part) {
            faults.push(format!("{what} lacks {part:?}: {:?}", short(&text)));
        }
    }
    let any = list("contains_any");
    if !any.is_empty() && !any.iter().any(|part| text.contains(part)) {
        faults.push(format!("{what} has none of {any:?}: {:?}", short(&text)));
    }
    for part in list("not_contains") {
        if text.contains(&part) {
            faults.push(format!("{what} contains {part:?}: {:?}", short(&text)));
        }
    }
    for pattern in list("matches") {
        match regex::Regex::new(&pattern) {
            Ok(regex) if regex.is_match(text) => {}
            Ok(_) => faults.push(format!("{what} does not match {pattern}: {:?}", short(&text))),
            Err(error) => faults.push(format!("{pattern} is not a regular expression: {error}")),
        }
    }
    faults
}
