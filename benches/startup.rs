//! Prints how long the server needs from its process's start to the answer to `initialize`, and what memory it holds
//! while nothing happens.
//!
//! `cargo bench --bench startup`

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints its figures, and fails by panicking"
)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

const RUNS: usize = 30;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut times = Vec::new();
    let mut memory = Vec::new();
    for _ in 0..RUNS {
        let start = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_askls"))
            .arg("lsp")
            .env_clear()
            .env("HOME", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let mut output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        send(&mut child, r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#);
        receive(&mut output);
        times.push(start.elapsed());

        send(&mut child, r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#);
        // Nothing is asserted on it: the figure is what the process holds after it has settled.
        std::thread::sleep(Duration::from_millis(200));
        memory.extend(resident_kilobytes(child.id()));
        send(&mut child, r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#);
        receive(&mut output);
        send(&mut child, r#"{"jsonrpc":"2.0","method":"exit"}"#);
        child.wait().expect("the server ends");
    }
    times.sort();
    memory.sort_unstable();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "initialize answered after: min {:.1} ms, median {:.1} ms, max {:.1} ms ({RUNS} starts; aim < 30 ms)",
        milliseconds(times[0]),
        milliseconds(times[RUNS / 2]),
        milliseconds(times[RUNS - 1])
    );
    if let Some(median) = memory.get(memory.len() / 2) {
        println!("idle memory: median {:.1} MB (aim < 30 MB)", *median as f64 / 1e3);
    }
}

fn send(child: &mut Child, body: &str) {
    let input = child.stdin.as_mut().expect("stdin is piped");
    write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("the server reads");
}

fn receive(output: &mut BufReader<ChildStdout>) -> String {
    let mut length = 0;
    loop {
        let mut header = String::new();
        output.read_line(&mut header).expect("a header");
        match header.trim().split_once(": ") {
            Some(("Content-Length", number)) => length = number.parse().expect("a length"),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).expect("a body");
    String::from_utf8(body).expect("UTF-8")
}

/// What the kernel counts as resident; `None` where there is no `/proc`.
fn resident_kilobytes(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
