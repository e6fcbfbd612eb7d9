//! What can be done next: the offered tools with arguments bound to what exists, as a JSON schema, and the reply to it
//! read back.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::model::{Request, ToolChoice, ToolSpec, offline::outputs::Window};

use super::{
    names::is_end_of,
    scene::{Role, Scene},
};

/// Files that are offered at once: about 500 tokens.
pub(super) const MOST_FILES: usize = 60;

/// Files among which the right one is found by its name.
const FEW_FILES: usize = 15;

/// Lines of one file that an edit can be about: servers turn each into rules of a grammar.
const MOST_LINES: usize = 150;

/// Files that an edit can be about: those that were read last.
const MOST_EDITABLE: usize = 3;

/// Characters of a text that the model makes up: it would fill the window otherwise when it loses its thread.
const LONGEST_WORD: usize = 120;
const LONGEST_TEXT: usize = 1_200;

/// The name under which the answer is offered beside the tools.
pub(super) const ANSWER: &str = "answer";

/// The member of a reply that says what to do.
pub(super) const ACTION: &str = "action";

/// One way to call a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Action {
    pub(super) tool: String,
    /// What the tool is for, where guiding does not know it.
    pub(super) purpose: String,
    members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq)]
struct Member {
    name: String,
    value: Allowed,
}

#[derive(Clone, Debug, PartialEq)]
enum Allowed {
    /// One of these, as it is shown to the model and as it goes to the tool.
    OneOf(Vec<(String, Value)>),
    /// Any text up to so many characters.
    Text(usize),
    /// What the tool's own schema says.
    Schema(Value),
}

/// A reply, understood.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reply {
    Answer,
    Call { tool: String, arguments: Map<String, Value> },
}

/// What can be done in a step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Actions {
    pub(super) calls: Vec<Action>,
    pub(super) may_answer: bool,
}

impl Actions {
    /// `None`: nothing but the answer is left.
    pub(super) fn of(request: &Request<'_>, scene: &Scene<'_>) -> Option<Self> {
        let offered: Vec<&ToolSpec> = match request.tool_choice {
            ToolChoice::None => return None,
            ToolChoice::Named(name) => request.tools.iter().filter(|tool| tool.name == name).collect(),
            ToolChoice::Auto | ToolChoice::Required => request.tools.iter().collect(),
        };
        let knows_nothing = scene.files.is_empty() && scene.steps.is_empty();
        let listing = offered.iter().copied().find(|tool| Role::of(&tool.name) == Role::List);
        let mut calls: Vec<Action> = match listing.filter(|_| knows_nothing) {
            // Looking around comes first: nothing else can be bound to what exists.
            Some(listing) => actions(listing, scene),
            None => offered.iter().flat_map(|tool| actions(tool, scene)).collect(),
        };
        let must_call = request.tool_choice != ToolChoice::Auto;
        if calls.is_empty() && must_call {
            calls = offered.iter().map(|tool| free(tool)).collect();
        }
        if calls.is_empty() {
            return None;
        }
        let may_answer = !must_call && (scene.has_read() || !calls.iter().any(Action::looks));
        Some(Self { calls, may_answer })
    }

    /// The one call that can be made, where there is nothing to choose.
    pub(super) fn only(&self) -> Option<Reply> {
        let [action] = self.calls.as_slice() else { return None };
        if self.may_answer {
            return None;
        }
        let arguments = action.members.iter().map(|member| match &member.value {
            Allowed::OneOf(values) => match values.as_slice() {
                [(_, value)] => Some((member.name.clone(), value.clone())),
                _ => None,
            },
            Allowed::Text(_) | Allowed::Schema(_) => None,
        });
        Some(Reply::Call { tool: action.tool.clone(), arguments: arguments.collect::<Option<_>>()? })
    }

    /// The schema that binds a reply.
    pub(super) fn schema(&self) -> Value {
        let mut all: Vec<Value> = self.calls.iter().map(Action::schema).collect();
        if self.may_answer {
            all.push(object([(ACTION.to_owned(), json!({"const": ANSWER}))]));
        }
        json!({"anyOf": all})
    }

    /// Reads a reply; `None` when it is no action that was offered. Fences and words around the object are forgiven:
    /// servers that bind nothing exist.
    pub(super) fn read(&self, reply: &str) -> Option<Reply> {
        let from = reply.find('{')?;
        let mut values =
            serde_json::Deserializer::from_str(reply.get(from..)?).into_iter::<Map<String, Value>>();
        let said = values.next()?.ok()?;
        let name = said.get(ACTION)?.as_str()?;
        if name == ANSWER && self.may_answer {
            return Some(Reply::Answer);
        }
        self.calls.iter().filter(|action| action.tool == name).find_map(|action| action.read(&said))
    }
}

impl Action {
    fn new(tool: &ToolSpec) -> Self {
        Self {
            tool: tool.name.clone(),
            purpose: super::shorten::cut(&tool.description, LONGEST_WORD),
            members: Vec::new(),
        }
    }

    fn with(mut self, name: &str, value: Allowed) -> Self {
        self.members.push(Member { name: name.to_owned(), value });
        self
    }

    /// Whether it brings files or their text to light.
    fn looks(&self) -> bool {
        matches!(Role::of(&self.tool), Role::List | Role::Read | Role::Search)
    }

    fn schema(&self) -> Value {
        let members = self.members.iter().map(|member| {
            let schema = match &member.value {
                Allowed::OneOf(values) => {
                    json!({"enum": values.iter().map(|(shown, _)| shown).collect::<Vec<_>>()})
                }
                Allowed::Text(most) => json!({"type": "string", "maxLength": most}),
                Allowed::Schema(schema) => schema.clone(),
            };
            (member.name.clone(), schema)
        });
        object([(ACTION.to_owned(), json!({"const": self.tool}))].into_iter().chain(members))
    }

    fn read(&self, said: &Map<String, Value>) -> Option<Reply> {
        let mut arguments = Map::new();
        for member in &self.members {
            let value = said.get(&member.name)?;
            let value = match &member.value {
                Allowed::OneOf(values) => {
                    let said = value.as_str()?;
                    values.iter().find(|(shown, _)| shown == said).map(|(_, value)| value.clone())?
                }
                Allowed::Text(most) => {
                    value.as_str().filter(|text| text.chars().count() <= *most)?;
                    value.clone()
                }
                Allowed::Schema(_) => value.clone(),
            };
            arguments.insert(member.name.clone(), value);
        }
        Some(Reply::Call { tool: self.tool.clone(), arguments })
    }
}

/// An object of just these members, all required, in this order where the server keeps it.
fn object(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    let members: Map<String, Value> = members.into_iter().collect();
    let required: Vec<&String> = members.keys().collect();
    json!({"type": "object", "properties": members, "required": required, "additionalProperties": false})
}

/// The ways to call one tool now.
fn actions(tool: &ToolSpec, scene: &Scene<'_>) -> Vec<Action> {
    let action = Action::new(tool);
    match Role::of(&tool.name) {
        Role::List => list(action, scene),
        Role::Search => search(action, scene),
        Role::Read => read(action, scene),
        Role::Edit if scene.wants_change => edit(&action, scene),
        Role::Write if scene.wants_change => write(action, scene),
        Role::Rename if scene.wants_change => rename(action, tool, scene),
        Role::Run if scene.wants_change => run(action, scene),
        Role::Edit | Role::Write | Role::Rename | Role::Run | Role::Job => Vec::new(),
        Role::Other => other(action, tool, scene),
    }
}

fn list(action: Action, scene: &Scene<'_>) -> Vec<Action> {
    if scene.steps_of(Role::List).next().is_none() && !scene.is_listed {
        return vec![action];
    }
    one_of(action, "path", scene.folders.iter().map(String::as_str))
}

/// For a word of the question that was not searched for yet. Where there are few files, their names tell enough: small
/// models take a line that was found for the answer, and do not read what stands around it.
fn search(action: Action, scene: &Scene<'_>) -> Vec<Action> {
    if scene.is_listed && scene.files.len() <= FEW_FILES {
        return Vec::new();
    }
    let searched: BTreeSet<&str> = scene.steps.iter().filter_map(|step| step.argument("pattern")).collect();
    let words: Vec<_> = scene
        .subject
        .words
        .iter()
        .filter(|word| !searched.contains(word.pattern.as_str()))
        .map(|word| (word.shown.clone(), word.pattern.clone().into()))
        .collect();
    if words.is_empty() { Vec::new() } else { vec![action.with("pattern", Allowed::OneOf(words))] }
}

fn read(action: Action, scene: &Scene<'_>) -> Vec<Action> {
    // Once is enough, and what could not be read stays so.
    let tried: BTreeSet<&str> = scene
        .steps
        .iter()
        .filter(|step| step.role() == Role::Read)
        .filter_map(|step| step.argument("path"))
        .collect();
    one_of(action, "path", scene.files.iter().map(String::as_str).filter(|file| !tried.contains(file)))
}

/// One action a file that was read: what is replaced is one of its lines.
fn edit(action: &Action, scene: &Scene<'_>) -> Vec<Action> {
    let mut actions = Vec::new();
    for file in scene.read_files().into_iter().take(MOST_EDITABLE) {
        let lines = editable_lines(scene, file);
        if !lines.is_empty() {
            let find = lines.into_iter().map(|line| (line.clone(), line.into())).collect();
            actions.push(
                action
                    .clone()
                    .with("path", Allowed::OneOf(vec![(file.to_owned(), file.into())]))
                    .with("find", Allowed::OneOf(find))
                    .with("replace", Allowed::Text(LONGEST_TEXT)),
            );
        }
    }
    actions
}

/// The lines of a file that stand in it only once, those first that hold most of the question.
fn editable_lines(scene: &Scene<'_>, file: &str) -> Vec<String> {
    let output = scene.steps_of(Role::Read).rev().find(|step| step.argument("path") == Some(file));
    let Some(window) = output.and_then(|step| Window::parse(step.output)) else { return Vec::new() };
    let text = window.lines.join("\n");
    let trimmed: Vec<&str> = window.lines.iter().map(|line| line.trim()).collect();
    let weights = scene.subject.weigh(&trimmed);
    let mut lines: Vec<(u32, &str)> =
        weights.into_iter().zip(trimmed).filter(|(_, line)| !line.is_empty()).collect();
    lines.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    lines.truncate(MOST_LINES);
    lines.retain(|(_, line)| text.matches(line).take(2).count() == 1);
    lines.into_iter().map(|(_, line)| line.to_owned()).collect()
}

/// Only a new file that the user named: a text as long as a whole file is more than a small model rewrites without a
/// fault.
fn write(action: Action, scene: &Scene<'_>) -> Vec<Action> {
    let exists = |name: &&String| scene.files.iter().any(|file| is_end_of(name, file));
    let new = scene.named.iter().filter(|name| !exists(name)).map(String::as_str);
    one_of(action, "path", new)
        .into_iter()
        .map(|action| action.with("text", Allowed::Text(LONGEST_TEXT)))
        .collect()
}

/// Only of files that the user named, and to names that the user wrote.
fn rename(mut action: Action, tool: &ToolSpec, scene: &Scene<'_>) -> Vec<Action> {
    let meant = |file: &&String| scene.named.iter().any(|name| is_end_of(name, file));
    for (name, _) in required(tool) {
        let texts: Vec<&String> = match name {
            "path" | "from" => scene.files.iter().filter(meant).collect(),
            _ => scene.named.iter().collect(),
        };
        let Some(bound) = one_of(action, name, texts.into_iter().map(String::as_str)).pop() else {
            return Vec::new();
        };
        action = bound;
    }
    vec![action]
}

/// Only a command that the user put between quotes.
fn run(action: Action, scene: &Scene<'_>) -> Vec<Action> {
    one_of(action, "command", scene.quoted.iter().map(String::as_str))
}

/// By the tool's own schema: what it requires, and nothing else. Paths are files that exist.
fn other(mut action: Action, tool: &ToolSpec, scene: &Scene<'_>) -> Vec<Action> {
    for (name, schema) in required(tool) {
        if matches!(name, "path" | "file" | "file_path" | "filename" | "from") {
            let files = scene.files.iter().map(String::as_str);
            let Some(bound) = one_of(action, name, files).pop() else { return Vec::new() };
            action = bound;
        } else {
            action = action.with(name, allowed(schema));
        }
    }
    vec![action]
}

/// By the tool's own schema, with nothing bound to what exists: for a call that has to be made.
fn free(tool: &ToolSpec) -> Action {
    required(tool).fold(Action::new(tool), |action, (name, schema)| action.with(name, allowed(schema)))
}

/// What a member may be by its schema alone.
fn allowed(schema: &Value) -> Allowed {
    let is_text =
        schema.get("type").and_then(Value::as_str) == Some("string") && schema.get("enum").is_none();
    // A reference leads nowhere outside of the tool's whole schema.
    if is_text || schema.to_string().contains("\"$ref\"") {
        return Allowed::Text(LONGEST_WORD);
    }
    Allowed::Schema(schema.clone())
}

fn required(tool: &ToolSpec) -> impl Iterator<Item = (&str, &Value)> {
    let names = tool.parameters.get("required").and_then(Value::as_array);
    let properties = tool.parameters.get("properties").and_then(Value::as_object);
    names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter_map(move |name| Some((name, properties?.get(name)?)))
}

fn one_of<'a>(action: Action, name: &str, values: impl Iterator<Item = &'a str>) -> Vec<Action> {
    let values: Vec<_> = values.take(MOST_FILES).map(|value| (value.to_owned(), value.into())).collect();
    if values.is_empty() { Vec::new() } else { vec![action.with(name, Allowed::OneOf(values))] }
}
