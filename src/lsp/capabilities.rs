//! What one client can do, read from its `initialize` as plain bools.
//!
//! Read from the JSON itself: typed, one value that the library does not know yet would refuse the whole client, and
//! the newest members would be out of reach.

use std::path::PathBuf;

use serde_json::Value;

use crate::workspace::{paths, position::Encoding};

/// What the client said in `initialize`. What it did not say it cannot do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    pub(super) encoding: Encoding,
    pub(super) work_done_progress: bool,
    pub(super) show_document: bool,
    /// Serves `askls:` documents through us (`workspace/textDocumentContent`).
    pub(super) text_document_content: bool,
    pub(super) apply_edit: bool,
    pub(super) edits: EditCapabilities,
    pub(super) code_action_literals: bool,
    pub(super) code_lens: bool,
    /// Asks for code lenses anew when told.
    pub(super) code_lens_refresh: bool,
    pub(super) publish_diagnostics: bool,
    pub(super) configuration: bool,
    /// Takes a question from the screen when it hears that it is over. Ours do; of the others some warn of what they do not
    /// know.
    pub(super) question_ended: bool,
    /// Known to give up on a command after some seconds, while the server goes on.
    pub(super) gives_up_on_commands: bool,
}

/// What a `WorkspaceEdit` for this client may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EditCapabilities {
    /// `documentChanges`, with versions, instead of `changes`.
    pub(super) document_changes: bool,
    pub(super) create: bool,
    pub(super) rename: bool,
    pub(super) delete: bool,
    /// `metadata` beside the edit.
    pub(super) metadata: bool,
    /// Shows an edit with `changeAnnotations` before it applies what its user ticks of it.
    pub(super) preview: bool,
    pub(super) failing: Failing,
}

/// What a client leaves of an edit that it cannot apply whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Failing {
    /// What it did before it failed, or it does not say.
    #[default]
    Keeps,
    /// Nothing, where the edit makes, moves and deletes no files.
    UndoesTexts,
    /// Nothing.
    Undoes,
}

impl Capabilities {
    pub(super) fn of(initialize: &Value) -> Self {
        let is_true = |path: &str| initialize.pointer(path).and_then(Value::as_bool).unwrap_or(false);
        let is_there = |path: &str| initialize.pointer(path).is_some_and(|value| !value.is_null());
        let operations =
            strings(initialize.pointer("/capabilities/workspace/workspaceEdit/resourceOperations"));
        Self {
            encoding: encoding(initialize),
            work_done_progress: is_true("/capabilities/window/workDoneProgress"),
            show_document: is_true("/capabilities/window/showDocument/support"),
            text_document_content: is_there("/capabilities/workspace/textDocumentContent"),
            apply_edit: is_true("/capabilities/workspace/applyEdit"),
            edits: EditCapabilities {
                // Neovim handles documentChanges and says only that it handles the operations in them.
                document_changes: is_true("/capabilities/workspace/workspaceEdit/documentChanges")
                    || !operations.is_empty(),
                create: operations.contains(&"create"),
                rename: operations.contains(&"rename"),
                delete: operations.contains(&"delete"),
                metadata: is_true("/capabilities/workspace/workspaceEdit/metadataSupport"),
                // Who groups them by their labels shows them. kak-lsp, which says only that it takes them, applies
                // what it should ask about.
                preview: is_true(
                    "/capabilities/workspace/workspaceEdit/changeAnnotationSupport/groupsOnLabel",
                ),
                failing: failing(initialize),
            },
            code_action_literals: is_there("/capabilities/textDocument/codeAction/codeActionLiteralSupport"),
            code_lens: is_there("/capabilities/textDocument/codeLens"),
            code_lens_refresh: is_true("/capabilities/workspace/codeLens/refreshSupport"),
            publish_diagnostics: is_there("/capabilities/textDocument/publishDiagnostics"),
            configuration: is_true("/capabilities/workspace/configuration"),
            question_ended: is_true("/capabilities/experimental/asklsQuestionEnded"),
            gives_up_on_commands: gives_up_on_commands(initialize),
        }
    }
}

/// The folders of the workspace; none when a single file was opened.
pub(super) fn roots(initialize: &Value) -> Vec<PathBuf> {
    if let Some(folders) = initialize.get("workspaceFolders").and_then(Value::as_array) {
        return folders.iter().filter_map(|folder| paths::from_uri(folder.get("uri")?.as_str()?)).collect();
    }
    let uri = initialize.get("rootUri").and_then(Value::as_str).and_then(paths::from_uri);
    let path = || initialize.get("rootPath").and_then(Value::as_str).map(PathBuf::from);
    uri.or_else(path).into_iter().collect()
}

fn failing(initialize: &Value) -> Failing {
    let failing = initialize.pointer("/capabilities/workspace/workspaceEdit/failureHandling");
    match failing.and_then(Value::as_str) {
        Some("transactional" | "undo") => Failing::Undoes,
        Some("textOnlyTransactional") => Failing::UndoesTexts,
        _ => Failing::Keeps,
    }
}

/// The first of the client's list that we know: the list is in its order of preference.
fn encoding(initialize: &Value) -> Encoding {
    strings(initialize.pointer("/capabilities/general/positionEncodings"))
        .into_iter()
        .find_map(|name| match name {
            "utf-8" => Some(Encoding::Utf8),
            "utf-16" => Some(Encoding::Utf16),
            "utf-32" => Some(Encoding::Utf32),
            _ => None,
        })
        .unwrap_or_default()
}

/// eglot and lsp-mode wait 10 seconds for a command. Old versions of eglot do not give their name, but nobody else
/// says exactly this.
fn gives_up_on_commands(initialize: &Value) -> bool {
    match initialize.pointer("/clientInfo/name").and_then(Value::as_str) {
        Some(name) => {
            let name = name.to_lowercase();
            name == "emacs" || name.contains("eglot") || name.contains("lsp-mode")
        }
        None => {
            let at = |path: &str| initialize.pointer(path);
            at("/capabilities/window").is_none()
                && at("/capabilities/general").is_none()
                && at("/capabilities/experimental").is_some_and(|value| value == &serde_json::json!({}))
                && at("/capabilities/workspace/executeCommand/dynamicRegistration")
                    == Some(&Value::Bool(false))
        }
    }
}

fn strings(value: Option<&Value>) -> Vec<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_client_that_says_nothing_can_do_nothing() {
        assert_eq!(Capabilities::of(&json!({ "capabilities": {} })), Capabilities::default());
        assert_eq!(Capabilities::of(&Value::Null), Capabilities::default());
    }

    #[test]
    fn file_operations_imply_document_changes() {
        let edit = json!({ "resourceOperations": ["rename", "create", "something new"] });
        let initialize = json!({ "capabilities": { "workspace": { "workspaceEdit": edit } } });
        assert_eq!(
            Capabilities::of(&initialize).edits,
            EditCapabilities {
                document_changes: true,
                create: true,
                rename: true,
                ..EditCapabilities::default()
            },
        );
    }

    #[test]
    fn the_clients_first_known_encoding_is_taken() {
        let encoding = |list: Value| {
            let initialize = json!({ "capabilities": { "general": { "positionEncodings": list } } });
            Capabilities::of(&initialize).encoding
        };
        assert_eq!(encoding(json!(["utf-7", "utf-32", "utf-16"])), Encoding::Utf32);
        assert_eq!(encoding(json!(["utf-8"])), Encoding::Utf8);
        assert_eq!(encoding(json!([])), Encoding::Utf16);
        assert_eq!(encoding(json!("utf-8")), Encoding::Utf16);
    }

    #[test]
    fn emacs_gives_up_on_commands() {
        let named = |name: &str| gives_up_on_commands(&json!({ "clientInfo": { "name": name } }));
        assert!(named("emacs") && named("Eglot"));
        assert!(!named("Neovim") && !named("Visual Studio Code"));
        let eglot_1_9 = json!({ "capabilities": {
            "workspace": { "executeCommand": { "dynamicRegistration": false } }, "experimental": {},
        }});
        assert!(gives_up_on_commands(&eglot_1_9));
        assert!(!gives_up_on_commands(&json!({ "capabilities": {} })));
    }
}
