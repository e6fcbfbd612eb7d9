//! What is on offer as data for programs, and in the words of lenses, hints and actions.

use std::ops;

use serde_json::{Value, json};

use crate::{
    lsp::{editor::one_line, session::Session},
    workspace::{
        FilePath,
        position::LineStarts,
        review::{HunkKind, HunkState, HunkView, Review},
    },
};

/// Longest reason of a conflict. It names files, whose names may be anything.
const MAX_REASON: usize = 500;

/// Each file with its hunks, by path. Reads the disk.
pub(super) fn edits(session: &Session, review: &Review) -> Vec<Value> {
    let mut files: Vec<(FilePath, Vec<Value>)> = Vec::new();
    for view in review.hunks(&session.workspace) {
        let hunk = hunk(&view);
        match files.last_mut().filter(|(path, _)| *path == view.path) {
            Some((_, hunks)) => hunks.push(hunk),
            None => files.push((view.path, vec![hunk])),
        }
    }
    let files = files.into_iter();
    files.map(|(path, hunks)| json!({ "uri": session.workspace.uri(&path), "hunks": hunks })).collect()
}

fn hunk(view: &HunkView) -> Value {
    let kind = match view.kind {
        HunkKind::Lines => "lines",
        HunkKind::Create => "create",
        HunkKind::Delete => "delete",
        HunkKind::Move => "move",
        HunkKind::File => "file",
    };
    let position = |line: usize| json!({ "line": line, "character": 0 });
    let mut json = json!({
        "id": view.id.0,
        "kind": kind,
        "range": { "start": position(view.lines_now.start), "end": position(view.lines_now.end) },
        "oldText": view.before,
        "newText": view.after,
    });
    let (state, reason) = match &view.state {
        HunkState::Pending => ("pending", None),
        HunkState::Taken => ("taken", None),
        HunkState::Conflict(reason) => ("conflict", Some(reason)),
    };
    json["state"] = json!(state);
    if let Some(reason) = reason {
        json["reason"] = json!(one_line(reason, MAX_REASON));
    }
    json
}

/// The zero-based lines of the text where a hunk is shown, at least one: the line above which lines are added, or the
/// last one when they come behind it. Both ends belong to it.
pub(in crate::lsp) fn anchor(view: &HunkView, lines: usize) -> ops::RangeInclusive<u32> {
    let last_line = lines.saturating_sub(1);
    let start = view.lines_now.start.min(last_line);
    let end = view.lines_now.end.saturating_sub(1).clamp(start, last_line);
    let line = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    line(start)..=line(end)
}

/// How many lines a text has, without an empty one behind the last line end.
pub(in crate::lsp) fn line_count(text: &str) -> usize {
    LineStarts::new(text).lines(text).count()
}

/// `line 4`, `lines 3-5`, or `at line 4` for what only adds lines.
pub(in crate::lsp) fn place(view: &HunkView) -> String {
    let first = view.lines_now.start + 1;
    match view.lines_now.len() {
        0 => format!("at line {first}"),
        1 => format!("line {first}"),
        _ => format!("lines {first}-{}", view.lines_now.end),
    }
}

/// `replaces 2 lines by 3`
pub(in crate::lsp) fn what(view: &HunkView) -> String {
    let count = |lines: usize| if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
    match view.kind {
        HunkKind::Create => "makes this file".to_owned(),
        HunkKind::Delete => "deletes this file".to_owned(),
        HunkKind::Move => format!("moves this file to {}", view.path),
        HunkKind::Lines | HunkKind::File => match (line_count(&view.before), line_count(&view.after)) {
            (0, after) => format!("adds {}", count(after)),
            (before, 0) => format!("removes {}", count(before)),
            (before, after) => format!("replaces {} by {after}", count(before)),
        },
    }
}
