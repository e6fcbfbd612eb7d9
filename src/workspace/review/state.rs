//! The files of a review with what waits in them, and which of it a selection means.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    FilePath, HunkId, HunkKind, HunkNames, Selection, TakenFile,
    tracked::{Look, Tracked},
};

#[derive(Debug, Default)]
pub(super) struct State {
    /// By the paths of their edits; each has something that waits.
    pub(super) files: BTreeMap<FilePath, Tracked>,
    pub(super) names: HunkNames,
}

impl State {
    pub(super) fn file_at(&self, path: &FilePath) -> Option<&Tracked> {
        let moved = || self.files.values().find(|file| file.basis.edit.origin() == path);
        self.files.get(path).or_else(moved)
    }

    /// Marks what a selection means, with what is tied to it, as taken: those hunks that were not taken yet, and the
    /// paths of their edits.
    pub(super) fn reserve(&mut self, selection: &Selection) -> (BTreeSet<HunkId>, Vec<FilePath>) {
        let names_hunk = |id: HunkId| match selection {
            Selection::Hunk(one) => id == *one,
            Selection::Hunks(many) => many.contains(&id),
            Selection::File(_) | Selection::All => false,
        };
        let meant_paths: BTreeSet<FilePath> = match selection {
            Selection::All => self.files.keys().cloned().collect(),
            Selection::File(path) => {
                self.file_at(path).map(|file| file.basis.together.clone()).unwrap_or_default()
            }
            Selection::Hunk(_) | Selection::Hunks(_) => {
                let named =
                    self.files.values().filter(|file| file.units.iter().any(|unit| names_hunk(unit.id)));
                named.flat_map(|file| file.basis.together.iter().cloned()).collect()
            }
        };
        let is_by_hunk = matches!(selection, Selection::Hunk(_) | Selection::Hunks(_));
        let mut meant = BTreeSet::new();
        let mut paths = Vec::new();
        for path in meant_paths {
            let Some(file) = self.files.get_mut(&path) else { continue };
            let is_single = is_by_hunk && file.basis.kind == HunkKind::Lines;
            let is_meant = |id: HunkId| !is_single || names_hunk(id);
            for unit in file.units.iter_mut().filter(|unit| !unit.is_taken && is_meant(unit.id)) {
                unit.is_taken = true;
                meant.insert(unit.id);
                if paths.last() != Some(&path) {
                    paths.push(path.clone());
                }
            }
        }
        (meant, paths)
    }

    /// Hunks were taken at these looks.
    pub(super) fn expect(&mut self, looks: &[Look], taken: &[TakenFile]) {
        for taken in taken {
            let path = &taken.edit.path;
            let look = looks.iter().find(|look| look.basis.edit.path == *path);
            if let (Some(look), Some(file)) = (look, self.files.get_mut(path)) {
                file.expect(look, taken);
            }
        }
    }

    pub(super) fn remove(&mut self, hunks: &[HunkId]) {
        for file in self.files.values_mut() {
            file.units.retain(|unit| !hunks.contains(&unit.id));
        }
        self.files.retain(|_, file| !file.units.is_empty());
    }
}
