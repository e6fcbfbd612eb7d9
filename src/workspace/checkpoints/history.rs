//! What the records say of each turn: which of its edits stand, and which were taken back.

use std::time::SystemTime;

use super::{
    Direction,
    record::{ChangedFile, Kind, Record, TurnMark},
};

/// One record, for a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: String,
    pub turn: TurnMark,
    pub kind: Kind,
    pub time: SystemTime,
    /// Whether what it did is in the files, as far as the journal knows.
    pub stands: bool,
    pub files: Vec<ChangedFile>,
}

/// A turn and what there is of it.
struct Turn<'a> {
    mark: &'a TurnMark,
    /// What stands of it and would be undone, oldest first: edits that were applied, and redos.
    applied: Vec<&'a (String, Record)>,
    /// The undos that would be redone, oldest first.
    undone: Vec<&'a (String, Record)>,
}

impl<'a> Turn<'a> {
    fn side(&self, direction: Direction) -> &[&'a (String, Record)] {
        match direction {
            Direction::Undo => &self.applied,
            Direction::Redo => &self.undone,
        }
    }
}

/// `records` in the order in which they were written.
fn turns(records: &[(String, Record)]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn> = Vec::new();
    for record in records {
        let (_, Record { kind, turn: mark, undoes, files, .. }) = record;
        let index = turns.iter().position(|turn| turn.mark.is_same(mark)).unwrap_or_else(|| {
            turns.push(Turn { mark, applied: Vec::new(), undone: Vec::new() });
            turns.len() - 1
        });
        let Some(turn) = turns.get_mut(index) else { continue };
        let stays = |(id, _): &&(String, Record)| !undoes.contains(id);
        turn.applied.retain(stays);
        turn.undone.retain(stays);
        // An undo that found its files as before already says only that the turn does not stand any more.
        if files.is_empty() {
            continue;
        }
        match kind {
            Kind::Turn | Kind::Redo => turn.applied.push(record),
            Kind::Undo => turn.undone.push(record),
        }
    }
    turns
}

/// The turn that is undone or redone next, of those that `is_meant` picks, and the records that are taken back for it,
/// newest first. Everything that stands of a turn is undone at once; undos are redone one by one, the last one first.
pub(super) fn newest(
    records: &[(String, Record)],
    direction: Direction,
    is_meant: impl Fn(&Record) -> bool,
) -> Option<(TurnMark, Vec<(String, Record)>)> {
    let turns = turns(records);
    let turn = turns
        .iter()
        .filter(|turn| turn.side(direction).iter().any(|(_, record)| is_meant(record)))
        .max_by_key(|turn| turn.side(direction).last().map(|(id, _)| id.as_str()))?;
    let side = turn.side(direction);
    let most = match direction {
        Direction::Undo => side.len(),
        Direction::Redo => 1,
    };
    let taken: Vec<_> = side.iter().rev().take(most).map(|&record| record.clone()).collect();
    (!taken.is_empty()).then(|| (turn.mark.clone(), taken))
}

/// Newest first.
pub(super) fn entries(records: &[(String, Record)]) -> Vec<Entry> {
    let turns = turns(records);
    let stands = |id: &String| {
        turns.iter().any(|turn| turn.applied.iter().chain(&turn.undone).any(|(other, _)| other == id))
    };
    let entry = |(id, record): &(String, Record)| Entry {
        id: id.clone(),
        turn: record.turn.clone(),
        kind: record.kind,
        time: record.time(),
        stands: stands(id),
        files: record.files.iter().map(super::record::FileRecord::summary).collect(),
    };
    records.iter().rev().map(entry).collect()
}
