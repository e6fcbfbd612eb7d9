//! Runs the bug cases of public reports: each is a fault that other agents, language servers and model servers had, as
//! data (`data/README.md` says in which form). `ASKLS_CASES=DIR cargo test --test cases` runs another folder of cases of
//! the same form, and then any failure fails the binary.
//!
//! What drives the product depends on what a run is about. Model streams, histories, tool calls and tables run in this
//! process against the library ([`inside`]): the real agent over real HTTP, settings from a real user's file, and the
//! real tools behind thin wrappers that carry the neutral names of the cases, so that a scripted call is sent as it stands,
//! byte for byte. Whatever needs an editor, a process, an environment or a log goes through the real server over stdio
//! ([`server`]). One table ([`names`]) holds what is called differently.
//!
//! Each run prints one line, each kind one at the end. A run that askls or this driver has no words for is `not
//! expressed`, with the reason, and never counts as passed. `approximate` marks a run with a setting that askls has not.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    unreachable_pub,
    reason = "the driver's report is its output, and what its modules share is for no other crate"
)]

mod case;
mod drive;
mod expect;
mod inside;
mod matching;
mod names;
mod observed;
mod processes;
mod provider;
mod rewrite;
mod self_test;
mod server;
#[path = "../lsp/support/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    clippy::expect_used,
    reason = "the harness of the LSP tests, of which the drivers of an editor are used"
)]
mod support;
mod tools;
mod world;

use std::{
    collections::{BTreeMap, VecDeque},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Mutex, PoisonError, mpsc},
    time::Duration,
};

use case::Case;
use expect::Verdict;

/// Kinds whose failures fail the binary in the default run. The other kinds are told and counted.
const KINDS_THAT_MUST_HOLD: &[&str] =
    &["sse-stream", "history", "config", "lsp-sequence", "edit", "path", "approval"];

/// Case files at once: most of a run is waiting.
const PARALLEL_FILES: usize = 4;

/// By how much a limit of a case is stretched: they are for a machine that does nothing else.
const DEFAULT_FACTOR: f64 = 3.0;

/// The name of the test that the driver can fail.
const SELF_TEST: &str = "the_driver_finds_faults";

fn main() -> ExitCode {
    let arguments = Arguments::of(std::env::args().skip(1));
    let folder = std::env::var_os("ASKLS_CASES").map(PathBuf::from);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/data");
    let files = match files(folder.as_deref().unwrap_or(&own)) {
        Ok(files) => files,
        Err(reason) => {
            eprintln!("{reason}");
            return ExitCode::FAILURE;
        }
    };
    if arguments.lists {
        return list(&arguments, &files);
    }
    let is_wanted = |name: &str| arguments.wants(name);
    let wanted: VecDeque<PathBuf> = files.into_iter().filter(|file| is_wanted(&stem(file))).collect();
    let mut is_good = true;
    if is_wanted(SELF_TEST) {
        is_good &= self_test::run();
    }
    let counts = run_all(wanted);
    for (kind, count) in &counts {
        println!(
            "{kind}: {} passed, {} failed, {} not expressed",
            count.passed, count.failed, count.unexpressed
        );
    }
    let must_hold = |kind: &str| folder.is_some() || KINDS_THAT_MUST_HOLD.contains(&kind) || kind == BROKEN;
    is_good &= counts.iter().all(|(kind, count)| count.failed == 0 || !must_hold(kind));
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The arguments that `cargo test` and nextest give to a test binary.
struct Arguments {
    lists: bool,
    only_ignored: bool,
    exact: bool,
    filters: Vec<String>,
    skipped: Vec<String>,
}

impl Arguments {
    fn of(arguments: impl Iterator<Item = String>) -> Self {
        let mut parsed = Self {
            lists: false,
            only_ignored: false,
            exact: false,
            filters: Vec::new(),
            skipped: Vec::new(),
        };
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--list" => parsed.lists = true,
                "--ignored" => parsed.only_ignored = true,
                "--exact" => parsed.exact = true,
                "--skip" => parsed.skipped.extend(arguments.next()),
                "--format" | "--test-threads" | "--color" | "-Z" | "--logfile" => drop(arguments.next()),
                other if other.starts_with('-') => {}
                _ => parsed.filters.push(argument),
            }
        }
        parsed
    }

    fn wants(&self, name: &str) -> bool {
        let is_like =
            |filter: &String| if self.exact { name == filter } else { name.contains(filter.as_str()) };
        !self.only_ignored
            && (self.filters.is_empty() || self.filters.iter().any(is_like))
            && !self.skipped.iter().any(is_like)
    }
}

/// One test a file, and one for the driver itself.
fn list(arguments: &Arguments, files: &[PathBuf]) -> ExitCode {
    let names = files.iter().map(|file| stem(file)).chain([SELF_TEST.to_owned()]);
    for name in names.filter(|name| arguments.wants(name)) {
        println!("{name}: test");
    }
    ExitCode::SUCCESS
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(format!("{} holds no case", folder.display()));
    }
    Ok(files)
}

#[derive(Clone, Copy, Default)]
struct Count {
    passed: usize,
    failed: usize,
    unexpressed: usize,
}

/// The kind of a file that is no case.
const BROKEN: &str = "unreadable";

/// Runs of one file go one after the other, since they start the same commands; files go side by side.
fn run_all(files: VecDeque<PathBuf>) -> BTreeMap<String, Count> {
    let queue = Mutex::new(files);
    let (tell, told) = mpsc::channel::<(String, String, Verdict)>();
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL_FILES {
            let (queue, tell) = (&queue, tell.clone());
            scope.spawn(move || {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(file) = next else { break };
                    run_file(&file, &tell);
                }
            });
        }
        drop(tell);
        for (kind, line, verdict) in told {
            println!("{line}");
            let count = counts.entry(kind).or_default();
            match verdict {
                Verdict::Pass => count.passed += 1,
                Verdict::Fail(_) => count.failed += 1,
                Verdict::NotExpressed(_) => count.unexpressed += 1,
            }
        }
    });
    counts
}

fn run_file(file: &Path, tell: &mpsc::Sender<(String, String, Verdict)>) {
    let send = |kind: &str, line: String, verdict: Verdict| {
        // The receiver lives as long as this scope.
        let _ = tell.send((kind.to_owned(), line, verdict));
    };
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            return send(BROKEN, format!("{}: FAIL {error}", stem(file)), Verdict::Fail(vec![error]));
        }
    };
    match Case::read(file) {
        Err(reason) => send(BROKEN, format!("{}: FAIL {reason}", stem(file)), Verdict::Fail(vec![reason])),
        Ok(case) => {
            for run in &case.runs {
                let report = drive::run_in_each_encoding(run, &runtime);
                let line = line(&run.title(), &report);
                send(&case.kind, line, report.verdict);
            }
        }
    }
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
}

fn line(title: &str, report: &drive::Report) -> String {
    let verdict = match &report.verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::Fail(faults) => format!("FAIL {}", faults.join("; ").replace('\n', "\\n")),
        Verdict::NotExpressed(reason) => format!("not expressed ({})", reason.replace('\n', "\\n")),
    };
    let mark = if report.notes.is_empty() {
        String::new()
    } else {
        format!(" [approximate: {}]", report.notes.join("; ").replace('\n', "\\n"))
    };
    format!("{title}: {verdict}{mark}")
}

/// A limit of a case on this machine.
pub(crate) fn stretched(limit: Duration) -> Duration {
    let factor = std::env::var("ASKLS_CASES_FACTOR").ok().and_then(|factor| factor.parse().ok());
    limit.mul_f64(factor.unwrap_or(DEFAULT_FACTOR).max(1.0))
}
