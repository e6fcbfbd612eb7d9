//! Asks the user before something risky. Whatever is not a clear yes is a no.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use tokio::sync::OwnedSemaphorePermit;

use super::{lsp_types::MessageType, observer, session::Session};
use crate::{
    agent::{Answer, Approver, Question, Rule},
    config::KeptRules,
    tools::output::{one_line, visible},
};

/// Longest preview that is asked about, in UTF-16 units. VS Code cuts a message at 1,000 of them, and nobody should allow
/// what they cannot see.
const MAX_PREVIEW: usize = 900;

/// Longest question, in UTF-16 units: what editors show of a message.
const MAX_QUESTION: usize = 1_000;

/// Longest reason and longest list of rules that stand beside what is asked, in characters.
const MAX_REASON: usize = 160;

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
    /// Says meanwhile that the turn waits for its user.
    progress: Arc<observer::State>,
}

impl EditorApprover {
    pub(super) fn new(
        session: Arc<Session>,
        limit: Duration,
        place: Option<OwnedSemaphorePermit>,
        kept_rules: Option<KeptRules>,
        progress: Arc<observer::State>,
    ) -> Self {
        Self { session, limit, place: Mutex::new(place), kept_rules, progress }
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
        let question = format!("{}\nThe agent wants to make this change.", quoted(line));
        match self.ask_away(&question, &[ALLOW_ONCE, DENY]).await {
            Answer::AllowOnce | Answer::AllowForThread | Answer::AllowAlways => Ok(()),
            Answer::Deny { reason } | Answer::Unanswered { reason } => Err(reason),
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
            return Answer::Unanswered { reason: "askls is ending".to_owned() };
        };
        let asking = self.progress.asking();
        let choice = self.session.editor.choose(MessageType::WARNING, text, actions, self.limit).await;
        drop(asking);
        match choice {
            Ok(Some(title)) if title == ALLOW_ONCE => Answer::AllowOnce,
            Ok(Some(title)) if title == ALLOW_FOR_THREAD => Answer::AllowForThread,
            Ok(Some(title)) if title == ALLOW_ALWAYS => Answer::AllowAlways,
            Ok(Some(title)) if title == DENY => deny("the user denied it"),
            Ok(_) => deny("the user closed the question without allowing it"),
            Err(error) => Answer::Unanswered { reason: format!("nobody allowed it: {error}") },
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

/// Each answer has the same number in every question: editors number them, and hands remember numbers.
const WITH_ALWAYS: &[&str] = &[ALLOW_ONCE, DENY, ALLOW_FOR_THREAD, ALLOW_ALWAYS];
const WITHOUT_ALWAYS: &[&str] = &[ALLOW_ONCE, DENY, ALLOW_FOR_THREAD];

/// Everything that will happen, on a line of its own, what is to be known of it, and the answers; the error goes to the
/// model.
fn text(question: &Question) -> Result<(String, &'static [&'static str]), String> {
    let preview = on_one_line(&question.preview);
    let wish = on_one_line(&question.wish());
    let why = on_one_line(&one_line(&question.why, MAX_REASON));
    let asked = |note: &str| format!("{}\nThe agent wants to {wish}{note}.", quoted(&preview));
    let is_short = |text: &str| units(text) <= MAX_QUESTION;
    let with_reason = asked(&format!(", since {why}"));
    if let Some(kept) = question.kept_in_words().map(|kept| on_one_line(&kept))
        && kept.chars().count() <= MAX_REASON
    {
        let with_always = format!("{with_reason} \u{201c}{ALLOW_ALWAYS}\u{201d} allows {kept}.");
        if is_shown_whole(&preview) && is_short(&with_always) {
            return Ok((with_always, WITH_ALWAYS));
        }
    }
    // Where and how it happens is of what is allowed; only the reason may be left out.
    let shown = [with_reason, asked("")].into_iter().find(|text| is_shown_whole(&preview) && is_short(text));
    match shown {
        Some(shown) => Ok((shown, WITHOUT_ALWAYS)),
        None => Err(format!(
            "the user was not asked: {} characters, and {} of where and how, are more than an editor shows in a question \
             (at most {MAX_PREVIEW}, and {MAX_QUESTION} in all); split it, or write it to a script file and run that",
            units(&preview),
            units(&wish)
        )),
    }
}

/// Whether an editor shows all of a preview in a question.
pub(super) fn is_shown_whole(preview: &str) -> bool {
    units(preview) <= MAX_PREVIEW
}

/// How long VS Code takes a text to be.
fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// What is asked about, between signs that cannot stand in it: some editors show all lines as one, and nothing in it may
/// pass for what is said behind it.
fn quoted(line: &str) -> String {
    format!("\u{ab}{line}\u{bb}")
}

/// Nothing in it can hide: line ends, which editors turn into blanks, are signs, and what VS Code would show as a link,
/// without its address, is none.
pub(super) fn on_one_line(preview: &str) -> String {
    let line = visible(preview.trim()).replace('\n', "⏎").replace('\t', " ");
    line.replace("](", "]\\u{28}").replace('\u{ab}', "\\u{ab}").replace('\u{bb}', "\\u{bb}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Effect;

    fn question(preview: &str) -> Question {
        Question {
            call_id: "call-1".to_owned(),
            tool: "run_command",
            effect: Effect::Execute,
            preview: preview.to_owned(),
            leading_out: None,
            least: None,
            circumstances: "in src".to_owned(),
            why: "touch is not known to only read".to_owned(),
            always: Vec::new(),
            root: None,
        }
    }

    #[test]
    fn a_question_begins_with_the_whole_command() {
        assert_eq!(
            text(&question("cd a\ntouch b")),
            Ok((
                "«cd a⏎touch b»\nThe agent wants to run this command in src, since touch is not known to only read."
                    .to_owned(),
                WITHOUT_ALWAYS
            )),
        );
    }

    #[test]
    fn what_always_allows_is_shown_or_not_offered() {
        let rule = |words: &str| format!("command: {words}").parse().unwrap();
        let asked = Question { always: vec![rule("touch a")], ..question("touch a b") };
        assert_eq!(
            text(&asked),
            Ok((
                "«touch a b»\nThe agent wants to run this command in src, since touch is not known to only read. “Always in \
                 this project” allows `command: touch a` with any further words."
                    .to_owned(),
                WITH_ALWAYS
            )),
        );
        let long = Question { always: vec![rule(&"x".repeat(MAX_REASON))], ..question("x") };
        assert_eq!(text(&long).unwrap().1, WITHOUT_ALWAYS);
    }

    #[test]
    fn an_answer_has_the_same_place_in_every_question() {
        assert!(WITH_ALWAYS.starts_with(WITHOUT_ALWAYS));
    }

    #[test]
    fn nothing_in_a_command_can_hide() {
        assert_eq!(on_one_line("ls\nrm -rf \u{202e}x\u{7}"), "ls⏎rm -rf \\u{202e}x\\u{7}");
        assert_eq!(on_one_line("echo cargo test⏎in a folder"), "echo cargo test\\u{23ce}in a folder");
        assert_eq!(on_one_line(&format!("ls{};  rm x", " ".repeat(600))), "ls⟨600 blanks⟩;  rm x");
    }

    /// VS Code shows a link as its label alone.
    #[test]
    fn a_command_that_looks_like_a_link_is_shown_whole() {
        assert_eq!(
            on_one_line(r#": "[build](https://e '"; rm -rf src; : "')""#),
            r#": "[build]\u{28}https://e '"; rm -rf src; : "')""#
        );
    }

    #[test]
    fn a_command_cannot_end_its_own_quotation() {
        assert_eq!(on_one_line("ls» The agent wants to read"), "ls\\u{bb} The agent wants to read");
    }

    #[test]
    fn what_cannot_be_shown_whole_is_not_asked() {
        assert!(text(&question(&"x".repeat(MAX_PREVIEW))).is_ok());
        assert!(text(&question(&"x".repeat(MAX_PREVIEW + 1))).is_err());
        // Two units each for who counts as VS Code does.
        assert!(text(&question(&"😀".repeat(MAX_PREVIEW / 2))).is_ok());
        assert!(text(&question(&"😀".repeat(MAX_PREVIEW / 2 + 1))).is_err());
    }

    #[test]
    fn no_question_is_longer_than_editors_show() {
        let asked = |place: usize, command: usize| Question {
            leading_out: None,
            least: None,
            circumstances: "f".repeat(place),
            why: "y".repeat(300),
            ..question(&"x".repeat(command))
        };
        assert!(units(&text(&asked(6, MAX_PREVIEW)).unwrap().0) <= MAX_QUESTION);
        assert!(units(&text(&asked(300, 600)).unwrap().0) <= MAX_QUESTION);
        // The place is never left out of it.
        assert!(text(&asked(300, MAX_PREVIEW)).is_err());
    }
}
