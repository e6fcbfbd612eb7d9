//! The Chat Completions wire (`POST …/chat/completions`), as every compatible server speaks it.

mod call_arguments;
mod calls;
mod decoder;
mod reasoning;
mod request;

use std::sync::Arc;

use super::{
    ModelError, Request,
    client::{Format, WholeDecoder, WireClient, Wish, Wishes},
    http::Endpoint,
};
use crate::protocol::Wire;
use decoder::ChatDecoder;

/// A model spoken to by the Chat Completions wire.
pub type ChatClient = WireClient<Chat>;

/// The format of the Chat Completions wire.
#[derive(Debug)]
pub enum Chat {}

impl Format for Chat {
    const WIRE: Wire = Wire::Chat;
    const PATH: &'static str = "chat/completions";
    const WISHES: &'static [Wish] = &[
        Wish::TokenCount,
        Wish::CacheKey,
        Wish::UsualTokenBound,
        Wish::StrictTools,
        Wish::EchoedReasoning,
        Wish::ReadingProgress,
    ];

    fn body(endpoint: &Endpoint, request: Request<'_>, wishes: Wishes) -> Result<String, ModelError> {
        request::body(endpoint, request, wishes)
    }

    fn decoder(endpoint: Arc<Endpoint>, request: Request<'_>) -> impl WholeDecoder {
        ChatDecoder::new(endpoint, request.items)
    }
}
