//! The client of every wire: sends a request, does without what the server refuses to know, and reads the reply.

use std::{
    borrow::Cow,
    fmt,
    marker::PhantomData,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
};

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::{
    ErrorKind, ModelClient, ModelError, ModelEvent, ModelInfo, ModelStream, Request, Room, catalog,
    http::{self, Answer, Endpoint},
    paused,
    sse::{self, Decoder},
    template_marks::{self, Mended},
    text_calls::TextCalls,
};
use crate::protocol::{Item, Reasoning, Wire};

/// One wire: how a request is written and a reply is read.
pub trait Format: Send + Sync + 'static {
    const WIRE: Wire;
    /// The last part of a reply's address.
    const PATH: &'static str;
    /// What is added to a request for the good of both sides, and left out where a server refuses it.
    const WISHES: &'static [Wish];

    /// # Errors
    /// [`ErrorKind::Settings`] when the request cannot be written; never for what a model said.
    fn body(endpoint: &Endpoint, request: Request<'_>, wishes: Wishes) -> Result<String, ModelError>;

    /// Reads the reply to `request`.
    fn decoder(endpoint: Arc<Endpoint>, request: Request<'_>) -> impl WholeDecoder;
}

/// A decoder that also reads a reply that came as one body although a stream was asked for.
pub trait WholeDecoder: Decoder {
    /// # Errors
    /// The error that the body holds, or that it is no reply. What came of one before it failed is in `out`.
    fn whole(&mut self, body: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;
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
    /// The bound on the reply's tokens under the name that is usual for the server (Chat); without it, under the other.
    UsualTokenBound,
    /// Tools by strict schemas, where the settings ask for them.
    StrictTools,
    /// What the server has stored in the place of the history that led to it, where the settings say so (Responses).
    StoredReplies,
    /// Room for a reply longer than the oldest models can write (Messages, which must say a bound).
    LongReply,
    /// That the model thinks as far as the effort that was set lets it (Messages).
    Thinking,
    /// The reasoning that led to calls, under the name that it came by (Chat).
    EchoedReasoning,
    /// Signs of life while the server reads a long thread (llama.cpp, by Chat and Responses).
    ReadingProgress,
}

/// The words in which servers say that they do not know a member of a request.
const UNKNOWN_MEMBER: [&str; 10] = [
    "not supported",
    "unsupported",
    "does not support",
    "unknown",
    "unrecognized",
    "unexpected",
    "extra ",
    "not permitted",
    "not allowed",
    "instead",
];

/// The words in which servers say that they miss what they want.
const DEMANDS: [&str; 5] = ["passed back", "missing", "required", "must be provided", "must include"];

/// The wishes that a server has not refused so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wishes(u16);

/// A model spoken to by the wire `F`.
pub struct WireClient<F> {
    endpoint: Arc<Endpoint>,
    info: ModelInfo,
    /// Servers are asked once for what they refuse.
    wishes: AtomicU16,
    format: PhantomData<fn() -> F>,
}

impl Wish {
    fn bit(self) -> u16 {
        1 << self as u8
    }

    /// Words that a refusal of this wish holds.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::TokenCount => &["stream_options", "include_usage"],
            Self::SealedReasoning => &["encrypted", "'include'", "include["],
            Self::CacheKey => &["prompt_cache_key"],
            Self::CacheMarks => &["cache_control"],
            Self::UsualTokenBound => &["max_completion_tokens", "max_tokens"],
            Self::StrictTools => &["strict", "invalid schema for function"],
            Self::StoredReplies => {
                &["previous_response", "previous response", "no tool output found", "no tool call found"]
            }
            Self::LongReply => &["max_tokens"],
            Self::Thinking => &["thinking"],
            Self::EchoedReasoning => &[
                "reasoning_content",
                "reasoning_details",
                ".reasoning'",
                ".reasoning:",
                "'reasoning'",
                "\"reasoning\"",
                "`reasoning`",
            ],
            Self::ReadingProgress => &["return_progress"],
        }
    }

    /// Whether a refusal, in small letters, is about this wish.
    fn is_refused_by(self, refusal: &str) -> bool {
        let is_named = self.names().iter().any(|name| refusal.contains(name));
        match self {
            // A bound may also be refused for its size, and reasoning for being left out.
            Self::UsualTokenBound | Self::EchoedReasoning => {
                is_named && UNKNOWN_MEMBER.iter().any(|words| refusal.contains(words))
            }
            // Of the history, not of the wish.
            Self::Thinking => is_named && !refusal.contains("signature"),
            _ => is_named,
        }
    }

    /// Whether a refusal says no more than that this request cannot have it.
    fn may_be_granted_later(self, refusal: &str) -> bool {
        self == Self::StoredReplies && !refusal.contains("support")
    }
}

impl Wishes {
    fn all(wishes: &[Wish]) -> Self {
        Self(wishes.iter().fold(0, |all, wish| all | wish.bit()))
    }

    pub fn holds(self, wish: Wish) -> bool {
        self.0 & wish.bit() != 0
    }

    fn without(self, wish: Wish) -> Self {
        Self(self.0 & !wish.bit())
    }

    /// The wishes among these that a refusal is about.
    fn refused<'a>(self, wishes: &'a [Wish], refusal: &'a str) -> impl Iterator<Item = Wish> + 'a {
        wishes.iter().copied().filter(move |wish| self.holds(*wish) && wish.is_refused_by(refusal))
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
            price: endpoint.price,
        };
        let options = &endpoint.options;
        let mut wishes = Wishes::all(F::WISHES);
        // What nobody asked for cannot be what a server refuses.
        if !options.store {
            wishes = wishes.without(Wish::StoredReplies);
        }
        if !options.strict_tools {
            wishes = wishes.without(Wish::StrictTools);
        }
        if options.max_output_tokens.is_none() {
            wishes = wishes.without(Wish::UsualTokenBound);
        } else {
            wishes = wishes.without(Wish::LongReply);
        }
        if options.reasoning_effort.is_none() {
            wishes = wishes.without(Wish::Thinking);
        }
        if !options.echo_reasoning {
            wishes = wishes.without(Wish::EchoedReasoning);
        }
        let wishes = AtomicU16::new(wishes.0);
        Self { endpoint: Arc::new(endpoint), info, wishes, format: PhantomData }
    }

    /// `until` is when the rest of a reply that may be whole is waited for no longer.
    async fn ask(
        &self,
        request: Request<'_>,
        room: &Room,
        until: Option<Instant>,
    ) -> Result<ModelStream, ModelError> {
        let items = match self.endpoint.may_read_marks() {
            true => template_marks::sheltered(request.items),
            false => Cow::Borrowed(request.items),
        };
        let request = Request { items: &items, ..request };
        let mut granted = Wishes(u16::MAX);
        let mut is_tried_without_reasoning = false;
        let path = self.endpoint.path(F::WIRE, F::PATH);
        let answer = loop {
            let wishes = Wishes(self.wishes.load(Ordering::Relaxed) & granted.0);
            let body = F::body(&self.endpoint, request, wishes)?;
            let error = match http::post(&self.endpoint, F::WIRE, &path, body).await {
                Err(error)
                    if matches!(error.kind, ErrorKind::Unfit | ErrorKind::Rejected | ErrorKind::History) =>
                {
                    error
                }
                other => break other?,
            };
            let refusal = error.message.to_lowercase();
            // Each round has fewer wishes, so that there is a last one.
            let mut left = wishes;
            for wish in wishes.refused(F::WISHES, &refusal) {
                left = left.without(wish);
                if !wish.may_be_granted_later(&refusal) {
                    self.wishes.fetch_and(!wish.bit(), Ordering::Relaxed);
                }
            }
            let echoes = wishes.holds(Wish::EchoedReasoning) && echoes_reasoning::<F>(request);
            let may_be_reasoning = matches!(error.kind, ErrorKind::Unfit | ErrorKind::History)
                && !DEMANDS.iter().any(|words| refusal.contains(words));
            if left == wishes && echoes && may_be_reasoning {
                // Many servers refuse it without a word that tells so.
                left = left.without(Wish::EchoedReasoning);
                is_tried_without_reasoning = true;
            }
            if left == wishes {
                return Err(about_history::<F>(error, request, is_tried_without_reasoning));
            }
            if room.is_closed() {
                return Ok(paused());
            }
            granted = left;
        };
        if is_tried_without_reasoning {
            tracing::info!("the server takes no reasoning back, so it gets none from now on");
            self.wishes.fetch_and(!Wish::EchoedReasoning.bit(), Ordering::Relaxed);
        }
        read::<F>(&self.endpoint, request, answer, until)
    }
}

/// Whether the history holds reasoning that goes back over the wire `F`.
fn echoes_reasoning<F: Format>(request: Request<'_>) -> bool {
    let is_own = |item: &Item| matches!(item, Item::Reasoning(Reasoning { raw: Some(raw), .. }) if raw.wire == F::WIRE);
    request.items.iter().any(is_own)
}

/// A refusal that does not say what it means may mean the reasoning, where some was sent: then it is one of the history,
/// of which there is a plain form.
fn about_history<F: Format>(
    error: ModelError,
    request: Request<'_>,
    is_tried_without_reasoning: bool,
) -> ModelError {
    if error.kind != ErrorKind::Unfit || !echoes_reasoning::<F>(request) {
        return error;
    }
    let tried = match is_tried_without_reasoning {
        true => ", without the model's reasoning too",
        false => "",
    };
    ModelError { kind: ErrorKind::History, message: format!("{}{tried}", error.message), ..error }
}

/// Reads what a server answered to `request` as a reply of the wire `F`.
pub(super) fn read<F: Format>(
    endpoint: &Arc<Endpoint>,
    request: Request<'_>,
    answer: Answer,
    until: Option<Instant>,
) -> Result<ModelStream, ModelError> {
    let decoder = F::decoder(Arc::clone(endpoint), request);
    let decoder = TextCalls::new(decoder, endpoint.options.text_calls, request);
    let mut decoder = Mended::new(decoder, endpoint.may_read_marks());
    match answer {
        Answer::Stream(events) => Ok(sse::reply(events, decoder, until)),
        Answer::Whole(body) => sse::whole_reply(&mut decoder, &body),
        Answer::Cut { bytes, error } => Ok(sse::cut_reply(bytes, error)),
    }
}

impl<F: Format> ModelClient for WireClient<F> {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        self.stream_within(request, Room::default())
    }

    fn stream_within<'a>(
        &'a self,
        request: Request<'a>,
        room: Room,
    ) -> BoxFuture<'a, Result<ModelStream, ModelError>> {
        let deadline = http::Deadline::of(&self.endpoint);
        let until = deadline.of_rest(room.until);
        Box::pin(deadline.keep(async move { self.ask(request, &room, until).await }))
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
