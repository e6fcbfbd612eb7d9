//! What open documents go through while an edit is with the editor.
//!
//! The text alone does not say who made a change: the user may type what the agent was about to write, and an editor
//! that knows no versions carries an edit out by its line numbers, whatever stands there by then. How a change came
//! says it: an editor carries an edit out as it was sent.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::part::likeness;
use crate::workspace::{
    FileEdit, FilePath, Workspace,
    document::{Buffer, Change, Document},
    paths,
    position::{Encoding, LineStarts},
};

/// Changes that are followed of one document; more than anybody makes while an editor applies an edit. Beyond them only
/// the text of now counts.
const MAX_CHANGES: usize = 256;

/// Bytes of text that are kept of one document, for the same reason: each change costs a copy.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// How long the buffers have to be quiet before an edit goes to an editor that cannot tell that it is outdated. Longer
/// than the pauses between the keys of somebody who types, and than editors keep changes back.
const QUIET: Duration = Duration::from_millis(400);

/// The documents that are followed.
#[derive(Debug, Default)]
pub(in crate::lsp) struct Trails {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    trails: BTreeMap<u64, Trail>,
    next: u64,
    last_change: Option<Instant>,
}

#[derive(Debug)]
struct Trail {
    key: String,
    /// Changes again as the document does, so that each of several changes that are told at once is seen.
    buffer: Buffer,
    documents: Vec<Document>,
    bytes: usize,
    /// Whether nothing is missing.
    is_whole: bool,
}

impl Trails {
    /// Changes a document by `change`, with those that follow it.
    pub(in crate::lsp) fn follow<T>(
        &self,
        uri: &str,
        (version, changes, encoding): (i32, &[Change], Encoding),
        change: impl FnOnce() -> T,
    ) -> T {
        let mut state = self.state();
        let changed = change();
        state.last_change = Some(Instant::now());
        if !state.trails.is_empty() {
            let key = paths::document_key(uri);
            for trail in state.trails.values_mut().filter(|trail| trail.key == key) {
                trail.push(version, changes, encoding);
            }
        }
        changed
    }

    /// A document is opened or closed, or its text is not known any more.
    pub(in crate::lsp) fn lose(&self, uri: &str) {
        let mut state = self.state();
        let key = paths::document_key(uri);
        for trail in state.trails.values_mut().filter(|trail| trail.key == key) {
            trail.is_whole = false;
        }
    }

    /// Follows the open document of a file from now on; `None` for one that is not open.
    pub(super) fn watch(&self, workspace: &Workspace, path: &FilePath) -> Option<Watch<'_>> {
        let mut state = self.state();
        // No change can come between this look and the first one that is followed.
        let document = workspace.open_document(path)?;
        let Document { uri, language, version, text } = &document;
        let trail = Trail {
            key: paths::document_key(uri).into_owned(),
            buffer: Buffer::new(uri, language, *version, text.to_string()),
            bytes: text.len(),
            documents: vec![document],
            is_whole: true,
        };
        state.next += 1;
        let id = state.next;
        state.trails.insert(id, trail);
        Some(Watch { trails: self, id })
    }

    /// How long it is until the buffers have been quiet for long enough; `None` when they have.
    pub(super) fn until_quiet(&self) -> Option<Duration> {
        let elapsed = self.state().last_change?.elapsed();
        QUIET.checked_sub(elapsed).filter(|left| !left.is_zero())
    }

    /// Whole at any moment, so a panic elsewhere does not spoil it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Trail {
    fn push(&mut self, version: i32, changes: &[Change], encoding: Encoding) {
        for change in changes {
            if !self.is_whole {
                return;
            }
            self.buffer.change(version, std::slice::from_ref(change), encoding);
            let document = self.buffer.document();
            self.bytes += document.text.len();
            self.documents.push(document);
            self.is_whole = self.documents.len() <= MAX_CHANGES && self.bytes <= MAX_BYTES;
        }
    }
}

/// Follows a document until it is dropped.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    trails: &'a Trails,
    id: u64,
}

impl Watch<'_> {
    /// The document at the beginning and after each change; `None` when something is missing.
    pub(super) fn documents(&self) -> Option<Vec<Document>> {
        let state = self.trails.state();
        let trail = state.trails.get(&self.id).filter(|trail| trail.is_whole)?;
        Some(trail.documents.clone())
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.trails.state().trails.remove(&self.id);
    }
}

/// An edit that was carried out as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CarriedOut {
    /// On this text.
    pub(super) before: Document,
    pub(super) after: Document,
    /// Nothing had changed since it was sent.
    pub(super) is_on_time: bool,
}

/// Where on its trail a document was changed by just this edit.
pub(super) fn carried_out(file: &FileEdit, documents: &[Document], encoding: Encoding) -> Option<CarriedOut> {
    if documents.len() < 2 {
        return None;
    }
    let edits = file.text_edits(encoding);
    let is_same = likeness(file);
    for (index, before) in documents.iter().enumerate() {
        let lines = LineStarts::new(&before.text);
        let mut text = before.text.to_string();
        // From the end, so that no edit moves the place of another.
        for edit in edits.iter().rev() {
            let start = lines.offset(&before.text, edit.range.start, encoding);
            let end = lines.offset(&before.text, edit.range.end, encoding).max(start);
            if text.is_char_boundary(start) && text.is_char_boundary(end) && end <= text.len() {
                text.replace_range(start..end, &edit.new_text);
            }
        }
        if is_same(&text, &before.text) {
            continue;
        }
        let later = documents.get(index + 1..).unwrap_or_default();
        if let Some(after) = later.iter().find(|after| is_same(&text, &after.text)) {
            let is_on_time = documents.first().is_some_and(|first| first.text == before.text);
            return Some(CarriedOut { before: before.clone(), after: after.clone(), is_on_time });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::workspace::{
        FileText,
        position::{Position, Range},
    };

    const BEFORE: &str = "a\nb\nc\nd\n";

    fn edit(after: &str) -> FileEdit {
        FileEdit {
            path: FilePath::file(Path::new("/project/x.txt"), "x.txt"),
            moved_from: None,
            before: Some(FileText { text: BEFORE.into(), version: Some(1), bom: false }),
            after: Some(after.to_owned()),
            text_from: None,
            stretches: None,
        }
    }

    /// The texts that `BEFORE` became, one after the other, and on which of them the edit was carried out.
    fn check(after: &str, texts: &[&str], expected: Option<&str>) {
        let document = |(version, text): (i32, &&str)| Document {
            uri: "file:///project/x.txt".into(),
            language: "text".into(),
            version,
            text: (*text).into(),
        };
        let documents: Vec<_> = (1..).zip([BEFORE].iter().chain(texts)).map(document).collect();
        let found = carried_out(&edit(after), &documents, Encoding::Utf16);
        let on = found.as_ref().map(|found| &*found.before.text);
        assert_eq!(on, expected, "{texts:?}");
    }

    #[test]
    fn an_edit_is_carried_out_by_its_line_numbers_whatever_stands_there() {
        let after = "a\nB\nc\nD\n";
        check(after, &[after], Some(BEFORE));
        check(after, &["a\nb\nc\nD\n", after, "a\nB\nc\nD\ntyped\n"], Some(BEFORE));
        check(after, &["new\na\nb\nc\nd\n", "new\nB\nb\nD\nd\n"], Some("new\na\nb\nc\nd\n"));
    }

    #[test]
    fn what_the_user_makes_of_it_by_hand_is_no_edit_that_was_carried_out() {
        check("a\nB\nc\nD\n", &["a\nB\nc\nd\n"], None);
        check("a\nB\nc\nD\n", &["a\nb\nc\nd\ne\n"], None);
        check("a\nB\nc\nD\n", &[], None);
    }

    #[test]
    fn changes_that_are_told_at_once_are_seen_one_by_one() {
        let workspace = Workspace::new(Vec::new());
        workspace.overlay().open("untitled:x", "text", 1, "a\n".to_owned());
        let path = workspace.resolve("untitled:x").unwrap();
        let trails = Trails::default();
        let watch = trails.watch(&workspace, &path).unwrap();
        let at = |line, text: &str| {
            let position = Position { line, character: 0 };
            Change { range: Some(Range { start: position, end: position }), text: text.to_owned() }
        };

        trails.follow("untitled:x", (2, &[at(0, "1\n"), at(1, "2\n")], Encoding::Utf16), || ());
        trails.follow("untitled:other", (2, &[at(0, "1\n")], Encoding::Utf16), || ());

        let texts: Vec<_> = watch.documents().unwrap().into_iter().map(|document| document.text).collect();
        assert_eq!(texts, ["a\n".into(), "1\na\n".into(), "1\n2\na\n".into()] as [std::sync::Arc<str>; 3]);
        trails.lose("untitled:x");
        assert_eq!(watch.documents(), None);
    }
}
