//! The table of contents of the language server: which message goes where.

use std::sync::Arc;

use serde_json::Value;
use tower_lsp::{
    LanguageServer, LspService,
    jsonrpc::{Error, Result},
};

use super::{
    answer::{ContentParams, ContentResult},
    code_actions, code_lenses, commands, lifecycle,
    lsp_types::{
        CodeActionParams, CodeActionResponse, CodeLens, CodeLensParams, DidChangeConfigurationParams,
        DidChangeTextDocumentParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
        DidOpenTextDocumentParams, DidSaveTextDocumentParams, ExecuteCommandParams, InitializeParams,
        InitializeResult, InitializedParams, WorkDoneProgressCancelParams,
    },
    session::Session,
};

pub(super) struct Server {
    session: Arc<Session>,
}

pub(super) fn service(session: Arc<Session>) -> LspService<Server> {
    // The library's own channel to the client stays unused: ours keeps responses and notifications in one order.
    let (service, _socket) = LspService::build(|_client| Server { session })
        .custom_method("window/workDoneProgress/cancel", Server::progress_cancelled)
        .custom_method("workspace/textDocumentContent", Server::document_content)
        .finish();
    service
}

impl Server {
    pub(super) fn session(&self) -> &Arc<Session> {
        &self.session
    }
}

impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        match params.initialization_options {
            Some(params @ Value::Object(_)) => {
                Ok(lifecycle::initialize_result(self.session.initialize(&params)))
            }
            _ => Err(Error::invalid_params("initialize needs an object as params")),
        }
    }

    async fn initialized(&self, _: InitializedParams) {
        self.session.settings().await;
        let session = Arc::clone(&self.session);
        self.session.spawn(session.keep_hints());
    }

    async fn shutdown(&self) -> Result<()> {
        self.session.stop();
        self.session.clear_hints().await;
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        self.session.opened(params);
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        self.session.changed(params);
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.session.closed(&params);
    }

    async fn did_save(&self, _: DidSaveTextDocumentParams) {
        self.session.document_changed();
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        self.session.settings_changed(params.settings).await;
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        let added = params.event.added.iter().map(|folder| folder.uri.as_str());
        let removed = params.event.removed.iter().map(|folder| folder.uri.as_str());
        self.session.change_roots(added, removed);
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        Ok(Some(code_actions::code_actions(&self.session, &params).await))
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        Ok(Some(code_lenses::code_lenses(&self.session, &params).await))
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        commands::execute(&self.session, params).await.map(Some)
    }
}

/// Messages that the library does not know.
impl Server {
    async fn progress_cancelled(&self, params: WorkDoneProgressCancelParams) {
        self.session.stop_turns(|turn| turn.progress.as_ref() == Some(&params.token));
    }

    async fn document_content(&self, params: ContentParams) -> Result<ContentResult> {
        self.session.answers.content(&params)
    }
}
