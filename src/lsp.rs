//! The language server: any editor, over stdin and stdout.
//!
//! A message goes from [`transport`](self) to its handler in `server`, which only delegates. Handlers never do
//! the work of a turn: a command parses its arguments, starts the turn in a task of its own, and waits. Everything that
//! handlers share is in the `Session`. The names of the protocol's types appear only in this folder.

mod answer;
mod approver;
mod capabilities;
mod code_actions;
mod code_lenses;
mod commands;
mod documents;
mod editor;
mod edits;
mod frames;
mod hints;
mod lenient;
mod lifecycle;
mod observer;
mod server;
mod session;
mod settings;
mod transport;
mod turn;

use std::{process::ExitCode, sync::Arc, time::Duration};

use tokio::io::{AsyncRead, AsyncWrite};
use tower_lsp::ls_types as lsp_types;

use self::{
    editor::Editor,
    lifecycle::End,
    session::Session,
    transport::{Dispatcher, Outbox},
};
use crate::config::Environment;

/// How long the last messages may take to be written.
const FLUSH_LIMIT: Duration = Duration::from_millis(200);

/// Serves one editor until it says `exit`, closes stdin or stdout, its process is gone, or a signal ends ours; turns that run then are
/// cancelled and their commands killed before this returns. The code is 0 when the editor had asked to shut down.
///
/// Reading stdin may still be blocked in a thread of the runtime: the caller must not wait for it
/// (`Runtime::shutdown_background`).
pub async fn serve<I, O>(stdin: I, stdout: O, environment: Environment) -> ExitCode
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin + Send + 'static,
{
    let (outbox, write) = Outbox::new(stdout);
    let mut writer = tokio::spawn(write);
    let editor = Arc::new(Editor::new(outbox.clone(), environment.known_keys().clone()));
    let session = Arc::new(Session::new(Arc::clone(&editor), environment));
    let mut dispatcher = Dispatcher::new(server::service(Arc::clone(&session)), outbox.clone(), editor);
    let end = tokio::select! {
        end = dispatcher.run(stdin) => end,
        _ = &mut writer => End::OutputClosed,
        () = async { lifecycle::process_gone(session.client_process().await).await } => End::ClientGone,
        () = lifecycle::told_to_end() => End::Signal,
    };
    session.end().await;
    outbox.close();
    if end != End::OutputClosed {
        // A client that does not read its last messages does not keep us.
        let _ = tokio::time::timeout(FLUSH_LIMIT, writer).await;
    }
    end.exit_code(dispatcher.was_shut_down())
}
