//! Case files: one JSON object a file, its base run and its variants, and the placeholders in them.

use std::{fs, path::Path, time::Duration};

use serde_json::{Map, Value};

/// One file.
pub(crate) struct Case {
    pub kind: String,
    pub runs: Vec<Run>,
}

/// The case itself, or one variant of it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub case: String,
    /// `base`, or the variant's name.
    pub name: String,
    pub kind: String,
    pub requires: Vec<String>,
    /// After this the run has failed, whatever it waits for.
    pub wall: Duration,
    pub given: Value,
    pub when: Value,
    pub expect: Value,
}

/// Where a case says nothing: as long as every case of the collection has.
const DEFAULT_WALL_MS: u64 = 20_000;

impl Case {
    /// # Errors
    /// When the text is no case; the message names the member.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let case: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
        let word = |name: &str| {
            case[name].as_str().map(str::to_owned).ok_or_else(|| format!("`{name}` is missing or no text"))
        };
        if case["schema"] != 1 {
            return Err(format!("schema {} is not known, only 1", case["schema"]));
        }
        let (id, kind) = (word("id")?, word("kind")?);
        let requires = case["requires"].as_array().cloned().unwrap_or_default();
        let base = Run {
            case: id,
            name: "base".to_owned(),
            kind: kind.clone(),
            requires: requires.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            wall: Duration::from_millis(case["limits"]["wall_ms"].as_u64().unwrap_or(DEFAULT_WALL_MS)),
            given: case["given"].clone(),
            when: case["when"].clone(),
            expect: case["expect"].clone(),
        };
        let mut runs = vec![base.clone()];
        for variant in case["variants"].as_array().into_iter().flatten() {
            let name = variant["name"].as_str().ok_or("a variant without a name")?.to_owned();
            let mut run = Run { name, ..base.clone() };
            for (target, member) in
                [(&mut run.given, "given"), (&mut run.when, "when"), (&mut run.expect, "expect")]
            {
                if let Some(patch) = variant["patch"].get(member) {
                    merge_patch(target, patch);
                }
            }
            runs.push(run);
        }
        Ok(Self { kind, runs })
    }

    /// # Errors
    /// When the file cannot be read or is no case.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text).map_err(|reason| format!("{}: {reason}", path.display()))
    }
}

impl Run {
    /// Puts values in the place of `${NAME}` everywhere, names of members included.
    pub(crate) fn fill(&mut self, values: &[(&str, String)]) {
        for part in [&mut self.given, &mut self.when, &mut self.expect] {
            fill(part, values);
        }
    }

    /// Whether its steps take away the server's input, output or editor, or tell it to exit: what it still owes then
    /// need not come.
    pub(crate) fn ends_the_conversation(&self) -> bool {
        let steps = self.when["steps"].as_array();
        steps.into_iter().flatten().any(|step| {
            let cuts = ["close_stdin", "close_stdout", "kill_dummy"];
            step["notify"] == "exit" || cuts.iter().any(|name| step.get(name).is_some())
        })
    }

    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.case, self.name)
    }
}

/// RFC 7386: null removes a member, an array is replaced as a whole.
pub(crate) fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(members) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            members.remove(name);
        } else {
            merge_patch(members.entry(name).or_insert(Value::Null), value);
        }
    }
}

/// Puts values in the place of `${NAME}`.
pub(crate) fn fill(value: &mut Value, values: &[(&str, String)]) {
    match value {
        Value::String(text) => *text = filled(text, values),
        Value::Array(elements) => elements.iter_mut().for_each(|element| fill(element, values)),
        Value::Object(members) => {
            let old = std::mem::take(members);
            for (name, mut value) in old {
                fill(&mut value, values);
                members.insert(filled(&name, values), value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

pub(crate) fn filled(text: &str, values: &[(&str, String)]) -> String {
    if !text.contains("${") {
        return text.to_owned();
    }
    let mut text = text.to_owned();
    for (name, value) in values {
        text = text.replace(&format!("${{{name}}}"), value);
    }
    text
}
