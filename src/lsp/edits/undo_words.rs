//! What is said of an undo or redo: to the user, and to the model with its next turn.

use super::{names::list, undo::ConflictAnswer};
use crate::{
    tools::output::visible_path,
    workspace::{
        FileEdit,
        checkpoints::{Direction, MovedOn, UndoPlan},
    },
};

/// Files that a message names; the others are counted.
pub(super) const MAX_NAMED: usize = 3;

/// Files that the model is told by name: it may have to read them again.
const MAX_NEWS: usize = 30;

/// The words of one direction.
pub(super) struct Words {
    /// Also the member of the answer.
    pub(super) done: &'static str,
    /// In the question.
    pub(super) aim: &'static str,
    pub(super) merge: &'static str,
}

pub(super) fn words(direction: Direction) -> Words {
    match direction {
        Direction::Undo => Words { done: "undone", aim: "undo", merge: "Undo the agent's part" },
        Direction::Redo => Words { done: "redone", aim: "redo", merge: "Redo the agent's part" },
    }
}

/// What was done, in a message.
pub(super) fn did(direction: Direction) -> &'static str {
    match direction {
        Direction::Undo => "Undid",
        Direction::Redo => "Redid",
    }
}

/// What the user is told of a plan, whatever comes of it.
pub(super) fn told(plan: &UndoPlan) -> Vec<String> {
    let unsaved = plan.unsaved.iter().map(|path| {
        format!(
            "{} on disk does not contain this turn; it was not saved, or is unsaved in another editor",
            visible_path(path)
        )
    });
    plan.problems.iter().chain(&plan.left).cloned().chain(unsaved).collect()
}

/// Whether nothing of the turn waits for another undo. Another editor may hold an edit unsaved, unless who has given the
/// answer with the command knows better; what could not be done may be possible later.
pub(super) fn is_certain(plan: &UndoPlan, answer: ConflictAnswer) -> bool {
    let is_saved = plan.unsaved.is_empty() || answer.passes_over();
    is_saved && !plan.can_be_completed
}

/// What the model is told with its next turn.
pub(super) fn news(plan: &UndoPlan, done: &[FileEdit]) -> String {
    let names: Vec<_> = done.iter().map(|file| visible_path(file.path.as_str())).collect();
    format!(
        "Since your last turn the user has {} the edits of the turn \"{}\": {}. Read these files again before you go on.",
        words(plan.direction).done,
        plan.turn.label,
        list(&names, MAX_NEWS),
    )
}

/// `a.txt has` or `a.txt, b.txt and 3 more have`.
pub(super) fn named(moved_on: &[MovedOn]) -> String {
    let names: Vec<_> = moved_on.iter().map(|file| visible_path(&file.path)).collect();
    let verb = if names.len() == 1 { "has" } else { "have" };
    format!("{} {verb}", list(&names, MAX_NAMED))
}
