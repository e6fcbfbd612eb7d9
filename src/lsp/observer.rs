//! Shows a turn as work-done progress: one begin, some reports, one end.
//!
//! Events only change what the next report would say; a task of its own sends the reports, so that a slow client
//! never slows the turn.

mod line;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::{
    sync::{Notify, oneshot},
    task::JoinHandle,
};

use super::{
    editor::{Editor, RequestError, one_line},
    lsp_types::ProgressToken,
};
use crate::{
    agent::EventSink,
    protocol::{Event, ThreadId},
};
use line::{Activity, Line};

/// At most four reports a second, with some room for the clock of who counts.
const MIN_INTERVAL: Duration = Duration::from_millis(260);

/// How long the client may take to accept a progress token; after that the turn goes on without progress.
const CREATE_LIMIT: Duration = Duration::from_secs(3);

/// How long a turn that has ended waits for the client to accept its token, so that a begin and an end can be shown.
const CREATE_LIMIT_AT_END: Duration = Duration::from_millis(300);

/// Longest report: about what a status bar shows.
const MAX_REPORT: usize = 200;

/// Under which token the client sees the progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// The client gave it with its request.
    Given(ProgressToken),
    /// Ours; the client must accept it first.
    Created(ProgressToken),
}

/// What a client is told at the end of a turn.
#[derive(Debug)]
pub(super) struct End {
    message: String,
    /// What the agent had said of an answer by then, where no response brings it: an error has no place for it that clients
    /// look at. Plugins of ours read it; to others it is a member that they do not know.
    answer: Option<String>,
    /// The turn's thread, which can go on, where no response brings it either.
    thread_id: Option<ThreadId>,
}

impl End {
    pub(super) fn of(message: String) -> Self {
        Self { message, answer: None, thread_id: None }
    }

    /// Of a turn that is cancelled, so that its request is answered with an error.
    pub(super) fn cancelled(message: String, answer: &str, thread_id: &ThreadId) -> Self {
        let answer = (!answer.trim().is_empty()).then(|| answer.to_owned());
        Self { message, answer, thread_id: Some(thread_id.clone()) }
    }
}

/// Watches one turn.
pub(super) struct Observer {
    state: Arc<State>,
    end: Option<oneshot::Sender<End>>,
    reporter: Option<JoinHandle<()>>,
}

/// Where events of a turn go.
#[derive(Debug)]
pub(super) struct State {
    line: Mutex<Line>,
    changed: Notify,
}

impl Observer {
    /// Without a token nothing is shown.
    pub(super) fn start(editor: Arc<Editor>, token: Option<Token>) -> Self {
        let state = Arc::new(State { line: Mutex::new(Line::new(Instant::now())), changed: Notify::new() });
        let Some(token) = token else {
            return Self { state, end: None, reporter: None };
        };
        let (end, ended) = oneshot::channel();
        let reporter = tokio::spawn(report(editor, token, Arc::clone(&state), ended));
        Self { state, end: Some(end), reporter: Some(reporter) }
    }

    pub(super) fn events(&self) -> Arc<State> {
        Arc::clone(&self.state)
    }

    /// The turn got its place.
    pub(super) fn started(&self) {
        self.state.update(|line, now| line.turn_to(Activity::Thinking, now));
    }

    /// Sends the end, and returns when it is on its way. Dropping the observer instead ends the progress too.
    pub(super) async fn finish(mut self, told: End) {
        if let Some(end) = self.end.take() {
            // An error means that the client never accepted the token.
            let _ = end.send(told);
        }
        if let Some(reporter) = self.reporter.take() {
            let _ = reporter.await;
        }
    }
}

impl EventSink for State {
    fn emit(&self, event: &Event) {
        self.update(|line, now| line.take_in(event, now));
    }
}

/// A question to the user that is open.
pub(super) struct Asking<'s>(&'s State);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.update(|line, _| line.asked = None);
    }
}

impl State {
    fn update(&self, change: impl FnOnce(&mut Line, Instant)) {
        change(&mut self.line(), Instant::now());
        self.changed.notify_one();
    }

    /// The turn waits for its user until what is returned is dropped.
    pub(super) fn asking(&self) -> Asking<'_> {
        self.update(|line, now| line.asked = Some(now));
        Asking(self)
    }

    /// A line is whole after every statement that changes it, so a panic elsewhere does not spoil it.
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn report(editor: Arc<Editor>, token: Token, state: Arc<State>, mut ended: oneshot::Receiver<End>) {
    let mut early_end = None;
    let token = match token {
        Token::Given(token) => token,
        Token::Created(token) => {
            let create =
                editor.request("window/workDoneProgress/create", json!({ "token": token }), CREATE_LIMIT);
            tokio::pin!(create);
            let created = tokio::select! {
                created = &mut create => created,
                end = &mut ended => {
                    early_end = Some(end);
                    let late = RequestError::TimedOut(CREATE_LIMIT_AT_END);
                    tokio::time::timeout(CREATE_LIMIT_AT_END, create).await.unwrap_or(Err(late))
                }
            };
            if let Err(error) = created {
                tracing::info!(%error, "no progress is shown");
                return;
            }
            token
        }
    };
    let send = async |value| editor.notify("$/progress", json!({ "token": token, "value": value })).await;
    let mut last = "starting".to_owned();
    send(json!({ "kind": "begin", "title": "Ask agent", "message": last, "cancellable": true })).await;
    let mut pacer = Pacer::default();
    let end = loop {
        if let Some(end) = early_end.take() {
            break end;
        }
        let now = Instant::now();
        let (text, next_second) = {
            let line = state.line();
            (line.text(now), line.next_second(now))
        };
        let wait = match pacer.pace(now, text == last) {
            Pace::Now => {
                send(json!({ "kind": "report", "message": text, "cancellable": true })).await;
                pacer.sent(now);
                last = text;
                continue;
            }
            Pace::In(wait) => Wait { at_most: wait, for_changes: false },
            // While the same thing goes on, its seconds make one report a second.
            Pace::WhenChanged => Wait { at_most: next_second, for_changes: true },
        };
        tokio::select! {
            end = &mut ended => break end,
            () = state.changed.notified(), if wait.for_changes => {}
            () = tokio::time::sleep(wait.at_most) => {}
        }
    };
    let End { message, answer, thread_id } = end.unwrap_or_else(|_dropped| End::of("stopped".to_owned()));
    let mut value = json!({ "kind": "end", "message": one_line(&message, MAX_REPORT) });
    if let Some(answer) = answer {
        value["answer"] = json!(answer);
    }
    if let Some(thread_id) = thread_id {
        value["threadId"] = json!(thread_id);
    }
    send(value).await;
}

struct Wait {
    at_most: Duration,
    for_changes: bool,
}

/// When the next report may be sent.
#[derive(Debug, Default)]
struct Pacer {
    last_sent: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Now,
    In(Duration),
    WhenChanged,
}

impl Pacer {
    fn pace(&self, now: Instant, is_same: bool) -> Pace {
        if is_same {
            return Pace::WhenChanged;
        }
        match self.last_sent.map(|sent| MIN_INTERVAL.saturating_sub(now.saturating_duration_since(sent))) {
            None | Some(Duration::ZERO) => Pace::Now,
            Some(wait) => Pace::In(wait),
        }
    }

    fn sent(&mut self, now: Instant) {
        self.last_sent = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_keep_their_distance_and_never_repeat() {
        let start = Instant::now();
        let mut pacer = Pacer::default();
        assert_eq!(pacer.pace(start, false), Pace::Now);
        pacer.sent(start);
        assert_eq!(pacer.pace(start, true), Pace::WhenChanged);
        assert_eq!(pacer.pace(start + MIN_INTERVAL / 2, false), Pace::In(MIN_INTERVAL / 2));
        assert_eq!(pacer.pace(start + MIN_INTERVAL, false), Pace::Now);
    }
}
