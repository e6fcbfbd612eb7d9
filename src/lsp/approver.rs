//! Asks the user before something risky. Whatever is not a clear yes is a no.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use tokio::sync::OwnedSemaphorePermit;

use super::{lsp_types::MessageType, session::Session};
use crate::{
    agent::{Answer, Approver, Question},
    tools::{Effect, output::visible},
};

/// Longest preview that is asked about. VS Code cuts a message at about 1,000 characters, and nobody should allow
/// what they cannot see.
const MAX_PREVIEW: usize = 900;

const ALLOW_ONCE: &str = "Allow once";
const ALLOW_FOR_THREAD: &str = "Allow for this thread";
const DENY: &str = "Deny";

/// Asks by `window/showMessageRequest`.
pub(super) struct EditorApprover {
    session: Arc<Session>,
    /// How long a question stays open.
    limit: Duration,
    /// The turn's place among those that run: others have it while this one waits for its user.
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl EditorApprover {
    pub(super) fn new(session: Arc<Session>, limit: Duration, place: Option<OwnedSemaphorePermit>) -> Self {
        Self { session, limit, place: Mutex::new(place) }
    }

    fn give_place_away(&self) {
        *self.place() = None;
    }

    /// Waits in line again.
    async fn take_place(&self) {
        // Closed never.
        let place = Arc::clone(&self.session.turn_permits).acquire_owned().await.ok();
        // Should another call of the turn have come first, one of the two goes back.
        *self.place() = place;
    }

    /// Whole at any moment, so a panic elsewhere does not spoil it.
    fn place(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks about edits that are about to be applied, whatever was allowed before; `line` is shown as it is.
    ///
    /// # Errors
    /// Why the answer is no, in words for the model.
    pub(super) async fn ask_to_apply(&self, line: &str) -> Result<(), String> {
        let question = format!("The agent wants to change: {line}");
        match self.ask_away(&question, &[ALLOW_ONCE, DENY]).await {
            Answer::AllowOnce | Answer::AllowForThread => Ok(()),
            Answer::Deny { reason } => Err(reason),
        }
    }

    /// Asks while others have the turn's place.
    async fn ask_away(&self, text: &str, actions: &[&str]) -> Answer {
        self.give_place_away();
        let answer = self.choose(text, actions).await;
        self.take_place().await;
        answer
    }

    async fn choose(&self, text: &str, actions: &[&str]) -> Answer {
        // Closed only when the session ends.
        let Ok(_turn) = self.session.questions.acquire().await else {
            return Answer::Deny { reason: "askls is ending".to_owned() };
        };
        let choice = self.session.editor.choose(MessageType::WARNING, text, actions, self.limit).await;
        match choice {
            Ok(Some(title)) if title == ALLOW_ONCE => Answer::AllowOnce,
            Ok(Some(title)) if title == ALLOW_FOR_THREAD => Answer::AllowForThread,
            Ok(Some(title)) if title == DENY => deny("the user denied it"),
            Ok(_) => deny("the user closed the question without allowing it"),
            Err(error) => deny(&format!("nobody allowed it: {error}")),
        }
    }
}

impl Approver for EditorApprover {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        async move {
            let text = match text(&question) {
                Ok(text) => text,
                Err(reason) => return Answer::Deny { reason },
            };
            self.ask_away(&text, &[ALLOW_ONCE, ALLOW_FOR_THREAD, DENY]).await
        }
        .boxed()
    }
}

fn deny(reason: &str) -> Answer {
    Answer::Deny { reason: reason.to_owned() }
}

/// Everything that will happen, on one line; the error goes to the model.
fn text(question: &Question) -> Result<String, String> {
    let preview = on_one_line(&question.preview);
    let length = preview.chars().count();
    if !is_shown_whole(&preview) {
        return Err(format!(
            "the user was not asked: {length} characters are more than an editor shows in a question (at most \
             {MAX_PREVIEW}); split it, or write it to a script file and run that"
        ));
    }
    let what = match question.effect {
        // Goes on with the folder: `in src:⏎ls`.
        Effect::Execute => "run a command",
        Effect::Edit => "change:",
        Effect::Network => "use the network:",
        Effect::Read => "read:",
    };
    Ok(format!("The agent wants to {what} {preview}"))
}

/// Whether an editor shows all of a preview in a question.
pub(super) fn is_shown_whole(preview: &str) -> bool {
    preview.chars().count() <= MAX_PREVIEW
}

/// Nothing in it can hide, line ends included, which editors turn into blanks.
pub(super) fn on_one_line(preview: &str) -> String {
    visible(preview.trim()).replace('\n', "⏎").replace('\t', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(preview: &str) -> Question {
        Question {
            call_id: "call-1".to_owned(),
            tool: "run_command",
            effect: Effect::Execute,
            preview: preview.to_owned(),
        }
    }

    #[test]
    fn a_question_shows_the_whole_command() {
        assert_eq!(
            text(&question("in src:\ncargo test --workspace")),
            Ok("The agent wants to run a command in src:⏎cargo test --workspace".to_owned()),
        );
    }

    #[test]
    fn nothing_in_a_command_can_hide() {
        assert_eq!(on_one_line("ls\nrm -rf \u{202e}x\u{7}"), "ls⏎rm -rf \\u{202e}x\\u{7}");
        assert_eq!(on_one_line("echo cargo test⏎in a folder"), "echo cargo test\\u{23ce}in a folder");
        assert_eq!(on_one_line(&format!("ls{};  rm x", " ".repeat(600))), "ls⟨600 blanks⟩;  rm x");
    }

    #[test]
    fn what_cannot_be_shown_whole_is_not_asked() {
        assert!(text(&question(&"x".repeat(MAX_PREVIEW))).is_ok());
        assert!(text(&question(&"x".repeat(MAX_PREVIEW + 1))).is_err());
    }
}
