//! What a review takes in, and what makes way for it.

use std::collections::BTreeSet;

use super::{
    EditProposal, FileEdit, HunkId, State, Workspace,
    tracked::{Tracked, Unit},
};

/// An edit that a review took in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    pub edit: FileEdit,
    /// In the order of the text; one for a file that is taken as a whole.
    pub hunks: Vec<HunkId>,
}

impl State {
    pub(super) fn add(&mut self, proposal: EditProposal, workspace: &Workspace) -> Vec<Added> {
        let together: Vec<_> = proposal.files.iter().map(|edit| proposal.together_with(&edit.path)).collect();
        let mut added = Vec::new();
        for (edit, together) in proposal.files.into_iter().zip(together) {
            let is_known = [&edit.path, edit.origin()].into_iter().any(|path| self.file_at(path).is_some());
            if is_known {
                continue;
            }
            let path = edit.path.clone();
            let mut file = Tracked::new(edit.clone(), together, || {
                self.next += 1;
                HunkId(self.next)
            });
            if let Some(since) = workspace.overlay().since(file.basis.edit.origin(), None) {
                file.see_document(&since);
            }
            added.push(Added { edit, hunks: file.units.iter().map(|unit| unit.id).collect() });
            self.files.insert(path, file);
        }
        added
    }

    pub(super) fn renew(
        &mut self,
        proposal: EditProposal,
        (restaged, hunks): (&EditProposal, &BTreeSet<HunkId>),
        unfit: &BTreeSet<HunkId>,
        workspace: &Workspace,
    ) -> (Vec<Added>, Vec<HunkId>) {
        let mut made_way = Vec::new();
        let is_known = |unit: &Unit| hunks.contains(&unit.id) && !unfit.contains(&unit.id);
        self.files.retain(|path, file| {
            let is_here = |edit: &&FileEdit| {
                let basis = &file.basis.edit;
                [&edit.path, edit.origin()].into_iter().any(|at| at == path || at == basis.origin())
            };
            match proposal.files.iter().find(is_here) {
                None => file.units.retain(|unit| !is_known(unit)),
                Some(edit) => {
                    let is_left_alone = edit.path == *path
                        && restaged.files.contains(edit)
                        && proposal.together_with(path) == file.basis.together;
                    if is_left_alone {
                        return true;
                    }
                    let unknown = file.units.iter().filter(|unit| !unit.is_taken && !is_known(unit));
                    made_way.extend(unknown.map(|unit| unit.id));
                    file.units.clear();
                }
            }
            !file.units.is_empty()
        });
        (self.add(proposal, workspace), made_way)
    }
}
