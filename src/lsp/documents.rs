//! Open buffers: what the editor says of them reaches the overlay before the next message is read.
//!
//! None of these functions waits: after a wait, changes would arrive out of order.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::{
    lsp_types::{
        self, DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
        MessageType, TextDocumentContentChangeEvent,
    },
    session::Session,
};
use crate::workspace::{
    document::Change,
    position::{Position, Range},
};

/// The schemes of buffers that the agent may see: files, and what will become one. Others are views that editors
/// make for themselves, as of a diff.
const SCHEMES: [&str; 2] = ["file:", "untitled:"];

impl Session {
    pub(super) fn opened(&self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        let uri = document.uri.as_str();
        if !is_visible(uri) {
            return;
        }
        self.lost_documents.remove(uri);
        self.trails.lose(uri);
        self.workspace.overlay().open(uri, &document.language_id, document.version, document.text);
        self.hints.forget(uri);
        self.document_changed();
    }

    /// A change that cannot be applied makes the buffer unusable until it is opened again: from then on its true text
    /// is not known, and guessing would damage it.
    pub(super) fn changed(self: &Arc<Self>, params: DidChangeTextDocumentParams) {
        let uri = params.text_document.uri.as_str();
        if !is_visible(uri) || self.lost_documents.contains_key(uri) {
            return;
        }
        if !self.workspace.overlay().is_open(uri) {
            tracing::warn!(uri, "a change of a document that is not open");
            return;
        }
        let changes: Vec<_> = params.content_changes.into_iter().map(change).collect();
        let version = params.text_document.version;
        let encoding = self.client().encoding;
        let change = || self.workspace.overlay().change(uri, version, &changes, encoding);
        let result = self.trails.follow(uri, (version, &changes, encoding), change);
        self.follow_taken();
        self.document_changed();
        if let Err(reason) = result {
            self.lose(uri, &reason);
        }
    }

    /// Looks at what the editor says of a document before the library does, which would drop without a word what it
    /// cannot read: from then on the text of that document is not known.
    pub(super) fn watch_document_message(self: &Arc<Self>, method: &str, params: Option<&Value>) {
        let params = params.unwrap_or(&Value::Null);
        let fault = match method {
            "textDocument/didOpen" => DidOpenTextDocumentParams::deserialize(params).err(),
            "textDocument/didChange" => DidChangeTextDocumentParams::deserialize(params).err(),
            "textDocument/didClose" => DidCloseTextDocumentParams::deserialize(params).err(),
            _ => None,
        };
        let Some(fault) = fault else { return };
        tracing::warn!(method, %fault, "a message about a document cannot be read");
        // Without a name nobody can do anything about it.
        let uri = params.pointer("/textDocument/uri").and_then(Value::as_str);
        if let Some(uri) = uri.filter(|uri| is_visible(uri)) {
            self.lose(uri, &format!("{method}: {fault}"));
        }
    }

    /// The text of a document is not known any more. The user is told, once for each time that it was known.
    fn lose(self: &Arc<Self>, uri: &str, reason: &str) {
        tracing::warn!(uri, reason, "the text of a document is lost");
        self.trails.lose(uri);
        self.workspace.overlay().close(uri);
        self.document_changed();
        if self.lost_documents.insert(uri.to_owned(), ()).is_none() {
            self.warn_soon(format!(
                "askls lost track of {uri} ({reason}); close and reopen it to work on it again"
            ));
        }
    }

    /// Tells the user without waiting for it.
    pub(super) fn warn_soon(self: &Arc<Self>, text: String) {
        let session = Arc::clone(self);
        self.spawn(async move { session.editor.show_message(MessageType::WARNING, &text).await });
    }

    pub(super) fn closed(&self, params: &DidCloseTextDocumentParams) {
        let uri = params.text_document.uri.as_str();
        self.lost_documents.remove(uri);
        self.trails.lose(uri);
        self.workspace.overlay().close(uri);
        self.document_changed();
    }
}

fn is_visible(uri: &str) -> bool {
    SCHEMES.iter().any(|scheme| uri.starts_with(scheme))
}

fn change(change: TextDocumentContentChangeEvent) -> Change {
    Change { range: change.range.map(range), text: change.text }
}

pub(super) fn range(range: lsp_types::Range) -> Range {
    Range { start: position(range.start), end: position(range.end) }
}

fn position(position: lsp_types::Position) -> Position {
    Position { line: position.line, character: position.character }
}
