//! Proposed edits that wait for the user's word: which of their hunks still fit the files as they are now, and what
//! taking some of them makes of those files.
//!
//! The proposal was made for texts that the user goes on editing. A review keeps what each file said then (its base),
//! and which bytes of it have changed since: the overlay logs what the editor tells of each change, and a review that
//! looks at a file catches up with that log first. So typing costs nothing for a review, and where the lines of a hunk
//! stand now is known, not guessed. A file that was closed, opened anew, or written by another program is compared with
//! what was seen of it last.
//!
//! A hunk is pending while its lines are what they were: wholly typed above or below, it moves; typed into, or its
//! lines deleted, it is in conflict, and pending again once that is undone. One that only adds lines is pending while
//! the line above or the line below is what it was. A hunk whose lines read as it would make them is done, and not
//! shown while that holds.
//!
//! An edit that came about is followed as it was meant, by the lines that the user was shown, and not as the editor tells
//! of it: among equal lines there are several ways to tell the same.
//!
//! An editor that tells of each change is believed. So the hunks of a block that was cut are in conflict though an equal
//! block is pasted elsewhere, even when the text is then the same again. Where nobody tells (a file on disk, an editor
//! that sends whole texts, one that finds out itself what differs), nothing of this can be known: an equal text is the
//! same text, and its hunks are where they were.

mod differences;
mod look;
mod names;
mod onto;
mod over;
mod patch;
mod place;
mod renew;
mod state;
mod tracked;

use std::{
    collections::BTreeSet,
    fmt::Write,
    ops,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{EditProposal, FileEdit, FilePath, FileText, Workspace, edit::Conflict};
pub(super) use differences::{Pair, differences, with_all_places};
use look::{Parted, part, part_waiting};
pub use names::{HunkId, HunkNames};
pub use onto::Onto;
pub use renew::Added;
use state::State;
use tracked::{Look, Tracked};

/// A proposal that waits. Shared by all who show or take edits; no method waits for another's I/O.
///
/// Looking at a file that is not open reads the disk: async callers go through `spawn_blocking` unless they know that
/// the file is open.
#[derive(Debug)]
pub struct Review {
    state: Mutex<State>,
    /// Whether a file may become what taken hunks make of it, so that typing elsewhere waits for nobody who looks.
    is_expecting: AtomicBool,
}

/// What the user's word is about. It always reaches to what is tied to it: see [`EditProposal::together_with`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    Hunk(HunkId),
    Hunks(BTreeSet<HunkId>),
    /// By the path of the edit, or that of the file which it moves away.
    File(FilePath),
    All,
}

/// What is taken or left as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HunkKind {
    /// A stretch of lines.
    Lines,
    /// A new file.
    Create,
    Delete,
    /// A file that gets another place, and maybe another text.
    Move,
    /// All lines of a file that change, since the edit is tied to one of another file.
    File,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HunkState {
    Pending,
    /// It was taken, and the editor has not answered yet.
    Taken,
    /// Why it does not fit any more, and what can be done about it, for the user.
    Conflict(String),
}

/// A hunk as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkView {
    pub id: HunkId,
    pub path: FilePath,
    pub kind: HunkKind,
    pub state: HunkState,
    /// Zero-based lines of the file as it is now; empty where lines are only added. For a conflict the lines that stand
    /// where the hunk's lines were. A file taken as a whole has them from its first changed line to its last.
    pub lines_now: ops::Range<usize>,
    /// The lines that it takes once it alone is taken.
    pub lines_after: ops::Range<usize>,
    /// The lines that go, with their line ends.
    pub before: String,
    /// The lines that come.
    pub after: String,
}

/// Edits that were taken out of a review, to be applied. Tell the review what became of them with
/// [`Review::accepted`] or [`Review::put_back`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Ordered by path, made for the texts as they are now.
    pub files: Vec<TakenFile>,
    /// Hunks of the selection that do not fit any more; they stay listed until they are rejected.
    pub left_out: Vec<Conflict>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenFile {
    pub edit: FileEdit,
    pub hunks: Vec<HunkId>,
}

/// What is still open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remaining {
    /// The pending hunks, on the texts as they are now.
    pub proposal: EditProposal,
    /// Those that do not fit any more.
    pub left_out: Vec<Conflict>,
}

impl Remaining {
    pub fn is_empty(&self) -> bool {
        self.proposal.is_empty() && self.left_out.is_empty()
    }
}

impl Taken {
    pub fn proposal(&self) -> EditProposal {
        EditProposal { files: self.files.iter().map(|file| file.edit.clone()).collect() }
    }

    pub fn hunks(&self) -> Vec<HunkId> {
        self.files.iter().flat_map(|file| file.hunks.iter().copied()).collect()
    }
}

impl Review {
    /// Open files are followed from now on, others from the first look at them. Reads no disk.
    pub fn new(proposal: EditProposal, workspace: &Workspace) -> Self {
        Self::named_by(HunkNames::default(), proposal, workspace)
    }

    /// The same, for hunks whose names somebody may still know when the review is over.
    pub fn named_by(names: HunkNames, proposal: EditProposal, workspace: &Workspace) -> Self {
        let state = Mutex::new(State { names, ..State::default() });
        let review = Self { state, is_expecting: AtomicBool::default() };
        review.add(proposal, workspace);
        review
    }

    /// Takes in more edits, except for files that have something that waits. Gives the hunks of each edit that it took.
    pub fn add(&self, proposal: EditProposal, workspace: &Workspace) -> Vec<Added> {
        self.state().add(proposal, workspace)
    }

    /// Takes in what a later turn has made of what waits. It had `restaged` these edits, as they would be by now, of these
    /// hunks: what it left alone keeps its hunks, what it took back goes, and the rest makes way for its own. Other hunks
    /// did not fit when it looked last, and stay unless it has changed their file. One that is with the editor keeps its
    /// name where it is among the new ones, and stays taken; where it is not, the new ones follow what comes about of it.
    ///
    /// Gives the hunks of each edit that is new, and the hunks that made way though nothing of them is in an edit.
    pub fn renew(
        &self,
        proposal: EditProposal,
        restaged: (&EditProposal, &BTreeSet<HunkId>),
        workspace: &Workspace,
    ) -> (Vec<Added>, Vec<HunkId>) {
        self.state().renew(proposal, restaged, workspace)
    }

    /// The names of what waits in a file, by the path of its edit.
    pub fn ids_of(&self, path: &FilePath) -> BTreeSet<HunkId> {
        let state = self.state();
        state.files.get(path).into_iter().flat_map(|file| &file.units).map(|unit| unit.id).collect()
    }

    /// What was proposed for a file of which something waits, by the path of the edit.
    pub(super) fn edit_of(&self, path: &FilePath) -> Option<FileEdit> {
        Some(self.state().files.get(path)?.basis.edit.clone())
    }

    /// Tells the hunks that a selection names from the others, without those that are tied to them.
    pub fn is_in(&self, selection: &Selection) -> impl Fn(HunkId) -> bool + use<> {
        let meant = match selection {
            Selection::All => self.ids(),
            Selection::File(path) => {
                let path = self.state().file_at(path).map(|file| file.basis.edit.path.clone());
                path.map(|path| self.ids_of(&path)).unwrap_or_default()
            }
            Selection::Hunk(id) => BTreeSet::from([*id]),
            Selection::Hunks(ids) => ids.clone(),
        };
        move |id| meant.contains(&id)
    }

    /// The names of all that waits.
    pub fn ids(&self) -> BTreeSet<HunkId> {
        self.state().files.values().flat_map(|file| &file.units).map(|unit| unit.id).collect()
    }

    /// Whether nothing waits any more: everything was accepted or rejected.
    pub fn is_empty(&self) -> bool {
        self.state().files.is_empty()
    }

    /// The files with something that waits, by the paths of their edits, ordered.
    pub fn paths(&self) -> Vec<FilePath> {
        self.state().files.keys().cloned().collect()
    }

    /// The hunks of a file that wait, in the order of the text. Found by the path of the edit, and by that of the file
    /// which it moves away. Reads no disk for an open file whose lines change.
    pub fn hunks_of(&self, workspace: &Workspace, path: &FilePath) -> Vec<HunkView> {
        let path = self.state().file_at(path).map(|file| file.basis.edit.path.clone());
        path.and_then(|path| self.look(workspace, &path))
            .map(|look| look.views(workspace))
            .unwrap_or_default()
    }

    /// The hunks of all files, by path.
    pub fn hunks(&self, workspace: &Workspace) -> Vec<HunkView> {
        let looks = self.look_at_all(workspace);
        looks.iter().flat_map(|look| look.views(workspace)).collect()
    }

    /// The edit that makes the pending hunks of a selection true and leaves all else of their files as it is. They
    /// count as taken until [`Review::accepted`] or [`Review::put_back`], so that no second word takes them again.
    ///
    /// The error names what is in conflict, when nothing of the selection is pending; it is empty when the selection
    /// has nothing that waits.
    pub fn take(&self, workspace: &Workspace, selection: &Selection) -> Result<Taken, Vec<Conflict>> {
        let (meant, paths) = self.state().reserve(selection);
        let looks: Vec<Look> = paths.iter().filter_map(|path| self.look(workspace, path)).collect();
        let Parted { files, left_out } = part(&looks, workspace, |unit| meant.contains(&unit));
        let taken: BTreeSet<HunkId> = files.iter().flat_map(|file| file.hunks.iter().copied()).collect();
        self.put_back(&meant.difference(&taken).copied().collect::<Vec<_>>());
        self.expect(&looks, &files);
        match files.is_empty() {
            true => Err(left_out),
            false => Ok(Taken { files, left_out }),
        }
    }

    /// Whether the user has made some hunk of a selection himself: the text reads as it would make it. Reads the disk.
    pub fn is_there_already(&self, workspace: &Workspace, selection: &Selection) -> bool {
        let shown: BTreeSet<HunkId> = self.hunks(workspace).iter().map(|view| view.id).collect();
        let is_meant = self.is_in(selection);
        self.ids().difference(&shown).any(|id| is_meant(*id))
    }

    /// A buffer has changed. Where hunks were taken, its text may be what they make of it, and soon be another: it is looked
    /// at now. Elsewhere this does nothing. Reads no disk.
    pub fn follow_taken(&self, workspace: &Workspace) {
        if !self.is_expecting.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state();
        for file in state.files.values_mut().filter(|file| file.is_expecting()) {
            file.catch_up(workspace);
        }
        self.is_expecting.store(state.files.values().any(Tracked::is_expecting), Ordering::Relaxed);
    }

    /// Hunks that were taken and did not come about wait again.
    pub fn put_back(&self, hunks: &[HunkId]) {
        for file in self.state().files.values_mut() {
            for unit in file.units.iter_mut().filter(|unit| hunks.contains(&unit.id)) {
                unit.is_taken = false;
            }
        }
    }

    /// The user wants nothing of a selection. What is taken already is not rejected any more. The paths of the edits
    /// concerned.
    pub fn rejected(&self, selection: &Selection) -> Vec<FilePath> {
        let mut state = self.state();
        let (meant, paths) = state.reserve(selection);
        state.remove(&meant.into_iter().collect::<Vec<_>>());
        paths
    }

    /// What waits, as a proposal for the texts of now. What is taken is not part of it.
    pub fn remaining(&self, workspace: &Workspace) -> Remaining {
        let looks = self.look_at_all(workspace);
        let Parted { files, left_out } = part_waiting(&looks, workspace, |_| true);
        Remaining {
            proposal: EditProposal { files: files.into_iter().map(|file| file.edit).collect() },
            left_out,
        }
    }

    /// What nobody has decided about for good: what waits, and what was taken and has not come about yet.
    pub fn undecided(&self, workspace: &Workspace) -> Vec<TakenFile> {
        part(&self.look_at_all(workspace), workspace, |_| true).files
    }

    /// The same of some hunks of one file, by the path of its edit; `None` where nothing of them is pending.
    pub(super) fn undecided_of(
        &self,
        workspace: &Workspace,
        path: &FilePath,
        is_meant: impl Fn(HunkId) -> bool,
    ) -> Option<TakenFile> {
        let together = self.state().files.get(path)?.basis.together.clone();
        let looks: Vec<Look> = together.iter().filter_map(|path| self.look(workspace, path)).collect();
        let parted = part(&looks, workspace, is_meant);
        parted.files.into_iter().find(|file| file.edit.path == *path)
    }

    /// The unified diff of what waits against the texts of now. Conflicts stand before it in words, on lines that
    /// begin with `#`, which tools that apply diffs skip.
    pub fn diff(&self, workspace: &Workspace) -> String {
        self.diff_of(workspace, |_| true)
    }

    /// The same of some hunks alone.
    pub fn diff_of(&self, workspace: &Workspace, is_meant: impl Fn(HunkId) -> bool) -> String {
        let looks = self.look_at_all(workspace);
        let mut out = String::new();
        let views = looks.iter().flat_map(|look| look.views(workspace));
        for view in views.filter(|view| is_meant(view.id)) {
            let HunkState::Conflict(reason) = &view.state else { continue };
            let _ = writeln!(out, "# not in this diff: {}", reason.replace(['\r', '\n'], " "));
            for (sign, text) in [('-', &view.before), ('+', &view.after)] {
                for line in text.lines() {
                    let _ = writeln!(out, "# {sign}{line}");
                }
            }
        }
        for file in part_waiting(&looks, workspace, is_meant).files {
            out.push_str(&file.edit.diff());
        }
        out
    }

    fn expect(&self, looks: &[Look], taken: &[TakenFile]) {
        let mut state = self.state();
        state.expect(looks, taken);
        self.is_expecting.store(state.files.values().any(Tracked::is_expecting), Ordering::Relaxed);
    }

    fn look_at_all(&self, workspace: &Workspace) -> Vec<Look> {
        self.paths().iter().filter_map(|path| self.look(workspace, path)).collect()
    }

    /// Catches up with what a file says now. `None` when nothing of it waits any more.
    fn look(&self, workspace: &Workspace, path: &FilePath) -> Option<Look> {
        let (origin, seen) = {
            let mut state = self.state();
            let file = state.files.get_mut(path)?;
            if file.basis.kind == HunkKind::Create {
                return Some(file.look(Ok(FileText::default())));
            }
            if let Some(look) = file.look_at_document(workspace) {
                return Some(look);
            }
            (file.basis.edit.origin().clone(), Arc::clone(&file.seen))
        };
        // The disk is read while others may use the review.
        let read = workspace.read_again(&origin, Some(&seen));
        let mut state = self.state();
        let file = state.files.get_mut(path)?;
        if let Some(look) = file.look_at_document(workspace) {
            return Some(look);
        }
        if let Ok(text) = &read {
            file.see_disk(text);
        }
        Some(file.look(read.map_err(|error| error.to_string())))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change of the state is whole before the guard goes, so a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
