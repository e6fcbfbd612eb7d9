//! Server-sent events: a body becomes events under a limit of silence and one of size, and events become a reply.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{Stream, StreamExt, stream};
use serde::de::IgnoredAny;
use sse_stream::{Error, Sse, SseByteStream};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::bytes::Bytes;

use super::{ErrorKind, ModelError, ModelEvent, ModelStream, http::Endpoint};

/// Bytes of one event: a reply's last event holds all of it a second time, and the longest replies of today's models
/// are below 1 MB.
pub(super) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// Bytes of one body: the longest replies have about 130,000 tokens, and the wordiest servers send 300 bytes for each. A
/// server that never ends would fill the memory.
pub(super) const MAX_REPLY_BYTES: usize = 64 * 1024 * 1024;

/// How long the count of tokens and the marker are waited for after the server has said why it ends. Some servers then
/// keep the connection open, or alive, for ever.
const ENDING_GRACE: Duration = Duration::from_secs(3);

/// How long the end of the body is waited for after the reply is over, so that the connection can serve the next
/// request. Servers that leave it open cost no more than this.
const CLOSING_GRACE: Duration = Duration::from_millis(50);

/// The events of one body. Dropping it closes the connection.
pub(super) struct EventStream {
    events: Pin<Box<dyn Stream<Item = Result<Sse, Error>> + Send>>,
    meter: Arc<Meter>,
}

/// What the decoder cannot tell about itself.
#[derive(Default)]
struct Meter {
    /// Bytes that arrived since an event was whole.
    pending: AtomicUsize,
    /// The body is over; an event that comes now was not finished by its sender.
    over: AtomicBool,
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
enum Next {
    /// The data of an event that holds something.
    Data(String),
    /// The marker that some wires end with.
    Marker,
    End,
    Fault(Fault),
}

/// Reads a body as events. Every byte counts as a sign of life, those of comments too.
pub(super) fn events(
    body: impl Stream<Item = Result<Bytes, String>> + Send + 'static,
    idle: Duration,
) -> EventStream {
    let meter = Arc::new(Meter::default());
    let metered = Arc::clone(&meter);
    let chunks = stream::unfold(Some((Box::pin(body), 0)), move |reading| {
        let meter = Arc::clone(&metered);
        async move {
            let (mut body, read) = reading?;
            Some(match timeout(idle, body.next()).await {
                Err(_) => (Err(Fault::Silent), None),
                Ok(Some(Err(why))) => (Err(Fault::Broken(why)), None),
                Ok(Some(Ok(chunk))) => {
                    let read = read + chunk.len();
                    let pending = meter.pending.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len();
                    if pending > MAX_EVENT_BYTES || read > MAX_REPLY_BYTES {
                        (Err(Fault::TooLarge), None)
                    } else {
                        (Ok(chunk), Some((body, read)))
                    }
                }
                Ok(None) => {
                    meter.over.store(true, Ordering::Relaxed);
                    // The decoder would drop a last event without the blank line that ends it.
                    (Ok(Bytes::from_static(b"\n\n")), None)
                }
            })
        }
    });
    EventStream { events: Box::pin(SseByteStream::new(Box::pin(chunks))), meter }
}

impl EventStream {
    async fn next(&mut self) -> Next {
        loop {
            let event = match self.events.next().await {
                None => return Next::End,
                Some(Err(error)) => return self.fault(error),
                Some(Ok(event)) => event,
            };
            self.meter.pending.store(0, Ordering::Relaxed);
            let Some(data) = event.data else { continue };
            let trimmed = data.trim();
            // Some relays wrap a keep-alive comment into a data line.
            if trimmed.is_empty() || trimmed.starts_with(':') {
                continue;
            }
            if trimmed.starts_with("[DONE]") {
                return Next::Marker;
            }
            let unfinished = self.meter.over.load(Ordering::Relaxed);
            if unfinished && serde_json::from_str::<IgnoredAny>(&data).is_err() {
                return Next::End;
            }
            return Next::Data(data);
        }
    }

    fn fault(&self, error: Error) -> Next {
        let fault = match error {
            // A body that ends inside a character has ended, no more.
            Error::Utf8Parse(_) if self.meter.over.load(Ordering::Relaxed) => return Next::End,
            Error::Utf8Parse(_) => Fault::NotUtf8,
            Error::Body(error) => match error.downcast::<Fault>() {
                Ok(fault) => *fault,
                Err(other) => Fault::Broken(other.to_string()),
            },
            other => Fault::Broken(other.to_string()),
        };
        Next::Fault(fault)
    }

    /// Reads what is left, if it comes at once, so that the connection can be used again.
    async fn close(mut self) {
        let rest = async { while !matches!(self.next().await, Next::End | Next::Fault(_)) {} };
        // A server that keeps the connection open loses it.
        drop(timeout(CLOSING_GRACE, rest).await);
    }
}

/// How a stream of events ended without its wire's last event.
pub enum Ending {
    /// With the marker `[DONE]`.
    Marker,
    /// The body was over.
    Closed,
    Fault(Fault),
}

/// Whether a reply goes on after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    More,
    /// The reply is whole; only what is said about it may follow.
    Ending,
    /// The reply is over, whatever else the server sends.
    Over,
}

/// How one wire understands its events. What it makes of them is pushed to `out`, in order; with the reply's end that
/// is a [`ModelEvent::Done`].
pub trait Decoder: Send + 'static {
    /// # Errors
    /// What the server reported, or that the data is not of the wire's form.
    fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError>;

    /// The events stopped before [`Progress::Over`].
    ///
    /// # Errors
    /// That the reply is not whole.
    fn end(&mut self, ending: Ending, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;
}

/// The events of a body as the reply that they tell.
pub(super) fn reply(events: EventStream, decoder: impl Decoder) -> ModelStream {
    struct Reading<D> {
        /// `None` once the reply is over.
        events: Option<EventStream>,
        decoder: D,
        ready: VecDeque<Result<ModelEvent, ModelError>>,
        /// Until when the rest of a whole reply is waited for.
        deadline: Option<Instant>,
    }
    let reading = Reading { events: Some(events), decoder, ready: VecDeque::new(), deadline: None };
    stream::unfold(reading, |mut reading| async move {
        loop {
            if let Some(event) = reading.ready.pop_front() {
                return Some((event, reading));
            }
            let mut events = reading.events.take()?;
            let mut out = Vec::new();
            let next = match reading.deadline {
                None => events.next().await,
                Some(deadline) => timeout_at(deadline, events.next()).await.unwrap_or(Next::End),
            };
            let progress = match next {
                Next::Data(data) => reading.decoder.event(&data, &mut out),
                ending => {
                    let ending = match ending {
                        Next::Marker => Ending::Marker,
                        Next::Fault(fault) => Ending::Fault(fault),
                        _ => Ending::Closed,
                    };
                    reading.decoder.end(ending, &mut out).map(|()| Progress::Over)
                }
            };
            reading.ready.extend(out.into_iter().map(Ok));
            match progress {
                Ok(Progress::More) => reading.events = Some(events),
                Ok(Progress::Ending) => {
                    reading.deadline.get_or_insert_with(|| Instant::now() + ENDING_GRACE);
                    reading.events = Some(events);
                }
                Ok(Progress::Over) => events.close().await,
                Err(error) => reading.ready.push_back(Err(error)),
            }
        }
    })
    .boxed()
}

/// The reply that one whole body tells.
pub(super) fn whole_reply(events: Result<Vec<ModelEvent>, ModelError>) -> Result<ModelStream, ModelError> {
    Ok(stream::iter(events?.into_iter().map(Ok)).boxed())
}

/// The data is not of the wire's form.
pub(super) fn malformed(endpoint: &Endpoint, data: &str) -> ModelError {
    let shown = super::http::clean(endpoint, data);
    let server = endpoint.server();
    ModelError::new(
        ErrorKind::Malformed,
        format!("{server} answered with what is no model's reply ({shown}): check base_url and wire"),
    )
}

/// The stream stopped before its end.
pub(super) fn interrupted(endpoint: &Endpoint, ending: Ending) -> ModelError {
    match ending {
        Ending::Fault(fault) => fault.into_model_error(endpoint),
        Ending::Marker | Ending::Closed => ModelError::new(
            ErrorKind::Interrupted,
            format!("{} ended its reply before it was whole", endpoint.server()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All that comes of a body in these pieces; time plays no part.
    fn read(pieces: Vec<&[u8]>) -> Vec<String> {
        let chunks: Vec<_> = pieces.into_iter().map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let mut events = events(stream::iter(chunks), Duration::from_secs(60));
            let mut seen = Vec::new();
            loop {
                match events.next().await {
                    Next::Data(data) => seen.push(data),
                    ending => {
                        seen.push(format!("=> {ending:?}"));
                        return seen;
                    }
                }
            }
        })
    }

    fn check(body: &str, expected: &[&str]) {
        assert_eq!(read(vec![body.as_bytes()]), expected, "in one piece: {body:?}");
        for cut in 0..body.len() {
            let (left, right) = body.as_bytes().split_at(cut);
            assert_eq!(read(vec![left, right]), expected, "cut at {cut}: {body:?}");
        }
    }

    // SPEC S1, S2
    #[test]
    fn all_line_ends_and_all_cuts_give_the_same_events() {
        for line_end in ["\n", "\r\n", "\r"] {
            let body = "event: x\ndata: {\"a\":\"ä😀\"}\n\n:ping\n\ndata:{\"b\":1}\nid: 7\n\ndata: [\ndata: 1]\n\ndata: [DONE]\n\n";
            check(&body.replace('\n', line_end), &[r#"{"a":"ä😀"}"#, r#"{"b":1}"#, "[\n1]", "=> Marker"]);
        }
    }

    #[test]
    fn a_mark_of_byte_order_is_no_data() {
        check("\u{feff}data: {}\n\n", &["{}", "=> End"]);
    }

    #[test]
    fn a_last_event_without_its_blank_line_counts_when_it_is_whole() {
        check("data: {}", &["{}", "=> End"]);
        check("data: {}\n", &["{}", "=> End"]);
        check("data: {\"cut", &["=> End"]);
    }

    #[test]
    fn comments_are_no_data_even_when_a_relay_wraps_them() {
        check(": ping\n\ndata: : still working\n\ndata:\n\ndata: {}\n\n", &["{}", "=> End"]);
    }

    #[test]
    fn a_body_that_ends_inside_a_character_has_ended() {
        assert_eq!(read(vec![b"data: {}\n\n", b"data: \"\xF0\x9F"]), ["{}", "=> End"]);
    }

    #[test]
    fn bytes_that_are_no_text_are_a_fault() {
        assert_eq!(read(vec![b"data: \"\xFF\"\n\n"]), ["=> Fault(NotUtf8)"]);
    }

    #[test]
    fn an_event_without_end_is_given_up() {
        let piece = vec![b'x'; 1024 * 1024];
        let endless = std::iter::once(b"data: ".as_slice()).chain(std::iter::repeat_n(piece.as_slice(), 20));
        assert_eq!(read(endless.collect()), ["=> Fault(TooLarge)"]);
    }

    #[test]
    fn many_events_are_not_one_large_one() {
        let event = format!("data: \"{}\"\n\n", "x".repeat(1024 * 1024));
        assert_eq!(read(std::iter::repeat_n(event.as_bytes(), 20).collect()).len(), 21);
    }

    #[test]
    fn a_reply_that_never_ends_is_given_up() {
        let event = format!("data: \"{}\"\n\n", "x".repeat(1024 * 1024));
        let told = read(std::iter::repeat_n(event.as_bytes(), 80).collect());
        assert_eq!(told.last().map(String::as_str), Some("=> Fault(TooLarge)"));
        assert!(told.len() * event.len() <= MAX_REPLY_BYTES + event.len(), "{}", told.len());
    }

    /// Says with its first event that the reply is whole.
    struct Short;

    impl Decoder for Short {
        fn event(&mut self, _data: &str, _out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError> {
            Ok(Progress::Ending)
        }

        fn end(&mut self, _ending: Ending, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
            out.push(ModelEvent::TextDelta("ended".to_owned()));
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_whole_reply_ends_soon_though_its_server_keeps_the_connection_alive() {
        let pings = stream::repeat(Ok(Bytes::from_static(b": ping\n\n"))).then(|ping| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            ping
        });
        let body = stream::iter([Ok(Bytes::from_static(b"data: {}\n\n"))]).chain(pings);
        let start = Instant::now();
        let told: Vec<_> = reply(events(body, Duration::from_secs(60)), Short).collect().await;
        assert_eq!(told, [Ok(ModelEvent::TextDelta("ended".to_owned()))]);
        assert!(start.elapsed() <= ENDING_GRACE + CLOSING_GRACE, "{:?}", start.elapsed());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6)) {
            read(pieces.iter().map(Vec::as_slice).collect());
        }
    }

    // SPEC S11
    #[tokio::test(start_paused = true)]
    async fn comments_are_signs_of_life_and_silence_is_a_fault() {
        let slow = |count| {
            stream::iter(0..count).then(|_| async {
                tokio::time::sleep(Duration::from_millis(900)).await;
                Ok(Bytes::from_static(b": ping\n\n"))
            })
        };
        let mut alive = events(slow(5), Duration::from_secs(1));
        assert_eq!(alive.next().await, Next::End);
        let mut silent = events(slow(2).chain(stream::pending()), Duration::from_secs(1));
        assert_eq!(silent.next().await, Next::Fault(Fault::Silent));
    }
}
