//! A workspace in a map, with small tools over it, and the loop that plays turns with the model. The outputs have the
//! forms that the real tools give.

use std::{collections::BTreeMap, fmt::Write as _};

use regex::RegexBuilder;
use serde_json::{Value, json};

use crate::{
    model::{ModelEvent, Request, ToolChoice, ToolSpec},
    protocol::{Item, ToolCall, ToolOutput, UserMessage},
};

use super::super::{NO_MODEL, reply};

/// Steps after which a turn is called endless.
const TOO_MANY_STEPS: usize = 10;

#[derive(Clone)]
pub(super) struct Project {
    pub(super) files: BTreeMap<String, String>,
    pub(super) tools: Vec<ToolSpec>,
}

impl Project {
    /// From one text: each file begins with `//- path`.
    pub(super) fn new(text: &str) -> Self {
        let mut files = BTreeMap::new();
        for part in text.split("//- ").skip(1) {
            let (path, text) = part.split_once('\n').unwrap();
            files.insert(path.trim().to_owned(), text.to_owned());
        }
        Self { files, tools: tools() }
    }

    /// Plays one turn and returns its items, the user's message first.
    pub(super) fn ask(&mut self, before: &[Item], user: UserMessage) -> Vec<Item> {
        let mut items = before.to_vec();
        items.push(Item::User(user));
        for _ in 0..TOO_MANY_STEPS {
            let produced = self.step(&items, ToolChoice::Auto);
            let calls: Vec<ToolCall> = produced
                .iter()
                .filter_map(|item| match item {
                    Item::Call(call) => Some(call.clone()),
                    _ => None,
                })
                .collect();
            items.extend(produced);
            if calls.is_empty() {
                return items.split_off(before.len());
            }
            for call in calls {
                let (text, is_error) = match self.run(&call) {
                    Ok(text) => (text, false),
                    Err(text) => (text, true),
                };
                items.push(Item::Output(ToolOutput { call_id: call.id, text, is_error }));
            }
        }
        panic!("no answer after {TOO_MANY_STEPS} steps");
    }

    pub(super) fn step(&self, items: &[Item], tool_choice: ToolChoice<'_>) -> Vec<Item> {
        let request = Request {
            instructions: "",
            items,
            tools: &self.tools,
            tool_choice,
            answer_schema: None,
            cache_key: "",
        };
        let mut text = String::new();
        let mut produced = Vec::new();
        for event in reply(&request, NO_MODEL) {
            match event {
                ModelEvent::TextDelta(piece) => text.push_str(&piece),
                ModelEvent::Item(item) => produced.push(item),
                ModelEvent::ReasoningDelta(_)
                | ModelEvent::Used(_)
                | ModelEvent::Unheard(_)
                | ModelEvent::Estimated
                | ModelEvent::Done { .. } => {}
            }
        }
        if let Some(Item::Agent(message)) = produced.last() {
            assert_eq!(message.text, text, "the deltas are the message");
        }
        produced
    }

    pub(super) fn run(&mut self, call: &ToolCall) -> Result<String, String> {
        let spec =
            self.tools.iter().find(|spec| spec.name == call.name).expect("only offered tools are called");
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        for name in arguments.as_object().unwrap().keys() {
            assert!(
                spec.parameters["properties"].get(name).is_some(),
                "{} has no argument {name}",
                call.name
            );
        }
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64).map(|n| n as usize);
        match call.name.as_str() {
            "list_files" => self.list(text("path"), text("glob"), number("depth")),
            "search" => {
                let is_sensitive = arguments.get("case_sensitive") == Some(&json!(true));
                self.search(text("pattern").unwrap(), text("path"), is_sensitive)
            }
            "read_file" => self.read(text("path").unwrap(), number("start_line"), number("end_line")),
            "edit_file" => {
                let all = arguments.get("all") == Some(&json!(true));
                self.edit(text("path").unwrap(), text("find").unwrap(), text("replace").unwrap(), all)
            }
            "write_file" => {
                self.files.insert(text("path").unwrap().to_owned(), text("text").unwrap().to_owned());
                Ok(format!("created {}", text("path").unwrap()))
            }
            "delete_file" => match self.files.remove(text("path").unwrap()) {
                Some(_) => Ok(format!("deleted {}", text("path").unwrap())),
                None => Err(format!("there is no file {}", text("path").unwrap())),
            },
            "move_file" => match self.files.remove(text("from").unwrap()) {
                Some(file) => {
                    self.files.insert(text("to").unwrap().to_owned(), file);
                    Ok("moved".to_owned())
                }
                None => Err(format!("there is no file {}", text("from").unwrap())),
            },
            "run_command" => Ok(format!("exit code 0\nran {}", text("command").unwrap())),
            other => Err(format!("no tool {other}")),
        }
    }

    fn list(&self, under: Option<&str>, glob: Option<&str>, depth: Option<usize>) -> Result<String, String> {
        let prefix = under.filter(|under| *under != ".").map_or(String::new(), |under| format!("{under}/"));
        let mut paths = std::collections::BTreeSet::new();
        for path in self.files.keys().filter(|path| path.starts_with(&prefix)) {
            let parts: Vec<_> = path[prefix.len()..].split('/').collect();
            for level in 1..=parts.len().min(depth.unwrap_or(usize::MAX)) {
                let is_folder = level < parts.len();
                let shown =
                    format!("{prefix}{}{}", parts[..level].join("/"), if is_folder { "/" } else { "" });
                let ending = glob.map(|glob| glob.trim_start_matches('*'));
                if ending.is_none_or(|ending| !is_folder && shown.ends_with(ending)) {
                    paths.insert(shown);
                }
            }
        }
        let is_there = self.files.keys().any(|path| path.starts_with(&prefix));
        if !is_there {
            return Err(format!("there is no folder {}", under.unwrap_or(".")));
        }
        match paths.is_empty() {
            true => Ok(format!("no files in the workspace match {}", glob.unwrap_or_default())),
            false => Ok(paths.into_iter().map(|path| format!("{path}\n")).collect()),
        }
    }

    fn search(&self, pattern: &str, under: Option<&str>, case_sensitive: bool) -> Result<String, String> {
        let regex = RegexBuilder::new(pattern)
            .case_insensitive(!case_sensitive)
            .build()
            .map_err(|error| format!("the pattern is not a regular expression: {error}"))?;
        let mut found = String::new();
        for (path, text) in &self.files {
            let is_below = under
                .is_none_or(|under| under == "." || path == under || path.starts_with(&format!("{under}/")));
            for (number, line) in
                text.lines().enumerate().filter(|(_, line)| is_below && regex.is_match(line))
            {
                writeln!(found, "{path}:{}: {line}", number + 1).unwrap();
            }
        }
        match found.is_empty() {
            true => Ok(format!("no matches for {pattern} in {} files", self.files.len())),
            false => Ok(found),
        }
    }

    fn read(&self, path: &str, first: Option<usize>, last: Option<usize>) -> Result<String, String> {
        let text = self.files.get(path).ok_or_else(|| format!("there is no file {path}"))?;
        let lines: Vec<_> = text.lines().collect();
        if lines.is_empty() {
            return Ok("(the file is empty)".to_owned());
        }
        let first = first.unwrap_or(1);
        let last = last.unwrap_or(usize::MAX).min(lines.len());
        if first > lines.len() {
            return Err(format!("start_line {first} is past the end; {path} has {} lines", lines.len()));
        }
        let mut window = format!("{path} (lines {first}-{last} of {})\n", lines.len());
        for number in first..=last {
            writeln!(window, "{number:>6}\t{}", lines[number - 1]).unwrap();
        }
        Ok(window)
    }

    fn edit(&mut self, path: &str, find: &str, replace: &str, all: bool) -> Result<String, String> {
        let text = self.files.get_mut(path).ok_or_else(|| format!("there is no file {path}"))?;
        match text.matches(find).count() {
            0 => return Err(format!("the text to find does not stand in {path}")),
            1 => {}
            _ if all => {}
            count => return Err(format!("the text to find stands {count} times in {path}; make it unique")),
        }
        *text = text.replace(find, replace);
        Ok(format!("edited {path}"))
    }
}

fn tools() -> Vec<ToolSpec> {
    let spec = |name: &str, required: &[&str], properties: Value| ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}),
    };
    let text = || json!({"type": "string"});
    let maybe = || json!({"type": ["string", "null"]});
    let number = || json!({"type": "integer"});
    vec![
        spec("list_files", &[], json!({"path": maybe(), "glob": maybe(), "depth": number()})),
        spec(
            "search",
            &["pattern"],
            json!({"pattern": text(), "path": maybe(), "glob": maybe(), "case_sensitive": {"type": "boolean"}}),
        ),
        spec("read_file", &["path"], json!({"path": text(), "start_line": number(), "end_line": number()})),
        spec(
            "edit_file",
            &["path", "find", "replace"],
            json!({"path": text(), "find": text(), "replace": text(), "all": {"type": "boolean"}}),
        ),
        spec("write_file", &["path", "text"], json!({"path": text(), "text": text()})),
        spec("delete_file", &["path"], json!({"path": text()})),
        spec("move_file", &["from", "to"], json!({"from": text(), "to": text()})),
        spec("run_command", &["command"], json!({"command": text(), "timeout": number()})),
    ]
}

/// A history as plain lines.
pub(super) fn lines(items: &[Item]) -> String {
    let mut text = String::new();
    for item in items {
        match item {
            Item::User(user) => writeln!(text, "user: {}", user.text),
            Item::Agent(agent) => {
                let answer = agent.text.rsplit_once("\n\n").map_or("", |(answer, _)| answer);
                writeln!(text, "agent: {answer}")
            }
            Item::Call(call) => writeln!(
                text,
                "call {}: {} {}",
                call.id.trim_start_matches("offline_"),
                call.name,
                call.arguments
            ),
            Item::Output(output) if output.is_error => writeln!(text, "error: {}", output.text),
            Item::Output(output) => writeln!(text, "output: {} lines", output.text.lines().count()),
            Item::Reasoning(_) | Item::Opaque(_) => Ok(()),
        }
        .unwrap();
    }
    text
}

pub(super) fn user(text: &str) -> UserMessage {
    UserMessage { text: text.to_owned(), context: None }
}

pub(super) const RUST: &str = r#"//- Cargo.toml
[package]
name = "larder"
version = "0.3.0"
edition = "2024"
description = "Keeps web pages for a while"

[dependencies]
serde = "1"
//- README.md
# Larder

Larder keeps web pages on disk and throws them away when they are old.

## Use

Run `larder fetch URL`. Entries expire after an hour.
//- src/main.rs
//! The command line.

mod cache;

use cache::{Cache, Entry};

fn main() {
    let mut cache = Cache::new(MAX_ENTRIES);
    cache.insert("a", Entry::default());
    // TODO: read the arguments
    println!("{}", cache.len());
}

const MAX_ENTRIES: usize = 100;
//- src/cache.rs
//! Pages by their address. Old ones are evicted.

use std::time::Instant;

/// One page.
#[derive(Default)]
pub struct Entry {
    pub body: String,
    pub fetched_at: Option<Instant>,
}

/// All pages; at most so many.
pub struct Cache {
    entries: Vec<(String, Entry)>,
    limit: usize,
}

impl Cache {
    pub fn new(limit: usize) -> Self {
        Self { entries: Vec::new(), limit }
    }

    /// Adds a page; when the cache is full, the oldest is evicted.
    pub fn insert(&mut self, address: &str, entry: Entry) {
        if self.entries.len() >= self.limit {
            self.evict_oldest();
        }
        self.entries.push((address.to_owned(), entry));
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    // TODO: measure this
    fn evict_oldest(&mut self) {
        self.entries.remove(0);
    }
}
//- tests/cache.rs
#[test]
fn insert_evicts() {
    let mut cache = larder::Cache::new(1);
    cache.insert("a", Default::default());
}
"#;

pub(super) const PYTHON: &str = r#"//- pyproject.toml
[project]
name = "payroll"
version = "1.4.2"
description = "Computes wages"
//- payroll/__init__.py
from .wages import compute_wage
//- payroll/wages.py
"""Wages from hours and rates.

Overtime counts one and a half times."""

OVERTIME_FACTOR = 1.5

class Employee:
    def __init__(self, name, rate):
        self.name = name
        self.rate = rate

def compute_wage(employee, hours):
    """The wage of one week."""
    normal = min(hours, 40)
    overtime = max(hours - 40, 0)
    return employee.rate * (normal + overtime * OVERTIME_FACTOR)
//- payroll/report.py
import csv

from .wages import compute_wage

def write_report(path, employees):
    with open(path, "w") as out:
        writer = csv.writer(out)
        for employee, hours in employees:
            writer.writerow([employee.name, compute_wage(employee, hours)])
//- tests/test_wages.py
from payroll import compute_wage

def test_overtime():
    assert compute_wage is not None
"#;

pub(super) const WEB: &str = r#"//- package.json
{
  "name": "pinboard",
  "version": "2.0.1",
  "scripts": {
    "start": "node server.js",
    "test": "vitest"
  }
}
//- server.js
// Serves the pins.
const http = require("http");
const { loadPins } = require("./lib/pins");

const PORT = 8080;

function handleRequest(request, response) {
  if (request.headers.authorization !== process.env.TOKEN) {
    response.writeHead(401);
    return response.end("no");
  }
  response.end(JSON.stringify(loadPins()));
}

http.createServer(handleRequest).listen(PORT);
//- lib/pins.js
export class PinStore {
  constructor(path) {
    this.path = path;
  }
  async load() {
    return [];
  }
}

export const loadPins = () => new PinStore("pins.json").load();
//- index.html
<!doctype html>
<title>Pins</title>
<main id="pins"></main>
<script src="app.js"></script>
//- style.css
:root { --accent: teal; }
.pin { color: var(--accent); }
.pin:hover { color: red; }
//- docs/setup guide.md
# Setting up

Set `TOKEN` before you start the server.

## Troubleshooting

A 401 means that the token is wrong.
"#;
