//! What a review takes in, and what makes way for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops,
};

use super::{
    EditProposal, FileEdit, HunkId, HunkKind, State, Workspace,
    place::Lines,
    tracked::{Basis, Move, Tracked, Unit},
};
use crate::workspace::position::starts_line;

/// An edit that a review took in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    pub edit: FileEdit,
    /// In the order of the text; one for a file that is taken as a whole.
    pub hunks: Vec<HunkId>,
}

/// A hunk that made way for newer ones of its file.
struct Former {
    id: HunkId,
    /// It is with the editor, which may still refuse it.
    is_taken: bool,
    /// Where its lines may start in the text that the newer hunks are made for, in bytes; nowhere if they have changed.
    starts: Vec<usize>,
    before: String,
    after: String,
}

/// What made way for an edit.
#[derive(Default)]
pub(super) struct Formers {
    /// Stretches of lines of its file.
    hunks: Vec<Former>,
    /// The editor may still write these.
    with_editor: BTreeSet<HunkId>,
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
            let mut file = Tracked::new(edit.clone(), together, || self.names.next());
            file.catch_up(workspace);
            added.push(Added { edit, hunks: file.units.iter().map(|unit| unit.id).collect() });
            self.files.insert(path, file);
        }
        added
    }

    pub(super) fn renew(
        &mut self,
        proposal: EditProposal,
        (restaged, hunks): (&EditProposal, &BTreeSet<HunkId>),
        workspace: &Workspace,
    ) -> (Vec<Added>, Vec<HunkId>) {
        let (mut made_way, mut formers) = (Vec::new(), BTreeMap::<_, Formers>::new());
        let is_known = |unit: &Unit| hunks.contains(&unit.id);
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
                    let unknown = file.units.iter().filter(|unit| !is_known(unit));
                    made_way.extend(unknown.map(|unit| unit.id));
                    file.catch_up(workspace);
                    let base = edit.before.as_ref().map(|before| &*before.text).unwrap_or_default();
                    let Formers { hunks, with_editor } = file.formers(base);
                    let all = formers.entry(edit.path.clone()).or_default();
                    all.with_editor.extend(with_editor);
                    if edit.path == *path {
                        all.hunks = hunks;
                    }
                    file.units.clear();
                }
            }
            !file.units.is_empty()
        });
        let mut added = self.add(proposal, workspace);
        for Added { edit, hunks } in &mut added {
            let Some((file, formers)) = self.files.get_mut(&edit.path).zip(formers.remove(&edit.path)) else {
                continue;
            };
            file.succeed(formers);
            *hunks = file.units.iter().map(|unit| unit.id).collect();
        }
        (added, made_way)
    }
}

impl Tracked {
    /// For hunks that are made for this text.
    pub(super) fn formers(&self, base: &str) -> Formers {
        let moves = self.moves_to(base);
        let of_lines = self.units.iter().filter(|_| self.basis.kind == HunkKind::Lines);
        let hunks = of_lines.flat_map(|unit| {
            unit.lines.iter().map(|lines| Former {
                id: unit.id,
                is_taken: unit.is_taken,
                starts: starts_of(&lines.base, &moves),
                before: self.basis.text_before(lines).to_owned(),
                after: self.basis.text_after(lines).to_owned(),
            })
        });
        let taken = self.units.iter().filter(|unit| unit.is_taken).map(|unit| unit.id);
        Formers { hunks: hunks.collect(), with_editor: self.made_way.iter().copied().chain(taken).collect() }
    }

    /// Takes the place of others, which are with the editor in part.
    pub(super) fn succeed(&mut self, formers: Formers) {
        self.keep_taken(&formers.hunks);
        let kept: BTreeSet<HunkId> = self.units.iter().map(|unit| unit.id).collect();
        self.made_way.extend(formers.with_editor.difference(&kept));
    }

    /// Finds hunks that are with the editor among the new ones, by where they stand and what they read as: they keep their
    /// names, and stay taken. One that only reads the same is another. A hunk that begins or ends with such a one
    /// becomes two, unless it only adds lines.
    fn keep_taken(&mut self, former: &[Former]) {
        if self.basis.kind != HunkKind::Lines {
            return;
        }
        let mut rest = std::mem::take(&mut self.units).into_iter().rev().collect::<Vec<_>>();
        for hunk in former {
            let parts_of = |unit: &Unit| hunk.parts_of(unit.lines.first()?, &self.basis);
            let Some((at, parts)) =
                rest.iter().enumerate().rev().find_map(|(at, unit)| Some((at, parts_of(unit)?)))
            else {
                continue;
            };
            self.units.extend(rest.drain(at + 1..).rev());
            if !hunk.is_taken {
                self.units.extend(rest.pop());
                continue;
            }
            let Some(whole) = rest.pop() else { continue };
            let [above, own, below] = parts;
            let other = |lines| Unit { lines: vec![lines], ..whole.clone() };
            self.units.extend(above.map(other));
            self.units.extend(own.map(|lines| Unit { id: hunk.id, lines: vec![lines], is_taken: true }));
            // What comes next may begin with another one.
            rest.extend(below.map(other));
        }
        self.units.extend(rest.into_iter().rev());
    }
}

impl Former {
    /// The lines of a hunk above those of this one, its own and those below, where it begins or ends with this one.
    fn parts_of(&self, lines: &Lines, basis: &Basis) -> Option<[Option<Lines>; 3]> {
        let (before, after) = (basis.text_before(lines), basis.text_after(lines));
        let split = |at_before: usize, at_after: usize| {
            // Of two insertions at one place nothing would say which comes above the other.
            let has_lines = !lines.base.is_empty();
            let is_between =
                has_lines && is_between_lines(before, at_before) && is_between_lines(after, at_after);
            let (base_at, after_at) = (lines.base.start + at_before, lines.after.start + at_after);
            is_between.then(|| {
                let above = Lines { base: lines.base.start..base_at, after: lines.after.start..after_at };
                (above, Lines { base: base_at..lines.base.end, after: after_at..lines.after.end })
            })
        };
        let starts_at = |at: usize| self.starts.contains(&at);
        if (before, after) == (&self.before, &self.after) {
            return starts_at(lines.base.start).then(|| [None, Some(lines.clone()), None]);
        }
        if !self.is_taken {
            return None;
        }
        let begins = before.starts_with(&self.before) && after.starts_with(&self.after);
        if begins && starts_at(lines.base.start) {
            let (own, below) = split(self.before.len(), self.after.len())?;
            return Some([None, Some(own), Some(below)]);
        }
        let ends = before.ends_with(&self.before) && after.ends_with(&self.after);
        if ends && starts_at(lines.base.end - self.before.len()) {
            let (above, own) = split(before.len() - self.before.len(), after.len() - self.after.len())?;
            return Some([Some(above), Some(own), None]);
        }
        None
    }
}

/// Where lines may start once these changes are made, each of which makes the second range of the first; nowhere if a
/// change is in the lines. What has no lines stands above or below a change beside it.
fn starts_of(lines: &ops::Range<usize>, moves: &[Move]) -> Vec<usize> {
    let mut shift = 0;
    for (old, new) in moves {
        let is_above = old.end < lines.start || old.end == lines.start && !lines.is_empty();
        if is_above {
            shift = new.end.cast_signed() - old.end.cast_signed();
            continue;
        }
        if old.start > lines.start && old.start >= lines.end {
            break;
        }
        let above = Some(new.start).filter(|_| lines.is_empty() && old.start == lines.start);
        let below = Some(new.end).filter(|_| lines.is_empty() && old.end == lines.start);
        return above.into_iter().chain(below).collect();
    }
    vec![lines.start.saturating_add_signed(shift)]
}

fn is_between_lines(text: &str, at: usize) -> bool {
    at == 0 || at == text.len() || starts_line(text.as_bytes(), at)
}
