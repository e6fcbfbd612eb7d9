//! One entry of the setting `hooks`.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use crate::{
    protocol::HookKind,
    tools::{self, hook::DEFAULT_TIMEOUT},
};

use super::types::{Seconds, Shell};

/// More checks than anybody waits for at each call.
const MOST_HOOKS: usize = 32;

/// A check by a program of the user's: it gets one JSON object and answers `{"decision": "allow"}`, `"deny"` with a `reason`,
/// or `"replace"`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("additionalProperties" = false))]
pub struct HookTable {
    /// What it is asked about: the question, a call before it runs, what a call answered, what the model says.
    pub on: HookKind,
    /// The program and its arguments. A path begins at the root, at the home folder as `~/…`, or at the folder of the settings
    /// file.
    pub command: Shell,
    /// The tools whose calls it is asked about, with `tool` and `tool_output`. Default: all.
    pub tools: Option<Vec<String>>,
    /// Seconds after which it counts as failed.
    #[schemars(extend("default" = DEFAULT_TIMEOUT.as_secs()))]
    pub timeout: Option<Seconds>,
}

/// The setting `hooks`: each entry can be used, or none is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookTables(pub Vec<HookTable>);

impl<'de> Deserialize<'de> for HookTables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Vec::<Value>::deserialize(deserializer)?;
        tables(&entries).map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for HookTables {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Hooks".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Vec::<HookTable>::json_schema(generator);
        schema.insert("maxItems".to_owned(), MOST_HOOKS.into());
        schema
    }
}

/// # Errors
/// What is wrong with the first faulty entry, without the words of its command, which may hold a secret.
pub(super) fn tables(entries: &[Value]) -> Result<Vec<HookTable>, String> {
    if entries.len() > MOST_HOOKS {
        return Err(format!("hooks may hold at most {MOST_HOOKS} tables"));
    }
    let tables = entries.iter().enumerate();
    tables.map(|(index, entry)| table(&format!("hook {}", index + 1), entry)).collect()
}

fn table(place: &str, entry: &Value) -> Result<HookTable, String> {
    let Some(members) = entry.as_object() else {
        return Err(format!(
            "{place} must be a table, such as {{ on = \"tool\", command = [\"/usr/local/bin/check\"] }}"
        ));
    };
    if let Some(name) =
        members.keys().find(|name| !["on", "command", "tools", "timeout"].contains(&name.as_str()))
    {
        let name: String = name.chars().take(super::LONGEST_NAME).collect();
        return Err(format!("{place} has no part {name} (its parts are on, command, tools, timeout)"));
    }
    let fits = |name: &str, fit: fn(&Value) -> bool| members.get(name).is_none_or(fit);
    if !members.get("on").is_some_and(fit::<HookKind>) {
        return Err(format!("{place}: on must be one of input, tool, tool_output, output"));
    }
    if !members.get("command").is_some_and(fit::<Shell>) {
        return Err(format!(
            "{place}: command must be a list such as [\"python3\", \"check.py\"]: the program and its arguments"
        ));
    }
    if !fits("timeout", fit::<Seconds>) {
        return Err(format!("{place}: timeout must be a number of seconds from 0.001 to 86400"));
    }
    let table: HookTable = serde_json::from_value(entry.clone())
        .map_err(|_| format!("{place}: tools must be a list of names of tools, such as [\"run_command\"]"))?;
    match &table.tools {
        None => {}
        Some(_) if !table.on.is_of_calls() => {
            return Err(format!("{place}: tools has a meaning with on = \"tool\" or \"tool_output\" only"));
        }
        Some(tools) if tools.is_empty() => {
            return Err(format!("{place}: tools names no tool: leave it out for all of them"));
        }
        Some(tools) => {
            // A check of a tool that there is not would never be asked.
            if let Some(name) = tools.iter().find(|name| !tools::NAMES.contains(&name.as_str())) {
                let name: String = name.chars().take(super::LONGEST_NAME).collect();
                return Err(format!(
                    "{place}: tools: there is no tool {name}; use some of {}",
                    tools::NAMES.join(", ")
                ));
            }
        }
    }
    Ok(table)
}

fn fit<T: serde::de::DeserializeOwned>(value: &Value) -> bool {
    T::deserialize(value).is_ok()
}

/// An entry as it may be shown: its arguments may be secrets.
pub(super) fn shown(entry: &Value) -> String {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let program = entry.get("command").and_then(|command| command.get(0)).and_then(Value::as_str);
    let tools: Vec<_> = entry.get("tools").and_then(Value::as_array).into_iter().flatten().collect();
    let tools: Vec<_> = tools.into_iter().filter_map(Value::as_str).collect();
    let of = if tools.is_empty() { String::new() } else { format!(" of {}", tools.join(", ")) };
    format!("{}{of}: {}", text("on"), program.unwrap_or_default())
}
