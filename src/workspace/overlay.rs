//! The open buffers, by file whatever the spelling of its URI.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    FilePath,
    document::{Buffer, Change, Document, Splice},
    paths,
    position::Encoding,
};

/// A moment in the life of one open document, for [`Overlay::since`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// A document that is opened again is another one.
    opening: u64,
    spliced: u64,
}

/// An open document now, and what happened to it since some moment.
#[derive(Debug)]
pub(super) struct Since {
    pub(super) document: Document,
    pub(super) now: Moment,
    /// In order; `None` when nobody knows any more: the document was opened since, or the moment is too long ago.
    pub(super) splices: Option<Vec<Splice>>,
}

/// All methods are short and take no other lock; they may be called from a document handler before its first await.
#[derive(Debug, Default)]
pub struct Overlay {
    state: Mutex<State>,
}

/// Documents are kept as the editor tells them apart, so that one opened through a link beside its target keeps its
/// own text and version; files find them by the place that they really are.
#[derive(Debug, Default)]
struct State {
    documents: BTreeMap<String, Open>,
    /// Keys of the documents of one real file, the one that was touched last at the end.
    files: HashMap<PathBuf, Vec<String>>,
    /// How many documents have been opened so far.
    openings: u64,
}

#[derive(Debug)]
struct Open {
    buffer: Buffer,
    opening: u64,
    /// `None` for what is no file.
    file: Option<PathBuf>,
}

impl Overlay {
    /// Opening a document that is open already replaces its text.
    pub fn open(&self, uri: &str, language: &str, version: i32, text: String) {
        let key = paths::document_key(uri).into_owned();
        let file = paths::from_uri(uri).and_then(|path| paths::real(&paths::normalized(&path)).ok());
        let buffer = Buffer::new(uri, language, version, text);
        let mut state = self.state();
        state.close(&key);
        if let Some(file) = &file {
            state.files.entry(file.clone()).or_default().push(key.clone());
        }
        state.openings += 1;
        let opening = state.openings;
        state.documents.insert(key, Open { buffer, opening, file });
    }

    /// Applies changes in their order. The error says what was wrong; the buffer is then unchanged.
    pub fn change(
        &self,
        uri: &str,
        version: i32,
        changes: &[Change],
        encoding: Encoding,
    ) -> Result<(), String> {
        let key = paths::document_key(uri);
        let mut state = self.state();
        let State { documents, files, .. } = &mut *state;
        let Some(open) = documents.get_mut(key.as_ref()) else {
            return Err(format!("{uri} is not open, so that its change cannot be applied"));
        };
        open.buffer.change(version, changes, encoding);
        if let Some(keys) = open.file.as_ref().and_then(|file| files.get_mut(file)) {
            keys.sort_by_key(|other| *other == key);
        }
        Ok(())
    }

    pub fn close(&self, uri: &str) {
        self.state().close(&paths::document_key(uri));
    }

    pub fn is_open(&self, uri: &str) -> bool {
        self.state().documents.contains_key(paths::document_key(uri).as_ref())
    }

    pub fn by_uri(&self, uri: &str) -> Option<Document> {
        let key = paths::document_key(uri);
        self.state().documents.get(key.as_ref()).map(|open| open.buffer.document())
    }

    /// The open buffer of a file; of several (one opened through a link) the one that was touched last.
    pub fn by_path(&self, path: &Path) -> Option<Document> {
        let found = self.by_real_path(path);
        if found.is_some() || self.state().files.is_empty() {
            return found;
        }
        let real = paths::real(&paths::normalized(path)).ok()?;
        self.by_real_path(&real)
    }

    /// The same for a path whose links are resolved already: no look at the disk.
    pub(crate) fn by_real_path(&self, path: &Path) -> Option<Document> {
        let state = self.state();
        let key = state.files.get(path)?.last()?;
        state.documents.get(key).map(|open| open.buffer.document())
    }

    /// The document of a file or of what is no file, as [`Overlay::by_real_path`] and [`Overlay::by_uri`] find it, with
    /// what happened to it since a moment. Both in one look: no change can come between.
    pub(super) fn since(&self, path: &FilePath, moment: Option<Moment>) -> Option<Since> {
        let state = self.state();
        let key = match path.disk() {
            Some(disk) => Cow::Borrowed(state.files.get(disk)?.last()?.as_str()),
            None => paths::document_key(path.as_str()),
        };
        let open = state.documents.get(key.as_ref())?;
        let now = Moment { opening: open.opening, spliced: open.buffer.spliced() };
        let same = moment.filter(|moment| moment.opening == now.opening);
        let splices = same.and_then(|moment| open.buffer.splices_since(moment.spliced));
        Some(Since { document: open.buffer.document(), now, splices })
    }

    /// The real paths of the open files, sorted.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.state().files.keys().cloned().collect();
        files.sort_unstable();
        files
    }

    /// Snapshots of all open buffers, ordered by URI.
    pub fn documents(&self) -> Vec<Document> {
        let mut documents: Vec<Document> =
            self.state().documents.values().map(|open| open.buffer.document()).collect();
        documents.sort_by(|one, other| one.uri.cmp(&other.uri));
        documents
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No method leaves a half-made state behind, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn close(&mut self, key: &str) {
        let Some(file) = self.documents.remove(key).and_then(|open| open.file) else { return };
        if let Some(keys) = self.files.get_mut(&file) {
            keys.retain(|other| other != key);
            if keys.is_empty() {
                self.files.remove(&file);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::position, *};

    fn text(document: Option<Document>) -> Option<String> {
        document.map(|document| document.text.to_string())
    }

    fn insert(text: &str) -> Vec<Change> {
        vec![Change { range: Some(position::Range::default()), text: text.to_owned() }]
    }

    #[test]
    fn a_document_is_found_under_every_spelling_and_keeps_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a(1)!.txt");
        let overlay = Overlay::default();
        let spelt = paths::to_uri(&path).replace("file://", "file://localhost");
        overlay.open(&spelt, "text", 1, "b".to_owned());
        overlay.change(&paths::to_uri(&path), 2, &insert("a"), Encoding::Utf16).unwrap();
        let document = overlay.by_path(&path).unwrap();
        assert_eq!((&*document.uri, document.version, &*document.text), (spelt.as_str(), 2, "ab"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_opened_through_a_link_is_found_by_its_real_path_and_the_last_touched_wins() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("real.txt"), "").unwrap();
        std::os::unix::fs::symlink("real.txt", dir.path().join("link.txt")).unwrap();
        let (real, link) = (dir.path().join("real.txt"), dir.path().join("link.txt"));
        let overlay = Overlay::default();
        overlay.open(&paths::to_uri(&link), "text", 1, "through the link".to_owned());
        assert_eq!(text(overlay.by_path(&real)).as_deref(), Some("through the link"));
        overlay.open(&paths::to_uri(&real), "text", 1, "itself".to_owned());
        assert_eq!(text(overlay.by_path(&real)).as_deref(), Some("itself"));
        overlay.change(&paths::to_uri(&link), 2, &insert("typed "), Encoding::Utf8).unwrap();
        assert_eq!(text(overlay.by_path(&real)).as_deref(), Some("typed through the link"));
        overlay.close(&paths::to_uri(&link));
        assert_eq!(text(overlay.by_path(&link)).as_deref(), Some("itself"));
    }

    #[test]
    fn what_is_no_file_is_known_by_its_uri_only() {
        let overlay = Overlay::default();
        overlay.open("untitled:Untitled-1", "text", 1, "draft".to_owned());
        assert_eq!(text(overlay.by_uri("untitled:Untitled-1")).as_deref(), Some("draft"));
        assert_eq!(overlay.by_path(Path::new("untitled:Untitled-1")), None);
    }

    #[test]
    fn a_second_opening_replaces_the_text_and_a_change_far_behind_its_end_is_clamped() {
        let overlay = Overlay::default();
        overlay.open("file:///", "text", 1, "long first text\n".repeat(50));
        overlay.open("file:///", "text", 1, "x".to_owned());
        let start = position::Position { line: 40, character: 3 };
        let end = position::Position { line: 40, character: 5 };
        let change = Change { range: Some(position::Range { start, end }), text: "zz".to_owned() };
        overlay.change("file:///", 2, &[change], Encoding::Utf16).unwrap();
        assert_eq!(text(overlay.by_uri("file:///")).as_deref(), Some("xzz"));
    }

    #[test]
    fn a_change_of_what_is_not_open_is_refused() {
        let overlay = Overlay::default();
        overlay.open("untitled:1", "text", 1, String::new());
        overlay.close("untitled:1");
        assert_eq!(
            overlay.change("untitled:1", 2, &insert("a"), Encoding::Utf16),
            Err("untitled:1 is not open, so that its change cannot be applied".to_owned())
        );
        assert_eq!(overlay.documents(), []);
    }
}
