//! The editor as the server sees it: notifications, and requests that are never waited for without a limit.

use std::{
    borrow::Cow,
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use dashmap::DashMap;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::Id;

use crate::workspace::keys::KnownKeys;

use super::{
    lsp_types::MessageType,
    transport::{self, Outbox},
};

/// Longest text of a message: editors show one line and cut it at about 1,000 characters at most.
pub(super) const MAX_MESSAGE: usize = 300;

/// Notifications that tell of what goes on. Editors keep them in their logs; what the user asked for, the answer and the
/// edits, goes other ways.
const TOLD_BESIDE: [&str; 3] = ["window/logMessage", "window/showMessage", "$/progress"];

/// Questions that were given up and may still be open before the user: nobody looks at more.
const MAX_GIVEN_UP: usize = 50;

const QUESTION: &str = "window/showMessageRequest";

/// Says which question is over, by its text: not every client tells its plugins the id of a request.
const QUESTION_ENDED: &str = "askls/questionEnded";

const TOO_LATE: &str = "askls: too late: this question was over, and no answer meant no, so nothing was done";

/// Why a request to the client has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestError {
    #[error("the editor did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("the editor refused: {0}")]
    Refused(String),
    #[error("the connection to the editor is closing")]
    Closed,
}

#[derive(Debug)]
pub(super) struct Editor {
    outbox: Outbox,
    next_id: AtomicI64,
    waiting: DashMap<i64, oneshot::Sender<Result<Value, Value>>>,
    /// What no message, log line or progress report says.
    known_keys: KnownKeys,
    /// Questions that were given up, the oldest first: whoever answers one hears that it was too late.
    given_up: Mutex<VecDeque<i64>>,
    /// Whether the client wants to hear of questions that are over.
    tells_ends: AtomicBool,
}

impl Editor {
    pub(super) fn new(outbox: Outbox, known_keys: KnownKeys) -> Self {
        Self {
            outbox,
            next_id: AtomicI64::new(1),
            waiting: DashMap::new(),
            known_keys,
            given_up: Mutex::default(),
            tells_ends: AtomicBool::new(false),
        }
    }

    /// From now on the client hears of each question that is over without an answer of its user.
    pub(super) fn tell_ends(&self) {
        self.tells_ends.store(true, Ordering::Relaxed);
    }

    pub(super) async fn notify(&self, method: &str, params: impl Serialize) {
        match serde_json::to_value(params) {
            Ok(mut params) => {
                if TOLD_BESIDE.contains(&method) {
                    self.mask(&mut params);
                }
                self.outbox.send(&transport::notification(method, &params)).await;
            }
            Err(error) => tracing::error!(method, %error, "a notification cannot be written as JSON"),
        }
    }

    /// Takes keys out of all texts.
    fn mask(&self, params: &mut Value) {
        match params {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.known_keys.masked(text) {
                    *text = masked;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.mask(value)),
            Value::Object(members) => members.values_mut().for_each(|value| self.mask(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Sends a request and waits for its result. An answer that comes after the time limit, or after the future was
    /// dropped, changes nothing. Only a client that has asked for it is told then: of all others that were tried none
    /// withdraws a question, and one warns its user of the unknown notification.
    pub(super) async fn request(
        &self,
        method: &str,
        params: impl Serialize,
        limit: Duration,
    ) -> Result<Value, RequestError> {
        let params =
            serde_json::to_value(params).map_err(|error| RequestError::Refused(error.to_string()))?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.waiting.insert(id, answer);
        let message = params.get("message").filter(|_| method == QUESTION).cloned();
        let _forget = Forget { editor: self, id, message };
        self.outbox.ask(&transport::request(id, method, &params)).await;
        match tokio::time::timeout(limit, answered).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(error))) => Err(RequestError::Refused(error_text(&error))),
            Ok(Err(_closed)) => Err(RequestError::Closed),
            Err(_elapsed) => Err(RequestError::TimedOut(limit)),
        }
    }

    /// A response came from the client. Whoever chose an answer to a question that was over is told so.
    pub(super) fn answered(&self, id: &Id, result: Result<Value, Value>) {
        let Id::Number(number) = id else { return tracing::debug!(%id, "an answer to no question") };
        let has_chosen = result.as_ref().is_ok_and(|choice| choice.get("title").is_some());
        // The one who asked may have given up just now.
        let is_taken = self.waiting.remove(number).is_some_and(|(_, answer)| answer.send(result).is_ok());
        if is_taken {
            return;
        }
        tracing::debug!(%id, "an answer to no question, or too late");
        let was_question = {
            let mut given_up = self.given_up();
            let at = given_up.iter().position(|given_up| given_up == number);
            at.and_then(|at| given_up.remove(at)).is_some()
        };
        if was_question && has_chosen {
            let params = json!({ "type": MessageType::WARNING, "message": TOO_LATE });
            self.outbox.send_soon(&transport::notification("window/showMessage", &params));
        }
    }

    /// Whole at any moment, so a panic elsewhere does not spoil it.
    fn given_up(&self) -> MutexGuard<'_, VecDeque<i64>> {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows one line to the user; longer texts are cut.
    pub(super) async fn show_message(&self, kind: MessageType, text: &str) {
        // Of a key that was cut the rest would look like none.
        let message = unlinked(&one_line(&self.known_keys.masked(text), MAX_MESSAGE));
        self.notify("window/showMessage", json!({ "type": kind, "message": message })).await;
    }

    /// For the editor's log of this server.
    pub(super) async fn log_message(&self, kind: MessageType, text: &str) {
        self.notify("window/logMessage", json!({ "type": kind, "message": text })).await;
    }

    /// Asks the user to choose one of `actions`; `None` when they close the question without choosing.
    pub(super) async fn choose(
        &self,
        kind: MessageType,
        text: &str,
        actions: &[&str],
        limit: Duration,
    ) -> Result<Option<String>, RequestError> {
        let actions: Vec<_> = actions.iter().map(|title| json!({ "title": title })).collect();
        let params = json!({ "type": kind, "message": unlinked(&plain(text)), "actions": actions });
        let choice = self.request(QUESTION, params, limit).await?;
        Ok(choice.get("title").and_then(Value::as_str).map(str::to_owned))
    }
}

/// Forgets a request that nobody waits for any more.
struct Forget<'a> {
    editor: &'a Editor,
    id: i64,
    /// What is asked, of a question to the user.
    message: Option<Value>,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        let is_open = self.editor.waiting.remove(&self.id).is_some();
        let Some(message) = self.message.take().filter(|_| is_open) else { return };
        if self.editor.tells_ends.load(Ordering::Relaxed) {
            let ended = transport::notification(QUESTION_ENDED, &json!({ "message": message }));
            self.editor.outbox.send_soon(&ended);
        }
        let mut given_up = self.editor.given_up();
        given_up.push_back(self.id);
        if given_up.len() > MAX_GIVEN_UP {
            given_up.pop_front();
        }
    }
}

fn error_text(error: &Value) -> String {
    one_line(error.get("message").and_then(Value::as_str).unwrap_or("without a reason"), MAX_MESSAGE)
}

/// The text as one line of at most `limit` characters, with `…` where it was cut. Nothing in it rings, moves a cursor
/// or turns the direction of writing.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        for character in word.chars().flat_map(shown) {
            if length + 1 > limit {
                line.pop();
                line.push('…');
                return line;
            }
            line.push(character);
            length += 1;
        }
    }
    line
}

/// The text with its lines as they are. Nothing in it rings, moves a cursor or turns the direction of writing.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            _ => out.extend(shown(character)),
        }
    }
    out
}

/// The text without links. VS Code would show only their labels, and runs commands that they name.
fn unlinked(text: &str) -> String {
    text.replace("](", "] (")
}

/// The character, or its escape. What joins characters stays, unlike in [`visible`]: an answer has emoji and scripts
/// that need it, and is nothing that a user allows.
///
/// [`visible`]: crate::tools::output::visible
fn shown(character: char) -> impl Iterator<Item = char> {
    let turns = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    let is_escaped = turns || character.is_control();
    let (escape, itself) = match is_escaped {
        true => (Some(character.escape_unicode()), None),
        false => (None, Some(character)),
    };
    escape.into_iter().flatten().chain(itself)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(one_line("  one\n\n two\tthree ", 40), "one two three");
    }

    #[test]
    fn nothing_in_a_message_reaches_a_terminal_or_turns_the_text() {
        assert_eq!(one_line("a\u{1b}[31m \u{202e}txt", 40), r"a\u{1b}[31m \u{202e}txt");
        assert_eq!(one_line("👩\u{200d}💻 ❤\u{fe0f}", 40), "👩\u{200d}💻 ❤\u{fe0f}");
        assert_eq!(one_line("\u{1b}\u{1b}", 7), r"\u{1b}…");
    }

    #[test]
    fn no_message_holds_a_link() {
        assert_eq!(unlinked("see [the docs](command:x)"), "see [the docs] (command:x)");
    }

    #[test]
    fn a_long_message_is_cut_at_its_limit() {
        assert_eq!(one_line("größer", 6), "größer");
        assert_eq!(one_line("größere", 6), "größe…");
        assert_eq!(one_line("one two", 4), "one…");
    }
}
