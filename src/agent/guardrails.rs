//! Guardrails: hooks of the user that see what goes into a turn, what its calls do and answer, and what the model says,
//! and that let it pass, stop it or replace it. What no hook lets pass does not pass: one that fails, is late or answers
//! anything else has said no.

mod calls;
mod program;
mod words;

use std::{fmt, panic::AssertUnwindSafe, path::PathBuf, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    protocol::{Event, HookAction, HookKind, ThreadId},
    tools::{hook::HookFault, output::one_line},
    workspace::keys,
};

pub use program::{Hook, Watched};

use super::Events;
pub(super) use calls::{Before, after, before};
pub(super) use words::{admit, judge};

/// Longest reason of a hook, in characters: a few sentences.
const MAX_REASON_CHARS: usize = 500;

/// What a hook is asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Matter {
    Input {
        /// The user's words; not empty.
        text: String,
        /// What the model is told beside them: the open file, the selection. It goes with the words, and cannot be replaced.
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<String>,
    },
    Tool {
        tool: &'static str,
        /// An object, as the tool will read it.
        arguments: Value,
    },
    ToolOutput {
        tool: &'static str,
        arguments: Value,
        output: String,
        is_error: bool,
        /// The tool whose output it is part of, where that is another one: hooks of that tool are asked too.
        #[serde(skip_serializing_if = "Option::is_none")]
        repeats: Option<&'static str>,
    },
    Output {
        /// What the model says in one step; not empty.
        text: String,
        /// Whether it is the answer, and not said beside calls.
        is_last: bool,
    },
}

/// A hook's word on a matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Deny {
        reason: Option<String>,
    },
    /// Allows this in the place of what it saw: an object for arguments, else a text.
    Replace(Value),
}

/// One question to a hook.
#[derive(Debug, Serialize)]
pub struct Asked<'a> {
    #[serde(flatten)]
    pub matter: &'a Matter,
    pub thread: &'a ThreadId,
    /// The number of the turn in its thread; the first is 1.
    pub turn: u32,
    /// The folders of the workspace.
    pub workspace: &'a [PathBuf],
}

/// Something that may stop what it is asked about.
pub trait Guard: Send + Sync {
    /// As people call it.
    fn name(&self) -> &str;

    /// Whether it wants to be asked about matters of that kind; `tool` is the tool of those that are about a call.
    fn watches(&self, kind: HookKind, tool: Option<&str>) -> bool;

    /// # Errors
    /// Why there is no verdict, which counts as a no.
    fn judge<'a>(
        &'a self,
        asked: Asked<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Verdict, HookFault>>;
}

/// The hooks of a turn, in the order in which they are asked.
#[derive(Clone, Default)]
pub struct Guardrails {
    guards: Arc<[Arc<dyn Guard>]>,
    turn: Option<Arc<TurnNames>>,
}

/// What hooks are told of the turn.
#[derive(Debug)]
struct TurnNames {
    thread: ThreadId,
    number: u32,
    workspace: Vec<PathBuf>,
}

/// What became of a matter.
pub(super) enum Checked {
    Passed {
        matter: Matter,
        /// The hook that replaced it last; `None` when it is as it was.
        changed_by: Option<String>,
    },
    Denied(No),
    /// The turn was cancelled before all hooks had their say: nobody has let it pass.
    Cancelled,
}

/// Who said no and why.
pub(super) struct No {
    /// For people.
    told: String,
    /// For the model. Not what a hook that failed wrote as its error: what may not pass may stand in it.
    to_model: String,
}

impl Guardrails {
    pub fn new(guards: impl IntoIterator<Item = Arc<dyn Guard>>) -> Self {
        Self { guards: guards.into_iter().collect(), turn: None }
    }

    /// The same in one turn of a thread.
    pub(super) fn in_turn(&self, thread: ThreadId, number: u32, workspace: Vec<PathBuf>) -> Self {
        let turn = Some(Arc::new(TurnNames { thread, number, workspace }));
        Self { guards: Arc::clone(&self.guards), turn }
    }

    /// Whether any hook is to be asked.
    pub(super) fn watch(&self, kind: HookKind, tool: Option<&str>) -> bool {
        self.guards.iter().any(|guard| guard.watches(kind, tool))
    }

    /// Asks the hooks one after the other, each about what the one before made of it; the first no ends it. `call_id` is the
    /// call that it is about.
    async fn check(
        &self,
        mut matter: Matter,
        call_id: Option<&str>,
        cancel: &CancellationToken,
        events: &Events<'_>,
    ) -> Checked {
        let mut changed_by = None;
        let (kind, tools) = (matter.kind(), matter.tools());
        let unknown = TurnNames { thread: ThreadId::from(""), number: 0, workspace: Vec::new() };
        let turn = self.turn.as_deref().unwrap_or(&unknown);
        for guard in self.guards.iter().filter(|guard| tools.iter().any(|tool| guard.watches(kind, *tool))) {
            let asked = Asked {
                matter: &matter,
                thread: &turn.thread,
                turn: turn.number,
                workspace: &turn.workspace,
            };
            let judging = AssertUnwindSafe(async { guard.judge(asked, cancel).await }).catch_unwind();
            let judged = tokio::select! {
                biased;
                () = cancel.cancelled() => return Checked::Cancelled,
                judged = judging => judged,
            };
            let fault = || Err(HookFault::Failed("it broke down, which is a fault of askls".to_owned()));
            let word = match judged.unwrap_or_else(|_| fault()) {
                Ok(Verdict::Allow) => continue,
                Ok(Verdict::Replace(value)) => match matter.replace(value) {
                    Ok(()) => Word::Replaced,
                    Err(why) => Word::Failed(why),
                },
                Ok(Verdict::Deny { reason }) => Word::Denied(reason.map(|reason| told(&reason))),
                Err(HookFault::Failed(what)) => Word::Failed(told(&what)),
                Err(HookFault::Cancelled) => return Checked::Cancelled,
            };
            events.emit(&Event::HookActed {
                hook: guard.name().to_owned(),
                kind,
                action: word.action(),
                call_id: call_id.map(str::to_owned),
                tool: tools.first().copied().flatten().map(str::to_owned),
                reason: word.reason().map(str::to_owned),
            });
            if let Word::Replaced = word {
                changed_by = Some(guard.name().to_owned());
                continue;
            }
            let to_model = match &word {
                Word::Failed(_) => format!("{} failed, which counts as a no", guard.name()),
                word => format!("{} {word}", guard.name()),
            };
            return Checked::Denied(No { told: format!("{} {word}", guard.name()), to_model });
        }
        Checked::Passed { matter, changed_by }
    }
}

/// A reason as it may be shown: bounded, and without keys.
fn told(reason: &str) -> String {
    one_line(&keys::masked(reason), MAX_REASON_CHARS)
}

/// What a hook did other than to let pass.
enum Word {
    Replaced,
    Denied(Option<String>),
    Failed(String),
}

impl Word {
    fn action(&self) -> HookAction {
        match self {
            Self::Replaced => HookAction::Replaced,
            Self::Denied(_) => HookAction::Denied,
            Self::Failed(_) => HookAction::Failed,
        }
    }

    fn reason(&self) -> Option<&str> {
        match self {
            Self::Replaced => None,
            Self::Denied(reason) => reason.as_deref(),
            Self::Failed(what) => Some(what),
        }
    }
}

/// In words that follow the hook's name.
impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replaced => f.write_str("replaced it"),
            Self::Denied(Some(reason)) => write!(f, "said no: {reason}"),
            Self::Denied(None) => f.write_str("said no, and not why"),
            Self::Failed(what) => write!(f, "failed, which counts as a no: {what}"),
        }
    }
}

impl Matter {
    pub fn kind(&self) -> HookKind {
        match self {
            Self::Input { .. } => HookKind::Input,
            Self::Tool { .. } => HookKind::Tool,
            Self::ToolOutput { .. } => HookKind::ToolOutput,
            Self::Output { .. } => HookKind::Output,
        }
    }

    /// The tool of the call that it is about, and the one whose output it repeats; what is about no call has none.
    fn tools(&self) -> Vec<Option<&'static str>> {
        match self {
            Self::Tool { tool, .. } | Self::ToolOutput { tool, repeats: None, .. } => vec![Some(tool)],
            Self::ToolOutput { tool, repeats, .. } => vec![Some(tool), *repeats],
            Self::Input { .. } | Self::Output { .. } => vec![None],
        }
    }

    /// The name of what of it may be replaced.
    fn part(&self) -> &'static str {
        match self {
            Self::Input { .. } | Self::Output { .. } => "text",
            Self::Tool { .. } => "arguments",
            Self::ToolOutput { .. } => "output",
        }
    }

    /// # Errors
    /// What the hook did, when the value cannot stand in that place.
    fn replace(&mut self, value: Value) -> Result<(), String> {
        let part = self.part();
        match (self, value) {
            (Self::Input { text, .. } | Self::Output { text, .. }, Value::String(new)) => {
                if new.trim().is_empty() {
                    return Err("it replaced text by nothing: it must deny what may not pass".to_owned());
                }
                *text = new;
            }
            (Self::ToolOutput { output, .. }, Value::String(new)) => *output = new,
            (Self::Tool { arguments, .. }, new @ Value::Object(_)) => *arguments = new,
            (Self::Tool { .. }, _) => return Err(format!("its {part} are no object")),
            (Self::Input { .. } | Self::Output { .. } | Self::ToolOutput { .. }, _) => {
                return Err(format!("its {part} is no text"));
            }
        }
        Ok(())
    }
}
