//! The body of an answer: a stream of events, one whole reply, or what is no reply at all.

use std::time::Duration;

use futures::{Stream, StreamExt, TryStreamExt, stream};
use reqwest::{
    Response,
    header::{CONTENT_TYPE, HeaderMap},
};
use serde::de::IgnoredAny;
use tokio::time::{sleep, timeout};
use tokio_util::bytes::Bytes;

use super::{Answer, Endpoint, failure};
use crate::model::{ModelError, sse};

/// Bytes of a reply that comes as one whole body: the longest replies of today's models are below 1 MB.
const MAX_WHOLE_BYTES: usize = 8 * 1024 * 1024;

/// Bytes that are read of a refusal: its message is near the beginning, and a gateway's error page may be long.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// How long the rest of a refusal is read: its status has come, and a body that trickles tells no more.
const LONGEST_REFUSAL: Duration = Duration::from_secs(10);

/// How long a whole body may pause before it is looked at whether it is one by now: some servers keep the connection open
/// behind it.
const PAUSE: Duration = Duration::from_secs(3);

/// The mark of byte order, which JSON does not have.
const MARK: &str = "\u{feff}";

/// What a body is by its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Events,
    Json,
    /// A web page: whatever answered is no model server.
    Page,
    /// A picture, a sound, a film: the same.
    Media,
    /// Servers that name no type, or plain text, stream all the same.
    Unknown,
}

fn kind(headers: &HeaderMap) -> Kind {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.to_ascii_lowercase();
    let kinds = [
        ("event-stream", Kind::Events),
        ("json", Kind::Json),
        ("html", Kind::Page),
        ("image/", Kind::Media),
        ("audio/", Kind::Media),
        ("video/", Kind::Media),
    ];
    kinds.into_iter().find_map(|(word, of)| kind.contains(word).then_some(of)).unwrap_or(Kind::Unknown)
}

/// What an accepted request is answered with.
///
/// # Errors
/// That it is no reply of a model, or that it broke off before it was known what it is.
pub(super) async fn answer(
    response: Response,
    endpoint: &Endpoint,
    address: &str,
) -> Result<Answer, ModelError> {
    match kind(response.headers()) {
        Kind::Page => {
            let body = refusal(response, endpoint.idle_timeout).await;
            Err(failure::of_page(endpoint, address, &String::from_utf8_lossy(&body)))
        }
        Kind::Media => {
            let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
            Err(failure::of_media(endpoint, address, kind.unwrap_or_default()))
        }
        kind @ (Kind::Events | Kind::Json | Kind::Unknown) => {
            by_beginning(response, kind, endpoint, address).await
        }
    }
}

/// Takes a body for what it begins as, since some gateways say of JSON that it is events, and of events that it is JSON;
/// what begins like neither is what its head says, and a page where that says nothing.
async fn by_beginning(
    response: Response,
    kind: Kind,
    endpoint: &Endpoint,
    address: &str,
) -> Result<Answer, ModelError> {
    let mut rest = Box::pin(chunks(response));
    let mut room = MAX_WHOLE_BYTES;
    let first = loop {
        match timeout(endpoint.idle_timeout, rest.next()).await {
            Err(_) => {
                // The server took the request: it has read it.
                return Ok(Answer::Cut { bytes: 0, error: sse::Fault::Silent.into_model_error(endpoint) });
            }
            Ok(None) if kind == Kind::Events => {
                return Ok(Answer::Stream(sse::events(stream::empty(), endpoint.idle_timeout)));
            }
            Ok(None) => return Err(failure::of_nothing(endpoint, address, 200)),
            Ok(Some(Ok(blank))) if blank.trim_ascii().is_empty() => {
                // Some servers send blanks while they think, in front of either.
                room = match room.checked_sub(blank.len()) {
                    Some(room) => room,
                    None => return Err(sse::Fault::TooLarge.into_model_error(endpoint)),
                };
            }
            Ok(Some(first)) => break first,
        }
    };
    let beginning = first.as_ref().map_or(&b""[..], |bytes| bytes.trim_ascii_start());
    let beginning = beginning.strip_prefix(MARK.as_bytes()).unwrap_or(beginning);
    let is_whole = match (kind, beginning.first()) {
        (Kind::Json, _) => !begins_like_events(beginning),
        (Kind::Unknown, Some(b'<')) => {
            return Err(failure::of_page(endpoint, address, &String::from_utf8_lossy(beginning)));
        }
        (_, first) => matches!(first, Some(b'{' | b'[')),
    };
    let body = stream::iter([first]).chain(rest);
    if !is_whole {
        return Ok(Answer::Stream(sse::events(body, endpoint.idle_timeout)));
    }
    let is_json = |body: &[u8]| {
        let json = body.trim_ascii_start();
        serde_json::from_slice::<IgnoredAny>(json.strip_prefix(MARK.as_bytes()).unwrap_or(json)).is_ok()
    };
    match collect(body, MAX_WHOLE_BYTES, endpoint.idle_timeout, is_json).await {
        Ok(body) => Ok(Answer::Whole(without_mark(&String::from_utf8_lossy(&body)).to_owned())),
        Err((body, fault)) => Ok(Answer::Cut { bytes: body.len(), error: fault.into_model_error(endpoint) }),
    }
}

/// A body without the mark of byte order that some servers begin it with.
pub(super) fn without_mark(body: &str) -> &str {
    body.trim_ascii_start().strip_prefix(MARK).unwrap_or(body)
}

/// Whether this is a field of an event, or as much of one as has come.
fn begins_like_events(beginning: &[u8]) -> bool {
    const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    let is_field = |field: &&[u8]| beginning.starts_with(field) || field.starts_with(beginning);
    !beginning.is_empty() && FIELDS.iter().any(is_field)
}

fn chunks(response: Response) -> impl Stream<Item = Result<Bytes, String>> + Send + 'static {
    response.bytes_stream().map_err(|error| failure::describe(&error))
}

/// Reads the body of a refusal, as far as it comes: what arrived says more than why the rest did not.
pub(super) async fn refusal(response: Response, idle: Duration) -> Vec<u8> {
    in_time(chunks(response), idle).await
}

async fn in_time(chunks: impl Stream<Item = Result<Bytes, String>>, idle: Duration) -> Vec<u8> {
    let chunks = chunks.take_until(sleep(LONGEST_REFUSAL));
    let (Ok(body) | Err((body, _))) = collect(chunks, MAX_REFUSAL_BYTES, idle, |_| false).await;
    body
}

/// Reads a body to its end.
///
/// # Errors
/// What was read so far, and why there is no more.
pub(super) async fn read(
    response: Response,
    most: usize,
    idle: Duration,
) -> Result<Vec<u8>, (Vec<u8>, sse::Fault)> {
    collect(chunks(response), most, idle, |_| false).await
}

/// Reads to the end of the body, or to a pause behind what `is_whole`.
async fn collect(
    chunks: impl Stream<Item = Result<Bytes, String>>,
    most: usize,
    idle: Duration,
    is_whole: impl Fn(&[u8]) -> bool,
) -> Result<Vec<u8>, (Vec<u8>, sse::Fault)> {
    let mut chunks = std::pin::pin!(chunks);
    let mut body = Vec::new();
    loop {
        let pause = PAUSE.min(idle);
        let next = match timeout(pause, chunks.next()).await {
            Err(_) if is_whole(&body) => return Ok(body),
            Err(_) => timeout(idle.saturating_sub(pause), chunks.next()).await,
            next => next,
        };
        match next {
            Ok(None) => return Ok(body),
            Ok(Some(Ok(chunk))) if body.len() + chunk.len() > most => {
                return Err((body, sse::Fault::TooLarge));
            }
            Ok(Some(Ok(chunk))) => body.extend_from_slice(&chunk),
            Ok(Some(Err(error))) => return Err((body, sse::Fault::Broken(error))),
            Err(_) => return Err((body, sse::Fault::Silent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_secs(120);

    /// A word every three seconds, for ever.
    fn trickle() -> impl Stream<Item = Result<Bytes, String>> {
        stream::repeat(()).then(|()| async {
            sleep(Duration::from_secs(3)).await;
            Ok(Bytes::from_static(b"no "))
        })
    }

    // SPEC S11
    #[tokio::test(start_paused = true)]
    async fn a_refusal_that_trickles_for_ever_is_read_for_a_while() {
        assert_eq!(in_time(trickle(), IDLE).await, b"no no no ");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_whole_needs_no_end_of_its_connection() {
        let read = |pieces: Vec<&'static [u8]>| async {
            let open =
                stream::iter(pieces).map(|piece| Ok(Bytes::from_static(piece))).chain(stream::pending());
            collect(open, 100, IDLE, |body| body.ends_with(b"}")).await
        };
        assert_eq!(read(vec![b"{", b"}"]).await, Ok(b"{}".to_vec()));
        assert_eq!(read(vec![b"{", b"..."]).await, Err((b"{...".to_vec(), sse::Fault::Silent)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_that_falls_silent_is_what_came_of_it() {
        let silent = trickle().take(1).chain(stream::pending());
        assert_eq!(in_time(silent, Duration::from_secs(4)).await, b"no ");
    }
}
