//! Prints what a command costs that does nothing: by itself, and in the sandbox of this machine, in an empty project and in
//! one of 20,000 files, which are looked through for secrets.
//!
//! `cargo bench --bench commands`

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints its figures, and fails by panicking"
)]

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use askls::{
    protocol::ToolCall,
    tools::{
        ToolContext, ToolSettings, Toolbox,
        run_command::sandbox::{Launcher, Sandbox, SandboxMode, TEMPORARY_FOLDERS},
    },
    workspace::{TurnFiles, Workspace},
};
use tokio_util::sync::CancellationToken;

const RUNS: usize = 100;

/// Folders of the large project, and files in each.
const FOLDERS: usize = 200;
const FILES: usize = 100;

#[tokio::main]
async fn main() {
    let small = tempfile::tempdir().expect("a temporary folder");
    let large = tempfile::tempdir().expect("a temporary folder");
    for folder in 0..FOLDERS {
        let folder = large.path().join(format!("folder{folder}"));
        fs::create_dir(&folder).expect("a folder");
        for file in 0..FILES {
            fs::write(folder.join(format!("file{file}.txt")), "").expect("a file");
        }
    }
    let sandbox = Sandbox {
        mode: SandboxMode::Auto,
        network: false,
        writable: Vec::new(),
        temporary: TEMPORARY_FOLDERS.map(Into::into).to_vec(),
        git_settings: Vec::new(),
        home: std::env::home_dir(),
        private: Vec::new(),
        launcher: Launcher::new(env!("CARGO_BIN_EXE_askls").into()),
    };
    let start = Instant::now();
    let report = sandbox.report(&[]);
    println!("sandbox: {}, found out in {:.1} ms", report.state.name(), milliseconds(start.elapsed()));
    for (name, folder, sandbox) in [
        ("no sandbox", small.path(), None),
        ("sandbox, empty project", small.path(), Some(&sandbox)),
        ("sandbox, project of 20,000 files", large.path(), Some(&sandbox)),
    ] {
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let start = Instant::now();
            run(folder, sandbox).await;
            times.push(start.elapsed());
        }
        times.sort();
        println!(
            "{name}: median {:.1} ms, p95 {:.1} ms ({RUNS} runs of true)",
            milliseconds(times[RUNS / 2]),
            milliseconds(times[RUNS * 95 / 100])
        );
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

async fn run(folder: &Path, sandbox: Option<&Sandbox>) {
    let settings = ToolSettings { sandbox: sandbox.cloned(), ..ToolSettings::default() };
    let workspace = Arc::new(Workspace::new(vec![folder.to_owned()]));
    let context = ToolContext::new(Arc::new(TurnFiles::new(workspace)), CancellationToken::new());
    let arguments = r#"{"command": "true"}"#.to_owned();
    let call = ToolCall { id: "1".into(), name: "run_command".into(), arguments, raw: None };
    let prepared = Toolbox::standard(&settings).prepare(&call).expect("a call that fits");
    let answer = prepared.run(context).await.expect("the command runs");
    assert!(answer.starts_with("exit code 0"), "{answer}");
}
