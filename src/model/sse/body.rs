//! The events of one body: as its bytes come, to its end, a fault, or a time.

use std::{pin::Pin, time::Duration};

use futures::{Stream, StreamExt};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::bytes::Bytes;

use super::{
    Ending,
    reader::{Reader, is_comment},
};
use crate::model::unreadable::is_cut;

/// Bytes of one body: the longest replies have about 130,000 tokens, and the wordiest servers send 300 bytes for each. A
/// server that never ends would fill the memory.
pub(in crate::model) const MAX_REPLY_BYTES: usize = 64 * 1024 * 1024;

/// How long the end of the body is waited for after the reply is over, so that the connection can serve the next
/// request. Servers that leave it open cost no more than this.
pub(super) const CLOSING_GRACE: Duration = Duration::from_millis(50);

/// The events of one body. Dropping it closes the connection.
pub(in crate::model) struct EventStream {
    body: Pin<Box<dyn Stream<Item = Result<Bytes, String>> + Send>>,
    /// The longest silence between two pieces of the body.
    idle: Duration,
    reader: Reader,
    /// Bytes that may still come.
    room: usize,
    end: BodyEnd,
}

/// Whether more of a body comes after what the reader has.
enum BodyEnd {
    /// It does, as far as is known.
    Open,
    /// The body is over, or is waited for no longer; an event that comes now was not finished by its sender.
    Over,
    /// Nothing more is read, for this reason.
    Fault(Fault),
}

/// Why no more of a body can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No byte for the idle time-out.
    #[error("silence")]
    Silent,
    #[error("more bytes than any reply has")]
    TooLarge,
    #[error("no UTF-8")]
    NotUtf8,
    #[error("{0}")]
    Broken(String),
}

/// One event, or the end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// The data of an event that holds something.
    Data(&'a str),
    /// The same of one that its name calls an error, which may hold nothing.
    Error(&'a str),
    /// The marker that some wires end with.
    Marker,
    End,
    /// No more comes, in the middle of an event.
    Cut,
    Fault(Fault),
}

/// What the data of an event is.
#[derive(PartialEq, Eq)]
enum Data {
    /// For the decoder.
    Event,
    Error,
    Marker,
    /// A sign of life, no more.
    Nothing,
    /// The rest of a body that was cut.
    Cut,
}

/// Reads a body as events. Every byte counts as a sign of life, those of comments too.
pub(in crate::model) fn events(
    body: impl Stream<Item = Result<Bytes, String>> + Send + 'static,
    idle: Duration,
) -> EventStream {
    EventStream {
        body: Box::pin(body),
        idle,
        reader: Reader::default(),
        room: MAX_REPLY_BYTES,
        end: BodyEnd::Open,
    }
}

impl EventStream {
    /// `until` is when more of the body is waited for no longer: what came of it by then is all.
    pub(super) async fn next(&mut self, until: Option<Instant>) -> Next<'_> {
        let data = loop {
            match self.reader.advance() {
                Err(fault) => return Next::Fault(fault),
                Ok(true) => match self.look() {
                    Data::Nothing => {}
                    data => break data,
                },
                Ok(false) => match &self.end {
                    BodyEnd::Open => self.read(until).await,
                    BodyEnd::Over => return Next::End,
                    BodyEnd::Fault(fault) => return Next::Fault(fault.clone()),
                },
            }
        };
        match (data, self.reader.text()) {
            (Data::Event, Ok(text)) => Next::Data(text),
            (Data::Error, Ok(text)) => Next::Error(text),
            (Data::Event | Data::Error, Err(fault)) => Next::Fault(fault),
            (Data::Marker, _) => Next::Marker,
            (Data::Cut, _) => Next::Cut,
            (Data::Nothing, _) => Next::End,
        }
    }

    /// Waits for the next piece of the body and gives it to the reader.
    async fn read(&mut self, until: Option<Instant>) {
        // Ends a last event that its sender did not end.
        let last_end = Bytes::from_static(b"\n\n");
        let piece = timeout(self.idle, self.body.next());
        let piece = match until {
            Some(until) => timeout_at(until, piece).await.unwrap_or(Ok(None)),
            None => piece.await,
        };
        let (piece, end) = match piece {
            Err(_) => (last_end, BodyEnd::Fault(Fault::Silent)),
            Ok(Some(Err(why))) => (Bytes::new(), BodyEnd::Fault(Fault::Broken(why))),
            Ok(Some(Ok(piece))) if piece.len() > self.room => {
                (piece.slice(..self.room), BodyEnd::Fault(Fault::TooLarge))
            }
            Ok(Some(Ok(piece))) => {
                self.room -= piece.len();
                (piece, BodyEnd::Open)
            }
            Ok(None) => (last_end, BodyEnd::Over),
        };
        self.reader.feed(piece);
        self.end = end;
    }

    fn look(&self) -> Data {
        let data = self.reader.bytes();
        let trimmed = data.trim_ascii();
        if self.reader.is_error() {
            Data::Error
        // Some relays wrap a keep-alive comment into a data line.
        } else if trimmed.is_empty() || is_comment(trimmed) {
            Data::Nothing
        } else if trimmed.starts_with(b"[DONE]") {
            Data::Marker
        } else if self.is_unfinished() && self.reader.text().map_or(true, is_cut) {
            Data::Cut
        } else {
            Data::Event
        }
    }

    /// Whether the event that came last was not ended by its sender.
    fn is_unfinished(&self) -> bool {
        matches!(self.end, BodyEnd::Over | BodyEnd::Fault(Fault::Silent))
    }

    /// The end in the middle of the event that came last.
    pub(super) fn cut(&self) -> Ending {
        let fault = match &self.end {
            BodyEnd::Fault(fault) => Some(fault.clone()),
            BodyEnd::Open | BodyEnd::Over => None,
        };
        Ending::Cut { open: String::from_utf8_lossy(self.reader.bytes()).into_owned(), fault }
    }

    /// Reads what is left, if it comes at once, so that the connection can be used again.
    pub(super) async fn close(mut self) {
        let rest =
            async { while !matches!(self.next(None).await, Next::End | Next::Cut | Next::Fault(_)) {} };
        // A server that keeps the connection open loses it.
        drop(timeout(CLOSING_GRACE, rest).await);
    }
}
