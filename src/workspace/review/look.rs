//! What a look at one file shows: its hunks as they are now, and the edit that some of them make.

use std::{collections::BTreeSet, ops};

use super::{
    HunkId, HunkKind, HunkState, HunkView, TakenFile,
    place::{Lines, Place, Text},
    tracked::{Look, Unit},
};
use crate::workspace::{
    FileEdit, FilePath, Workspace,
    edit::{Conflict, replaced},
    position::LineStarts,
};

/// What a user can do about a hunk that does not fit.
const ALSO_EDITED: &str = "which the agent also edits. Undo your change or reject that edit";
const UNDO_OR_REJECT: &str = "undo that to have the edit again, or reject it";

/// How it stands with a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Pending,
    /// The text reads already as it would make it.
    Done,
    Conflict(String),
}

impl Look {
    /// Takes a look at the disk for a file that is taken as a whole.
    pub(super) fn standing(
        &self,
        unit: &Unit,
        places: &[Place],
        lines: &LineStarts,
        workspace: &Workspace,
    ) -> Standing {
        if let Err(reason) = &self.now {
            return Standing::Conflict(format!("{reason}; {UNDO_OR_REJECT}"));
        }
        let path = self.basis.edit.origin();
        if let Some(place) = places.iter().find_map(conflict) {
            let lines = lines.lines_of(place);
            let which = match lines.len() {
                0 | 1 => format!("line {}", lines.start + 1),
                _ => format!("lines {}-{}", lines.start + 1, lines.end),
            };
            let what = match workspace.open_document(path) {
                Some(_) => format!("you changed {which} of {path}"),
                None => format!("{path} was changed on disk at {which}"),
            };
            return Standing::Conflict(format!("{what}, {ALSO_EDITED}"));
        }
        let kind = self.basis.kind;
        let is_text = matches!(kind, HunkKind::Lines | HunkKind::File);
        if is_text && places.iter().all(|place| *place == Place::Done) {
            return Standing::Done;
        }
        if kind == HunkKind::Delete && !self.basis.edit.is_made_for(self.now.as_ref().ok()) {
            return Standing::Conflict(format!(
                "{path} has changed since its deletion was proposed; {UNDO_OR_REJECT}"
            ));
        }
        if kind == HunkKind::Lines {
            return Standing::Pending;
        }
        match self.rebased(&BTreeSet::from([unit.id])).conflict(workspace) {
            Some(reason) => Standing::Conflict(reason),
            None => Standing::Pending,
        }
    }

    /// All units that are not done, with how they stand.
    pub(super) fn open_units(&self, workspace: &Workspace) -> Vec<(&Unit, Standing)> {
        let lines = LineStarts::new(&self.seen);
        let standing = |unit, places: &[Place]| self.standing(unit, places, &lines, workspace);
        self.units
            .iter()
            .map(|(unit, places)| (unit, standing(unit, places)))
            .filter(|(_, standing)| *standing != Standing::Done)
            .collect()
    }

    pub(super) fn conflict(&self, reason: String) -> Conflict {
        Conflict { path: self.basis.edit.path.clone(), reason }
    }

    /// The edit that makes the pending ones of these units true, and nothing else.
    pub(super) fn rebased(&self, units: &BTreeSet<HunkId>) -> FileEdit {
        let basis = &self.basis;
        let before = self.now.as_ref().ok().cloned();
        let edit = FileEdit { before, stretches: None, ..basis.edit.clone() };
        match basis.kind {
            HunkKind::Create => return basis.edit.clone(),
            HunkKind::Delete => return edit,
            HunkKind::Lines | HunkKind::Move | HunkKind::File => {}
        }
        let seen = &*self.seen;
        let meant = self.units.iter().filter(|(unit, _)| units.contains(&unit.id));
        let parts = meant
            .flat_map(|(unit, places)| pending(unit, places))
            .map(|(lines, now)| basis.replacement(lines, now, seen));
        // The mark of a buffer is none of the text that is edited.
        let mark = Text::of_buffer(seen).mark;
        let parts = parts.map(|(range, new)| (range.start - mark..range.end - mark, new));
        let (text, stretches) = replaced(seen.get(mark..).unwrap_or_default(), parts);
        FileEdit { after: Some(text), stretches: Some(stretches), ..edit }
    }

    pub(super) fn views(&self, workspace: &Workspace) -> Vec<HunkView> {
        let starts = LineStarts::new(&self.seen);
        let mut views = Vec::new();
        for (unit, places) in &self.units {
            let state = match self.standing(unit, places, &starts, workspace) {
                Standing::Done => continue,
                Standing::Conflict(reason) => HunkState::Conflict(reason),
                Standing::Pending => HunkState::Pending,
            };
            let state = if unit.is_taken { HunkState::Taken } else { state };
            let edit = &self.basis.edit;
            let (before, after) = match self.basis.kind {
                HunkKind::Create => (String::new(), edit.after.clone().unwrap_or_default()),
                HunkKind::Delete => (self.seen.to_string(), String::new()),
                _ => (
                    unit.lines.iter().map(|lines| self.basis.text_before(lines)).collect(),
                    unit.lines.iter().map(|lines| self.basis.text_after(lines)).collect(),
                ),
            };
            let ranges = || places.iter().filter_map(range);
            let now = match (ranges().map(|range| range.start).min(), ranges().map(|range| range.end).max()) {
                (Some(start), Some(end)) => start..end,
                _ if self.basis.kind == HunkKind::Delete => 0..self.seen.len(),
                _ => 0..0,
            };
            let lines_now = starts.lines_of(&now);
            let grown = LineStarts::new(&after).lines(&after).count() + lines_now.len();
            let lost = LineStarts::new(&before).lines(&before).count();
            let end = (lines_now.start + grown).saturating_sub(lost).max(lines_now.start);
            views.push(HunkView {
                id: unit.id,
                path: edit.path.clone(),
                kind: self.basis.kind,
                state,
                lines_after: lines_now.start..end,
                lines_now,
                before,
                after,
            });
        }
        views
    }
}

/// What of some hunks fits, and what does not.
pub(super) struct Parted {
    pub(super) files: Vec<TakenFile>,
    pub(super) left_out: Vec<Conflict>,
}

/// Those of what is meant that are not taken.
pub(super) fn part_waiting(
    looks: &[Look],
    workspace: &Workspace,
    is_meant: impl Fn(HunkId) -> bool,
) -> Parted {
    let waiting: BTreeSet<HunkId> = looks
        .iter()
        .flat_map(|look| look.units.iter())
        .filter(|(unit, _)| !unit.is_taken)
        .map(|(unit, _)| unit.id)
        .collect();
    part(looks, workspace, |unit| waiting.contains(&unit) && is_meant(unit))
}

/// Edits that are tied together are taken all or none.
pub(super) fn part(looks: &[Look], workspace: &Workspace, is_meant: impl Fn(HunkId) -> bool) -> Parted {
    let mut left_out = Vec::new();
    let mut fitting: Vec<(&Look, BTreeSet<HunkId>)> = Vec::new();
    let mut unfit: BTreeSet<&FilePath> = BTreeSet::new();
    for look in looks {
        let mut pending = BTreeSet::new();
        for (unit, standing) in look.open_units(workspace) {
            match standing {
                _ if !is_meant(unit.id) => {}
                Standing::Pending => {
                    pending.insert(unit.id);
                }
                Standing::Conflict(reason) => {
                    left_out.push(look.conflict(reason));
                    unfit.insert(&look.basis.edit.path);
                }
                Standing::Done => {}
            }
        }
        if !pending.is_empty() {
            fitting.push((look, pending));
        }
    }
    let mut files = Vec::new();
    for (look, pending) in fitting {
        let together = &look.basis.together;
        if let Some(other) =
            together.iter().find(|path| unfit.contains(path) && **path != look.basis.edit.path)
        {
            let reason =
                format!("{} only makes sense together with the edit of {other}", look.basis.edit.path);
            left_out.push(look.conflict(reason));
            continue;
        }
        let hunks = pending.iter().copied().collect();
        files.push(TakenFile { edit: look.rebased(&pending), hunks });
    }
    Parted { files, left_out }
}

fn conflict(place: &Place) -> Option<&ops::Range<usize>> {
    match place {
        Place::Conflict(range) => Some(range),
        Place::Pending(_) | Place::Done => None,
    }
}

fn range(place: &Place) -> Option<&ops::Range<usize>> {
    match place {
        Place::Pending(range) | Place::Conflict(range) => Some(range),
        Place::Done => None,
    }
}

pub(super) fn pending<'a>(
    unit: &'a Unit,
    places: &'a [Place],
) -> impl Iterator<Item = (&'a Lines, &'a ops::Range<usize>)> {
    unit.lines.iter().zip(places).filter_map(|(lines, place)| match place {
        Place::Pending(range) => Some((lines, range)),
        Place::Done | Place::Conflict(_) => None,
    })
}
