//! The Responses wire (`POST …/responses`). Unless the settings want it, there is no state on the server: the whole
//! history goes with each request, and reasoning travels sealed.

mod decoder;
mod event;
mod request;
mod slots;
mod stored;

use std::sync::Arc;

use super::{
    ModelError, Request,
    client::{Format, WholeDecoder, WireClient, Wish, Wishes},
    http::Endpoint,
};
use crate::protocol::Wire;
use decoder::ResponsesDecoder;

/// A model spoken to by the Responses wire.
pub type ResponsesClient = WireClient<Responses>;

/// The format of the Responses wire.
#[derive(Debug)]
pub enum Responses {}

impl Format for Responses {
    const WIRE: Wire = Wire::Responses;
    const PATH: &'static str = "responses";
    const WISHES: &'static [Wish] = &[
        Wish::SealedReasoning,
        Wish::CacheKey,
        Wish::StrictTools,
        Wish::StoredReplies,
        Wish::ReadingProgress,
    ];

    fn body(endpoint: &Endpoint, request: Request<'_>, wishes: Wishes) -> Result<String, ModelError> {
        request::body(endpoint, request, wishes)
    }

    fn decoder(endpoint: Arc<Endpoint>, request: Request<'_>) -> impl WholeDecoder {
        ResponsesDecoder::new(endpoint, request.items)
    }
}
