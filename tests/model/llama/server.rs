//! A llama.cpp server that a test starts, looks into, and ends.

use std::{
    env,
    fs::File,
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::sleep,
};

/// How often the server is looked at while a test waits for it.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks until a test gives up: five minutes, since the machine may be busy with other tests.
const MOST_LOOKS: u32 = 15_000;

/// Tokens of a prompt that are read at once: between two such batches the server does what else it is asked.
const BATCH: u32 = 32;

/// Tokens that fit one request.
pub(super) const WINDOW: u32 = 2048;

/// The key of a server that wants one.
pub(super) const KEY: &str = "sk-local-0123456789";

/// Ends when it is dropped.
pub(super) struct Server {
    process: Child,
    port: u16,
    log: NamedTempFile,
}

impl Server {
    /// A server that can answer, with the small model and these options.
    pub(super) async fn start(options: &[&str]) -> Self {
        let mut server = Self::spawn(0, options);
        server.port = server.listening().await;
        server.until("it is ready", async |server| server.get("/health").await.0 == 200).await;
        // Its code for this processor first runs with the first prompt.
        let (status, answer) = server.send("POST", "/completion", r#"{"prompt": "a", "n_predict": 1}"#).await;
        assert_eq!(status, 200, "the first completion: {answer}");
        server
    }

    /// A server that has only just been started, at a port that was free a moment ago.
    pub(super) fn start_loading(options: &[&str]) -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = free.local_addr().expect("a listener has an address").port();
        drop(free);
        Self::spawn(port, options)
    }

    fn spawn(port: u16, options: &[&str]) -> Self {
        let folder = env::var_os("ASKLS_LLAMA").map(PathBuf::from).expect(
            "ASKLS_LLAMA names the folder of a llama.cpp server and a model: tests/run models installs and sets it",
        );
        let log = NamedTempFile::new().expect("a file for the server's log");
        let output =
            |log: &NamedTempFile| Stdio::from(log.reopen().expect("the log can be written to twice"));
        let template = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/model_servers/calls.jinja");
        let (window, batch) = (WINDOW.to_string(), BATCH.to_string());
        let process = Command::new(folder.join("serve"))
            .args(["smol", &port.to_string(), "--chat-template-file", template, "--temp", "0", "--metrics"])
            .args(["--parallel", "1", "--ctx-size", &window, "--batch-size", &batch, "--ubatch-size", &batch])
            .args(options)
            .stdin(Stdio::null())
            .stdout(output(&log))
            .stderr(output(&log))
            .spawn()
            .expect("a llama.cpp server in the folder that ASKLS_LLAMA names");
        Self { process, port, log }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Waits until no request runs.
    pub(super) async fn until_idle(&mut self) {
        self.until("nothing runs", async |server| !server.is_busy().await).await;
    }

    /// Waits until a request runs.
    pub(super) async fn until_busy(&mut self) {
        self.until("a request runs", async |server| server.is_busy().await).await;
    }

    async fn is_busy(&self) -> bool {
        let (status, slots) = self.get("/slots").await;
        assert_eq!(status, 200, "{slots}");
        let slots: Value = serde_json::from_str(&slots).expect("the slots are JSON");
        let slots = slots.as_array().expect("a list of slots");
        slots.iter().any(|slot| slot["is_processing"] == true)
    }

    /// Tokens of replies since the start.
    pub(super) async fn tokens_written(&self) -> u64 {
        let (_, metrics) = self.get("/metrics").await;
        let name = "llamacpp:tokens_predicted_total ";
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        line.unwrap_or_else(|| panic!("no {name}in {metrics}"))
    }

    async fn listening(&mut self) -> u16 {
        self.until("it listens", async |server| server.announced_port().is_some()).await;
        self.announced_port().expect("it was announced a moment ago")
    }

    fn announced_port(&self) -> Option<u16> {
        let log = self.log();
        let (_, rest) = log.split_once("listening on http://127.0.0.1:")?;
        // Until its line is whole, the number may not be.
        rest.split_once('\n')?.0.trim().parse().ok()
    }

    async fn until(&mut self, what: &str, is_so: impl AsyncFn(&Self) -> bool) {
        for _ in 0..MOST_LOOKS {
            if is_so(self).await {
                return;
            }
            let state = self.process.try_wait().expect("its state");
            assert!(state.is_none(), "the server ended before {what}");
            sleep(LOOK_EVERY).await;
        }
        panic!("the server does not come so far that {what}");
    }

    /// Whether the server is gone and why, as far as can be told, and what it said.
    fn state(&mut self) -> String {
        let log = self.log();
        let state = match self.process.try_wait() {
            Ok(Some(status)) => status.to_string(),
            Ok(None) => "it still runs".to_owned(),
            Err(error) => error.to_string(),
        };
        let hint = match state.contains("SIGILL") {
            true => "; this build of llama.cpp needs a processor with AVX-512",
            false => "",
        };
        format!("\nthe llama.cpp server: {state}{hint}\n{log}\n")
    }

    fn log(&self) -> String {
        let mut bytes = Vec::new();
        let read = File::open(self.log.path()).and_then(|mut file| file.read_to_end(&mut bytes));
        read.expect("the log can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The status and the body; 0 when nothing answers.
    pub(super) async fn get(&self, path: &str) -> (u16, String) {
        self.send("GET", path, "").await
    }

    async fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut answer = Vec::new();
        let exchange = async {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await?;
            let head = format!(
                "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\nConnection: close\r\n\
                 Content-Length: {}\r\n\r\n",
                body.len()
            );
            stream.write_all((head + body).as_bytes()).await?;
            stream.read_to_end(&mut answer).await
        };
        let broken = exchange.await.err().map(|error| error.to_string()).unwrap_or_default();
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map_or(broken, |(_, body)| body.to_owned());
        (status, body)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = io::stderr().write_all(self.state().as_bytes());
        }
        // It has no children, and leaves nothing behind.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
