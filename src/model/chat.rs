//! The Chat Completions wire (`POST …/chat/completions`), as every compatible server speaks it.

mod calls;
mod decoder;
mod request;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures::future::BoxFuture;

use super::{
    ModelClient, ModelError, ModelInfo, ModelStream, Request, catalog,
    http::{self, Answer, Endpoint},
    sse,
};
use crate::protocol::Wire;
use decoder::ChatDecoder;
use request::Count;

/// A model spoken to by the Chat Completions wire.
#[derive(Debug)]
pub struct ChatClient {
    endpoint: Arc<Endpoint>,
    info: ModelInfo,
    /// Some servers refuse to be asked for their count of tokens; they are asked once.
    counts_tokens: AtomicBool,
}

impl ChatClient {
    pub fn new(endpoint: Endpoint) -> Self {
        let info = ModelInfo {
            name: endpoint.model.clone(),
            wire: Some(Wire::Chat),
            server: Some(endpoint.server()),
            context_window: endpoint.context_window.or_else(|| catalog::context_window(&endpoint.model)),
        };
        Self { endpoint: Arc::new(endpoint), info, counts_tokens: AtomicBool::new(true) }
    }

    async fn ask(&self, request: Request<'_>) -> Result<ModelStream, ModelError> {
        let send = async |count| {
            let body = request::body(&self.endpoint, request, count)?;
            http::post(&self.endpoint, "chat/completions", body).await
        };
        let count = match self.counts_tokens.load(Ordering::Relaxed) {
            true => Count::Tokens,
            false => Count::Nothing,
        };
        let answer = match send(count).await {
            Err(ModelError::Rejected { message }) if count == Count::Tokens && tells_of_count(&message) => {
                self.counts_tokens.store(false, Ordering::Relaxed);
                send(Count::Nothing).await?
            }
            other => other?,
        };
        let mut decoder = ChatDecoder::new(Arc::clone(&self.endpoint), request.items);
        match answer {
            Answer::Stream(events) => Ok(sse::reply(events, decoder)),
            Answer::Whole(body) => sse::whole_reply(decoder.whole(&body)),
        }
    }
}

/// Whether a refusal is about the wish for a count of tokens.
fn tells_of_count(message: &str) -> bool {
    message.contains("stream_options") || message.contains("include_usage")
}

impl ModelClient for ChatClient {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        Box::pin(self.ask(request))
    }
}
