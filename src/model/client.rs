//! The client of every wire: sends a request, does without what the server refuses to know, and reads the reply.

use std::{
    fmt,
    marker::PhantomData,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use futures::future::BoxFuture;

use super::{
    ErrorKind, ModelClient, ModelError, ModelInfo, ModelStream, Request, catalog,
    http::{self, Answer, Endpoint},
    sse::{self, Decoder},
};
use crate::protocol::{Item, Wire};

/// One wire: how a request is written and a reply is read.
pub trait Format: Send + Sync + 'static {
    const WIRE: Wire;
    /// The address of a reply below the base URL.
    const PATH: &'static str;
    /// What is added to a request for the good of both sides, and left out where a server refuses it.
    const WISHES: &'static [Wish];

    /// # Errors
    /// [`ErrorKind::Settings`] when the request cannot be written; never for what a model said.
    fn body(endpoint: &Endpoint, request: Request<'_>, wishes: Wishes) -> Result<String, ModelError>;

    /// `history` is what was sent.
    fn decoder(endpoint: Arc<Endpoint>, history: &[Item]) -> impl WholeDecoder;
}

/// A decoder that also reads a reply that came as one body although a stream was asked for.
pub trait WholeDecoder: Decoder {
    /// # Errors
    /// The error that the body holds, or that it is no reply.
    fn whole(&mut self, body: &str) -> Result<Vec<super::ModelEvent>, ModelError>;
}

/// A member of a request that nobody asked askls for, and without which the request means the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The count of tokens at the stream's end (Chat).
    TokenCount,
    /// Reasoning in a form that can be sent back (Responses).
    SealedReasoning,
    /// The key of the prompt cache (OpenAI).
    CacheKey,
    /// Marks of what the prompt cache shall keep (Messages).
    CacheMarks,
    /// The bound on the reply's tokens under its new name (Chat); without it, the old name is used.
    NewTokenBound,
}

/// The wishes that a server has not refused so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wishes(u8);

/// A model spoken to by the wire `F`.
pub struct WireClient<F> {
    endpoint: Arc<Endpoint>,
    info: ModelInfo,
    /// Servers are asked once for what they refuse.
    wishes: AtomicU8,
    format: PhantomData<fn() -> F>,
}

impl Wish {
    fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Words that a refusal of this wish holds.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::TokenCount => &["stream_options", "include_usage"],
            Self::SealedReasoning => &["encrypted", "'include'", "include["],
            Self::CacheKey => &["prompt_cache_key"],
            Self::CacheMarks => &["cache_control"],
            Self::NewTokenBound => &["max_completion_tokens"],
        }
    }
}

impl Wishes {
    fn all(wishes: &[Wish]) -> Self {
        Self(wishes.iter().fold(0, |all, wish| all | wish.bit()))
    }

    pub fn holds(self, wish: Wish) -> bool {
        self.0 & wish.bit() != 0
    }

    /// What is left after a refusal, or `None` when it is about no wish.
    fn without_refused(self, wishes: &[Wish], refusal: &str) -> Option<Self> {
        let refusal = refusal.to_lowercase();
        let refused = wishes
            .iter()
            .filter(|wish| self.holds(**wish) && wish.names().iter().any(|name| refusal.contains(name)));
        let left = refused.fold(self.0, |left, wish| left & !wish.bit());
        (left != self.0).then_some(Self(left))
    }
}

#[cfg(test)]
impl Wishes {
    pub fn of(wishes: &[Wish]) -> Self {
        Self::all(wishes)
    }
}

impl<F: Format> WireClient<F> {
    pub fn new(endpoint: Endpoint) -> Self {
        let info = ModelInfo {
            name: endpoint.model.clone(),
            wire: Some(F::WIRE),
            server: Some(endpoint.server()),
            context_window: endpoint.context_window.or_else(|| catalog::context_window(&endpoint.model)),
            price: catalog::price(&endpoint.model),
        };
        let wishes = AtomicU8::new(Wishes::all(F::WISHES).0);
        Self { endpoint: Arc::new(endpoint), info, wishes, format: PhantomData }
    }

    async fn ask(&self, request: Request<'_>) -> Result<ModelStream, ModelError> {
        let answer = loop {
            let wishes = Wishes(self.wishes.load(Ordering::Relaxed));
            let body = F::body(&self.endpoint, request, wishes)?;
            match http::post(&self.endpoint, F::PATH, body).await {
                Err(error) if error.kind == ErrorKind::Rejected => {
                    // Each round has fewer wishes, so that there is a last one.
                    let Some(left) = wishes.without_refused(F::WISHES, &error.message) else {
                        return Err(error);
                    };
                    self.wishes.fetch_and(left.0, Ordering::Relaxed);
                }
                other => break other?,
            }
        };
        let mut decoder = F::decoder(Arc::clone(&self.endpoint), request.items);
        match answer {
            Answer::Stream(events) => Ok(sse::reply(events, decoder)),
            Answer::Whole(body) => sse::whole_reply(decoder.whole(&body)),
        }
    }
}

impl<F: Format> ModelClient for WireClient<F> {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        Box::pin(self.ask(request))
    }
}

impl<F: Format> fmt::Debug for WireClient<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireClient")
            .field("wire", &F::WIRE)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}
