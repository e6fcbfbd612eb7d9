//! The Anthropic Messages wire (`POST …/v1/messages`).

use std::sync::Arc;

use super::{
    ErrorKind, ModelError, ModelEvent, Request,
    client::{Format, WholeDecoder, WireClient, Wish, Wishes},
    http::Endpoint,
    sse::{self, Decoder, Ending, Progress},
};
use crate::protocol::Wire;

/// A model spoken to by the Messages wire.
pub type MessagesClient = WireClient<Messages>;

/// The format of the Messages wire.
#[derive(Debug)]
pub enum Messages {}

impl Format for Messages {
    const WIRE: Wire = Wire::Messages;
    const PATH: &'static str = "messages";
    const WISHES: &'static [Wish] = &[Wish::CacheMarks];

    fn body(_endpoint: &Endpoint, _request: Request<'_>, _wishes: Wishes) -> Result<String, ModelError> {
        Err(ModelError::new(ErrorKind::Settings, "the wire messages does not work yet"))
    }

    fn decoder(endpoint: Arc<Endpoint>, _request: Request<'_>) -> impl WholeDecoder {
        MessagesDecoder { endpoint }
    }
}

struct MessagesDecoder {
    endpoint: Arc<Endpoint>,
}

impl Decoder for MessagesDecoder {
    fn event(&mut self, _data: &str, _out: &mut Vec<ModelEvent>) -> Result<Progress, ModelError> {
        Ok(Progress::More)
    }

    fn end(&mut self, ending: Ending, _out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        Err(sse::interrupted(&self.endpoint, ending))
    }
}

impl WholeDecoder for MessagesDecoder {
    fn whole(&mut self, body: &str) -> Result<Vec<ModelEvent>, ModelError> {
        Err(sse::malformed(&self.endpoint, body))
    }
}
