//! Edits that landed in the wrong lines: an editor that is sent no versions carries an edit out by its line numbers, and
//! its user may have typed above them just then.
//!
//! Nothing can keep such an editor from it. What the user agreed to is the edit at its place, so it is put right at once,
//! by one more edit; where that cannot be done the user is told. The record says what truly happened: an undo of the turn
//! gives the text that stood there before.

use std::{sync::Arc, time::Duration};

use super::{
    accept::Way,
    apply::{APPLY_LIMIT, Left},
    send::{Misplaced, Sent, Watches},
    workspace_edit::{self},
};
use crate::{
    lsp::{lsp_types::MessageType, session::Session},
    tools::output::visible_path,
    workspace::{FileEdit, FileText, document::Document},
};

/// The longest that an edit waits for somebody who types on and on.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// What became of an edit that landed in the wrong lines.
pub(super) struct Repaired {
    /// What truly happened to the file.
    pub(super) done: FileEdit,
    /// What of the edit is not there, and why.
    pub(super) left: Option<Left>,
    /// Whether the file is as it should be.
    pub(super) is_right: bool,
}

impl Session {
    /// Waits until nobody types: an edit that the editor cannot know to be outdated is not sent into a change that may be
    /// on its way.
    pub(super) async fn wait_for_quiet(&self) {
        let wait = async {
            while let Some(left) = self.trails.until_quiet() {
                tokio::time::sleep(left).await;
            }
        };
        // Who does not stop gets the edit all the same; it is looked after.
        let _ = tokio::time::timeout(MAX_WAIT, wait).await;
    }

    pub(super) async fn repair(self: &Arc<Self>, misplaced: Misplaced) -> Repaired {
        let Misplaced { file, carried } = misplaced;
        let path = visible_path(file.path.as_str());
        let meant = file.onto(&carried.before);
        let meant_text = meant.edit.after.clone().unwrap_or_default();
        let left = |reason: String| Some(Left { file: file.clone(), reason, is_impossible: false });
        match self.put_right(&file, &carried.after, meant_text.clone()).await {
            true => {
                self.tell(
                    MessageType::INFO,
                    format!(
                        "askls: {path} changed while the editor applied an agent edit, which landed in the wrong lines; \
                         askls has put it right"
                    ),
                );
                let reason = format!("some places of {path}: you have changed their lines");
                Repaired {
                    done: happened(&file, &carried.before, meant_text),
                    left: if meant.is_part { left(reason) } else { None },
                    is_right: true,
                }
            }
            false => {
                self.tell(
                    MessageType::WARNING,
                    format!(
                        "askls: {path} changed while the editor applied an agent edit, which landed in the wrong lines. \
                         Undo it in the editor (in {path}), or the whole turn with askls.undoTurn"
                    ),
                );
                let made = FileText::of_buffer(&carried.after).text.to_string();
                let reason = format!(
                    "the text of {path} changed while the editor applied the edit, which landed in the wrong lines"
                );
                Repaired { done: happened(&file, &carried.before, made), left: left(reason), is_right: false }
            }
        }
    }

    /// Whether the text is what was meant, with what was typed since.
    async fn put_right(&self, file: &FileEdit, made: &Document, meant: String) -> bool {
        self.wait_for_quiet().await;
        let target = self.target(file);
        let Some(watch) = self.trails.watch(&self.workspace, &file.path) else { return false };
        let Some(now) = self.workspace.open_document(&file.path) else { return false };
        let repair = happened(file, made, meant).onto(&now);
        if repair.is_part {
            return false;
        }
        let client = self.client();
        let target = workspace_edit::Target { file: &repair.edit, ..target };
        let plan = workspace_edit::plan(&[target], client.edits, client.encoding);
        let Some(edit) = plan.edit else { return true };
        let watches = Watches::from([(file.path.clone(), watch)]);
        let how = ("Repair of agent edits", Way::AtOnce, APPLY_LIMIT);
        let Sent { done, misplaced, .. } = self.send(&edit, &plan.through_editor, &watches, how).await;
        misplaced.is_empty() && done.len() == 1
    }

    /// Tells the user without waiting for it.
    fn tell(self: &Arc<Self>, kind: MessageType, text: String) {
        let session = Arc::clone(self);
        self.spawn(async move { session.editor.show_message(kind, &text).await });
    }
}

/// The change of a file from the text of that document to another.
fn happened(file: &FileEdit, before: &Document, after: String) -> FileEdit {
    let before = Some(FileText::of_buffer(before));
    FileEdit { before, after: Some(after), stretches: None, ..file.clone() }
}
