//! Code lenses above proposed edits: apply, reject or show each without a plugin, where its lines are now.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    commands,
    edits::{anchor, line_count, what},
    lsp_types::{CodeLens, CodeLensParams, Command, Position, Range},
    session::Session,
};
use crate::{
    protocol::ThreadId,
    workspace::review::{HunkKind, HunkState, HunkView},
};

/// Hunks of a file that get lenses; beyond it code actions remain.
const MAX_HUNKS: usize = 200;

pub(super) async fn code_lenses(session: &Arc<Session>, params: &CodeLensParams) -> Vec<CodeLens> {
    if session.offers.is_empty() || !session.hints.has_lenses() {
        return Vec::new();
    }
    let Ok(path) = session.workspace.locate(params.text_document.uri.as_str()) else { return Vec::new() };
    let session = Arc::clone(session);
    let look = move || {
        let offered = session.offered_in(&path);
        let lines = session.workspace.open_document(&path).map_or(usize::MAX, |it| line_count(&it.text));
        let uri = session.workspace.uri(&path);
        let views =
            offered.iter().flat_map(|(thread_id, _, hunks)| hunks.iter().map(move |view| (thread_id, view)));
        let shown = views.filter(|(_, view)| view.state != HunkState::Taken).take(MAX_HUNKS);
        shown
            .flat_map(|(thread_id, view)| lenses(thread_id, &uri, view, *anchor(view, lines).start()))
            .collect()
    };
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

/// One lens a command, as the protocol wants it.
fn lenses(thread_id: &ThreadId, uri: &str, view: &HunkView, line: u32) -> Vec<CodeLens> {
    let lens = |title: String, command: &str, argument: Value| {
        let position = Position { line, character: 0 };
        CodeLens {
            range: Range { start: position, end: position },
            command: Some(Command { title, command: command.to_owned(), arguments: Some(vec![argument]) }),
            data: None,
        }
    };
    let argument = json!({ "threadId": thread_id, "uri": uri, "hunks": [view.id.0] });
    let mut accept = argument.clone();
    accept["report"] = json!(true);
    let subject = match view.kind {
        HunkKind::Lines | HunkKind::File => String::new(),
        HunkKind::Create | HunkKind::Delete | HunkKind::Move => format!(" ({})", what(view)),
    };
    let (first, reject) = match view.state {
        HunkState::Conflict(_) => (None, "askls: Reject (changed since)".to_owned()),
        HunkState::Pending | HunkState::Taken => (
            Some(lens(format!("askls: Apply{subject}"), commands::ACCEPT_EDITS, accept)),
            "Reject".to_owned(),
        ),
    };
    let reject = lens(reject, commands::REJECT_EDITS, argument.clone());
    let show = lens("Show".to_owned(), commands::SHOW_EDITS, argument);
    first.into_iter().chain([reject, show]).collect()
}
