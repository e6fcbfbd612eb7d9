//! What the editor has in hand, and what newer turns have made in its place: once the editor has written it, the newer
//! edits are edits of what it has written.

use std::ops;

use super::{
    HunkId, HunkKind, Review, State, TakenFile, Workspace,
    tracked::{Tracked, Unit},
};
use crate::workspace::{FileEdit, FileText, edit::replaced};

impl Review {
    /// Whether the editor has something of it in hand, which may come back.
    pub fn is_with_editor(&self) -> bool {
        self.state().files.values().flat_map(|file| &file.units).any(|unit| unit.is_taken)
    }

    /// The editor has applied these hunks by these edits: they wait no more, and what has taken their place meanwhile waits
    /// for the texts that they leave. The change that the editor tells of may come before or after; one that came is taken
    /// in at once, before it is mixed with what is typed next. Reads no disk.
    pub fn accepted(&self, workspace: &Workspace, came: &[TakenFile]) {
        let hunks: Vec<HunkId> = came.iter().flat_map(|file| file.hunks.iter().copied()).collect();
        let mut state = self.state();
        for file in state.files.values_mut().filter(|file| file.has_any(&hunks)) {
            file.catch_up(workspace);
        }
        state.follow_written(came, workspace);
        state.remove(&hunks);
    }
}

impl State {
    /// What has taken the place of hunks that came about was made for the texts of before. It ends as it was meant to, from
    /// the texts that they leave.
    fn follow_written(&mut self, came: &[TakenFile], workspace: &Workspace) {
        for TakenFile { edit: written, hunks } in came {
            let is_over = |file: &Tracked| {
                let is_of_file = [&written.path, written.origin()].contains(&file.basis.edit.origin());
                is_of_file && hunks.iter().any(|id| file.made_way.contains(id))
            };
            let path = self.files.iter().find(|(_, file)| is_over(file)).map(|(path, _)| path.clone());
            let Some((path, file)) = path.and_then(|path| self.files.remove_entry(&path)) else { continue };
            match file.over(written, || self.names.next()) {
                Some(over) if self.files.contains_key(&over.basis.edit.path) => {
                    // Another edit has the place: this one is in conflict.
                    self.files.insert(path, file);
                }
                Some(mut over) => {
                    over.catch_up(workspace);
                    self.files.insert(over.basis.edit.path.clone(), over);
                }
                None => {}
            }
        }
    }
}

impl Tracked {
    /// What waits of the edit, made for what `written` leaves; `None` where that is the same. Hunks that end as they did keep
    /// their names.
    fn over(&self, written: &FileEdit, next_id: impl FnMut() -> HunkId) -> Option<Self> {
        let (edit, places) = self.waiting();
        let edit = edit.over(written);
        if edit.changes_nothing() {
            return None;
        }
        let path = &self.basis.edit.path;
        let together = self.basis.together.iter().map(|other| if other == path { &edit.path } else { other });
        let mut over = Self::new(edit.clone(), together.cloned().collect(), next_id);
        over.succeed(self.formers(&over.basis.base));
        let is_whole = self.units.len() == 1 && over.units.len() == 1;
        for unit in over.units.iter_mut().filter(|unit| !unit.is_taken) {
            let is_here = |place: &Place| is_whole || place.is_of(unit);
            if let Some(place) = places.iter().find(|place| !place.is_taken && is_here(place)) {
                unit.id = place.id;
            }
        }
        Some(over)
    }

    /// The edit without what was decided about already, and where its hunks stand in the text after.
    fn waiting(&self) -> (FileEdit, Vec<Place>) {
        let place = |unit: &Unit, after| Place { id: unit.id, is_taken: unit.is_taken, after };
        let edit = self.basis.edit.clone();
        if self.basis.kind != HunkKind::Lines {
            return (edit, self.units.iter().map(|unit| place(unit, 0..0)).collect());
        }
        let (mut parts, mut places, mut grown) = (Vec::new(), Vec::new(), 0);
        for (unit, lines) in
            self.units.iter().flat_map(|unit| unit.lines.iter().map(move |lines| (unit, lines)))
        {
            let text = self.basis.text_after(lines);
            let start = lines.base.start.saturating_add_signed(grown);
            places.push(place(unit, start..start + text.len()));
            grown += text.len().cast_signed() - lines.base.len().cast_signed();
            parts.push((lines.base.clone(), text.to_owned()));
        }
        let (after, _) = replaced(&self.basis.base, parts.into_iter());
        (FileEdit { after: Some(after), stretches: None, ..edit }, places)
    }
}

/// Where a hunk of an edit stands.
struct Place {
    id: HunkId,
    is_taken: bool,
    /// In bytes of the text after the edit.
    after: ops::Range<usize>,
}

impl Place {
    fn is_of(&self, unit: &Unit) -> bool {
        matches!(&unit.lines[..], [lines] if lines.after == self.after)
    }
}

impl FileEdit {
    /// The edit that makes of what `written` leaves of their file what this one makes of its text.
    fn over(&self, written: &Self) -> Self {
        let before = match (&written.before, &written.after, &self.before) {
            (_, None, _) => None,
            (None, Some(text), None) => {
                Some(FileText { text: text.as_str().into(), version: None, bom: false })
            }
            (Some(_), Some(_), Some(before)) => {
                let text = written.onto_text(before.clone()).edit.after;
                text.map(|text| FileText { text: text.into(), version: None, bom: before.bom })
            }
            (_, Some(_), before) => before.clone(),
        };
        let place = if before.is_some() { &written.path } else { &self.path };
        let path = if self.after.is_some() { &self.path } else { place };
        let moved_from = (place != path).then(|| place.clone());
        let text_from = self.text_from.clone();
        Self { moved_from, text_from, ..Self::of(path, before, self.after.clone()) }
    }
}
