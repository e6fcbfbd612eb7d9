//! Prints what a turn of 50 steps costs beside the model: the time from the last byte of an answer to the first byte
//! of the next request (reading the end of the stream, running a `read_file`, building and sending the request), and
//! whether each request's bytes begin with those of the one before.
//!
//! `cargo bench --bench turn`

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints its figures, and fails by panicking"
)]

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use askls::{
    agent::{
        Agent, Answer, ApprovalPolicy, Approver, EventSink, Limits, Question, Thread, TurnContext, UserInput,
    },
    model::{ModelClient, chat::ChatClient, http::Endpoint, responses::ResponsesClient},
    protocol::Event,
    tools::{ToolSettings, Toolbox, jobs::Jobs},
    workspace::{TurnFiles, Workspace},
};
use futures::{FutureExt, future::BoxFuture};
use tokio_util::sync::CancellationToken;

const STEPS: usize = 50;

struct Silent;

impl EventSink for Silent {
    fn emit(&self, _event: &Event) {}
}

impl Approver for Silent {
    fn ask(&self, _question: Question) -> BoxFuture<'_, Answer> {
        std::future::ready(Answer::AllowOnce).boxed()
    }
}

/// What the server saw of one turn.
#[derive(Default)]
struct Seen {
    gaps: Vec<Duration>,
    bodies: Vec<Vec<u8>>,
    answered: Option<Instant>,
    connections: usize,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    for wire in ["responses", "chat"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for file in 0..STEPS {
            let lines: String = (0..40).map(|line| format!("line {line} of file {file}\n")).collect();
            std::fs::write(folder.path().join(format!("f{file}.txt")), lines).expect("a file");
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let seen = Arc::new(Mutex::new(Seen::default()));
        // It waits for connections until the benchmark's process ends.
        thread::spawn({
            let seen = Arc::clone(&seen);
            move || serve(&listener, wire, &seen)
        });
        runtime.block_on(turn(wire, &base_url, folder.path()));
        print_figures(wire, &seen.lock().expect("no panic"));
    }
}

async fn turn(wire: &str, base_url: &str, folder: &std::path::Path) {
    let endpoint = Endpoint::new(base_url, "bench").expect("a good URL");
    let model: Arc<dyn ModelClient> = match wire {
        "responses" => Arc::new(ResponsesClient::new(endpoint)),
        _ => Arc::new(ChatClient::new(endpoint)),
    };
    let agent = Agent {
        model,
        tools: Toolbox::standard(&ToolSettings::default()),
        limits: Limits { max_steps: STEPS as u32 + 1, ..Limits::default() },
        policy: ApprovalPolicy::default(),
        retries: askls::agent::RetryPolicy::default(),
        first_tool: askls::agent::FirstTool::default(),
    };
    let context = TurnContext {
        files: Arc::new(TurnFiles::new(Arc::new(Workspace::new(vec![folder.to_owned()])))),
        events: Arc::new(Silent),
        approver: Arc::new(Silent),
        guardrails: Default::default(),
        applier: None,
        jobs: Jobs::default(),
        cancel: CancellationToken::new(),
        last_step: CancellationToken::new(),
    };
    let input = UserInput { prompt: "read them all".to_owned(), ..UserInput::default() };
    let result = agent.run_turn(&mut Thread::new(), input, &context).await;
    assert_eq!(result.answer, "done", "{result:?}");
}

/// A client may open a connection while it still keeps another one.
fn serve(listener: &TcpListener, wire: &'static str, seen: &Arc<Mutex<Seen>>) {
    for stream in listener.incoming() {
        let stream = stream.expect("a connection");
        seen.lock().expect("no panic").connections += 1;
        let seen = Arc::clone(seen);
        thread::spawn(move || serve_connection(&stream, wire, &seen));
    }
}

fn serve_connection(stream: &TcpStream, wire: &str, seen: &Mutex<Seen>) {
    stream.set_nodelay(true).expect("no delay");
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    // The first byte of a request is what ends the gap.
    while !reader.fill_buf().map_or(true, <[u8]>::is_empty) {
        let arrived = Instant::now();
        let body = request_body(&mut reader);
        let mut seen = seen.lock().expect("no panic");
        let gap = seen.answered.map(|answered| arrived - answered);
        seen.gaps.extend(gap);
        let step = seen.bodies.len();
        seen.bodies.push(body);
        write_reply(stream, &reply(wire, step));
        seen.answered = Some(Instant::now());
    }
}

fn request_body(reader: &mut impl BufRead) -> Vec<u8> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(number) = line.strip_prefix("content-length: ") {
            length = number.parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    body
}

fn write_reply(mut stream: &TcpStream, events: &str) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let text = format!("{head}{:x}\r\n{events}\r\n0\r\n\r\n", events.len());
    stream.write_all(text.as_bytes()).expect("the client reads");
}

fn reply(wire: &str, step: usize) -> String {
    let last = step == STEPS;
    let arguments = format!(r#"{{\"path\":\"f{step}.txt\"}}"#);
    match (wire, last) {
        ("responses", false) => format!(
            r#"data: {{"type":"response.output_item.done","output_index":0,"item":{{"type":"function_call","id":"fc_{step}","call_id":"call_{step}","name":"read_file","arguments":"{arguments}","status":"completed"}}}}

data: {{"type":"response.completed","response":{{"status":"completed","output":[]}}}}

"#
        ),
        ("responses", true) => r#"data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"done"}]}}

data: {"type":"response.completed","response":{"status":"completed","output":[]}}

"#
        .to_owned(),
        (_, false) => format!(
            r#"data: {{"choices":[{{"index":0,"delta":{{"tool_calls":[{{"index":0,"id":"call_{step}","type":"function","function":{{"name":"read_file","arguments":"{arguments}"}}}}]}}}}]}}

data: {{"choices":[{{"index":0,"delta":{{}},"finish_reason":"tool_calls"}}]}}

data: [DONE]

"#
        ),
        (_, true) => r#"data: {"choices":[{"index":0,"delta":{"content":"done"}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#
        .to_owned(),
    }
}

fn print_figures(wire: &str, seen: &Seen) {
    let mut gaps = seen.gaps.clone();
    gaps.sort();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{wire}: between an answer's last byte and the next request's first: median {:.2} ms, p95 {:.2} ms \
         ({} steps; aim < 2 ms median)",
        milliseconds(gaps[gaps.len() / 2]),
        milliseconds(gaps[gaps.len() * 95 / 100]),
        gaps.len()
    );
    let broken = seen.bodies.windows(2).filter(|pair| !continues(&pair[0], &pair[1])).count();
    let last = seen.bodies.last().map_or(0, Vec::len);
    println!(
        "{wire}: requests that do not begin with the one before: {broken}; last request {last} bytes; {} connections",
        seen.connections
    );
}

/// Whether `next` begins with `before` up to the brackets that close it.
fn continues(before: &[u8], next: &[u8]) -> bool {
    let end = before.iter().rposition(|byte| !matches!(byte, b']' | b'}')).map_or(0, |last| last + 1);
    // The last item's own closing bracket is among those cut off, so compare without them.
    next.starts_with(&before[..end])
}
