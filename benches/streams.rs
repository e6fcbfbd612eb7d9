//! Prints what reading a reply costs: CPU time for each MB of a stream on each wire, the time from a delta's last byte
//! on a loopback connection to its event (from the client, and from the agent), and the memory that an answer of
//! 100 MB takes before it is given up.
//!
//! `cargo bench --bench streams`

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints its figures, and fails by panicking"
)]

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use askls::{
    agent::{
        Agent, Answer, ApprovalPolicy, Approver, EventSink, FirstTool, Limits, Question, RetryPolicy, Thread,
        TurnContext, UserInput,
    },
    model::{
        ModelClient, ModelEvent, Request, ToolChoice,
        chat::ChatClient,
        http::Endpoint,
        messages::MessagesClient,
        replay::{self, Body},
        responses::ResponsesClient,
    },
    protocol::{Event, Item, UserMessage, Wire},
    tools::{ToolSettings, Toolbox, jobs::Jobs},
    workspace::{TurnFiles, Workspace},
};
use futures::{FutureExt, StreamExt, future::BoxFuture};
use tokio::runtime::{Builder, Runtime};
use tokio_util::{bytes::Bytes, sync::CancellationToken};

const WIRES: [Wire; 3] = [Wire::Responses, Wire::Chat, Wire::Messages];

/// Bytes of text in one delta: a word or two.
const DELTA: &str = "twenty bytes of text";

/// Bytes of a stream whose reading is measured.
const STREAM_BYTES: usize = 32 * 1024 * 1024;

/// Bytes of one read from a connection: many events of a fast server, less than one event, a few bytes of it.
const READ_BYTES: [usize; 3] = [16 * 1024, 64, 4];

/// Bytes of one event that arrives in reads of the smallest kind; the cost of each must not grow with the event.
const LARGE_EVENT_BYTES: [usize; 3] = [1_000_000, 2_000_000, 4_000_000];

/// Deltas whose way to their events is measured.
const SENT_DELTAS: usize = 500;

const MEGABYTE: f64 = 1e6;

/// The size of the answer that no memory shall hold.
const HUGE_BYTES: usize = 100_000_000;

/// Asks this program to measure memory, for a process of its own: peaks are those of a whole process.
const MEMORY: &str = "memory";

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if let [MEMORY, wire, bytes] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        let wire = WIRES.into_iter().find(|known| known.as_str() == wire).expect("a wire");
        return print_memory(wire, bytes.parse().expect("a number of bytes"));
    }
    for wire in WIRES {
        print_throughput(wire);
    }
    for wire in WIRES {
        print_latency(wire);
    }
    for wire in WIRES {
        for bytes in [DELTA.len(), 64 * 1024] {
            let program = std::env::current_exe().expect("this program");
            let status = Command::new(program).args([MEMORY, wire.as_str(), &bytes.to_string()]).status();
            assert!(status.expect("a second process").success());
        }
    }
}

fn endpoint(base_url: &str) -> Endpoint {
    Endpoint::new(base_url, "bench").expect("a good URL")
}

fn request(items: &[Item]) -> Request<'_> {
    Request {
        instructions: "be brief",
        items,
        tools: &[],
        tool_choice: ToolChoice::Auto,
        answer_schema: None,
        cache_key: "thread-1",
    }
}

/// The events of one reply, as the wire's own service sends them.
struct Script {
    wire: Wire,
}

impl Script {
    fn begin(&self) -> &'static str {
        match self.wire {
            Wire::Responses => {
                r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_68af0123456789abcdef","type":"message","status":"in_progress","role":"assistant","content":[]}}

"#
            }
            Wire::Chat => "",
            Wire::Messages => {
                r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"bench","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":4,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

"#
            }
        }
    }

    fn delta(&self, number: usize, text: &str) -> String {
        match self.wire {
            Wire::Responses => format!(
                "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{number},\"item_id\":\"msg_68af0123456789abcdef\",\"output_index\":0,\"content_index\":0,\"delta\":\"{text}\",\"logprobs\":[]}}\n\n"
            ),
            Wire::Chat => format!(
                "data: {{\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\",\"created\":1796000000,\"model\":\"bench\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
            ),
            Wire::Messages => format!(
                "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
            ),
        }
    }

    fn end(&self, text: &str) -> String {
        match self.wire {
            Wire::Responses => format!(
                "event: response.output_item.done\ndata: {{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{{\"type\":\"message\",\"id\":\"msg_68af0123456789abcdef\",\"role\":\"assistant\",\"status\":\"completed\",\"content\":[{{\"type\":\"output_text\",\"text\":\"{text}\"}}]}}}}\n\nevent: response.completed\ndata: {{\"type\":\"response.completed\",\"response\":{{\"status\":\"completed\",\"output\":[]}}}}\n\n"
            ),
            Wire::Chat => "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n".to_owned(),
            Wire::Messages => "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":5}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n".to_owned(),
        }
    }
}

/// CPU time of this thread so far.
fn cpu_time() -> Duration {
    let text =
        fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts the time of its threads");
    let nanoseconds = text.split(' ').next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number of nanoseconds"))
}

/// CPU time of reading a body that comes in pieces of this size, and the length of the text that it told.
fn read(wire: Wire, body: &Bytes, piece_bytes: usize) -> (Duration, usize) {
    let pieces: Vec<_> = (0..body.len())
        .step_by(piece_bytes)
        .map(|at| body.slice(at..body.len().min(at + piece_bytes)))
        .collect();
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let start = cpu_time();
    let shown = runtime.block_on(async {
        let endpoint = endpoint("http://127.0.0.1:1/v1");
        let mut events = replay::reply(wire, endpoint, request(&[]), Body::Events(pieces)).expect("a stream");
        let mut shown = 0;
        while let Some(event) = events.next().await {
            if let ModelEvent::TextDelta(text) = event.expect("a good stream") {
                shown += text.len();
            }
        }
        shown
    });
    (cpu_time() - start, shown)
}

fn print_throughput(wire: Wire) {
    let script = Script { wire };
    let mut body = script.begin().to_owned();
    let mut deltas = 0;
    while body.len() < STREAM_BYTES {
        body.push_str(&script.delta(deltas, DELTA));
        deltas += 1;
    }
    // The last event repeats all of the text on one wire, which is no matter of deltas: it stays away here.
    body.push_str(&script.end(""));
    let body = Bytes::from(body);
    let megabytes = body.len() as f64 / MEGABYTE;
    for piece_bytes in READ_BYTES {
        let runs = (0..3).map(|_| {
            let (time, shown) = read(wire, &body, piece_bytes);
            assert_eq!(shown, deltas * DELTA.len(), "{wire}: every delta is told");
            time
        });
        let best = runs.min().expect("some runs");
        println!(
            "{wire}: in reads of {piece_bytes} bytes: {:.2} ms of CPU for each MB: {:.0} MB/s, {:.0} ns for each event of {} bytes with a delta of {} bytes",
            best.as_secs_f64() * 1e3 / megabytes,
            megabytes / best.as_secs_f64(),
            best.as_secs_f64() * 1e9 / deltas as f64,
            script.delta(1000, DELTA).len(),
            DELTA.len(),
        );
    }
    for bytes in LARGE_EVENT_BYTES {
        let body = script.begin().to_owned() + &script.delta(0, &"x".repeat(bytes)) + &script.end("");
        let (time, shown) = read(wire, &Bytes::from(body), READ_BYTES[2]);
        assert_eq!(shown, bytes, "{wire}: the delta is told");
        println!(
            "{wire}: one event of {bytes} bytes in reads of {} bytes: {:.0} ns a read",
            READ_BYTES[2],
            time.as_secs_f64() * 1e9 / (bytes / READ_BYTES[2]) as f64
        );
    }
}

/// A server that answers each request by a script.
fn serve(answer: impl Fn(&TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    // It waits for connections until the benchmark's process ends.
    thread::spawn(move || {
        let answer = Arc::new(answer);
        for stream in listener.incoming() {
            let (stream, answer) = (stream.expect("a connection"), Arc::clone(&answer));
            thread::spawn(move || {
                stream.set_nodelay(true).expect("no delay");
                let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
                while !reader.fill_buf().map_or(true, <[u8]>::is_empty) {
                    read_request(&mut reader);
                    answer(&stream);
                }
            });
        }
    });
    base_url
}

fn read_request(reader: &mut impl BufRead) {
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
    reader.read_exact(&mut vec![0; length]).expect("a body");
}

/// Writes one chunk; `false` when the client has gone. An empty one would be the body's end.
fn write_chunk(mut stream: &TcpStream, data: &str) -> bool {
    if data.is_empty() {
        return true;
    }
    let mut chunk = String::new();
    write!(chunk, "{:x}\r\n{data}\r\n", data.len()).expect("strings take all");
    stream.write_all(chunk.as_bytes()).is_ok()
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn client(wire: Wire, base_url: &str) -> Arc<dyn ModelClient> {
    let endpoint = endpoint(base_url);
    match wire {
        Wire::Responses => Arc::new(ResponsesClient::new(endpoint)),
        Wire::Chat => Arc::new(ChatClient::new(endpoint)),
        Wire::Messages => Arc::new(MessagesClient::new(endpoint)),
    }
}

fn runtime() -> Runtime {
    // As in the program itself.
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// When the last delta was sent, in nanoseconds since `start`.
struct Clock {
    start: Instant,
    sent: AtomicU64,
}

impl Clock {
    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos().try_into().expect("a short benchmark")
    }

    fn since_sent(&self) -> Duration {
        Duration::from_nanos(self.now() - self.sent.load(Ordering::SeqCst))
    }
}

fn print_latency(wire: Wire) {
    for through in ["client", "agent"] {
        let clock = Arc::new(Clock { start: Instant::now(), sent: AtomicU64::new(0) });
        let (seen, next) = mpsc::channel::<Duration>();
        let (report, times) = mpsc::channel();
        let next = std::sync::Mutex::new(next);
        let base_url = serve({
            let clock = Arc::clone(&clock);
            move |stream| {
                let next = next.lock().expect("no panic");
                let script = Script { wire };
                let mut stream = stream;
                stream.write_all(HEAD.as_bytes()).expect("the client reads");
                assert!(write_chunk(stream, script.begin()), "the client reads");
                for number in 0..SENT_DELTAS {
                    let delta = script.delta(number, DELTA);
                    let mut chunk = String::new();
                    write!(chunk, "{:x}\r\n{delta}\r\n", delta.len()).expect("strings take all");
                    // A model thinks between two deltas, and the client sleeps.
                    thread::sleep(Duration::from_millis(1));
                    // Before the write: on two cores the client may be done before the server goes on.
                    clock.sent.store(clock.now(), Ordering::SeqCst);
                    stream.write_all(chunk.as_bytes()).expect("the client reads");
                    report.send(next.recv().expect("an event")).expect("somebody counts");
                }
                let text = DELTA.repeat(SENT_DELTAS);
                write_chunk(stream, &script.end(&text));
                stream.write_all(b"0\r\n\r\n").expect("the client reads");
            }
        });
        let runtime = runtime();
        match through {
            "client" => runtime.block_on(ask(wire, &base_url, || {
                seen.send(clock.since_sent()).expect("the server waits");
            })),
            _ => assert_eq!(runtime.block_on(turn(wire, &base_url, Sink { clock, seen })), "answer: "),
        }
        let mut times: Vec<_> = times.try_iter().collect();
        times.sort();
        let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
        println!(
            "{wire}: from a delta's last byte to its event, through the {through}: median {:.0} µs, p95 {:.0} µs ({} deltas; aim < 200 µs median)",
            microseconds(times[times.len() / 2]),
            microseconds(times[times.len() * 95 / 100]),
            times.len()
        );
    }
}

/// One request straight to a client; `seen` is called at every delta.
async fn ask(wire: Wire, base_url: &str, mut seen: impl FnMut()) {
    let client = client(wire, base_url);
    let items = [Item::User(UserMessage { text: "count".to_owned(), context: None })];
    let mut events = client.stream(request(&items)).await.expect("a reply");
    while let Some(event) = events.next().await {
        if let ModelEvent::TextDelta(_) = event.expect("a good stream") {
            seen();
        }
    }
}

struct Sink {
    clock: Arc<Clock>,
    seen: mpsc::Sender<Duration>,
}

impl EventSink for Sink {
    fn emit(&self, event: &Event) {
        if let Event::Text { .. } = event {
            // At the end of the turn nobody waits any more.
            let _ = self.seen.send(self.clock.since_sent());
        }
    }
}

struct Nobody;

impl Approver for Nobody {
    fn ask(&self, _question: Question) -> BoxFuture<'_, Answer> {
        std::future::ready(Answer::AllowOnce).boxed()
    }
}

/// One turn of an agent; what it ends with is its detail, where there is one.
async fn turn(wire: Wire, base_url: &str, events: impl EventSink + 'static) -> String {
    let agent = Agent {
        model: client(wire, base_url),
        tools: Toolbox::standard(&ToolSettings::default()),
        limits: Limits::default(),
        policy: ApprovalPolicy::default(),
        retries: RetryPolicy::default(),
        first_tool: FirstTool::default(),
    };
    let context = TurnContext {
        files: Arc::new(TurnFiles::new(Arc::new(Workspace::new(Vec::new())))),
        events: Arc::new(events),
        approver: Arc::new(Nobody),
        guardrails: Default::default(),
        applier: None,
        jobs: Jobs::default(),
        cancel: CancellationToken::new(),
        last_step: CancellationToken::new(),
    };
    let input = UserInput { prompt: "count".to_owned(), ..UserInput::default() };
    let result = agent.run_turn(&mut Thread::new(), input, &context).await;
    format!("{}: {}", result.stop_reason, result.detail.unwrap_or_default())
}

/// A number of kB that Linux tells of this process.
fn memory(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells of its processes");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the line");
    line.trim_matches([':', '\t', ' ', 'k', 'B']).parse::<f64>().expect("a number") / 1e3
}

fn print_memory(wire: Wire, delta_bytes: usize) {
    let sent = Arc::new(AtomicU64::new(0));
    let base_url = serve({
        let sent = Arc::clone(&sent);
        move |stream| {
            let script = Script { wire };
            let mut stream = stream;
            stream.write_all(HEAD.as_bytes()).expect("the client reads");
            let delta = script.delta(1000, &"x".repeat(delta_bytes));
            // Many small events in one write: the client is what is measured.
            let events = delta.repeat((READ_BYTES[0] / delta.len()).max(1));
            let mut goes_on = write_chunk(stream, script.begin());
            let mut told = 0;
            while goes_on && told < HUGE_BYTES {
                goes_on = write_chunk(stream, &events);
                told += events.len() / delta.len() * delta_bytes;
                sent.fetch_add(events.len() as u64, Ordering::Relaxed);
            }
        }
    });
    struct Deaf;
    impl EventSink for Deaf {
        fn emit(&self, _event: &Event) {}
    }
    let before = memory("VmRSS");
    let ending = runtime().block_on(turn(wire, &base_url, Deaf));
    println!(
        "{wire}: an answer of 100 MB in deltas of {delta_bytes} bytes: at most {:.0} MB more memory, {:.0} MB were sent, {ending}",
        memory("VmHWM") - before,
        sent.load(Ordering::Relaxed) as f64 / MEGABYTE
    );
}
