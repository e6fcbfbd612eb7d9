//! The pipes: JSON-RPC frames to and from the real binary, each kept with the time it came.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::editor::Editor;

/// Something that the server sent.
#[derive(Clone, Debug)]
pub struct Received {
    pub message: Value,
    pub at: Instant,
    pub bytes: usize,
    /// A test (or a handler) has taken note of it; what nobody claims fails the test.
    pub claimed: bool,
}

/// Something that the client sent.
#[derive(Clone, Debug)]
pub struct Sent {
    pub message: Value,
    pub at: Instant,
}

/// What a handler does about a request of the server.
#[derive(Clone, Debug)]
pub enum Answer {
    Result(Value),
    Error(i64, String),
    /// No answer, ever.
    Never,
    /// `workspace/applyEdit` is carried out on the model documents.
    Apply,
}

pub type Handler = Box<dyn FnMut(&Value) -> Answer + Send>;

/// What the threads of one client share.
pub struct State {
    pub received: Vec<Received>,
    pub sent: Vec<Sent>,
    /// Handlers of server requests by method; the last one that was added counts.
    pub handlers: Vec<(String, Handler)>,
    pub editor: Editor,
    /// Why the output is no sequence of frames, if it is none.
    pub frame_fault: Option<String>,
    pub stderr: String,
    /// The server closed its output.
    pub output_ended: bool,
    /// The reader lets go of the server's output at the next message.
    pub drop_output: bool,
}

pub struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    started: Instant,
}

enum Outgoing {
    Bytes(Vec<u8>),
    Close,
}

/// The running binary and the threads that serve its pipes.
pub struct Process {
    pub child: Child,
    outgoing: Sender<Outgoing>,
    readers: Vec<JoinHandle<()>>,
}

/// The way to the server's input. Messages arrive in the order in which they are sent here.
#[derive(Clone)]
pub struct Outbox {
    outgoing: Sender<Outgoing>,
}

impl Shared {
    pub fn new(editor: Editor) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                received: Vec::new(),
                sent: Vec::new(),
                handlers: Vec::new(),
                editor,
                frame_fault: None,
                stderr: String::new(),
                output_ended: false,
                drop_output: false,
            }),
            changed: Condvar::new(),
            started: Instant::now(),
        })
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        // A poisoned lock means that another thread of this test has failed already; its state is still worth reading.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits until `take` finds what it looks for, or says what did not come.
    pub fn wait<T>(&self, limit: Duration, mut take: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        loop {
            if let Some(found) = take(&mut state) {
                return Some(found);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            state = self.changed.wait_timeout(state, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }

    /// Both directions in the order of time, one line a message, for a failing test.
    pub fn transcript(&self) -> String {
        let state = self.lock();
        let mut lines: Vec<(Instant, String)> = Vec::new();
        lines.extend(state.sent.iter().map(|sent| (sent.at, format!("-> {}", shortened(&sent.message)))));
        lines.extend(state.received.iter().map(|received| {
            let mark = if received.claimed { ' ' } else { '!' };
            (received.at, format!("<-{mark}{}", shortened(&received.message)))
        }));
        lines.sort_by_key(|(at, _)| *at);
        let skipped = lines.len().saturating_sub(60);
        let mut text = format!("--- messages ({skipped} earlier ones left out)\n");
        for (at, line) in lines.drain(skipped..) {
            let after = at.saturating_duration_since(self.started).as_millis();
            text.push_str(&format!("{after:>6} ms {line}\n"));
        }
        if let Some(fault) = &state.frame_fault {
            text.push_str(&format!("--- the output is broken: {fault}\n"));
        }
        text.push_str(&format!("--- stderr\n{}", state.stderr));
        text
    }

    fn arrive(&self, message: Value, bytes: usize, outbox: &Outbox) {
        let mut state = self.lock();
        let is_request = message.get("method").is_some() && message.get("id").is_some();
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let handler =
            is_request.then(|| state.handlers.iter().rposition(|(name, _)| *name == method)).flatten();
        state.received.push(Received {
            message: message.clone(),
            at: Instant::now(),
            bytes,
            claimed: handler.is_some(),
        });
        if let Some(index) = handler {
            let reply = (state.handlers[index].1)(&message["params"]);
            outbox.reply(&mut state, &message["id"], &message["params"], reply);
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl Outbox {
    pub fn send(&self, state: &mut State, message: Value) {
        let body = message.to_string();
        self.send_text(state, message, &body);
    }

    /// Sends this text, and keeps `message` as what was sent.
    pub fn send_text(&self, state: &mut State, message: Value, body: &str) {
        state.sent.push(Sent { message, at: Instant::now() });
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes());
    }

    /// Bytes as they are, for what is no message.
    pub fn send_bytes(&self, bytes: Vec<u8>) {
        // The writer is gone when the server is: what follows from that is found where the test waits.
        let _ = self.outgoing.send(Outgoing::Bytes(bytes));
    }

    pub fn close(&self) {
        let _ = self.outgoing.send(Outgoing::Close);
    }

    pub fn notify(&self, state: &mut State, method: &str, params: Value) {
        self.send(state, json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Answers a request of the server.
    pub fn reply(&self, state: &mut State, id: &Value, params: &Value, reply: Answer) {
        match reply {
            Answer::Result(result) => {
                self.send(state, json!({"jsonrpc": "2.0", "id": id, "result": result}));
            }
            Answer::Error(code, message) => {
                let error = json!({"code": code, "message": message});
                self.send(state, json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
            Answer::Never => {}
            Answer::Apply => {
                let applied = state.editor.apply(&params["edit"]);
                let mut result = json!({"applied": applied.applied});
                if let Some(reason) = applied.failure_reason {
                    result["failureReason"] = reason.into();
                }
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                let answers_first = state.editor.manner == super::editor::Manner::VsCode;
                if answers_first {
                    self.send(state, answer.clone());
                }
                for (method, params) in applied.notifications {
                    self.notify(state, method, params);
                }
                if !answers_first {
                    self.send(state, answer);
                }
            }
        }
    }
}

impl Process {
    pub fn start(mut command: Command, shared: &Arc<Shared>) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let stdin = child.stdin.take().expect("piped");
        let stdout = child.stdout.take().expect("piped");
        let stderr = child.stderr.take().expect("piped");
        let (outgoing, queue) = channel();
        let outbox = Outbox { outgoing: outgoing.clone() };
        std::thread::spawn(move || write_all(stdin, &queue));
        let readers = vec![
            std::thread::spawn({
                let shared = Arc::clone(shared);
                move || read_frames(BufReader::new(stdout), &shared, &outbox)
            }),
            std::thread::spawn({
                let shared = Arc::clone(shared);
                move || read_stderr(stderr, &shared)
            }),
        ];
        Self { child, outgoing, readers }
    }

    pub fn outbox(&self) -> Outbox {
        Outbox { outgoing: self.outgoing.clone() }
    }

    /// Waits for the readers, so that everything that the server ever wrote has arrived. Only after its end.
    pub fn drain(&mut self) {
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

fn write_all(mut stdin: impl Write, queue: &Receiver<Outgoing>) {
    while let Ok(Outgoing::Bytes(bytes)) = queue.recv() {
        if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn read_frames(mut stdout: impl BufRead, shared: &Shared, outbox: &Outbox) {
    loop {
        match read_frame(&mut stdout) {
            Ok(Some((message, bytes))) => shared.arrive(message, bytes, outbox),
            Ok(None) => break,
            Err(fault) => {
                shared.lock().frame_fault.get_or_insert(fault);
                break;
            }
        }
        if shared.lock().drop_output {
            break;
        }
    }
    drop(stdout);
    shared.lock().output_ended = true;
    shared.changed.notify_all();
}

/// The next frame, `None` at the end between two frames.
fn read_frame(stdout: &mut impl BufRead) -> Result<Option<(Value, usize)>, String> {
    let mut length = None;
    loop {
        let mut line = String::new();
        let read = stdout.read_line(&mut line).map_err(|error| error.to_string())?;
        match (read, line.trim_end()) {
            (0, _) if length.is_none() => return Ok(None),
            (0, _) => return Err("the output ends inside a header".to_owned()),
            (_, "") => break,
            (_, header) => match header.split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse::<usize>().ok(),
                Some(("Content-Type", _)) => {}
                _ => return Err(format!("not a header: {header:?}")),
            },
        }
    }
    let length = length.ok_or("a frame without Content-Length")?;
    let mut body = vec![0; length];
    stdout.read_exact(&mut body).map_err(|error| format!("the output ends inside a body: {error}"))?;
    let message =
        serde_json::from_slice(&body).map_err(|error| format!("a body that is no JSON: {error}"))?;
    Ok(Some((message, length)))
}

fn read_stderr(mut stderr: impl Read, shared: &Shared) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = stderr.read(&mut buffer) {
        shared.lock().stderr.push_str(&String::from_utf8_lossy(&buffer[..read]));
        shared.changed.notify_all();
    }
}

fn shortened(message: &Value) -> String {
    let text = message.to_string();
    match text.char_indices().nth(400) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}
