//! What waits from earlier turns is neither lost nor does it come back, in whatever order its user and a turn go on.

use super::*;
use crate::workspace::review::{HunkId, Review, Selection};

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

#[derive(Clone, Copy, Debug)]
enum Act {
    /// Into the line of the first hunk.
    Type,
    TakeBack,
    Reject,
    Read,
    Edit,
    Move,
}

const ACTS: [Act; 6] = [Act::Type, Act::TakeBack, Act::Reject, Act::Read, Act::Edit, Act::Move];

/// Two hunks of an earlier turn wait, of which nothing happens to the second. The user may have typed into the line of the
/// first before the turn begins.
fn play(fits: bool, acts: &[Act]) {
    let project = Project::new(&[("a.txt", TEXT)]);
    project.open("a.txt", 1, TEXT);
    project.read("a.txt").unwrap();
    project.stage("a.txt", &TEXT.replace("two", "TWO").replace("five", "FIVE")).unwrap();
    let workspace = &project.workspace;
    let review = Arc::new(Review::new(project.files.proposal(), workspace));
    let mut version = 1;
    let mut type_text = |text: &str| {
        version += 1;
        project.open("a.txt", version, text);
    };
    if !fits {
        type_text(&TEXT.replace("two", "xtwo"));
    }
    let turn = TurnFiles::new(Arc::clone(workspace));
    turn.restage_review(&review);

    let mut place = project.path("a.txt");
    let mut is_rejected = false;
    for act in acts {
        match act {
            Act::Type => type_text(&TEXT.replace("two", "xtwo")),
            Act::TakeBack => type_text(TEXT),
            Act::Reject => {
                review.rejected(&Selection::Hunk(HunkId(1)));
                is_rejected = true;
            }
            Act::Read => drop(turn.read(&place).unwrap()),
            Act::Edit => {
                let before = turn.read(&place).unwrap().text;
                let after = before.replace("four", "FOUR");
                turn.stage_all(vec![StagedChange::Edit { path: place.clone(), before, after }]).unwrap();
            }
            Act::Move => {
                let to = project.path("m.txt");
                let change = StagedChange::Move { from: place.clone(), to: to.clone() };
                if turn.stage_all(vec![change]).is_ok() {
                    place = to;
                }
            }
        }
    }
    turn.follow_all();
    let restaged = (&turn.earlier_proposal(), &turn.earlier_hunks());
    let (_, made_way) = review.renew(turn.proposal(), restaged, workspace);
    let waiting = review.hunks(workspace);
    let waits = |text: &str| waiting.iter().any(|view| view.after.contains(text));
    assert!(waits("FIVE"), "{fits} {acts:?}: {waiting:?}");
    // Who gives up a hunk for newer ones is told so.
    let is_told = made_way.contains(&HunkId(1));
    assert_eq!(waits("TWO") || is_told, !is_rejected, "{fits} {acts:?}: {waiting:?}, {made_way:?}");
    // One that fits is not given up.
    let typed = acts.iter().rev().find(|act| matches!(act, Act::Type | Act::TakeBack));
    let fits_now = typed.map_or(fits, |act| matches!(act, Act::TakeBack));
    assert!(!is_told || !fits_now, "{fits} {acts:?}: {waiting:?}");
}

#[test]
fn what_waits_is_lost_by_nothing_but_the_users_word_and_comes_back_by_nothing() {
    for number in 0..ACTS.len().pow(4) {
        let digits = [1, 6, 36, 216].map(|unit| number / unit % ACTS.len());
        for fits in [true, false] {
            play(fits, &digits.map(|digit| ACTS[digit]));
        }
    }
}
