//! A body that did not come from a server, read as the reply that it tells: the way past HTTP, for fuzzing, benchmarks and
//! the tests that cut recorded replies into pieces.

use std::sync::Arc;

use futures::{Stream, stream};
use tokio_util::bytes::Bytes;

use super::{
    ModelError, ModelStream, Request,
    chat::Chat,
    client,
    http::{Answer, DEFAULT_IDLE_TIMEOUT, Endpoint},
    messages::Messages,
    responses::Responses,
    sse,
};
use crate::protocol::Wire;

/// What a server answered.
#[derive(Debug)]
pub enum Body {
    /// A stream of events, in the pieces in which it arrives.
    Events(Vec<Bytes>),
    /// A whole reply.
    Whole(String),
}

/// Reads a body exactly as [`super::ModelClient::stream`] does.
///
/// # Errors
/// Those of a whole reply; those of a stream are its last event.
pub fn reply(
    wire: Wire,
    endpoint: Endpoint,
    request: Request<'_>,
    body: Body,
) -> Result<ModelStream, ModelError> {
    let idle = endpoint.idle_timeout;
    let answer = match body {
        Body::Events(pieces) => Answer::Stream(sse::events(stream::iter(pieces.into_iter().map(Ok)), idle)),
        Body::Whole(body) => Answer::Whole(body),
    };
    let endpoint = Arc::new(endpoint);
    match wire {
        Wire::Responses => client::read::<Responses>(&endpoint, request, answer, None),
        Wire::Chat => client::read::<Chat>(&endpoint, request, answer, None),
        Wire::Messages => client::read::<Messages>(&endpoint, request, answer, None),
    }
}

/// The data of a body's events one by one, and a last line that says how they ended: what every decoder is given.
pub fn data(pieces: Vec<Bytes>) -> impl Stream<Item = String> {
    sse::data(sse::events(stream::iter(pieces.into_iter().map(Ok)), DEFAULT_IDLE_TIMEOUT))
}
