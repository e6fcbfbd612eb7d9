//! What the policy has to know of the disk.

use std::path::{Path, PathBuf};

use crate::workspace::{
    TurnFiles, bounded, expand, git_index,
    place::{Below, Nature, Place, git_may_run_programs, shows_secrets},
};

use super::scripts::MAX_SCRIPT_BYTES;

/// Answers questions about places; nothing of it changes anything.
pub trait Ground {
    /// The folder that a call names; `None` is the first of the workspace.
    fn folder(&self, path: Option<&str>) -> Option<PathBuf>;

    /// The place of a path as an argument of a tool spells it; `None` for what is no file.
    fn place_of_argument(&self, path: &str) -> Option<Place>;

    /// The place of a word of a command that runs in `folder`.
    fn place_in(&self, folder: &Path, word: &str) -> Place;

    fn shows_secrets(&self, path: &Path, below: Below) -> bool;

    fn git_may_run_programs(&self, folder: &Path) -> bool;

    /// Whether git in this folder tracks a file with secrets, or may do so.
    fn git_may_show_secrets(&self, folder: &Path) -> bool;

    /// All that a shell in `folder` could put in the place of a word; `None` when that is too much.
    fn expand(&self, folder: &Path, word: &str) -> Option<Vec<String>>;

    /// What a word of a command in `folder` names.
    fn kind(&self, folder: &Path, word: &str) -> Kind;

    /// The text of a small file of the workspace that a command in `folder` would run.
    fn script(&self, folder: &Path, word: &str) -> Option<String>;
}

/// What there is at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Nothing,
    File,
    Folder,
}

impl Ground for TurnFiles {
    fn folder(&self, path: Option<&str>) -> Option<PathBuf> {
        Self::folder(self, path)
    }

    fn place_of_argument(&self, path: &str) -> Option<Place> {
        Self::place_of_argument(self, path)
    }

    fn place_in(&self, folder: &Path, word: &str) -> Place {
        Self::place_in(self, folder, word)
    }

    fn shows_secrets(&self, path: &Path, below: Below) -> bool {
        shows_secrets(path, below)
    }

    fn git_may_run_programs(&self, folder: &Path) -> bool {
        git_may_run_programs(folder)
    }

    fn git_may_show_secrets(&self, folder: &Path) -> bool {
        git_index::may_show_secrets(folder)
    }

    fn expand(&self, folder: &Path, word: &str) -> Option<Vec<String>> {
        expand::names(folder, word)
    }

    fn kind(&self, folder: &Path, word: &str) -> Kind {
        match folder.join(word).metadata() {
            Ok(metadata) if metadata.is_dir() => Kind::Folder,
            Ok(metadata) if metadata.is_file() => Kind::File,
            _ => Kind::Nothing,
        }
    }

    fn script(&self, folder: &Path, word: &str) -> Option<String> {
        let Place::Inside { real, nature: Nature::Plain | Nature::RunUnasked, .. } =
            self.place_in(folder, word)
        else {
            return None;
        };
        // What the disk has is what runs.
        let bytes = bounded::read(&real, MAX_SCRIPT_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    }
}
