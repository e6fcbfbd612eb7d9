//! Which turn has proposed what: an offer may hold hunks of several turns of its thread, and each is undone with its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::workspace::{
    FileEdit, FilePath, FileText,
    checkpoints::TurnMark,
    review::{Added, HunkId, HunkView},
};

/// A turn as the one that has proposed edits.
#[derive(Clone, Debug)]
pub(in crate::lsp) struct Proposer {
    /// Higher than that of any turn before it.
    age: u64,
    pub(super) mark: Arc<TurnMark>,
}

/// What a hunk makes of which lines, and who proposed it.
#[derive(Clone, Debug)]
pub(super) struct Made {
    before: String,
    after: String,
    proposer: Proposer,
}

/// The hunks of each file, in the order of the text.
pub(super) type MadeByPath = BTreeMap<FilePath, Vec<Made>>;

/// What came about of one turn.
pub(super) type Go = (Arc<TurnMark>, Vec<FileEdit>);

impl Proposer {
    /// `number` grows from turn to turn.
    pub(in crate::lsp) fn new(number: u64, mark: TurnMark) -> Self {
        Self { age: number, mark: Arc::new(mark) }
    }

    /// No other turn has it.
    pub(super) fn number(&self) -> u64 {
        self.age
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.age == other.age
    }
}

/// By what they read as: hunks keep that while others come and go around them.
pub(super) fn made<'a>(views: &'a [HunkView], proposer: impl Fn(HunkId) -> &'a Proposer) -> MadeByPath {
    let mut made = MadeByPath::new();
    for HunkView { id, path, before, after, .. } in views {
        let (before, after, proposer) = (before.clone(), after.clone(), proposer(*id).clone());
        made.entry(path.clone()).or_default().push(Made { before, after, proposer });
    }
    made
}

/// Who proposed each hunk of edits that an offer took in: whoever has made the same before, else `otherwise`.
pub(super) fn of_added(
    added: &[Added],
    made: &MadeByPath,
    otherwise: &Proposer,
) -> BTreeMap<HunkId, Proposer> {
    let mut proposers = BTreeMap::new();
    for Added { edit, hunks } in added {
        let found = of_hunks(edit, made.get(&edit.path).map_or(&[], Vec::as_slice), otherwise);
        // A file that is taken as a whole is the newest turn's that has a part in it.
        let newest = found.iter().max_by_key(|proposer| proposer.age).unwrap_or(otherwise);
        for (index, id) in hunks.iter().enumerate() {
            let proposer = if found.len() == hunks.len() { found.get(index) } else { None };
            proposers.insert(*id, proposer.unwrap_or(newest).clone());
        }
    }
    proposers
}

/// What came about, by the turns that have proposed it, the oldest first: each of their edits is made for the text that
/// the one before leaves, and all together they are what came about. `otherwise` says of whom is what reads as nothing of
/// what was made in the file.
fn by_turn(done: Vec<FileEdit>, made: &MadeByPath, otherwise: impl Fn(&[Made]) -> Proposer) -> Vec<Go> {
    let mut goes: BTreeMap<u64, Go> = BTreeMap::new();
    for edit in done {
        let made = made.get(&edit.path).map_or(&[][..], Vec::as_slice);
        let otherwise = otherwise(made);
        let found = match made.iter().all(|made| made.proposer.is_same(&otherwise)) {
            true => Vec::new(),
            false => of_hunks(&edit, made, &otherwise),
        };
        let by_age: BTreeMap<u64, &Proposer> =
            found.iter().map(|proposer| (proposer.age, proposer)).collect();
        let mut add = |proposer: &Proposer, edit: FileEdit| {
            let go = goes.entry(proposer.age).or_insert_with(|| (Arc::clone(&proposer.mark), Vec::new()));
            go.1.push(edit);
        };
        if by_age.len() < 2 {
            add(by_age.values().next().copied().unwrap_or(&otherwise), edit);
            continue;
        }
        let mut before = edit.before.clone();
        let last = by_age.keys().next_back().copied();
        for (age, proposer) in by_age {
            let after = match Some(age) == last {
                true => edit.after.clone(),
                false => edit.only(|index| found.get(index).is_some_and(|found| found.age <= age)).after,
            };
            let next = before.clone().zip(after.clone());
            let next = next.map(|(text, after)| FileText { text: after.into(), ..text });
            let before = std::mem::replace(&mut before, next);
            add(proposer, FileEdit { before, after, stretches: None, ..edit.clone() });
        }
    }
    goes.into_values().collect()
}

/// The newest that has a part in what was made.
fn newest(made: &[Made]) -> Option<&Proposer> {
    made.iter().map(|made| &made.proposer).max_by_key(|proposer| proposer.age)
}

/// Who proposed each hunk of an edit; none for a file that comes, goes or moves.
fn of_hunks(edit: &FileEdit, made: &[Made], otherwise: &Proposer) -> Vec<Proposer> {
    if edit.moved_from.is_some() {
        return Vec::new();
    }
    let mut rest = made.iter();
    let found = edit.hunk_texts().into_iter().map(|(before, after)| {
        let mut ahead = rest.clone();
        match ahead.find(|made| made.before == before && made.after == after) {
            Some(made) => {
                rest = ahead;
                made.proposer.clone()
            }
            None => otherwise.clone(),
        }
    });
    found.collect()
}

/// The edits that a turn has staged again of what its thread had on offer.
#[derive(Clone, Debug, Default)]
pub(super) struct Restaged {
    /// All that was on offer, with what did not fit.
    pub(super) offered: BTreeSet<HunkId>,
    pub(super) made: MadeByPath,
}

/// Of whom edits are that are applied now.
#[derive(Clone, Debug)]
pub(super) struct Whose {
    /// What of them was made before.
    pub(super) made: MadeByPath,
    pub(super) turn: Proposer,
    pub(super) rest: Rest,
}

/// Of whom is what reads as nothing of what was made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// All was made before: of the newest turn that has a part in the file.
    OfNewest,
    /// The turn that runs has made it just now.
    OfTurn,
}

impl Whose {
    /// See [`by_turn`].
    pub(super) fn goes(&self, done: Vec<FileEdit>) -> Vec<Go> {
        by_turn(done, &self.made, |made| match self.rest {
            Rest::OfNewest => newest(made).unwrap_or(&self.turn).clone(),
            Rest::OfTurn => self.turn.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::protocol::ThreadId;

    const BEFORE: &str = "a\nb\nc\nd\ne\n";

    fn proposer(age: u64) -> Proposer {
        Proposer::new(age, TurnMark::new(&ThreadId::from("t"), &format!("turn {age}")))
    }

    /// The records of an edit of `BEFORE`, of whose hunks these were made before, by turns of that age.
    fn check(rest: Rest, after: &str, made: &[(&str, &str, u64)], expect: Expect) {
        let path = FilePath::file(Path::new("/project/x.txt"), "x.txt");
        let edit = FileEdit {
            path: path.clone(),
            moved_from: None,
            before: Some(FileText { text: BEFORE.into(), version: Some(3), bom: false }),
            after: Some(after.to_owned()),
            text_from: None,
            stretches: None,
        };
        let made = made.iter().map(|&(before, after, age)| {
            let (before, after) = (before.to_owned(), after.to_owned());
            Made { before, after, proposer: proposer(age) }
        });
        let made = MadeByPath::from([(path, made.collect())]);
        let goes = Whose { made, turn: proposer(9), rest }.goes(vec![edit]);
        let mut out = String::new();
        for (turn, edits) in goes {
            for edit in edits {
                let before = edit.before.map(|before| before.text).unwrap_or_default();
                out += &format!("{}: {before:?} -> {:?}\n", turn.label, edit.after.unwrap_or_default());
            }
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn each_turn_has_its_own_hunks_whatever_their_order_in_the_text() {
        check(
            Rest::OfNewest,
            "A\nb\nC\nd\nE\n",
            &[("a\n", "A\n", 2), ("c\n", "C\n", 1), ("e\n", "E\n", 2)],
            expect![[r#"
                turn 1: "a\nb\nc\nd\ne\n" -> "a\nb\nC\nd\ne\n"
                turn 2: "a\nb\nC\nd\ne\n" -> "A\nb\nC\nd\nE\n"
            "#]],
        );
    }

    #[test]
    fn what_nobody_has_made_before_is_of_the_turn_that_runs() {
        check(
            Rest::OfTurn,
            "A\nb\nc\nd\nE\n",
            &[("a\n", "A\n", 1)],
            expect![[r#"
                turn 1: "a\nb\nc\nd\ne\n" -> "A\nb\nc\nd\ne\n"
                turn 9: "A\nb\nc\nd\ne\n" -> "A\nb\nc\nd\nE\n"
            "#]],
        );
    }

    #[test]
    fn hunks_that_became_one_are_of_the_newest_of_their_turns() {
        check(
            Rest::OfNewest,
            "A\nB\nc\nd\ne\n",
            &[("a\n", "A\n", 2), ("b\n", "B\n", 1)],
            expect![[r#"
                turn 2: "a\nb\nc\nd\ne\n" -> "A\nB\nc\nd\ne\n"
            "#]],
        );
    }
}
