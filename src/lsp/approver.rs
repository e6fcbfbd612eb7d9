//! Asks the user before something risky. Whatever is not a clear yes is a no.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use tokio::sync::OwnedSemaphorePermit;

use super::{lsp_types::MessageType, session::Session};
use crate::{
    agent::{Answer, Approver, Question, Rule},
    config::KeptRules,
    tools::{
        Effect,
        output::{one_line, visible},
    },
};

/// Longest preview that is asked about. VS Code cuts a message at about 1,000 characters, and nobody should allow
/// what they cannot see.
const MAX_PREVIEW: usize = 900;

/// Longest question: what editors show of a message.
const MAX_QUESTION: usize = 1_000;

/// Longest reason and longest list of rules that stand beside what is asked, in characters.
const MAX_REASON: usize = 120;

const ALLOW_ONCE: &str = "Allow once";
const ALLOW_FOR_THREAD: &str = "Allow for this thread";
const ALLOW_ALWAYS: &str = "Always in this project";
const DENY: &str = "Deny";

/// Asks by `window/showMessageRequest`.
pub(super) struct EditorApprover {
    session: Arc<Session>,
    /// How long a question stays open.
    limit: Duration,
    /// The turn's place among those that run: others have it while this one waits for its user.
    place: Mutex<Option<OwnedSemaphorePermit>>,
    /// Where answers go that hold for the project; without it none is offered.
    kept_rules: Option<KeptRules>,
}

impl EditorApprover {
    pub(super) fn new(
        session: Arc<Session>,
        limit: Duration,
        place: Option<OwnedSemaphorePermit>,
        kept_rules: Option<KeptRules>,
    ) -> Self {
        Self { session, limit, place: Mutex::new(place), kept_rules }
    }

    /// Keeps what was allowed for the project. The user hears of it when that cannot be done, and the yes counts for the
    /// thread.
    async fn keep(&self, root: Option<PathBuf>, rules: Vec<Rule>) -> Answer {
        let (Some(kept_rules), Some(root)) = (self.kept_rules.clone(), root) else {
            return Answer::AllowForThread;
        };
        let file = kept_rules.file().display().to_string();
        let kept = tokio::task::spawn_blocking(move || kept_rules.allow(&root, &rules)).await;
        match kept.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            Ok(()) => Answer::AllowAlways,
            Err(error) => {
                let text = format!("The answer holds for this thread only: {file} was not written: {error}");
                self.session.editor.show_message(MessageType::WARNING, &text).await;
                Answer::AllowForThread
            }
        }
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
            Answer::AllowOnce | Answer::AllowForThread | Answer::AllowAlways => Ok(()),
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
            Ok(Some(title)) if title == ALLOW_ALWAYS => Answer::AllowAlways,
            Ok(Some(title)) if title == DENY => deny("the user denied it"),
            Ok(_) => deny("the user closed the question without allowing it"),
            Err(error) => deny(&format!("nobody allowed it: {error}")),
        }
    }
}

impl Approver for EditorApprover {
    fn ask(&self, mut question: Question) -> BoxFuture<'_, Answer> {
        async move {
            if self.kept_rules.is_none() || question.root.is_none() {
                question.always.clear();
            }
            let (text, actions) = match text(&question) {
                Ok(shown) => shown,
                Err(reason) => return Answer::Deny { reason },
            };
            match self.ask_away(&text, actions).await {
                Answer::AllowAlways => self.keep(question.root, question.always).await,
                answer => answer,
            }
        }
        .boxed()
    }
}

fn deny(reason: &str) -> Answer {
    Answer::Deny { reason: reason.to_owned() }
}

const WITH_ALWAYS: &[&str] = &[ALLOW_ONCE, ALLOW_FOR_THREAD, ALLOW_ALWAYS, DENY];
const WITHOUT_ALWAYS: &[&str] = &[ALLOW_ONCE, ALLOW_FOR_THREAD, DENY];

/// Everything that will happen, on one line, and the answers to it; the error goes to the model.
fn text(question: &Question) -> Result<(String, &'static [&'static str]), String> {
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
        Effect::Execute => ("run a command", ""),
        Effect::Edit => ("change", ":"),
        Effect::Network => ("use the network", ":"),
        Effect::Read => ("read", ":"),
        Effect::Stop => ("stop", ":"),
    };
    let (what, colon) = what;
    let why = one_line(&question.why, MAX_REASON);
    let rules: Vec<String> = question.always.iter().map(|rule| format!("`{rule}`")).collect();
    let rules = on_one_line(&rules.join(", "));
    // What is asked comes last: nothing in it can pass for what is said beside it.
    let asked = |note: &str| format!("The agent wants to {what}{note}{colon} {preview}");
    let is_short = |text: &str| text.chars().count() <= MAX_QUESTION;
    let with_always = asked(&format!(" ({why}; Always allows {rules})"));
    if !question.always.is_empty() && rules.chars().count() <= MAX_REASON && is_short(&with_always) {
        return Ok((with_always, WITH_ALWAYS));
    }
    let with_reason = asked(&format!(" ({why})"));
    let shown = if is_short(&with_reason) { with_reason } else { asked("") };
    Ok((shown, WITHOUT_ALWAYS))
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
            why: "touch is not known to only read".to_owned(),
            always: Vec::new(),
            root: None,
        }
    }

    #[test]
    fn a_question_shows_the_whole_command() {
        assert_eq!(
            text(&question("in src:\ntouch a")),
            Ok((
                "The agent wants to run a command (touch is not known to only read) in src:⏎touch a"
                    .to_owned(),
                WITHOUT_ALWAYS
            )),
        );
    }

    #[test]
    fn what_always_allows_is_shown_or_not_offered() {
        let rule = |words: &str| format!("command: {words}").parse().unwrap();
        let asked = Question { always: vec![rule("touch a")], ..question("in src:\ntouch a b") };
        assert_eq!(
            text(&asked),
            Ok((
                "The agent wants to run a command (touch is not known to only read; Always allows `command: touch a`) in \
                 src:⏎touch a b"
                    .to_owned(),
                WITH_ALWAYS
            )),
        );
        let long = Question { always: vec![rule(&"x".repeat(MAX_REASON))], ..question("in src:\nx") };
        assert_eq!(text(&long).unwrap().1, WITHOUT_ALWAYS);
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
