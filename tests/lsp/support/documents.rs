//! Buffers: what the user opens, types and closes.

use serde_json::{Value, json};

use super::{
    client::{Client, WAIT},
    project::uri_path,
    transport::State,
};

impl Client {
    /// The URI of `/src/main.rs`.
    pub fn uri(&self, path: &str) -> String {
        self.project.uri(path)
    }

    /// Opens a file of the project with its text on disk.
    pub fn open(&self, path: &str) -> String {
        let uri = self.uri(path);
        let place = uri_path(&uri).expect("a file");
        let text = std::fs::read_to_string(&place).unwrap_or_else(|error| panic!("{path}: {error}"));
        self.open_uri(&uri, &text);
        uri
    }

    /// Opens a document that the disk need not know.
    pub fn open_uri(&self, uri: &str, text: &str) {
        let mut state = self.shared.lock();
        let params = state.editor.open(uri, text);
        self.process.outbox().notify(&mut state, "textDocument/didOpen", params);
    }

    /// The user replaces the whole text and does not save.
    pub fn replace(&self, path: &str, text: &str) {
        let mut state = self.shared.lock();
        let params = state.editor.replace(&self.uri(path), text);
        self.process.outbox().notify(&mut state, "textDocument/didChange", params);
    }

    /// The user replaces one range, given as `[line, character, line, character]`.
    pub fn change(&self, path: &str, range: [u64; 4], text: &str) {
        let mut state = self.shared.lock();
        let params = state.editor.change(&self.uri(path), vec![(lsp_range(range), text.to_owned())]);
        self.process.outbox().notify(&mut state, "textDocument/didChange", params);
    }

    pub fn close(&self, path: &str) {
        let mut state = self.shared.lock();
        let params = state.editor.close(&self.uri(path));
        self.process.outbox().notify(&mut state, "textDocument/didClose", params);
    }

    /// The file as the user sees it: the buffer when it is open, else the disk. `None` when there is neither.
    pub fn text(&self, path: &str) -> Option<String> {
        self.text_of(&self.shared.lock(), path)
    }

    /// The text of an open document, by its URI.
    pub fn document_text(&self, uri: &str) -> Option<String> {
        self.shared.lock().editor.document(uri).map(|document| document.text.clone())
    }

    /// Waits until the user sees this text in the file.
    pub fn wait_text(&self, path: &str, text: &str) {
        let mut last = None;
        let done = self.shared.wait(WAIT, |state| {
            last = self.text_of(state, path);
            (last.as_deref() == Some(text)).then_some(())
        });
        assert!(done.is_some(), "{path} is {last:?} and not {text:?}\n{}", self.shared.transcript());
    }

    /// Waits until there is no such file.
    pub fn wait_gone(&self, path: &str) {
        let done = self.shared.wait(WAIT, |state| self.text_of(state, path).is_none().then_some(()));
        assert!(done.is_some(), "{path} is still there\n{}", self.shared.transcript());
    }

    fn text_of(&self, state: &State, path: &str) -> Option<String> {
        let uri = self.uri(path);
        let open = state.editor.document(&uri).map(|document| document.text.clone());
        open.or_else(|| std::fs::read_to_string(uri_path(&uri)?).ok())
    }

    /// The text behind a URI that the server asked to show: a file, or a virtual document of its own.
    pub fn read_shown(&mut self, uri: &Value) -> String {
        let text = uri.as_str().unwrap_or_else(|| panic!("no URI: {uri}"));
        match uri_path(text) {
            Some(path) => std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{text}: {error}")),
            None => {
                let content = self.request("workspace/textDocumentContent", json!({"uri": uri}));
                content["text"].as_str().unwrap_or_else(|| panic!("no text: {content}")).to_owned()
            }
        }
    }
}

/// From `[line, character, line, character]` to an LSP range.
pub fn lsp_range([line, character, end_line, end_character]: [u64; 4]) -> Value {
    json!({
        "start": {"line": line, "character": character},
        "end": {"line": end_line, "character": end_character},
    })
}
