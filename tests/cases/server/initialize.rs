//! The parameters of `initialize` of a full-featured client, where a case does not give its own.

use serde_json::{Value, json};

use crate::world::{self, World};

pub(crate) fn standard(world: &World, given: &Value) -> Value {
    let client = &given["client"];
    let mut capabilities = json!({
        "general": {"positionEncodings": ["utf-16"]},
        "window": {
            "workDoneProgress": true,
            "showMessage": {"messageActionItem": {"additionalPropertiesSupport": true}},
        },
        "workspace": {
            "applyEdit": true,
            "workspaceEdit": {"documentChanges": true, "resourceOperations": ["create", "rename", "delete"]},
            "workspaceFolders": true,
            "configuration": true,
        },
        "textDocument": {
            "synchronization": {"dynamicRegistration": false, "didSave": true},
            "codeAction": {
                "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor"]}},
            },
        },
    });
    if client.is_object() {
        match client.get("position_encodings") {
            Some(encodings) => capabilities["general"]["positionEncodings"] = encodings.clone(),
            None => capabilities["general"] = json!({}),
        }
        let members =
            [("document_changes", "documentChanges"), ("resource_operations", "resourceOperations")];
        for (name, member) in members {
            if let Some(value) = client.get(name) {
                capabilities["workspace"]["workspaceEdit"][member] = value.clone();
            }
        }
    }
    let folders: Vec<Value> = world
        .roots(given)
        .iter()
        .map(|root| json!({"uri": format!("file://{}", world::encoded(root)), "name": "ws"}))
        .collect();
    json!({
        "processId": std::process::id(),
        "rootUri": folders.first().map_or(Value::Null, |folder| folder["uri"].clone()),
        "workspaceFolders": folders,
        "capabilities": capabilities,
    })
}
