//! From a path as a model writes it to a file that the turn may use: in the workspace, or outside where the user let a
//! call go there.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::TurnFiles;
use crate::workspace::{FileError, FilePath, Surroundings, roots::Located};

/// What a call wants with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Read,
    Edit,
}

/// Places outside of the workspace that this turn may use, links followed. A path leads to one of them only while it leads
/// to that very place: a link that was changed since the user said yes leads nowhere.
#[derive(Debug, Default)]
pub(super) struct LetIn {
    to_read: BTreeSet<PathBuf>,
    to_edit: BTreeSet<PathBuf>,
}

impl TurnFiles {
    #[must_use]
    pub fn with_surroundings(self, surroundings: Surroundings) -> Self {
        Self { surroundings, ..self }
    }

    /// What lies around the workspace.
    pub(crate) fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Lets the calls of this turn use a place outside, found by [`TurnFiles::place_of_argument`], to which the user has said
    /// yes. Whether a call may is decided before it runs; this is what holds it to that.
    pub fn let_in(&self, purpose: Purpose, real: &Path) {
        let let_in = &mut self.state().let_in;
        let_in.to_read.insert(real.to_owned());
        if purpose == Purpose::Edit {
            let_in.to_edit.insert(real.to_owned());
        }
    }

    /// From a path as a model writes it (relative to a root, `root-name/…` with several roots, absolute, or the URI
    /// of an open buffer that is no file) to a place inside the roots, symlinks resolved. The file need not exist.
    pub fn resolve(&self, path: &str) -> Result<FilePath, FileError> {
        match self.locate(path)? {
            Located::Inside(file) => Ok(file),
            Located::Outside(_) => Err(self.workspace.folders().refusal(path)),
        }
    }

    /// The same, or a place outside that was let in.
    pub fn resolve_to_read(&self, path: &str) -> Result<FilePath, FileError> {
        self.resolve_to(Purpose::Read, path)
    }

    /// The same for a file whose text is to change.
    pub fn resolve_to_edit(&self, path: &str) -> Result<FilePath, FileError> {
        self.resolve_to(Purpose::Edit, path)
    }

    /// The same for a file that is to go from its place: a link would stay, and the file behind it would go.
    pub fn resolve_itself(&self, path: &str) -> Result<FilePath, FileError> {
        let file = self.resolve_to_edit(path)?;
        let folders = self.workspace.folders();
        if file.disk().is_some() && folders.names_link(path, &self.workspace.overlay, self.known_places()) {
            return Err(FileError::Link(path.trim().to_owned(), file.to_string()));
        }
        Ok(file)
    }

    fn resolve_to(&self, purpose: Purpose, path: &str) -> Result<FilePath, FileError> {
        let outside = match self.locate(path)? {
            Located::Inside(file) => return Ok(file),
            Located::Outside(outside) => outside,
        };
        let state = self.state();
        let places = match purpose {
            Purpose::Read => &state.let_in.to_read,
            Purpose::Edit => &state.let_in.to_edit,
        };
        let is_let_in = outside.file.disk().is_some_and(|real| places.contains(real));
        drop(state);
        match (is_let_in, outside.is_secret) {
            (false, _) => Err(self.workspace.folders().refusal(path)),
            (true, true) => Err(FileError::Secret(path.trim().to_owned())),
            (true, false) => Ok(outside.file),
        }
    }

    pub(in crate::workspace) fn locate(&self, path: &str) -> Result<Located, FileError> {
        self.workspace.folders().locate(path, &self.workspace.overlay, self.known_places())
    }

    /// Which files exist beside those on the disk.
    fn known_places(&self) -> impl Fn(&Path) -> bool {
        let staged: BTreeSet<_> =
            self.state().staged.keys().filter_map(FilePath::disk).map(Path::to_owned).collect();
        move |place: &Path| staged.contains(place) || self.workspace.overlay.by_real_path(place).is_some()
    }
}
