//! Moves messages: frames from stdin to the handlers, and one ordered queue of messages to stdout.
//!
//! The library routes a message to its handler; its own loop over stdin is not used, because that one ends for good
//! at the first message that does not parse, hangs when a handler panics, and answers a cancelled request before the
//! handler could clean up.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use dashmap::DashMap;
use futures::FutureExt;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;
use tower_lsp::{
    LspService,
    jsonrpc::{Error, ErrorCode, Id, Request, Response},
};
use tower_service::Service;

use super::{
    editor::Editor,
    frames, lenient,
    lifecycle::{self, End},
    server::Server,
};

/// Messages that wait for a slow reader of our stdout before senders wait too.
const OUTBOX_CAPACITY: usize = 1024;

tokio::task_local! {
    /// Fires when the client cancels the request that is being handled.
    static CANCELLED: CancellationToken;
}

/// Fires when the client cancels the request that the current handler answers.
pub(super) fn request_cancelled() -> CancellationToken {
    CANCELLED.try_with(CancellationToken::clone).unwrap_or_default()
}

/// Where every message to the client goes. What is put in first is written first, so that a progress `end` cannot
/// be overtaken by the response that follows it.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    messages: mpsc::Sender<String>,
    closing: CancellationToken,
    /// Whether `shutdown` was answered. Held while a message is put in that must not come behind that answer.
    is_shut_down: Arc<Mutex<bool>>,
}

impl Outbox {
    /// A queue, and the future that writes it to `stdout` until it is closed or writing fails.
    pub(super) fn new<O>(mut stdout: O) -> (Self, impl Future<Output = ()>)
    where
        O: AsyncWrite + Unpin,
    {
        let (messages, mut queue) = mpsc::channel::<String>(OUTBOX_CAPACITY);
        let closing = CancellationToken::new();
        let closed = closing.clone();
        let write = async move {
            loop {
                let next = tokio::select! {
                    biased;
                    body = queue.recv() => body,
                    () = closed.cancelled() => None,
                };
                let Some(body) = next else { return };
                let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
                if let Err(error) = write_all(&mut stdout, frame.as_bytes()).await {
                    tracing::warn!(%error, "the editor no longer reads");
                    return;
                }
            }
        };
        (Self { messages, closing, is_shut_down: Arc::default() }, write)
    }

    /// Ends the writing once everything that is in the queue is written.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    pub(super) async fn send(&self, message: &Value) {
        // An error means that the server is about to end: nobody is left to read.
        let _ = self.messages.send(message.to_string()).await;
    }

    /// Behind the answer to `shutdown` nothing is asked: the message goes nowhere then.
    pub(super) async fn ask(&self, request: &Value) {
        let Ok(room) = self.messages.reserve().await else { return };
        if !*self.shut_down() {
            room.send(request.to_string());
        }
    }

    /// The answer to `shutdown`.
    pub(super) fn send_last(&self, response: &impl Serialize) {
        let mut is_shut_down = self.shut_down();
        *is_shut_down = true;
        self.send_soon(response);
    }

    fn shut_down(&self) -> MutexGuard<'_, bool> {
        self.is_shut_down.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the message in without waiting for room, so that reading stdin never waits for the client to read.
    pub(super) fn send_soon(&self, message: &impl Serialize) {
        let Ok(body) = serde_json::to_string(message) else {
            tracing::error!("a message cannot be written as JSON");
            return;
        };
        if let Err(mpsc::error::TrySendError::Full(body)) = self.messages.try_send(body) {
            let messages = self.messages.clone();
            tokio::spawn(async move { messages.send(body).await });
        }
    }
}

async fn write_all<O: AsyncWrite + Unpin>(stdout: &mut O, bytes: &[u8]) -> std::io::Result<()> {
    stdout.write_all(bytes).await?;
    stdout.flush().await
}

/// Reads messages and hands them to their handlers until the client says `exit` or closes stdin.
pub(super) struct Dispatcher {
    service: LspService<Server>,
    outbox: Outbox,
    editor: Arc<Editor>,
    /// Commands that are running, to be told when the client cancels them.
    commands: Arc<DashMap<Id, CancellationToken>>,
    was_shut_down: bool,
}

impl Dispatcher {
    pub(super) fn new(service: LspService<Server>, outbox: Outbox, editor: Arc<Editor>) -> Self {
        Self { service, outbox, editor, commands: Arc::default(), was_shut_down: false }
    }

    /// Whether the client has asked to shut down, as it must before `exit`.
    pub(super) fn was_shut_down(&self) -> bool {
        self.was_shut_down
    }

    pub(super) async fn run<I: AsyncRead + Unpin>(&mut self, stdin: I) -> End {
        let mut stdin = BufReader::new(stdin);
        loop {
            match frames::read(&mut stdin).await {
                Ok(Some(body)) => match lenient::parse(&body) {
                    Ok(message) => {
                        if self.receive(message).await == Flow::Exit {
                            return End::Exit;
                        }
                    }
                    Err(error) => {
                        self.refuse(ErrorCode::ParseError, format!("the message is not JSON: {error}"))
                    }
                },
                Ok(None) => return End::InputEnded,
                Err(frames::FrameError::TooLong(length)) => self.refuse(
                    ErrorCode::InvalidRequest,
                    format!("a message of {length} bytes is too long; at most {} are read", frames::MAX_BODY),
                ),
                Err(frames::FrameError::Io(error)) => {
                    tracing::warn!(%error, "stdin cannot be read");
                    return End::InputEnded;
                }
            }
        }
    }

    fn refuse(&self, code: ErrorCode, message: String) {
        tracing::warn!(message);
        let error = Error { code, message: message.into(), data: None };
        self.outbox.send_soon(&Response::from_error(Id::Null, error));
    }

    /// Answers a request whose id is no string and no integer of 64 bits, so that nobody waits for it. A number comes
    /// back as it was sent; nothing else is an id.
    fn refuse_id(&self, id: Option<Value>) {
        let id = id.filter(Value::is_number).unwrap_or_default();
        let code = ErrorCode::InvalidRequest.code();
        let message = "the id of a request must be a string or an integer";
        tracing::warn!(%id, message);
        self.outbox.send_soon(&json!({
            "jsonrpc": "2.0",
            "id": id,
            "error": { "code": code, "message": message },
        }));
    }

    async fn receive(&mut self, message: Value) -> Flow {
        let Value::Object(mut message) = message else {
            self.refuse(ErrorCode::InvalidRequest, "a message must be one JSON object".to_owned());
            return Flow::Continue;
        };
        let raw_id = message.remove("id");
        let id = raw_id.clone().and_then(|id| serde_json::from_value::<Id>(id).ok());
        let Some(Value::String(method)) = message.remove("method") else {
            match id {
                Some(id) if message.contains_key("result") || message.contains_key("error") => {
                    let result = match message.remove("error") {
                        Some(error) if !error.is_null() => Err(error),
                        _ => Ok(message.remove("result").unwrap_or_default()),
                    };
                    self.editor.answered(&id, result);
                }
                _ => self.refuse(
                    ErrorCode::InvalidRequest,
                    "a message needs a method, or an id with a result".to_owned(),
                ),
            }
            return Flow::Continue;
        };
        let mut params = message.remove("params");
        if let Some(params) = &mut params {
            lenient::mend(params);
        }
        match (method.as_str(), id) {
            ("exit", _) => return Flow::Exit,
            (_, None) if raw_id.is_some() => self.refuse_id(raw_id),
            ("initialize", Some(id)) => self.initialize(id, params).await,
            ("shutdown", Some(id)) => {
                // The library refuses `"params": null` for nothing but this request, so it gets none.
                let response = self.service.call(Request::build("shutdown").id(id).finish()).await;
                if let Ok(Some(response)) = response {
                    self.was_shut_down |= response.is_ok();
                    match response.is_ok() {
                        true => self.outbox.send_last(&response),
                        false => self.outbox.send_soon(&response),
                    }
                }
            }
            ("$/cancelRequest", _) if self.cancel_command(params.as_ref()) => {}
            (_, id) => {
                if id.is_none() {
                    self.service.inner().session().watch_document_message(&method, params.as_ref());
                }
                self.handle(method, id, params);
            }
        }
        Flow::Continue
    }

    /// Answers before the next message is read: what a client sends without waiting for the answer must find an
    /// initialized server.
    async fn initialize(&mut self, id: Id, params: Option<Value>) {
        let request = Request::build("initialize").params(lifecycle::wrap_initialize(params)).id(id);
        if let Ok(Some(response)) = self.service.call(request.finish()).await {
            self.outbox.send_soon(&lifecycle::complete_initialize(response));
        }
    }

    /// A command is told that it is cancelled and answers by itself once it has cleaned up; `false` when the message
    /// is about something else.
    fn cancel_command(&self, params: Option<&Value>) -> bool {
        let id = params.and_then(|params| params.get("id")).cloned();
        let Some(id) = id.and_then(|id| serde_json::from_value::<Id>(id).ok()) else {
            return false;
        };
        match self.commands.get(&id) {
            Some(cancelled) => {
                cancelled.cancel();
                true
            }
            None => false,
        }
    }

    /// Runs the handler up to its first wait before the next message is read, which keeps changes of documents in
    /// order, and the rest beside whatever follows.
    fn handle(&mut self, method: String, id: Option<Id>, params: Option<Value>) {
        let cancelled = CancellationToken::new();
        if let Some(id) = &id
            && method == "workspace/executeCommand"
        {
            self.commands.insert(id.clone(), cancelled.clone());
        }
        let name = method.clone();
        let mut request = Request::build(method);
        if let Some(params) = params {
            request = request.params(params);
        }
        if let Some(id) = &id {
            request = request.id(id.clone());
        }
        let answer = AssertUnwindSafe(self.service.call(request.finish())).catch_unwind();
        let (outbox, commands) = (self.outbox.clone(), Arc::clone(&self.commands));
        let mut handler = Box::pin(CANCELLED.scope(cancelled, async move {
            let response = match answer.await {
                Ok(Ok(Some(response))) => Some(response),
                // The library leaves unknown requests whose names begin with `$/` without an answer.
                Ok(Ok(None)) if name.starts_with("$/") => {
                    id.clone().map(|id| Response::from_error(id, Error::method_not_found()))
                }
                Ok(Ok(None) | Err(_)) => None,
                Err(_panic) => {
                    tracing::error!(method = name, "a handler panicked");
                    id.clone().map(|id| {
                        let message = format!("internal error: askls could not handle {name}");
                        let error =
                            Error { code: ErrorCode::InternalError, message: message.into(), data: None };
                        Response::from_error(id, error)
                    })
                }
            };
            if let Some(id) = &id {
                commands.remove(id);
            }
            if let Some(response) = response {
                outbox.send_soon(&response);
            }
        }));
        if (&mut handler).now_or_never().is_none() {
            tokio::spawn(handler);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Continue,
    Exit,
}

/// A notification as it goes over the wire.
pub(super) fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// A request as it goes over the wire.
pub(super) fn request(id: i64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}
