//! Server-sent events: a body becomes events under a limit of silence and one of size, and events become a reply.

mod body;
mod error_event;
mod other_wire;
mod reader;

use std::{collections::VecDeque, time::Duration};

use futures::{Stream, StreamExt, stream};
use tokio::time::Instant;

use super::{ErrorKind, ModelError, ModelEvent, ModelStream, client::WholeDecoder, http::Endpoint};
use crate::protocol::Usage;
use body::Next;
pub(super) use body::{EventStream, Fault, events};
use error_event::error_event;
pub(super) use other_wire::refuse_other_wire;

/// Bytes of one event: a reply's last event holds all of it a second time, and the longest replies of today's models
/// are below 1 MB.
pub(super) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// Bytes of text that one reply shows, its reasoning included: what has no end must not fill the memory of everyone
/// who keeps the text.
const MAX_TEXT_BYTES: usize = MAX_EVENT_BYTES;

/// How long the count of tokens and the marker are waited for after the server has said why it ends, in an event of its
/// own. Some servers then keep the connection open, or alive, for ever.
const ENDING_GRACE: Duration = Duration::from_secs(3);

/// How long more is waited for where the end came with a piece, or before any: some servers say `stop` with every piece,
/// and a slow model thinks between two of them. Others send all at once and keep the connection open.
const GRACE_IN_DOUBT: Duration = Duration::from_secs(30);

/// How a stream of events ended without its wire's last event.
pub enum Ending {
    /// With the marker `[DONE]`.
    Marker,
    /// The body was over.
    Closed,
    /// The same in the middle of an event.
    Cut {
        /// What came of its data.
        open: String,
        /// Why no more came, where the body was not over.
        fault: Option<Fault>,
    },
    Fault(Fault),
}

/// Whether a reply goes on after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    More,
    /// The reply is whole, as its server says; only what is said about it may follow.
    Ending,
    /// The same, said so that it may mean nothing: more may come.
    InDoubt,
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

    /// What the server has counted so far.
    fn usage(&self) -> Option<Usage>;

    /// Bytes that have come so far of what nobody is shown, such as calls and sealed reasoning: nothing is told of them
    /// before the reply's end.
    fn unheard(&self) -> usize {
        0
    }
}

/// The events of a body as the reply that they tell. Where that may be whole, no more is waited for than `until`.
pub(super) fn reply(events: EventStream, decoder: impl Decoder, until: Option<Instant>) -> ModelStream {
    let end_of = move |grace| {
        let end = Instant::now() + grace;
        until.map_or(end, |until| end.min(until))
    };
    struct Reading<D> {
        /// `None` once the reply is over.
        events: Option<EventStream>,
        decoder: D,
        /// What the decoder made of an event.
        out: Vec<ModelEvent>,
        ready: VecDeque<Result<ModelEvent, ModelError>>,
        /// Bytes of text that were shown.
        shown: usize,
        /// Until when the rest of a whole reply is waited for.
        deadline: Option<Instant>,
    }
    // Boxed, since it is moved with every event.
    let reading = Box::new(Reading {
        events: Some(events),
        decoder,
        out: Vec::new(),
        ready: VecDeque::new(),
        shown: 0,
        deadline: None,
    });
    stream::unfold(reading, move |mut reading| async move {
        loop {
            if let Some(event) = reading.ready.pop_front() {
                return Some((event, reading));
            }
            let Reading { events, decoder, out, ready, shown, deadline } = &mut *reading;
            let body = events.as_mut()?;
            // What has arrived is read at once, much of it without a wait: others have to get their turn, and whoever
            // cancels has to be seen.
            tokio::task::coop::consume_budget().await;
            let next = match deadline {
                _ if *shown > MAX_TEXT_BYTES => Next::Fault(Fault::TooLarge),
                _ => body.next(*deadline).await,
            };
            let progress = match next {
                Next::Data(data) => decoder.event(data, out),
                Next::Error(data) => decoder.event(&error_event(data), out),
                ending => {
                    let ending = match ending {
                        Next::Marker => Ending::Marker,
                        Next::Cut => body.cut(),
                        Next::Fault(fault) => Ending::Fault(fault),
                        _ => Ending::Closed,
                    };
                    decoder.end(ending, out).map(|()| Progress::Over)
                }
            };
            *shown += out.iter().map(shown_bytes).sum::<usize>();
            ready.extend(out.drain(..).map(with_true_count).map(Ok));
            match progress {
                Ok(Progress::More) => *deadline = None,
                Ok(Progress::InDoubt) => {
                    deadline.get_or_insert_with(|| end_of(GRACE_IN_DOUBT));
                }
                Ok(Progress::Ending) => {
                    // Of one that was in doubt more was waited for.
                    let end = end_of(ENDING_GRACE);
                    *deadline = Some(deadline.map_or(end, |before| before.min(end)));
                }
                Ok(Progress::Over) => {
                    if let Some(events) = events.take() {
                        events.close().await;
                    }
                }
                Err(error) => {
                    events.take();
                    ready.extend(broken(decoder.usage(), decoder.unheard(), error));
                }
            }
        }
    })
    .boxed()
}

/// The data of the events, and a last line that says how they ended.
pub(super) fn data(events: EventStream) -> impl Stream<Item = String> {
    stream::unfold(Some(events), |events| async move {
        let mut events = events?;
        let line = match events.next(None).await {
            Next::Data(data) | Next::Error(data) => {
                let data = data.to_owned();
                return Some((data, Some(events)));
            }
            Next::Marker => "=> marker".to_owned(),
            Next::End | Next::Cut => "=> closed".to_owned(),
            Next::Fault(fault) => format!("=> fault: {fault}"),
        };
        Some((line, None))
    })
}

fn shown_bytes(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::TextDelta(text) | ModelEvent::ReasoningDelta(text) => text.len(),
        ModelEvent::Item(_)
        | ModelEvent::Used(_)
        | ModelEvent::Unheard(_)
        | ModelEvent::Estimated
        | ModelEvent::Done { .. } => 0,
    }
}

/// No reply uses nothing: a server that says so has not counted.
fn with_true_count(event: ModelEvent) -> ModelEvent {
    match event {
        ModelEvent::Done { finish, usage } => {
            ModelEvent::Done { finish, usage: usage.filter(|usage| *usage != Usage::default()) }
        }
        other => other,
    }
}

/// The reply that one whole body tells. What came of one that failed is told before its error.
///
/// # Errors
/// That the body is none, where nothing was counted and nothing of a reply came either.
pub(super) fn whole_reply(decoder: &mut impl WholeDecoder, body: &str) -> Result<ModelStream, ModelError> {
    let mut out = Vec::new();
    let Err(error) = decoder.whole(body, &mut out) else {
        return Ok(stream::iter(out.into_iter().map(with_true_count).map(Ok)).boxed());
    };
    let (usage, mut unheard) = (decoder.usage(), decoder.unheard());
    if out.is_empty() && usage.is_none() && unheard == 0 {
        if !error.kind.is_of_a_begun_reply() {
            return Err(error);
        }
        // It cannot be read, and was written all the same.
        unheard = body.len();
    }
    Ok(stream::iter(out.into_iter().map(Ok).chain(broken(usage, unheard, error))).boxed())
}

/// The reply that a body tells which broke off after so many bytes: they were written all the same.
pub(super) fn cut_reply(bytes: usize, error: ModelError) -> ModelStream {
    stream::iter(broken(None, bytes, error)).boxed()
}

/// The end of a reply that breaks off: what its server counted of it, the bytes that nobody was shown, and why.
fn broken(
    usage: Option<Usage>,
    unheard: usize,
    error: ModelError,
) -> impl Iterator<Item = Result<ModelEvent, ModelError>> {
    let unheard = Some(unheard).filter(|bytes| *bytes > 0);
    let counted = usage.map(ModelEvent::Used).into_iter().chain(unheard.map(ModelEvent::Unheard));
    counted.map(Ok).chain([Err(error)])
}

/// The data is not of the wire's form.
pub(super) fn malformed(endpoint: &Endpoint, data: &str) -> ModelError {
    let shown = super::http::clean(endpoint, data);
    let server = endpoint.server();
    ModelError::new(
        ErrorKind::Malformed,
        format!(
            "{server} answered with something that is not a model's reply ({shown}): check base_url and wire"
        ),
    )
}

/// The stream stopped before its end.
pub(super) fn interrupted(endpoint: &Endpoint, ending: Ending) -> ModelError {
    match ending {
        Ending::Fault(fault) | Ending::Cut { fault: Some(fault), .. } => fault.into_model_error(endpoint),
        Ending::Marker | Ending::Closed | Ending::Cut { fault: None, .. } => ModelError::new(
            ErrorKind::Interrupted,
            format!("{} ended its reply before it was whole", endpoint.server()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio_util::bytes::Bytes;

    use super::{
        body::{CLOSING_GRACE, MAX_REPLY_BYTES},
        *,
    };
    use crate::model::said_end::{Brought, Said};

    /// All that comes of a body in these pieces; time plays no part.
    fn read(pieces: Vec<&[u8]>) -> Vec<String> {
        let chunks: Vec<_> = pieces.into_iter().map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let mut events = events(stream::iter(chunks), Duration::from_secs(60));
            let mut seen = Vec::new();
            loop {
                match events.next(None).await {
                    Next::Data(data) => seen.push(data.to_owned()),
                    Next::Error(data) => seen.push(format!("error: {data}")),
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
        check("data: {\"cut", &["=> Cut"]);
        check("data: {\"tps\":NaN}", &["{\"tps\":NaN}", "=> End"]);
        check("data: bye", &["bye", "=> End"]);
    }

    #[test]
    fn a_line_that_begins_as_an_object_is_an_event_of_its_own() {
        check("data: {}\n\n{\"a\":1}\ndata: [DONE]\n\n", &["{}", "{\"a\":1}", "=> Marker"]);
    }

    #[test]
    fn comments_are_no_data_even_when_a_relay_wraps_them() {
        check(": ping\n\ndata: : still working\n\ndata:\n\ndata: {}\n\n", &["{}", "=> End"]);
    }

    #[test]
    fn a_body_that_ends_inside_a_character_has_ended() {
        assert_eq!(read(vec![b"data: {}\n\n", b"data: \"\xF0\x9F"]), ["{}", "=> Cut"]);
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

        fn usage(&self) -> Option<Usage> {
            None
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
        let told: Vec<_> = reply(events(body, Duration::from_secs(60)), Short, None).collect().await;
        assert_eq!(told, [Ok(ModelEvent::TextDelta("ended".to_owned()))]);
        assert!(start.elapsed() <= ENDING_GRACE + CLOSING_GRACE, "{:?}", start.elapsed());
    }

    /// Shows all that comes.
    struct Echo;

    impl Decoder for Echo {
        fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError> {
            out.push(ModelEvent::TextDelta(data.to_owned()));
            Ok(Progress::More)
        }

        fn end(&mut self, ending: Ending, _out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
            Err(interrupted(&crate::model::story::endpoint(), ending))
        }

        fn usage(&self) -> Option<Usage> {
            None
        }
    }

    #[tokio::test]
    async fn more_text_than_any_reply_has_ends_it_once_and_is_not_asked_for_again() {
        let event = Bytes::from(format!("data: \"{}\"\n\n", "x".repeat(1024 * 1024)));
        let body = stream::repeat(event).map(Ok).take(1000);
        let told: Vec<_> = reply(events(body, Duration::from_secs(60)), Echo, None).collect().await;
        assert!(told.len() < 10, "{}", told.len());
        let (last, before) = told.split_last().expect("an end");
        assert!(before.iter().all(Result::is_ok));
        let error = last.as_ref().expect_err("an endless reply is a fault");
        assert_eq!((error.kind, error.retry), (ErrorKind::Malformed, crate::model::Retry::Never));
    }

    #[test]
    fn what_is_too_large_is_so_at_the_same_byte_however_the_body_is_cut() {
        let event = |length| format!("data: {}\n\n", "x".repeat(length - "data: ".len()));
        let body = event(100) + &event(MAX_EVENT_BYTES) + &event(MAX_EVENT_BYTES + 1) + &event(100);
        for size in [body.len(), 1_000_003, 4096] {
            let told = read(body.as_bytes().chunks(size).collect());
            let told: Vec<_> =
                told.iter().map(|event| (event.len(), event.get(..10).unwrap_or(event))).collect();
            let whole = ("x".repeat(10), "=> Fault(T");
            assert_eq!(
                told,
                [(94, &*whole.0), (MAX_EVENT_BYTES - 6, &*whole.0), (18, whole.1)],
                "in pieces of {size}"
            );
        }
    }

    #[test]
    fn a_line_of_data_may_lack_its_colon_and_its_blank_and_other_fields_are_no_data() {
        check("data\ndata:{}\ndata: \nevent: x\ndatabase: 1\nretry: 5\n:\n\n", &["\n{}\n", "=> End"]);
    }

    // SPEC S4
    #[test]
    fn an_event_or_a_field_is_an_error_by_its_name_with_data_or_without() {
        check(
            "event: error\ndata: boom\n\nevent:error\n\nerror: {}\n\nevent: errors\ndata: {}\n\nevent: x\n\ndata: {}\n\n",
            &["error: boom", "error: ", "error: {}", "{}", "{}", "=> End"],
        );
    }

    #[test]
    fn a_relay_may_write_the_name_of_the_field_once_more() {
        check("data: data: {}\n\ndata:data:data: [DONE]\n\n", &["{}", "=> Marker"]);
    }

    #[test]
    fn only_data_has_to_be_utf_8() {
        assert_eq!(read(vec![b": \xFF\nevent: \xFF\ndata: {}\n\n"]), ["{}", "=> End"]);
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
        assert_eq!(alive.next(None).await, Next::End);
        let mut silent = events(slow(2).chain(stream::pending()), Duration::from_secs(1));
        assert_eq!(silent.next(None).await, Next::Fault(Fault::Silent));
    }

    /// Calls its reply whole with every event, and shows all of it.
    #[derive(Default)]
    struct Hasty(Said);

    impl Decoder for Hasty {
        fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError> {
            self.0.say("stop");
            let is_piece = data != "{}";
            out.extend(is_piece.then(|| ModelEvent::TextDelta(data.to_owned())));
            Ok(self.0.after_event(if is_piece { Brought::Piece } else { Brought::Nothing }))
        }

        fn end(&mut self, ending: Ending, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
            let how = if self.0.has_ended(&ending) { "ended" } else { "cut" };
            out.push(ModelEvent::TextDelta(how.to_owned()));
            Ok(())
        }

        fn usage(&self) -> Option<Usage> {
            None
        }
    }

    // SPEC S6, S11
    #[tokio::test(start_paused = true)]
    async fn a_wait_that_ends_in_the_middle_of_an_event_is_a_body_that_was_cut_there() {
        for (last, idle, expected) in [
            ("data: {\"a\":\"tw", 60, ["one", "cut"].as_slice()),
            ("data: {\"a\":\"tw\n", 60, &["one", "cut"]),
            ("data: {\"a\":\"tw", 5, &["one", "cut"]),
            (": pin", 60, &["one", "ended"]),
            (": pin", 5, &["one", "ended"]),
            ("data: {}\n", 60, &["one", "ended"]),
            ("data: [DONE]", 5, &["one", "ended"]),
        ] {
            let pieces = ["data: one\n\n", last].map(|piece| Ok(Bytes::from(piece)));
            let body = stream::iter(pieces).chain(stream::pending());
            let told = reply(events(body, Duration::from_secs(idle)), Hasty::default(), None);
            let told: Vec<_> = told.collect().await;
            let expected: Vec<_> =
                expected.iter().map(|text| Ok(ModelEvent::TextDelta((*text).to_owned()))).collect();
            assert_eq!(told, expected, "{last:?}, {idle} s");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_in_the_middle_of_an_event_is_told_as_silence() {
        let pieces = stream::iter([Ok(Bytes::from_static(b"data: {\"a"))]).chain(stream::pending());
        let told: Vec<_> = reply(events(pieces, Duration::from_secs(5)), Echo, None).collect().await;
        let silent = interrupted(&crate::model::story::endpoint(), Ending::Fault(Fault::Silent));
        assert_eq!(told, [Err(silent)]);
    }

    /// What is told of events that come after so many seconds each.
    async fn told_of(seconds: &[(u64, &'static str)]) -> (Vec<String>, Duration) {
        let body = stream::iter(seconds.to_vec()).then(|(seconds, data)| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(Bytes::from(format!("data: {data}\n\n")))
        });
        let start = Instant::now();
        let body = body.chain(stream::pending());
        let told: Vec<_> =
            reply(events(body, Duration::from_secs(60)), Hasty::default(), None).collect().await;
        let told = told.into_iter().map(|event| match event {
            Ok(ModelEvent::TextDelta(text)) => text,
            other => format!("{other:?}"),
        });
        (told.collect(), start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn all_at_once_with_its_end_is_a_reply_though_the_connection_stays_open() {
        let (told, waited) = told_of(&[(0, "one")]).await;
        assert_eq!(told, ["one", "ended"]);
        assert!(waited <= GRACE_IN_DOUBT + CLOSING_GRACE, "{waited:?}");
        // What comes behind it without a piece settles the doubt.
        let (told, waited) = told_of(&[(0, "one"), (2, "{}")]).await;
        assert_eq!(told, ["one", "ended"]);
        assert!(waited <= Duration::from_secs(2) + ENDING_GRACE + CLOSING_GRACE, "{waited:?}");
        // An end before any piece may be said with every one of them too.
        let (told, _) = told_of(&[(0, "{}"), (4, "{}"), (25, "one")]).await;
        assert_eq!(told, ["one", "cut"]);
        let (told, waited) = told_of(&[(0, "{}"), (2, "{}")]).await;
        assert_eq!(told, ["ended"]);
        assert!(waited <= GRACE_IN_DOUBT + CLOSING_GRACE, "{waited:?}");
    }

    // SPEC S11
    #[tokio::test(start_paused = true)]
    async fn where_the_end_is_said_with_every_piece_silence_is_no_end() {
        let (told, _) = told_of(&[(0, "one"), (2, "two"), (40, "three"), (59, "{}"), (59, "four")]).await;
        assert_eq!(told, ["one", "two", "three", "four", "cut"]);
    }

    /// Tells of one word and of three bytes that nobody is shown, and fails.
    struct Failing(ErrorKind, bool);

    impl Decoder for Failing {
        fn event(&mut self, _data: &str, _out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError> {
            Ok(Progress::More)
        }

        fn end(&mut self, _ending: Ending, _out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
            Ok(())
        }

        fn usage(&self) -> Option<Usage> {
            None
        }

        fn unheard(&self) -> usize {
            if self.1 { 3 } else { 0 }
        }
    }

    impl WholeDecoder for Failing {
        fn whole(&mut self, _body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
            out.extend(self.1.then(|| ModelEvent::TextDelta("one".to_owned())));
            Err(ModelError::new(self.0, "no"))
        }
    }

    // SPEC L12, L13
    #[tokio::test]
    async fn a_body_that_is_no_reply_has_cost_its_bytes_and_an_error_in_its_place_nothing() {
        let of = |kind| whole_reply(&mut Failing(kind, false), "0123456789");
        let told: Vec<_> = of(ErrorKind::Malformed).expect("a reply that breaks off").collect().await;
        let malformed = ModelError::new(ErrorKind::Malformed, "no");
        assert_eq!(told, [Ok(ModelEvent::Unheard(10)), Err(malformed)]);
        assert_eq!(of(ErrorKind::Overloaded).err().map(|error| error.kind), Some(ErrorKind::Overloaded));
    }

    // SPEC L12, L13
    #[tokio::test]
    async fn what_came_of_a_body_that_failed_is_told_and_counted() {
        let told = whole_reply(&mut Failing(ErrorKind::Failed, true), "0123456789").expect("a reply");
        let failed = ModelError::new(ErrorKind::Failed, "no");
        let one = ModelEvent::TextDelta("one".to_owned());
        assert_eq!(told.collect::<Vec<_>>().await, [Ok(one), Ok(ModelEvent::Unheard(3)), Err(failed)]);
    }

    /// Shows nothing.
    struct Silent;

    impl Decoder for Silent {
        fn event(&mut self, _data: &str, _out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError> {
            Ok(Progress::More)
        }

        fn end(&mut self, ending: Ending, _out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
            Err(interrupted(&crate::model::story::endpoint(), ending))
        }

        fn usage(&self) -> Option<Usage> {
            None
        }
    }

    #[tokio::test]
    async fn whoever_cancels_is_seen_though_the_body_is_never_waited_for() {
        let body = stream::repeat(Ok(Bytes::from_static(b"data: {}\n\n")));
        let cancel = tokio_util::sync::CancellationToken::new();
        let soon = cancel.clone();
        let task = tokio::spawn(async move { soon.cancel() });
        let mut reply = reply(events(body, Duration::from_secs(60)), Silent, None);
        assert_eq!(cancel.run_until_cancelled(reply.next()).await, None);
        task.await.unwrap();
    }
}
