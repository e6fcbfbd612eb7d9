//! What the records say of each turn: which of its edits stand, and which were taken back.

use std::time::SystemTime;

use super::{
    Direction,
    record::{ChangedFile, DELETED, FileRecord, Kind, Record, TurnMark},
};

/// One turn, for a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub turn: TurnMark,
    /// When the last of its edits came about.
    pub time: SystemTime,
    pub state: State,
    /// What the turn did, each file once.
    pub files: Vec<ChangedFile>,
}

/// What of a turn is in the files, as far as the journal knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Applied,
    Undone,
    /// Some of it was undone, or came about after the rest was undone.
    PartlyUndone,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Undone => "undone",
            Self::PartlyUndone => "partly undone",
        }
    }
}

/// A turn and what there is of it.
struct Turn<'a> {
    mark: &'a TurnMark,
    /// The goes in which its edits came about, oldest first. Where those are not kept any more, the undos and redos of them.
    goes: Vec<&'a (String, Record)>,
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
            turns.push(Turn { mark, goes: Vec::new(), applied: Vec::new(), undone: Vec::new() });
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
        let has_goes = turn.goes.iter().any(|(_, go)| go.kind == Kind::Turn);
        if *kind == Kind::Turn || !has_goes {
            turn.goes.push(record);
        }
        match kind {
            Kind::Turn | Kind::Redo => turn.applied.push(record),
            Kind::Undo => turn.undone.push(record),
        }
    }
    turns
}

/// The turn that is undone or redone next, of those that `is_meant` picks, and the records that are taken back for it,
/// newest first. Everything that stands of a turn is undone at once; undos are redone one by one, the last one first. As in
/// any editor, an undo is redone no more while something stands that was applied later.
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
    let is_overtaken = |by: &Turn<'_>| {
        let went = by.goes.iter().filter(|(_, go)| go.kind == Kind::Turn).map(|(id, _)| id);
        let undone = side.last().map(|(id, _)| id);
        let stands = by.applied.iter().any(|(_, record)| is_meant(record));
        stands && !by.mark.is_same(turn.mark) && went.max() > undone
    };
    if direction == Direction::Redo && turns.iter().any(is_overtaken) {
        return None;
    }
    let most = match direction {
        Direction::Undo => side.len(),
        Direction::Redo => 1,
    };
    let taken: Vec<_> = side.iter().rev().take(most).map(|&record| record.clone()).collect();
    (!taken.is_empty()).then(|| (turn.mark.clone(), taken))
}

/// Whether something of a turn can be undone, or redone.
pub(super) fn is_there(records: &[(String, Record)], direction: Direction, mark: &TurnMark) -> bool {
    turns(records).iter().any(|turn| turn.mark.is_same(mark) && !turn.side(direction).is_empty())
}

/// The newest turn first.
pub(super) fn entries(records: &[(String, Record)]) -> Vec<Entry> {
    let mut turns = turns(records);
    turns.retain(|turn| !turn.goes.is_empty());
    turns.sort_by_key(|turn| turn.goes.last().map(|(id, _)| id.as_str()));
    turns.iter().rev().filter_map(entry).collect()
}

fn entry(turn: &Turn<'_>) -> Option<Entry> {
    let (_, last) = turn.goes.last()?;
    let mut files: Vec<ChangedFile> = Vec::new();
    for file in turn.goes.iter().flat_map(|(_, go)| &go.files).map(FileRecord::summary) {
        match files.iter_mut().find(|known| known.path == file.path) {
            // Later goes change what the first one made; only a deletion says more.
            Some(known) if file.what == DELETED => *known = file,
            Some(_) => {}
            None => files.push(file),
        }
    }
    let state = match (turn.applied.is_empty(), turn.undone.is_empty()) {
        (false, true) => State::Applied,
        (false, false) => State::PartlyUndone,
        (true, _) => State::Undone,
    };
    Some(Entry { turn: turn.mark.clone(), time: last.time(), state, files })
}
