//! The turn as a small model has to see it: what is asked, which files are known, and what was done so far. Nothing is
//! remembered elsewhere; each step is derived from the history alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::{
    model::offline::{
        outputs::{Matches, Window},
        words::{self, Kind},
    },
    protocol::{Item, ToolOutput, UserMessage},
};

use super::{
    names::{Names, ranked},
    subject::Subject,
    wants,
};

/// What a tool does, as far as guiding depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    List,
    Search,
    Read,
    Edit,
    Write,
    /// Moves or deletes.
    Rename,
    Run,
    /// Sees to background jobs, which no guided call starts.
    Job,
    /// Whatever else a face or a plugin offers.
    Other,
}

impl Role {
    pub(super) fn of(tool: &str) -> Self {
        match tool {
            "list_files" => Self::List,
            "search" => Self::Search,
            "read_file" => Self::Read,
            "edit_file" => Self::Edit,
            "write_file" => Self::Write,
            "move_file" | "delete_file" => Self::Rename,
            "run_command" => Self::Run,
            "read_job" | "stop_job" => Self::Job,
            _ => Self::Other,
        }
    }

    /// Whether it changes files.
    pub(super) fn changes(self) -> bool {
        matches!(self, Self::Edit | Self::Write | Self::Rename)
    }
}

/// A call of this turn with its output.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: Map<String, Value>,
    pub(super) output: &'a str,
    pub(super) is_error: bool,
}

impl Step<'_> {
    pub(super) fn role(&self) -> Role {
        Role::of(self.tool)
    }

    /// The lines that it brought to light, without their numbers and without what the tool says about them.
    pub(super) fn lines(&self) -> Vec<String> {
        match self.role() {
            Role::Read => {
                if let Some(window) = Window::parse(self.output) {
                    return window.lines;
                }
            }
            Role::Search => {
                let found = Matches::parse(self.output).matches;
                if !found.is_empty() {
                    return found
                        .into_iter()
                        .map(|found| format!("{}: {}", found.path, found.text.trim()))
                        .collect();
                }
            }
            _ => {}
        }
        self.output.lines().map(str::to_owned).collect()
    }

    /// A text argument.
    pub(super) fn argument(&self, name: &str) -> Option<&str> {
        self.arguments.get(name).and_then(Value::as_str)
    }
}

/// The question of an earlier turn with its answer.
#[derive(Debug)]
pub(super) struct Earlier<'a> {
    pub(super) question: &'a str,
    pub(super) answer: &'a str,
}

/// One turn, taken apart.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) question: &'a str,
    pub(super) context: Option<&'a str>,
    pub(super) earlier: Option<Earlier<'a>>,
    /// The answered calls of this turn, in their order.
    pub(super) steps: Vec<Step<'a>>,
    /// Files that exist as far as is known, the most promising first.
    pub(super) files: Vec<String>,
    /// Folders whose content is not known, where a listing had no room for all.
    pub(super) folders: Vec<String>,
    /// A listing told all files that there are.
    pub(super) is_listed: bool,
    pub(super) subject: Subject,
    /// Paths that the user wrote, whether they exist or not.
    pub(super) named: Vec<String>,
    /// What the user put between quotes.
    pub(super) quoted: Vec<String>,
    /// The user asks for more than an answer.
    pub(super) wants_change: bool,
}

impl<'a> Scene<'a> {
    pub(super) fn of(items: &'a [Item]) -> Self {
        let start = items.iter().rposition(|item| matches!(item, Item::User(_))).unwrap_or(0);
        let (before, now) = items.split_at(start);
        let (question, context) = match now.first() {
            Some(Item::User(UserMessage { text, context })) => (text.as_str(), context.as_deref()),
            _ => ("", None),
        };
        let steps = steps(now);
        let mut names = Names::default();
        for step in self::steps(before).iter().chain(&steps) {
            names.take(step);
        }
        names.take_words(question, context);
        let asked = words::tokens(question);
        let subject = Subject::of(&asked);
        let files = ranked(names.files, question, &subject);
        let texts = |is_wanted: fn(&words::Token) -> bool| {
            asked.iter().filter(|token| is_wanted(token)).map(|token| token.text.trim().to_owned()).collect()
        };
        Self {
            question,
            context,
            earlier: earlier(before),
            steps,
            files,
            folders: if names.are_all { Vec::new() } else { names.folders },
            is_listed: names.are_all,
            subject,
            named: texts(words::Token::is_path),
            quoted: texts(|token| token.kind == Kind::Quoted),
            wants_change: wants::change(&asked, context),
        }
    }

    /// The same call was made in this turn and nothing has changed since.
    pub(super) fn is_done(&self, tool: &str, arguments: &Map<String, Value>) -> bool {
        let unchanged = |step: &&Step<'_>| !step.role().changes() || step.is_error;
        self.steps
            .iter()
            .rev()
            .take_while(unchanged)
            .any(|step| step.tool == tool && step.arguments == *arguments)
            || self.steps.last().is_some_and(|step| step.tool == tool && step.arguments == *arguments)
    }

    /// Files whose text was read in this turn, the last one first.
    pub(super) fn read_files(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        self.steps_of(Role::Read)
            .rev()
            .filter_map(|step| step.argument("path"))
            .filter(|path| seen.insert(*path))
            .collect()
    }

    /// More was seen than the names of files and single lines.
    pub(super) fn has_read(&self) -> bool {
        self.steps.iter().any(|step| !step.is_error && !matches!(step.role(), Role::List | Role::Search))
    }

    /// An edit was staged.
    pub(super) fn has_changed(&self) -> bool {
        self.steps.iter().any(|step| !step.is_error && step.role().changes())
    }

    /// The calls of a role that gave something.
    pub(super) fn steps_of(&self, role: Role) -> impl DoubleEndedIterator<Item = &Step<'a>> {
        self.steps.iter().filter(move |step| step.role() == role && !step.is_error)
    }
}

fn steps(items: &[Item]) -> Vec<Step<'_>> {
    let outputs: BTreeMap<&str, &ToolOutput> = items
        .iter()
        .filter_map(|item| match item {
            Item::Output(output) => Some((output.call_id.as_str(), output)),
            _ => None,
        })
        .collect();
    let mut steps = Vec::new();
    for item in items {
        let Item::Call(call) = item else { continue };
        if let Some(output) = outputs.get(call.id.as_str()) {
            steps.push(Step {
                tool: &call.name,
                // Arguments that are no object belong to a call that was refused.
                arguments: serde_json::from_str(&call.arguments).unwrap_or_default(),
                output: &output.text,
                is_error: output.is_error,
            });
        }
    }
    steps
}

fn earlier(before: &[Item]) -> Option<Earlier<'_>> {
    let asked = before.iter().rposition(|item| matches!(item, Item::User(_)))?;
    let Some(Item::User(message)) = before.get(asked) else { return None };
    let answer = before.get(asked..)?.iter().rev().find_map(|item| match item {
        Item::Agent(message) => Some(message.text.as_str()),
        _ => None,
    })?;
    Some(Earlier { question: &message.text, answer })
}
