//! Prints from a thread of its own: a turn must not wait for a terminal that is stopped or a pipe that nobody reads.

use std::{
    io,
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use crate::{agent::EventSink, protocol::Event};

use super::{
    view::{Style, View},
    written::{NotWritten, Written},
};

/// How often what runs is looked at: its seconds change no more often.
const TICK: Duration = Duration::from_millis(500);

/// The turn's only way to stdout and stderr, so that its lines come in their order. What waits to be printed is never
/// more than the turn itself keeps in its history.
#[derive(Clone)]
pub(super) struct Printer {
    queue: Sender<Line>,
}

enum Line {
    Event(Event),
    Notice(String),
    Question(String),
    Diff(String),
    Written(Vec<Written>),
    NotWritten(Vec<NotWritten>),
    /// Nothing follows, and everything before it was printed.
    Done(oneshot::Sender<Option<io::Error>>),
}

impl Printer {
    pub(super) fn start(style: Style) -> io::Result<Self> {
        let (queue, lines) = mpsc::channel();
        thread::Builder::new().name("printer".to_owned()).spawn(move || {
            let mut view = View::new(style, io::stdout(), io::stderr());
            loop {
                let line = match view.is_live() {
                    false => lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    true => lines.recv_timeout(TICK),
                };
                let line = match line {
                    Ok(line) => line,
                    Err(RecvTimeoutError::Timeout) => {
                        view.tick(Instant::now());
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                match line {
                    Line::Event(event) => view.event(&event),
                    Line::Notice(text) => view.notice(&text),
                    Line::Question(text) => view.question(&text),
                    Line::Diff(diff) => view.diff(&diff),
                    Line::Written(files) => view.files("written", &files),
                    Line::NotWritten(files) => view.files("not_written", &files),
                    Line::Done(done) => {
                        view.end();
                        drop(done.send(view.take_failure()));
                    }
                }
            }
        })?;
        Ok(Self { queue })
    }

    pub(super) fn notice(&self, text: impl Into<String>) {
        self.send(Line::Notice(text.into()));
    }

    pub(super) fn question(&self, text: impl Into<String>) {
        self.send(Line::Question(text.into()));
    }

    pub(super) fn diff(&self, diff: impl Into<String>) {
        self.send(Line::Diff(diff.into()));
    }

    pub(super) fn written(&self, files: Vec<Written>) {
        self.send(Line::Written(files));
    }

    pub(super) fn not_written(&self, files: Vec<NotWritten>) {
        self.send(Line::NotWritten(files));
    }

    /// Nothing follows: waits until everything is printed. Gives back why something could not be, where somebody still reads.
    pub(super) async fn flush(&self) -> Option<io::Error> {
        let (done, printed) = oneshot::channel();
        self.send(Line::Done(done));
        printed.await.ok().flatten()
    }

    /// The thread ends only with the last printer, or by a panic, of which stderr has told.
    fn send(&self, line: Line) {
        let _ = self.queue.send(line);
    }
}

impl EventSink for Printer {
    fn emit(&self, event: &Event) {
        self.send(Line::Event(event.clone()));
    }
}
