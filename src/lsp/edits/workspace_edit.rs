//! Builds the one `WorkspaceEdit` that makes proposed edits true, out of what a client can take.
//!
//! Written as JSON: the library's type lacks `metadata`, and wants URIs in its own spelling where the editor's counts.

use serde_json::{Map, Value, json};

use super::names::change;
use crate::{
    lsp::capabilities::EditCapabilities,
    workspace::{FileEdit, edit::TextEdit, position::Encoding},
};

/// How each file of a proposal can come about with one client.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    /// `None` when no file goes through the editor.
    pub(super) edit: Option<Value>,
    /// What `edit` does.
    pub(super) through_editor: Vec<&'a FileEdit>,
    /// New files for a client that makes none: they are nowhere yet, so nothing in the editor can be lost.
    pub(super) on_disk: Vec<&'a FileEdit>,
    /// What this client cannot do, in words.
    pub(super) impossible: Vec<(&'a FileEdit, &'static str)>,
}

/// One file with its URI in the editor's spelling.
pub(super) struct Target<'a> {
    pub(super) file: &'a FileEdit,
    pub(super) uri: String,
    /// Of the file that it is moved from.
    pub(super) from_uri: Option<String>,
    /// Of the buffer, when it is open.
    pub(super) version: Option<i32>,
}

pub(super) fn plan<'a>(targets: &[Target<'a>], client: EditCapabilities, encoding: Encoding) -> Plan<'a> {
    let mut plan = Plan::default();
    let mut changes = Map::new();
    // Moves and new files come before the texts that need them, deletions after everything.
    let (mut operations, mut texts, mut deletions) = (Vec::new(), Vec::new(), Vec::new());
    for target in targets {
        let Target { file, uri, from_uri, version } = target;
        match (&file.before, &file.after, from_uri) {
            (_, Some(_), Some(_)) if !client.rename => plan.impossible.push((file, "move")),
            (_, None, _) if !client.delete => plan.impossible.push((file, "delete")),
            (None, Some(_), None) if !client.create => plan.on_disk.push(file),
            (_, None, _) => {
                let options = json!({ "recursive": false, "ignoreIfNotExists": false });
                deletions.push(json!({ "kind": "delete", "uri": uri, "options": options }));
                plan.through_editor.push(file);
            }
            (before, Some(_), from_uri) => {
                // What appeared there meanwhile is never written over.
                let options = json!({ "overwrite": false, "ignoreIfExists": false });
                if let Some(from_uri) = from_uri {
                    operations.push(
                        json!({ "kind": "rename", "oldUri": from_uri, "newUri": uri, "options": options }),
                    );
                } else if before.is_none() {
                    operations.push(json!({ "kind": "create", "uri": uri, "options": options }));
                }
                let edits: Vec<_> = file.text_edits(encoding).iter().map(edit_json).collect();
                // Under its new name a moved file is another document, whose version nobody knows.
                let version = version.filter(|_| from_uri.is_none());
                if client.document_changes && !edits.is_empty() {
                    texts.push(json!({ "textDocument": { "uri": uri, "version": version }, "edits": edits }));
                } else if !edits.is_empty() {
                    changes.insert(uri.clone(), Value::Array(edits));
                }
                plan.through_editor.push(file);
            }
        }
    }
    operations.append(&mut texts);
    operations.append(&mut deletions);
    if !operations.is_empty() {
        plan.edit = Some(json!({ "documentChanges": operations }));
    } else if !changes.is_empty() {
        plan.edit = Some(json!({ "changes": changes }));
    }
    plan
}

/// Asks the editor to show the edit before it applies what its user ticks of it, one annotation a file: editors list
/// them by their labels, with the places of the file below.
pub(super) fn ask_to_confirm(edit: &mut Value, targets: &[Target<'_>]) {
    let mut annotations = Map::new();
    for (index, target) in targets.iter().enumerate() {
        let id = index.to_string();
        let is_of_file = |step: &Value| {
            let names = [&step["uri"], &step["newUri"], &step["textDocument"]["uri"]];
            names.into_iter().any(|uri| uri.as_str() == Some(&target.uri))
        };
        let steps = edit.get_mut("documentChanges").and_then(Value::as_array_mut).into_iter().flatten();
        for step in steps.filter(|step| is_of_file(step)) {
            match step.get_mut("edits").and_then(Value::as_array_mut) {
                Some(edits) => edits.iter_mut().for_each(|edit| edit["annotationId"] = json!(id)),
                None => step["annotationId"] = json!(id),
            }
        }
        let annotation = json!({
            "label": format!("Agent: {}", change(target.file)),
            "needsConfirmation": true,
            "description": "tick what shall happen; the rest stays proposed",
        });
        annotations.insert(id, annotation);
    }
    edit["changeAnnotations"] = Value::Object(annotations);
}

fn edit_json(edit: &TextEdit) -> Value {
    let position = |position: crate::workspace::position::Position| json!({ "line": position.line, "character": position.character });
    json!({
        "range": { "start": position(edit.range.start), "end": position(edit.range.end) },
        "newText": edit.new_text,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::{
        lsp::capabilities::Failing,
        workspace::{FilePath, FileText},
    };

    const EVERYTHING: EditCapabilities = EditCapabilities {
        document_changes: true,
        create: true,
        rename: true,
        delete: true,
        metadata: false,
        preview: false,
        failing: Failing::Keeps,
    };

    fn path(name: &str) -> FilePath {
        FilePath::file(&Path::new("/project").join(name), name)
    }

    fn text(text: &str) -> Option<FileText> {
        Some(FileText { text: text.into(), version: Some(3), bom: false })
    }

    /// One change, one new file, one move and one deletion, with the changed file open as version 4.
    fn check(client: EditCapabilities, expect: Expect) {
        let file =
            |name: &str, moved_from: Option<&str>, before: Option<FileText>, after: Option<&str>| FileEdit {
                path: path(name),
                moved_from: moved_from.map(path),
                before,
                after: after.map(str::to_owned),
                text_from: None,
                stretches: None,
            };
        let files = [
            file("changed", None, text("a\n"), Some("b\n")),
            file("gone", None, text("g\n"), None),
            file("moved", Some("old"), text("m\n"), Some("m\n")),
            file("new", None, None, Some("n\n")),
        ];
        let targets: Vec<_> = files
            .iter()
            .map(|file| Target {
                file,
                uri: format!("file:///project/{}", file.path),
                from_uri: file.moved_from.as_ref().map(|from| format!("file:///project/{from}")),
                version: file.before.as_ref().filter(|_| file.path.as_str() == "changed").map(|_| 4),
            })
            .collect();
        let plan = plan(&targets, client, Encoding::Utf16);
        let names = |files: &[&FileEdit]| files.iter().map(|file| file.path.to_string()).collect::<Vec<_>>();
        let impossible: Vec<_> =
            plan.impossible.iter().map(|(file, what)| format!("{what} {}", file.path)).collect();
        let mut steps = String::new();
        let edit = plan.edit.unwrap_or_default();
        for step in edit["documentChanges"].as_array().into_iter().flatten() {
            steps += &format!("{step}\n");
        }
        if let Some(changes) = edit.get("changes") {
            steps += &format!("changes {changes}\n");
        }
        expect.assert_eq(&format!(
            "{steps}editor: {:?}\ndisk: {:?}\nimpossible: {impossible:?}\n",
            names(&plan.through_editor),
            names(&plan.on_disk),
        ));
    }

    #[test]
    fn a_client_that_can_do_everything_gets_one_edit() {
        check(
            EVERYTHING,
            expect![[r#"
            {"kind":"rename","newUri":"file:///project/moved","oldUri":"file:///project/old","options":{"ignoreIfExists":false,"overwrite":false}}
            {"kind":"create","options":{"ignoreIfExists":false,"overwrite":false},"uri":"file:///project/new"}
            {"edits":[{"newText":"b","range":{"end":{"character":1,"line":0},"start":{"character":0,"line":0}}}],"textDocument":{"uri":"file:///project/changed","version":4}}
            {"edits":[{"newText":"n\n","range":{"end":{"character":1,"line":0},"start":{"character":0,"line":0}}}],"textDocument":{"uri":"file:///project/new","version":null}}
            {"kind":"delete","options":{"ignoreIfNotExists":false,"recursive":false},"uri":"file:///project/gone"}
            editor: ["changed", "gone", "moved", "new"]
            disk: []
            impossible: []
        "#]],
        );
    }

    #[test]
    fn a_client_without_file_operations_gets_the_texts() {
        check(
            EditCapabilities { document_changes: true, ..EditCapabilities::default() },
            expect![[r#"
            {"edits":[{"newText":"b","range":{"end":{"character":1,"line":0},"start":{"character":0,"line":0}}}],"textDocument":{"uri":"file:///project/changed","version":4}}
            editor: ["changed"]
            disk: ["new"]
            impossible: ["delete gone", "move moved"]
        "#]],
        );
    }

    #[test]
    fn a_client_without_document_changes_gets_changes() {
        check(
            EditCapabilities::default(),
            expect![[r#"
            changes {"file:///project/changed":[{"newText":"b","range":{"end":{"character":1,"line":0},"start":{"character":0,"line":0}}}]}
            editor: ["changed"]
            disk: ["new"]
            impossible: ["delete gone", "move moved"]
        "#]],
        );
    }

    #[test]
    fn only_the_operations_that_a_client_has_are_used() {
        check(
            EditCapabilities { rename: false, ..EVERYTHING },
            expect![[r#"
            {"kind":"create","options":{"ignoreIfExists":false,"overwrite":false},"uri":"file:///project/new"}
            {"edits":[{"newText":"b","range":{"end":{"character":1,"line":0},"start":{"character":0,"line":0}}}],"textDocument":{"uri":"file:///project/changed","version":4}}
            {"edits":[{"newText":"n\n","range":{"end":{"character":1,"line":0},"start":{"character":0,"line":0}}}],"textDocument":{"uri":"file:///project/new","version":null}}
            {"kind":"delete","options":{"ignoreIfNotExists":false,"recursive":false},"uri":"file:///project/gone"}
            editor: ["changed", "gone", "new"]
            disk: []
            impossible: ["move moved"]
        "#]],
        );
    }
}
