//! What the user is asked before a turn is taken back or forward.

use super::{
    question::QUESTION_LIMIT,
    undo_words::{named, told, words},
};
use crate::{
    lsp::{editor, lsp_types::MessageType, session::Session},
    workspace::checkpoints::{OnConflict, UndoPlan},
};

const RESTORE: &str = "Restore the whole file";
const LEAVE: &str = "Leave it";
const SKIP: &str = "Skip it";

impl Session {
    /// `None` when the user leaves everything as it is, which is also what no answer means.
    pub(super) async fn ask_what_to_keep(&self, plan: &UndoPlan) -> Option<OnConflict> {
        let words = words(plan.direction);
        let touched: usize = plan.moved_on.iter().map(|file| file.touched).sum();
        let can_merge = !plan.proposal(OnConflict::Merge).is_empty();
        let places = match (touched, can_merge) {
            (0, _) => "",
            (_, true) => " Some of the changes are in the same lines; a merge leaves those as they are now.",
            (_, false) => " The changes are in the same lines, so that they cannot be told apart.",
        };
        let text = format!(
            "{} changed since. How should askls {} the turn \"{}\"?{places}",
            named(&plan.moved_on),
            words.aim,
            plan.turn.label,
        );
        let mut actions = Vec::new();
        if can_merge {
            actions.push(words.merge);
        }
        actions.extend([RESTORE, LEAVE]);
        let answer = self.editor.choose(MessageType::WARNING, &text, &actions, QUESTION_LIMIT).await;
        match answer {
            Ok(Some(title)) if title == words.merge && can_merge => Some(OnConflict::Merge),
            Ok(Some(title)) if title == RESTORE => Some(OnConflict::Restore),
            _ => None,
        }
    }

    /// Nothing can be done about a turn now, and it stands in the way of older ones.
    pub(super) async fn ask_whether_to_skip(&self, plan: &UndoPlan) -> bool {
        let words = words(plan.direction);
        let text = format!(
            "{}. Skip \"{}\", so that it counts as {}, and {} the next one?",
            editor::one_line(&told(plan).join("; "), editor::MAX_MESSAGE),
            plan.turn.label,
            words.done,
            words.aim,
        );
        let answer = self.editor.choose(MessageType::WARNING, &text, &[SKIP, LEAVE], QUESTION_LIMIT).await;
        matches!(answer, Ok(Some(title)) if title == SKIP)
    }
}
