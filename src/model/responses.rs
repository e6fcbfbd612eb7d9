//! The Responses wire (`POST …/responses`), without state on the server: the whole history goes with each request, and
//! reasoning travels sealed.

mod decoder;
mod event;
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
use decoder::ResponsesDecoder;
use request::Include;

/// A model spoken to by the Responses wire.
#[derive(Debug)]
pub struct ResponsesClient {
    endpoint: Arc<Endpoint>,
    info: ModelInfo,
    /// Models that do not reason refuse to be asked for their sealed reasoning; they are asked once.
    seals_reasoning: AtomicBool,
}

impl ResponsesClient {
    pub fn new(endpoint: Endpoint) -> Self {
        let info = ModelInfo {
            name: endpoint.model.clone(),
            wire: Some(Wire::Responses),
            server: Some(endpoint.server()),
            context_window: endpoint.context_window.or_else(|| catalog::context_window(&endpoint.model)),
        };
        Self { endpoint: Arc::new(endpoint), info, seals_reasoning: AtomicBool::new(true) }
    }

    async fn ask(&self, request: Request<'_>) -> Result<ModelStream, ModelError> {
        let send = async |include| {
            let body = request::body(&self.endpoint, request, include)?;
            http::post(&self.endpoint, "responses", body).await
        };
        let include = match self.seals_reasoning.load(Ordering::Relaxed) {
            true => Include::SealedReasoning,
            false => Include::Nothing,
        };
        let answer = match send(include).await {
            Err(ModelError::Rejected { message })
                if include == Include::SealedReasoning && tells_of_seals(&message) =>
            {
                self.seals_reasoning.store(false, Ordering::Relaxed);
                send(Include::Nothing).await?
            }
            other => other?,
        };
        let mut decoder = ResponsesDecoder::new(Arc::clone(&self.endpoint), request.items);
        match answer {
            Answer::Stream(events) => Ok(sse::reply(events, decoder)),
            Answer::Whole(body) => sse::whole_reply(decoder.whole(&body)),
        }
    }
}

/// Whether a refusal is about what was asked for besides the reply.
fn tells_of_seals(message: &str) -> bool {
    let message = message.to_lowercase();
    message.contains("encrypted") || message.contains("'include'") || message.contains("include[")
}

impl ModelClient for ResponsesClient {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        Box::pin(self.ask(request))
    }
}
