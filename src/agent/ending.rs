//! The ends that a step can bring about, each in its own words.

use crate::{
    model::{ErrorKind, ModelError},
    protocol::{Limit, ProjectSettings, StopReason},
    tools::output::one_line,
    workspace::keys,
};

/// Characters of what a model says of its refusal.
const MAX_REFUSAL_CHARS: usize = 120;

/// Characters of a server's word for an end.
const MAX_WORD_CHARS: usize = 60;

/// A turn's end before the counts are added.
pub(super) struct Ending {
    pub(super) stop_reason: StopReason,
    pub(super) detail: Option<String>,
    pub(super) answer: String,
}

impl Ending {
    pub(super) fn new(stop_reason: StopReason, detail: impl Into<String>, answer: String) -> Self {
        Self { stop_reason, detail: Some(detail.into()), answer }
    }

    /// The model has said all it wants to.
    pub(super) fn finished(answer: String) -> Self {
        if answer.trim().is_empty() {
            let detail = "the model ended its turn without an answer; ask again, or in other words";
            return Self::new(StopReason::Empty, detail, String::new());
        }
        Self { stop_reason: StopReason::Answer, detail: None, answer }
    }

    pub(super) fn cancelled(answer: String) -> Self {
        Self::new(StopReason::Cancelled, "stopped by the user", answer)
    }

    /// `words` are those with which the model declined.
    pub(super) fn refused(words: Option<&str>, answer: String) -> Self {
        let detail = match words {
            Some(words) => format!("the model declined to answer: {}", one_line(words, MAX_REFUSAL_CHARS)),
            None => "the model declined to answer".to_owned(),
        };
        Self::new(StopReason::Refused, detail, answer)
    }

    pub(super) fn cut_off(answer: String, project: &ProjectSettings) -> Self {
        let limit = format!("the model's output limit{}", project.named("max_output_tokens"));
        let detail = match answer.trim().is_empty() {
            true => {
                format!(
                    "the reply was cut off before its first word, and no call of it ran, at {limit}; ask for less at once"
                )
            }
            false => format!("the answer was cut off at {limit}; ask it to go on"),
        };
        Self::new(StopReason::Limit(Limit::OutputTokens), detail, answer)
    }

    /// Cut by the server for another reason than its length.
    pub(super) fn cut_with(word: &str, answer: String) -> Self {
        let word = shown(word);
        let detail =
            format!("the server cut its reply off with \"{word}\"; ask it to go on, or in other words");
        Self::new(StopReason::Interrupted, detail, answer)
    }

    /// The words may be all that the model wanted to say, or not: its user sees both.
    pub(super) fn with_broken_call(answer: String) -> Self {
        let detail = "the reply ends in what looks like a call of a tool; it is not whole or not valid, so nothing ran: \
                      ask again, or set another model, which may be better at calling tools";
        Self::new(StopReason::Answer, detail, answer)
    }

    /// The same of an end in a word that tells nothing: mostly it is whole.
    pub(super) fn with_unknown_word(word: &str, answer: String) -> Self {
        let word = shown(word);
        if answer.trim().is_empty() {
            let detail = format!(
                "the model ended its turn without an answer, and the server's word for that is \"{word}\", which askls does \
                 not know; ask again, or in other words"
            );
            return Self::new(StopReason::Empty, detail, String::new());
        }
        let detail = format!(
            "the server ended its reply with \"{word}\", which askls does not know: the answer may be cut off"
        );
        Self::new(StopReason::Answer, detail, answer)
    }

    pub(super) fn filtered(answer: String) -> Self {
        Self::new(StopReason::Filtered, "the server's content filter cut the answer off", answer)
    }

    pub(super) fn context_full(answer: String) -> Self {
        let detail = "the thread no longer fits the model's window; start a new thread";
        Self::new(StopReason::Limit(Limit::Context), detail, answer)
    }

    pub(super) fn broken(error: ModelError, answer: String) -> Self {
        let detail = match error.kind {
            ErrorKind::ContextTooLong => format!("{}; start a new thread", error.message),
            ErrorKind::History => format!("{}; a new thread goes on without it", error.message),
            _ => error.message,
        };
        Self::new(error.kind.stop_reason(), detail, answer)
    }
}

/// A server's word, fit to be shown: of a key that is cut nobody could tell what it is.
fn shown(word: &str) -> String {
    one_line(&keys::masked(word), MAX_WORD_CHARS)
}
