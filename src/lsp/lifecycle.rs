//! From `initialize` to the end of the process: what the server says that it can do, and whether its client still
//! lives.

use std::{process::ExitCode, time::Duration};

use serde_json::{Value, json};
use tower_lsp::jsonrpc::Response;

use super::{
    capabilities::Capabilities,
    commands,
    lsp_types::{
        CodeActionKind, CodeActionOptions, CodeLensOptions, ExecuteCommandOptions, InitializeResult, OneOf,
        PositionEncodingKind, SaveOptions, ServerCapabilities, ServerInfo, TextDocumentSyncKind,
        TextDocumentSyncOptions, WorkDoneProgressOptions, WorkspaceFoldersServerCapabilities,
        WorkspaceServerCapabilities,
    },
};
use crate::{signals::Signals, workspace::position::Encoding};

/// How often the client's process is looked for; stdin's end is what usually says it, and at once.
const CLIENT_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The scheme of documents that only we can show: answers and diffs.
pub(super) const VIRTUAL_SCHEME: &str = "askls";

/// Why the server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The notification `exit`.
    Exit,
    /// stdin was closed.
    InputEnded,
    /// stdout was closed.
    OutputClosed,
    /// The process that the client named as itself is gone.
    ClientGone,
    /// A signal told the process to end.
    Signal,
}

impl End {
    /// 0 when the client had asked to shut down, as the protocol demands; 1 otherwise.
    pub(super) fn exit_code(self, was_shut_down: bool) -> ExitCode {
        tracing::info!(end = ?self, was_shut_down, "the server ends");
        if was_shut_down { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// The library's type of `initialize` refuses a client for one word that it does not know. So the client's words
/// travel whole and unread in the one member that takes anything.
pub(super) fn wrap_initialize(params: Option<Value>) -> Value {
    json!({ "capabilities": {}, "initializationOptions": params })
}

pub(super) fn initialize_result(client: &Capabilities) -> InitializeResult {
    let encoding = match client.encoding {
        Encoding::Utf8 => PositionEncodingKind::UTF8,
        Encoding::Utf16 => PositionEncodingKind::UTF16,
        Encoding::Utf32 => PositionEncodingKind::UTF32,
    };
    InitializeResult {
        server_info: Some(ServerInfo {
            name: "askls".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
        capabilities: ServerCapabilities {
            position_encoding: Some(encoding),
            text_document_sync: Some(
                TextDocumentSyncOptions {
                    open_close: Some(true),
                    change: Some(TextDocumentSyncKind::INCREMENTAL),
                    save: Some(SaveOptions { include_text: Some(false) }.into()),
                    ..TextDocumentSyncOptions::default()
                }
                .into(),
            ),
            code_action_provider: Some(
                CodeActionOptions {
                    code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::REFACTOR]),
                    ..CodeActionOptions::default()
                }
                .into(),
            ),
            code_lens_provider: client.code_lens.then_some(CodeLensOptions { resolve_provider: Some(false) }),
            execute_command_provider: Some(ExecuteCommandOptions {
                commands: commands::NAMES.iter().map(|&name| name.to_owned()).collect(),
                work_done_progress_options: WorkDoneProgressOptions { work_done_progress: Some(true) },
            }),
            workspace: Some(WorkspaceServerCapabilities {
                workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                    supported: Some(true),
                    change_notifications: Some(OneOf::Left(true)),
                }),
                ..WorkspaceServerCapabilities::default()
            }),
            experimental: client
                .text_document_content
                .then(|| json!({ "textDocumentContent": { "schemes": [VIRTUAL_SCHEME] } })),
            ..ServerCapabilities::default()
        },
        ..InitializeResult::default()
    }
}

/// Moves `textDocumentContent` to its place in `workspace`, which the library's type does not have yet.
pub(super) fn complete_initialize(response: Response) -> Response {
    let (id, mut result) = response.into_parts();
    if let Ok(result) = &mut result
        && let Some(capabilities) = result.get_mut("capabilities").and_then(Value::as_object_mut)
        && let Some(mut experimental) = capabilities.remove("experimental")
        && let Some(workspace) = capabilities.get_mut("workspace")
    {
        workspace["textDocumentContent"] = experimental["textDocumentContent"].take();
    }
    Response::from_parts(id, result)
}

/// Returns when a signal tells this process to end. Editors send one to a server that takes too long to exit, and the
/// commands of its turns must not outlive it.
pub(super) async fn told_to_end() {
    match Signals::listen() {
        Ok(mut signals) => signals.next().await,
        Err(error) => {
            tracing::warn!(%error, "signals are not watched");
            std::future::pending().await
        }
    }
}

/// Returns when the process is gone. Never returns when it cannot be watched: on platforms without `/proc`, and when
/// it was not there to begin with, since the client may live in another container and number its processes otherwise.
pub(super) async fn process_gone(id: Option<u64>) {
    let Some((id, started)) = id.and_then(|id| Some((id, process_start(id)?))) else {
        return std::future::pending().await;
    };
    while process_start(id) == Some(started.clone()) {
        tokio::time::sleep(CLIENT_CHECK_INTERVAL).await;
    }
}

/// When the process started, which tells it from a later one with the same number; `None` when it does not run.
fn process_start(id: u64) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is the program's name in parentheses and may hold anything, blanks and parentheses too.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let is_zombie = fields.next()? == "Z";
    // `starttime` is the 22nd field of all, the 19th after the state.
    let started = fields.nth(18)?;
    (!is_zombie).then(|| started.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_our_own_are_announced_where_the_protocol_has_them() {
        let client = Capabilities { text_document_content: true, ..Capabilities::default() };
        let result = serde_json::to_value(initialize_result(&client)).unwrap();
        let (_, result) = complete_initialize(Response::from_ok(1.into(), result)).into_parts();
        let capabilities = &result.unwrap()["capabilities"];
        assert_eq!(capabilities["workspace"]["textDocumentContent"], json!({ "schemes": ["askls"] }));
        assert_eq!(capabilities.get("experimental"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_known_by_its_start() {
        assert!(process_start(std::process::id().into()).is_some());
        assert_eq!(process_start(u64::from(u32::MAX)), None);
    }
}
