//! What is known so far: the outcomes of the calls of this turn, read from the history, and the calls that are
//! still missing. Nothing is remembered elsewhere.

use std::{cell::Cell, collections::HashMap};

use serde_json::{Map, Value};

use crate::{
    model::{Request, ToolChoice, ToolSpec},
    protocol::{Item, UserMessage},
};

use super::outputs::Window;

/// Requests of one turn that may ask for calls. The longest wish (look, read, change, look again) needs five; the
/// bound keeps a turn short whatever the tools answer.
const MAX_STEPS: usize = 6;

/// Calls of one step: what a person would still call one look around.
const MAX_CALLS: usize = 16;

/// A call that a wish needs, before it has an id.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) arguments: Map<String, Value>,
}

impl Call {
    pub(super) fn new(tool: &'static str) -> Self {
        Self { tool, arguments: Map::new() }
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.arguments.insert(name.to_owned(), value.into());
        self
    }

    /// The same with an argument only where there is one.
    pub(super) fn maybe(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

/// What a call answered, or why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// Calls without which a wish cannot go on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Needed(pub(super) Vec<Call>);

/// A call of the history with its outcome.
#[derive(Clone, Debug)]
struct Done<'a> {
    name: &'a str,
    arguments: Map<String, Value>,
    text: &'a str,
    is_error: bool,
}

/// One turn, taken apart: the user's words and the calls that were answered since.
pub(super) struct Turn<'a> {
    pub(super) user: Option<&'a UserMessage>,
    /// Everything before the user's words.
    pub(super) before: &'a [Item],
    /// Calls of this turn that were answered, in their order.
    done: Vec<Done<'a>>,
    tools: &'a [ToolSpec],
    may_call: bool,
    /// The number of the next call's id.
    pub(super) next_id: u64,
}

impl<'a> Turn<'a> {
    pub(super) fn new(request: &Request<'a>) -> Self {
        Self::of(request.items, request.tools, request.tool_choice == ToolChoice::Auto)
    }

    fn of(items: &'a [Item], tools: &'a [ToolSpec], may_call: bool) -> Self {
        let start = items.iter().rposition(|item| matches!(item, Item::User(_))).unwrap_or(0);
        let (before, now) = items.split_at(start);
        let user = now.iter().find_map(|item| match item {
            Item::User(message) => Some(message),
            _ => None,
        });
        let steps = now
            .windows(2)
            .filter(|pair| matches!(pair, [before, Item::Call(_)] if !matches!(before, Item::Call(_))))
            .count();
        let may_call = may_call && steps < MAX_STEPS;
        Self { user, before, done: answered(now), tools, may_call, next_id: next_id(items) }
    }

    /// The turn before this one, in which nothing can be called any more.
    pub(super) fn earlier_turn(&self) -> Option<Turn<'a>> {
        let has_user = self.before.iter().any(|item| matches!(item, Item::User(_)));
        has_user.then(|| Self::of(self.before, self.tools, false))
    }

    /// A board that knows only what was answered from place `since` of this turn on.
    pub(super) fn board(&self, since: usize) -> Board<'_> {
        Board { turn: self, since, seen_until: Cell::new(since) }
    }

    /// Files that were read in this turn, whoever asked for it.
    pub(super) fn read_paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for done in self.done.iter().filter(|done| done.name == "read_file" && !done.is_error) {
            let path = done.arguments.get("path").and_then(Value::as_str);
            if let Some(path) = path.filter(|path| !paths.iter().any(|known| known == path)) {
                paths.push(path.to_owned());
            }
        }
        paths
    }

    /// The file that was read last, and the last line that an answer showed of it.
    pub(super) fn last_window(&self, shown: usize) -> Option<(String, usize)> {
        let done = self.done.iter().rev().find(|done| done.name == "read_file" && !done.is_error)?;
        let path = done.arguments.get("path").and_then(Value::as_str)?;
        let window = Window::parse(done.text)?;
        Some((path.to_owned(), window.last().min(window.first + shown - 1)))
    }
}

/// The calls that have an output, with it.
fn answered(items: &[Item]) -> Vec<Done<'_>> {
    let mut outputs = HashMap::new();
    for item in items {
        if let Item::Output(output) = item {
            outputs.insert(output.call_id.as_str(), output);
        }
    }
    items
        .iter()
        .filter_map(|item| {
            let Item::Call(call) = item else { return None };
            let output = outputs.get(call.id.as_str())?;
            Some(Done {
                name: &call.name,
                arguments: serde_json::from_str(&call.arguments).unwrap_or_default(),
                text: &output.text,
                is_error: output.is_error,
            })
        })
        .collect()
}

const ID_PREFIX: &str = "offline_";

/// A number above those of all ids in the history, whatever was left out of it.
fn next_id(items: &[Item]) -> u64 {
    items
        .iter()
        .filter_map(|item| match item {
            Item::Call(call) => call.id.strip_prefix(ID_PREFIX)?.parse::<u64>().ok(),
            Item::Output(output) => output.call_id.strip_prefix(ID_PREFIX)?.parse::<u64>().ok(),
            _ => None,
        })
        .max()
        .map_or(1, |highest| highest.saturating_add(1))
}

pub(super) fn call_id(number: u64) -> String {
    format!("{ID_PREFIX}{number}")
}

/// The outcomes that one wish may use.
pub(super) struct Board<'a> {
    turn: &'a Turn<'a>,
    since: usize,
    /// The place after the last change that the wish made.
    seen_until: Cell<usize>,
}

/// Tools after which files may be other than they were read.
const CHANGING: &[&str] = &["edit_file", "write_file", "delete_file", "move_file", "run_command"];

impl Board<'_> {
    /// From which place on the outcomes are newer than what the wish changed.
    pub(super) fn seen_until(&self) -> usize {
        self.seen_until.get()
    }

    /// The outcomes of all the calls, in their order, or the calls that must be made first. A call that cannot be
    /// made now has an outcome that says so.
    pub(super) fn ask_all(&self, calls: Vec<Call>) -> Result<Vec<Outcome>, Needed> {
        let mut outcomes = Vec::new();
        let mut needed: Vec<Call> = Vec::new();
        for call in calls {
            let call = match self.fit(call) {
                Ok(call) => call,
                Err(reason) => {
                    outcomes.push(Outcome { text: reason, is_error: true });
                    continue;
                }
            };
            let known = self.turn.done.iter().enumerate().skip(self.since);
            let mut same =
                known.filter(|(_, done)| done.name == call.tool && done.arguments == call.arguments);
            match same.next() {
                Some((place, done)) => {
                    if CHANGING.contains(&call.tool) {
                        self.seen_until.set(self.seen_until.get().max(place + 1));
                    }
                    outcomes.push(Outcome { text: done.text.to_owned(), is_error: done.is_error });
                }
                None if !self.turn.may_call || needed.len() >= MAX_CALLS => outcomes.push(Outcome {
                    text: format!("{} was not called: no more calls are possible in this turn", call.tool),
                    is_error: true,
                }),
                None if needed.contains(&call) => {}
                None => needed.push(call),
            }
        }
        if needed.is_empty() { Ok(outcomes) } else { Err(Needed(needed)) }
    }

    pub(super) fn ask(&self, call: Call) -> Result<Outcome, Needed> {
        let mut outcomes = self.ask_all(vec![call])?;
        // `ask_all` gives an outcome for each call.
        Ok(outcomes.pop().unwrap_or(Outcome { text: "no outcome".to_owned(), is_error: true }))
    }

    /// Leaves out optional arguments that the offered schema does not know; a call that does not fit is not made.
    fn fit(&self, mut call: Call) -> Result<Call, String> {
        let Some(spec) = self.turn.tools.iter().find(|spec| spec.name == call.tool) else {
            return Err(format!("the tool {} is not offered here", call.tool));
        };
        let schema = &spec.parameters;
        if let Some(Value::Object(properties)) = schema.get("properties") {
            call.arguments.retain(|name, _| properties.contains_key(name));
            for (name, value) in &call.arguments {
                if properties.get(name).is_some_and(|property| !has_type(value, property)) {
                    return Err(format!("the tool {} takes another kind of {name} than is known", call.tool));
                }
            }
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !call.arguments.contains_key(name) {
                return Err(format!("the tool {} asks for {name}, which is not known here", call.tool));
            }
        }
        Ok(call)
    }
}

/// Whether a value has a type that the property's schema names; a schema that names none takes anything.
fn has_type(value: &Value, property: &Value) -> bool {
    let is = |name: &str| match name {
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    };
    match property.get("type") {
        Some(Value::String(name)) => is(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    }
}
