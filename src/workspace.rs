//! The user's files as an agent must see them: open buffers over the disk, inside the roots, and edits that are
//! staged until the user wants them.

pub mod answer_file;
mod apply;
pub(crate) mod bounded;
pub mod checkpoints;
pub mod deceptive;
mod disk;
pub mod document;
pub mod edit;
mod error;
pub mod expand;
pub mod git_index;
pub(crate) mod guard;
mod ignore_rules;
pub mod kept_rules;
pub mod keys;
mod line_diff;
pub mod matcher;
pub mod outputs;
pub mod overlay;
pub mod paths;
pub mod place;
pub mod position;
pub mod review;
mod roots;
pub mod search;
pub(crate) mod secrets;
mod shared_ends;
mod spelling;
mod suggest;
pub mod surroundings;
#[cfg(test)]
mod testing;
mod total;
mod turn_files;
mod walk;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

pub(crate) use disk::MAX_READ_BYTES;
pub use document::Document;
pub use edit::{EditProposal, FileEdit};
pub use error::FileError;
pub use overlay::Overlay;
pub use paths::FilePath;
pub use surroundings::Surroundings;
pub use total::Total;
pub use turn_files::{Outlook, Purpose, StagedChange, TurnFiles};

use roots::{Located, Roots};

/// The roots and the open buffers. Shared by all turns and by the document handlers; no method waits for I/O of
/// another, and none holds a lock while it does I/O.
#[derive(Debug, Default)]
pub struct Workspace {
    roots: RwLock<Arc<Roots>>,
    overlay: Overlay,
}

impl Workspace {
    /// `roots` are made absolute and canonical; none at all is legal (a single file was opened).
    pub fn new(roots: Vec<PathBuf>) -> Self {
        Self { roots: RwLock::new(Arc::new(Roots::new(roots))), overlay: Overlay::default() }
    }

    pub fn roots(&self) -> Vec<PathBuf> {
        self.folders().paths()
    }

    /// Replaces the roots; turns that run see the new ones from their next call on.
    pub fn set_roots(&self, roots: Vec<PathBuf>) {
        let roots = Arc::new(Roots::new(roots));
        *self.roots.write().unwrap_or_else(PoisonError::into_inner) = roots;
    }

    /// The open buffers.
    pub fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// As [`TurnFiles::resolve`], for callers that are no turn: edits that are staged only do not count.
    pub fn resolve(&self, path: &str) -> Result<FilePath, FileError> {
        self.folders().resolve(path, &self.overlay, |place| self.overlay.by_real_path(place).is_some())
    }

    /// The same for a file that may lie outside, since the user named it or askls itself did: whoever asks finds out what
    /// is known of it, and reaches nothing else.
    pub fn locate(&self, path: &str) -> Result<FilePath, FileError> {
        let is_open = |place: &Path| self.overlay.by_real_path(place).is_some();
        Ok(match self.folders().locate(path, &self.overlay, is_open)? {
            Located::Inside(file) => file,
            Located::Outside(outside) => outside.file,
        })
    }

    /// The file of a record of this workspace, by the URI of the place where it really was. One that lay outside, which the
    /// user had allowed then, is found in that very place; whatever else leads outside now is not.
    pub(crate) fn recorded(&self, uri: &str) -> Result<FilePath, FileError> {
        let folders = self.folders();
        let is_open = |place: &Path| self.overlay.by_real_path(place).is_some();
        match folders.locate(uri, &self.overlay, is_open)? {
            Located::Inside(file) => Ok(file),
            Located::Outside(outside) => {
                let is_itself = outside.file.disk() == paths::from_uri(uri).as_deref();
                if is_itself && !folders.is_empty() { Ok(outside.file) } else { Err(folders.refusal(uri)) }
            }
        }
    }

    /// The open buffer of a file or of what is no file.
    pub fn open_document(&self, path: &FilePath) -> Option<Document> {
        match path.disk() {
            Some(disk) => self.overlay.by_real_path(disk),
            None => self.overlay.by_uri(path.as_str()),
        }
    }

    /// The URI under which the editor knows a file: as it spelt it when it opened the file, else made from the path.
    pub fn uri(&self, path: &FilePath) -> String {
        match (self.open_document(path), path.disk()) {
            (Some(document), _) => document.uri.to_string(),
            (None, Some(disk)) => paths::to_uri(disk),
            (None, None) => path.to_string(),
        }
    }

    /// What a file's text is now, staged edits aside: that of its open buffer, else that on disk.
    pub fn read(&self, path: &FilePath) -> Result<FileText, FileError> {
        self.read_again(path, None)
    }

    /// The same where it probably still is `known`, of which then no copy is made.
    fn read_again(&self, path: &FilePath, known: Option<&Arc<str>>) -> Result<FileText, FileError> {
        if path.is_secret() {
            return Err(FileError::Secret(path.to_string()));
        }
        if let Some(document) = self.open_document(path) {
            if document.text.len() as u64 > disk::MAX_READ_BYTES {
                return Err(FileError::TooLarge(path.to_string()));
            }
            // What was typed and is not saved.
            if path.is_secret_with(&document.text) {
                return Err(FileError::Secret(path.to_string()));
            }
            return Ok(FileText::of_buffer(&document));
        }
        match path.disk() {
            Some(disk) => disk::read_again(disk, path.as_str(), known),
            None => Err(FileError::Missing(format!("{path}; its buffer is not open any more"))),
        }
    }

    fn folders(&self) -> Arc<Roots> {
        Arc::clone(&self.roots.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Why the agent may not edit a file, if so, whether it exists or not.
    fn check_editable(&self, path: &FilePath) -> Result<(), FileError> {
        if path.is_secret() {
            return Err(FileError::Secret(path.to_string()));
        }
        let Some(disk) = path.disk() else {
            let editable = paths::scheme(path.as_str()).is_some_and(guard::is_editable_scheme);
            return if editable { Ok(()) } else { Err(FileError::ReadOnly(path.to_string())) };
        };
        if self.folders().is_protected(disk) {
            return Err(FileError::Protected(path.to_string()));
        }
        Ok(())
    }

    /// Whether the editor shows another text than the one on disk.
    fn is_dirty(&self, disk: &Path) -> bool {
        self.overlay.by_real_path(disk).is_some_and(|document| {
            disk::read(disk, "").map_or(true, |saved| saved.text != FileText::of_buffer(&document).text)
        })
    }
}

/// A file's text and what is needed to notice later that it has changed: nothing but the text itself, which an open
/// buffer may show again under another version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileText {
    /// Line ends as they are in the buffer or file; without a byte order mark.
    pub text: Arc<str>,
    /// The open buffer's version, when the text came from one.
    pub version: Option<i32>,
    /// A byte order mark stands before the text; it is kept when the text is written back.
    pub bom: bool,
}

impl FileText {
    pub(crate) fn of_buffer(document: &Document) -> Self {
        if document.text.starts_with('\u{feff}') {
            return disk::without_mark(&document.text, Some(document.version));
        }
        Self { text: Arc::clone(&document.text), version: Some(document.version), bom: false }
    }
}
