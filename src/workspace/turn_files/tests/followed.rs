//! What waits from earlier turns is neither lost nor does it come back, in whatever order its user and a turn go on.

use super::*;
use crate::workspace::review::{HunkId, Review, Selection, Taken, TakenFile};

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

/// What the second turn does to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Another line in place of what the first hunk makes.
    Again,
    Beside,
    TakeBack,
    Delete,
    Move,
}

/// What the user says to a preview of both hunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    First,
    Both,
    None,
}

/// One of the things that happen, in any order but that of each who does them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scene {
    Open,
    Answer,
    Step,
    End,
}

const ORDERS: [[Scene; 4]; 6] = {
    use Scene::{Answer, End, Open, Step};
    [
        [Open, Answer, Step, End],
        [Open, Step, Answer, End],
        [Open, Step, End, Answer],
        [Step, Open, Answer, End],
        [Step, Open, End, Answer],
        [Step, End, Open, Answer],
    ]
};

/// What the file is called and says once all that waits then is accepted; before that the user types some at its top.
fn play_preview(order: [Scene; 4], step: Step, answer: Answer, typed: &str) -> (String, Option<String>) {
    let project = Project::new(&[("a.txt", TEXT)]);
    project.open("a.txt", 1, TEXT);
    project.read("a.txt").unwrap();
    project.stage("a.txt", &TEXT.replace("two", "TWO").replace("five", "FIVE")).unwrap();
    let workspace = &project.workspace;
    let review = Arc::new(Review::new(project.files.proposal(), workspace));
    let turn = TurnFiles::new(Arc::clone(workspace));
    turn.restage_review(&review);
    let path = project.path("a.txt");
    let mut taken: Option<Taken> = None;
    let mut version = 1;
    for scene in order {
        match scene {
            Scene::Open => taken = Some(review.take(workspace, &Selection::All).unwrap()),
            Scene::Answer => {
                let taken = taken.take().unwrap();
                let TakenFile { edit, hunks } = &taken.files[0];
                let count = match answer {
                    Answer::First => 1,
                    Answer::Both => hunks.len(),
                    Answer::None => 0,
                };
                // A file that goes is shown in a preview as a whole; here its user says no to that.
                let is_text = edit.path == path && edit.after.is_some();
                if count > 0 && is_text {
                    let edit = edit.only(|index| index < count);
                    version += 1;
                    project.open("a.txt", version, edit.after.as_deref().unwrap());
                    let came = TakenFile { edit, hunks: hunks[..count.min(hunks.len())].to_vec() };
                    review.accepted(workspace, &[came]);
                }
                review.put_back(&taken.hunks());
            }
            Scene::Step => {
                let before = turn.read(&path).unwrap().text;
                let lines = 0..before.lines().count();
                turn.show(&path, &before, &[lines]);
                let edit = |after| StagedChange::Edit { path: path.clone(), before: before.clone(), after };
                let change = match step {
                    Step::Again => edit(before.replace("TWO", "ZWEI")),
                    Step::Beside => edit(before.replace("three", "THREE")),
                    Step::TakeBack => edit(before.replace("TWO", "two")),
                    Step::Delete => StagedChange::Delete { path: path.clone() },
                    Step::Move => StagedChange::Move { from: path.clone(), to: project.path("m.txt") },
                };
                turn.stage_all(vec![change]).unwrap();
            }
            Scene::End => {
                turn.follow_all();
                let restaged = (&turn.earlier_proposal(), &turn.earlier_hunks());
                review.renew(turn.proposal(), restaged, workspace);
            }
        }
    }
    let text = workspace.open_document(&path).unwrap().text.replace("one\n", &format!("{typed}one\n"));
    project.open("a.txt", version + 1, &text);
    let Ok(taken) = review.take(workspace, &Selection::All) else { return (path.to_string(), Some(text)) };
    assert_eq!(taken.left_out, [], "{order:?} {step:?} {answer:?}");
    let edit = &taken.files[0].edit;
    (edit.path.to_string(), edit.after.clone())
}

/// Both yes and no, before the turn ends and after: what it has made of the file is offered on top of what is there.
#[test]
fn what_a_turn_makes_of_hunks_in_an_open_preview_waits_for_what_the_editor_writes_of_them() {
    let both = TEXT.replace("two", "TWO").replace("five", "FIVE");
    for order in ORDERS {
        for answer in [Answer::First, Answer::Both, Answer::None] {
            for typed in ["", "zero\n"] {
                for (step, place, text) in [
                    (Step::Again, "a.txt", Some(both.replace("TWO", "ZWEI"))),
                    (Step::Beside, "a.txt", Some(both.replace("three", "THREE"))),
                    (Step::TakeBack, "a.txt", Some(both.replace("TWO", "two"))),
                    (Step::Move, "m.txt", Some(both.clone())),
                    (Step::Delete, "a.txt", None),
                ] {
                    if step == Step::Delete && !typed.is_empty() {
                        continue;
                    }
                    let expected = (place.to_owned(), text.map(|text| format!("{typed}{text}")));
                    let played = play_preview(order, step, answer, typed);
                    assert_eq!(played, expected, "{order:?} {step:?} {answer:?} {typed:?}");
                }
            }
        }
    }
}
