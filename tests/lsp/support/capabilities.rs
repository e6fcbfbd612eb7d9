//! What a client says that it can do: everything, nothing, everything but one thing, or what a real editor said.

use std::{fs, path::Path};

use serde_json::{Value, json};

/// Every capability that askls looks at. Positions are utf-16 unless a test says otherwise, as in most editors.
pub fn full() -> Value {
    json!({
        "general": {"positionEncodings": ["utf-16"]},
        "window": {
            "workDoneProgress": true,
            "showMessage": {"messageActionItem": {"additionalPropertiesSupport": true}},
            "showDocument": {"support": true},
        },
        "workspace": {
            "applyEdit": true,
            "workspaceEdit": {
                "documentChanges": true,
                "resourceOperations": ["create", "rename", "delete"],
                "failureHandling": "textOnlyTransactional",
            },
            "codeLens": {"refreshSupport": true},
            "configuration": true,
            "didChangeConfiguration": {"dynamicRegistration": true},
            "didChangeWatchedFiles": {"dynamicRegistration": true},
            "executeCommand": {"dynamicRegistration": true},
            "workspaceFolders": true,
        },
        "textDocument": {
            "synchronization": {"dynamicRegistration": true, "didSave": true},
            "publishDiagnostics": {"relatedInformation": true},
            "codeLens": {"dynamicRegistration": true},
            "codeAction": {
                "dynamicRegistration": true,
                "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor"]}},
                "isPreferredSupport": true,
                "disabledSupport": true,
                "dataSupport": true,
                "resolveSupport": {"properties": ["edit", "command"]},
            },
        },
    })
}

/// An empty object, as some clients send it.
pub fn none() -> Value {
    json!({})
}

/// Everything but the member at `pointer`, as `/window/workDoneProgress`.
pub fn without(pointer: &str) -> Value {
    let mut capabilities = full();
    let (parent, name) = pointer.rsplit_once('/').expect("a JSON pointer");
    let removed = capabilities.pointer_mut(parent).and_then(|value| value.as_object_mut()?.remove(name));
    assert!(removed.is_some(), "there is no capability {pointer}");
    capabilities
}

/// Everything, with another value at `pointer`.
pub fn with(pointer: &str, value: Value) -> Value {
    let mut capabilities = full();
    let (parent, name) = pointer.rsplit_once('/').expect("a JSON pointer");
    capabilities
        .pointer_mut(parent)
        .and_then(Value::as_object_mut)
        .unwrap_or_else(|| panic!("there is no object {parent}"))
        .insert(name.to_owned(), value);
    capabilities
}

/// The whole `initialize` parameters that a real editor sent, by the name of its file in `clients`.
pub fn recorded(editor: &str) -> Value {
    let path = clients_folder().join(format!("{editor}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{editor}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{editor}: {error}"))
}

/// The names of all recorded editors.
pub fn recorded_editors() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(clients_folder())
        .expect("the folder of recorded clients")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    names
}

fn clients_folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lsp/clients")
}
