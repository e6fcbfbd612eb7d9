//! The Anthropic Messages wire (`POST …/v1/messages`), as Anthropic, gateways and llama.cpp speak it.

mod block;
mod decoder;
mod event;
mod request;

use std::sync::Arc;

use super::{
    ModelError, Request,
    client::{Format, WholeDecoder, WireClient, Wish, Wishes},
    http::Endpoint,
};
use crate::protocol::Wire;
use decoder::MessagesDecoder;

/// A model spoken to by the Messages wire.
pub type MessagesClient = WireClient<Messages>;

/// The format of the Messages wire.
#[derive(Debug)]
pub enum Messages {}

impl Format for Messages {
    const WIRE: Wire = Wire::Messages;
    const PATH: &'static str = "messages";
    const WISHES: &'static [Wish] = &[Wish::CacheMarks, Wish::LongReply, Wish::Thinking, Wish::StrictTools];

    fn body(endpoint: &Endpoint, request: Request<'_>, wishes: Wishes) -> Result<String, ModelError> {
        request::body(endpoint, request, wishes)
    }

    fn decoder(endpoint: Arc<Endpoint>, request: Request<'_>) -> impl WholeDecoder {
        MessagesDecoder::new(endpoint, request.items)
    }
}
