//! What the user's words lean on: the open file, the selection, and the files that the thread spoke of before.

use std::sync::LazyLock;

use regex::Regex;

use crate::protocol::UserMessage;

use super::{place::clean_path, words::constant};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scene {
    /// The file that is open in the editor.
    pub(super) open: Option<String>,
    /// The folder of the project in which the user is, where that is not the project's own.
    pub(super) folder: Option<String>,
    /// One-based, inclusive lines of the selection in the open file.
    pub(super) lines: Option<(usize, usize)>,
    /// Files that were found, listed or read before, in the order in which they were shown.
    pub(super) recent: Vec<String>,
    /// The part of a file that was shown last: its path and last line.
    pub(super) shown_to: Option<(String, usize)>,
}

static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    constant(
        r#"(?im)\b(?:user has|open file(?: is)?:?|current file(?: is)?:?)\s+(?:the file\s+)?[`"']?([^\n`"']+?)[`"']?(?:\s+open\b.*|[.,;:]?\s*)$"#,
    )
});
static FOLDER: LazyLock<Regex> = LazyLock::new(|| constant(r"(?m)^The user is in the folder (.+?)(?::.*)?$"));
static SELECTED: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?i)\bselected lines?\s+(\d+)(?:\s*(?:-|–|to)\s*(\d+))?"));

impl Scene {
    /// From what the face wrote beside the user's words; what is not recognised is no hint.
    pub(super) fn from_context(user: Option<&UserMessage>) -> Self {
        let context = user.and_then(|user| user.context.as_deref()).unwrap_or_default();
        let open = OPEN
            .captures(context)
            .and_then(|parts| parts.get(1))
            .map(|path| clean_path(path.as_str().trim()));
        let lines = SELECTED.captures(context).and_then(|parts| {
            let first: usize = parts.get(1)?.as_str().parse().ok()?;
            let last: usize = parts.get(2).map_or(Some(first), |last| last.as_str().parse().ok())?;
            (first > 0 && first <= last).then_some((first, last))
        });
        let folder =
            FOLDER.captures(context).and_then(|parts| parts.get(1)).map(|path| clean_path(path.as_str()));
        Self { lines: lines.filter(|_| open.is_some()), open, folder, ..Self::default() }
    }
}
