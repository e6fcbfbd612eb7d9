//! The fake provider: an HTTP/1.1 listener that answers as the case says and keeps what it was asked. The second fake
//! site is the same listener with routes instead of a script.

mod plain;
mod script;
pub(crate) mod tls;

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

use crate::observed::{Request, Traffic};

pub(crate) use plain::plain_answer;

/// The longest head of a request that is read.
const LONGEST_HEAD: usize = 256 << 10;

/// A listener that runs until it is dropped.
pub(crate) struct Provider {
    pub port: u16,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    state: Mutex<State>,
    tls: Mutex<Option<TlsAcceptor>>,
}

#[derive(Default)]
struct State {
    traffic: Traffic,
    exchanges: Vec<Value>,
    repeats_last: bool,
    /// By path; answers instead of the script.
    routes: Option<Value>,
}

impl Provider {
    /// Listens on a free port and answers nothing but errors until it has a script.
    pub(crate) async fn start() -> Result<Self, String> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(|error| error.to_string())?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        let shared = Arc::new(Shared { state: Mutex::default(), tls: Mutex::default() });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { port, shared, task })
    }

    pub(crate) fn set_script(&self, exchanges: Vec<Value>, repeats_last: bool) {
        let mut state = self.shared.lock();
        (state.exchanges, state.repeats_last) = (exchanges, repeats_last);
    }

    pub(crate) fn set_routes(&self, routes: Value) {
        self.shared.lock().routes = Some(routes);
    }

    pub(crate) fn set_tls(&self, acceptor: TlsAcceptor) {
        *self.shared.tls.lock().unwrap_or_else(PoisonError::into_inner) = Some(acceptor);
    }

    pub(crate) fn traffic(&self) -> Traffic {
        self.shared.lock().traffic.clone()
    }

    /// How many requests for an answer have come.
    pub(crate) fn asked(&self) -> usize {
        self.shared.lock().asked()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the request and finds its exchange; `None` is the script's end.
    fn take(&self, request: Request) -> Option<Value> {
        let mut state = self.lock();
        if let Some(routes) = &state.routes {
            let path = request.path.split('?').next().unwrap_or_default();
            let answer = routes.get(&request.path).or_else(|| routes.get(path)).cloned();
            state.traffic.requests.push(request);
            return Some(answer.unwrap_or_else(|| serde_json::json!({"status": 404, "body": "not found"})));
        }
        // What is no request for an answer takes none of the script.
        let is_scripted = request.is_for_an_answer();
        let number = state.asked();
        state.traffic.requests.push(request);
        if !is_scripted {
            return Some(
                serde_json::json!({"status": 404, "body": "{\"error\":{\"message\":\"not here\"}}"}),
            );
        }
        let last = state.exchanges.len().checked_sub(1)?;
        match state.exchanges.get(number) {
            Some(exchange) => Some(exchange.clone()),
            None if state.repeats_last => state.exchanges.get(last).cloned(),
            None => None,
        }
    }
}

impl State {
    /// How many requests for an answer have come.
    fn asked(&self) -> usize {
        self.traffic.requests.iter().filter(|request| request.is_for_an_answer()).count()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and with it everything that is still being said.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let _ = stream.set_nodelay(true);
            let acceptor = shared.tls.lock().unwrap_or_else(PoisonError::into_inner).clone();
            shared.lock().traffic.connections += 1;
            match acceptor {
                None => {
                    serve(
                        stream,
                        |stream| {
                            let _ = stream.set_zero_linger();
                        },
                        &shared,
                    )
                    .await
                }
                Some(acceptor) => match acceptor.accept(stream).await {
                    Ok(stream) => {
                        serve(
                            stream,
                            |stream| {
                                let _ = stream.get_ref().0.set_zero_linger();
                            },
                            &shared,
                        )
                        .await;
                    }
                    Err(error) => eprintln!("(the fake provider: no secure connection: {error})"),
                },
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

/// What becomes of a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    KeepAlive,
    Close,
    Reset,
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, linger_not: impl Fn(&S), shared: &Shared) {
    let mut buffer = Vec::new();
    while let Ok(Some(request)) = read_request(&mut stream, &mut buffer).await {
        let exchange = shared.take(request);
        match script::answer(&mut stream, exchange.as_ref()).await {
            Ok(Then::KeepAlive) => {}
            Ok(Then::Close) => break,
            Ok(Then::Reset) => {
                linger_not(&stream);
                return;
            }
            Err(_) => {
                shared.lock().traffic.left.push(Instant::now());
                return;
            }
        }
    }
    let _ = stream.shutdown().await;
}

/// The next request of a connection; `None` at its end.
async fn read_request<S: AsyncRead + Unpin>(
    stream: &mut S,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<Request>> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if buffer.len() > LONGEST_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head: Vec<u8> = buffer.drain(..end + 4).collect();
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse::<usize>().ok()).unwrap_or(0);
    while buffer.len() < length {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    let body: Vec<u8> = buffer.drain(..length).collect();
    let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Some(Request { method: method.to_owned(), path: path.to_owned(), headers, body, json }))
}

/// Waits like a client's reader would have to: an error as soon as the client is gone.
async fn until_gone<S: AsyncRead + Unpin>(stream: &mut S, wait: std::time::Duration) -> io::Result<()> {
    let mut byte = [0];
    match tokio::time::timeout(wait, stream.read(&mut byte)).await {
        Err(_waited) => Ok(()),
        Ok(Ok(0)) => Err(io::ErrorKind::ConnectionAborted.into()),
        // A request before the answer to the last one: no client of ours does that.
        Ok(Ok(_)) => Err(io::ErrorKind::InvalidData.into()),
        Ok(Err(error)) => Err(error),
    }
}

/// Whether the client is still there, without waiting.
async fn check_there<S: AsyncRead + Unpin>(stream: &mut S) -> io::Result<()> {
    until_gone(stream, std::time::Duration::ZERO).await
}
