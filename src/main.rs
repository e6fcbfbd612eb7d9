//! Arguments in, a face run, an exit code out.

use std::{
    backtrace::{Backtrace, BacktraceStatus},
    io::Write as _,
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context as _;
use askls::{
    cli::{self, Arguments, Command},
    config::Environment,
    lsp,
    tools::run_command::sandbox,
};
use clap::Parser as _;
use tracing_subscriber::EnvFilter;

/// Turns wait for servers and files most of the time: one thread runs them while another answers the editor.
const WORKER_THREADS: usize = 2;

/// A command line that is wrong, as the CLI's table of exit codes says.
const WRONG_USAGE: u8 = 2;

fn main() -> anyhow::Result<ExitCode> {
    // Before there is a second thread, a setting, a log: what is asked for here becomes a command.
    if let Some(code) = sandbox::enter(std::env::args_os()) {
        return Ok(code);
    }
    sandbox::keep_private();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let error = cli::explained(error);
            // Nobody is left to tell when this cannot be written.
            let _ = error.print();
            return Ok(ExitCode::from(if error.use_stderr() { WRONG_USAGE } else { 0 }));
        }
    };
    let environment = Environment::capture().with_launcher(sandbox::Launcher::new(own_program()));
    start_log(&environment);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .enable_all()
        .build()
        .context("the threads cannot be started")?;
    let code = runtime.block_on(async {
        match arguments.command {
            None | Some(Command::Lsp { .. }) => {
                if arguments.command.is_none() && !arguments.stdio {
                    cli::greet();
                }
                lsp::serve(tokio::io::stdin(), tokio::io::stdout(), environment).await
            }
            Some(Command::Ask(arguments)) => cli::ask(arguments, &environment).await,
            Some(Command::Undo(arguments)) => cli::undo(&arguments, &environment),
            Some(Command::Status(arguments)) => cli::status(arguments, &environment).await,
            Some(Command::SettingsSchema) => cli::settings_schema(),
        }
    });
    // A read of stdin cannot be called off, and nobody waits for its end.
    runtime.shutdown_background();
    Ok(code)
}

/// The program that this process runs, also when it was replaced by a newer one meanwhile.
fn own_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        "/proc/self/exe".into()
    } else {
        std::env::current_exe().unwrap_or_default()
    }
}

/// Logs go to stderr: stdout is the protocol's, or the answer's. No key does, whatever is logged, and by whom; nor in the
/// words of a panic, which may quote a text.
fn start_log(environment: &Environment) {
    let known_keys = environment.known_keys().clone();
    let of_panics = known_keys.clone();
    std::panic::set_hook(Box::new(move |panic| {
        // Says nothing unless it is asked for by a variable.
        let trace = Backtrace::capture();
        let trace =
            if trace.status() == BacktraceStatus::Captured { trace.to_string() } else { String::new() };
        // Nobody is left to tell when this cannot be written.
        let _ = of_panics.writer(std::io::stderr()).write_all(format!("{panic}\n{trace}").as_bytes());
    }));
    let filter = environment.log_filter().unwrap_or("warn");
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::builder().parse_lossy(filter))
        .with_writer(move || known_keys.writer(std::io::stderr()))
        .with_ansi(false)
        .init();
}
