//! The shapes in which models write calls as JSON.

use serde_json::{Map, Value};

use super::values;
use crate::model::{ToolSpec, arguments};

/// Under which names a call's tool is found.
const NAMES: [&str; 4] = ["name", "tool", "tool_name", "function"];

/// Under which names its arguments are.
const ARGUMENTS: [&str; 4] = ["arguments", "parameters", "args", "input"];

/// What may stand beside them.
const BESIDE: [&str; 2] = ["type", "id"];

/// The tools that the model was offered.
pub(super) struct Offered {
    tools: Vec<Tool>,
}

struct Tool {
    name: String,
    /// As it stands in JSON.
    quoted: String,
    required: Vec<String>,
    /// The schema of the arguments.
    parameters: Value,
}

/// A whole, valid call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextCall {
    pub(super) name: String,
    pub(super) arguments: String,
    /// The model was offered such a tool.
    pub(super) is_offered: bool,
}

impl Offered {
    pub(super) fn of(tools: &[ToolSpec]) -> Self {
        let required = |tool: &ToolSpec| {
            let names = tool.parameters.get("required").and_then(Value::as_array);
            names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let tools = tools.iter().map(|tool| Tool {
            name: tool.name.clone(),
            quoted: format!("\"{}\"", tool.name),
            required: required(tool),
            parameters: tool.parameters.clone(),
        });
        Self { tools: tools.collect() }
    }

    /// Whether the name of any of them begins like this.
    pub(super) fn has_beginning(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name.starts_with(name.trim_end()))
    }

    /// Whether a text names any of them, in quotes.
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        self.tools.iter().any(|tool| text.contains(&tool.quoted))
    }

    /// The calls that a JSON text is; none when any of them is not whole and valid. `name` is that of the tool where it
    /// stood outside, so that the JSON is its arguments.
    pub(super) fn calls(&self, json: &str, name: Option<&str>) -> Vec<TextCall> {
        let Ok(arguments::Arguments { json: object, .. }) = arguments::read(json) else {
            let list = serde_json::from_str::<Vec<Value>>(json).unwrap_or_default();
            return self.all(&list);
        };
        let Ok(mut value) = serde_json::from_str::<Map<String, Value>>(&object) else { return Vec::new() };
        if let Some(name) = name {
            return self.valid(name, value).into_iter().collect();
        }
        if let (1, Some(Value::Array(list))) = (value.len(), value.get("tool_calls")) {
            return self.all(list);
        }
        // As the Chat wire has it.
        if let Some(Value::Object(inner)) = value.get("function") {
            let inner = inner.clone();
            value.remove("function");
            if value.keys().any(|key| !BESIDE.contains(&key.as_str())) {
                return Vec::new();
            }
            return self.call(inner).into_iter().collect();
        }
        self.call(value).into_iter().collect()
    }

    /// The call whose arguments came as texts; none when one of them cannot be what the tool wants.
    pub(super) fn typed_call(&self, name: &str, arguments: Vec<(String, String)>) -> Option<TextCall> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == name) else {
            return self.valid(name, arguments.into_iter().map(|(name, text)| (name, text.into())).collect());
        };
        let typed = arguments.into_iter().map(|(name, text)| {
            let value = values::typed(&tool.parameters, &name, text)?;
            Some((name, value))
        });
        self.valid(name, typed.collect::<Option<_>>()?)
    }

    fn all(&self, list: &[Value]) -> Vec<TextCall> {
        let mut calls = Vec::new();
        for value in list {
            match self.calls(&value.to_string(), None).as_slice() {
                [call] => calls.push(call.clone()),
                _ => return Vec::new(),
            }
        }
        calls
    }

    fn call(&self, mut object: Map<String, Value>) -> Option<TextCall> {
        let key = NAMES.iter().find(|key| object.get(**key).is_some_and(Value::is_string))?;
        let Value::String(name) = object.remove(*key)? else { return None };
        let arguments = ARGUMENTS.iter().find_map(|key| object.remove(*key)).unwrap_or_default();
        if object.keys().any(|key| !BESIDE.contains(&key.as_str())) {
            return None;
        }
        match arguments {
            Value::Object(arguments) => self.valid(&name, arguments),
            // Of what was not offered only arguments tell that it is a call, and not an object that has a name.
            Value::Null if self.tools.iter().any(|tool| tool.name == name) => self.valid(&name, Map::new()),
            Value::String(text) => {
                let read = arguments::read(&text).ok()?;
                self.valid(&name, serde_json::from_str(&read.json).ok()?)
            }
            _ => None,
        }
    }

    /// The call, if nothing is missing that its tool needs. What a tool needs that was not offered nobody knows.
    fn valid(&self, name: &str, arguments: Map<String, Value>) -> Option<TextCall> {
        let tool = self.tools.iter().find(|tool| tool.name == name);
        let is_whole = |tool: &Tool| tool.required.iter().all(|required| arguments.contains_key(required));
        if name.trim().is_empty() || !tool.is_none_or(is_whole) {
            return None;
        }
        let arguments = Value::Object(arguments).to_string();
        Some(TextCall { name: name.to_owned(), arguments, is_offered: tool.is_some() })
    }
}
