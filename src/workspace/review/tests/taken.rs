//! Hunks that are with the editor while a later turn makes others of their file: neither its yes nor its no loses one.

use super::*;

/// The editor has the first hunk while a turn that has staged all hunks again makes `second` of the file.
fn renewed(second: &str) -> (Fixture, Taken) {
    let fixture = Fixture::new(BEFORE, AFTER);
    let (review, workspace) = (&fixture.review, &fixture.project.workspace);
    let taken = review.take(workspace, &Selection::Hunk(HunkId(1))).unwrap();
    let restaged: Vec<FileEdit> = review.undecided(workspace).into_iter().map(|file| file.edit).collect();
    let edit = FileEdit { after: Some(second.to_owned()), stretches: None, ..restaged[0].clone() };
    let proposal = EditProposal { files: vec![edit] };
    review.renew(proposal, (&EditProposal { files: restaged }, &review.ids()), workspace);
    (fixture, taken)
}

/// Two edits that read the same, one of which the editor has while a later turn makes `second` of the file: the hunks
/// meanwhile, and after a yes.
fn check_equal(taken: u32, second: &str, expect: Expect) {
    let mut fixture = Fixture::new("a\nx\nb\nc\nx\nd\n", "a\ny\nb\nc\ny\nd\n");
    let (review, workspace) = (&fixture.review, &fixture.project.workspace);
    let taken = review.take(workspace, &Selection::Hunk(HunkId(taken))).unwrap();
    let restaged: Vec<FileEdit> = review.undecided(workspace).into_iter().map(|file| file.edit).collect();
    let edit = FileEdit { after: Some(second.to_owned()), stretches: None, ..restaged[0].clone() };
    let proposal = EditProposal { files: vec![edit] };
    review.renew(proposal, (&EditProposal { files: restaged }, &review.ids()), workspace);
    let meanwhile = fixture.shown();
    let after = taken.files[0].edit.after.clone().unwrap();
    let at = if after.starts_with("a\ny\n") { 2 } else { 8 };
    fixture.replace(at..at + 2, "y\n");
    assert_eq!(fixture.text(), after);
    fixture.review.accepted(&fixture.project.workspace, &taken.files);
    expect.assert_eq(&format!("{meanwhile}yes:\n{}", fixture.shown()));
}

#[test]
fn of_two_edits_that_read_the_same_the_one_that_the_editor_has_is_known_by_its_place() {
    // The later turn takes just that one back.
    check_equal(
        1,
        "a\nx\nb\nc\ny\nd\n",
        expect![[r#"
        3: "x\n" -> "y\n" at 4..5, pending
        yes:
        4: "y\n" -> "x\n" at 1..2, pending
        3: "x\n" -> "y\n" at 4..5, pending
    "#]],
    );
    // It makes something else of the other one.
    check_equal(
        2,
        "a\nz\nb\nc\ny\nd\n",
        expect![[r#"
        3: "x\n" -> "z\n" at 1..2, pending
        2: "x\n" -> "y\n" at 4..5, taken
        yes:
        3: "x\n" -> "z\n" at 1..2, pending
    "#]],
    );
}

/// The hunks meanwhile, after a no, and after a yes.
fn check(second: &str, expect: Expect) {
    let (fixture, taken) = renewed(second);
    let meanwhile = fixture.shown();
    fixture.review.put_back(&taken.hunks());
    let refused = fixture.shown();
    let (mut fixture, taken) = renewed(second);
    fixture.type_over("two\n", "2\n");
    fixture.review.accepted(&fixture.project.workspace, &taken.files);
    expect.assert_eq(&format!("{meanwhile}no:\n{refused}yes:\n{}", fixture.shown()));
}

#[test]
fn a_hunk_that_a_later_turn_leaves_alone_keeps_its_name() {
    check(
        "one\n2\nthree\nfour\nnew\nFIVE\n",
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, taken
        4: "five\n" -> "new\nFIVE\n" at 4..5, pending
        no:
        1: "two\n" -> "2\n" at 1..2, pending
        4: "five\n" -> "new\nFIVE\n" at 4..5, pending
        yes:
        4: "five\n" -> "new\nFIVE\n" at 4..5, pending
    "#]],
    );
}

#[test]
fn a_hunk_with_changes_right_above_or_below_stays_one_of_its_own() {
    check(
        "one\n2\nTHREE\nfour\nnew\nfive\n",
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, taken
        3: "three\n" -> "THREE\n" at 2..3, pending
        4: "" -> "new\n" at 4..4, pending
        no:
        1: "two\n" -> "2\n" at 1..2, pending
        3: "three\n" -> "THREE\n" at 2..3, pending
        4: "" -> "new\n" at 4..4, pending
        yes:
        3: "three\n" -> "THREE\n" at 2..3, pending
        4: "" -> "new\n" at 4..4, pending
    "#]],
    );
    check(
        "ONE\n2\nthree\nfour\nnew\nfive\n",
        expect![[r#"
        3: "one\n" -> "ONE\n" at 0..1, pending
        1: "two\n" -> "2\n" at 1..2, taken
        4: "" -> "new\n" at 4..4, pending
        no:
        3: "one\n" -> "ONE\n" at 0..1, pending
        1: "two\n" -> "2\n" at 1..2, pending
        4: "" -> "new\n" at 4..4, pending
        yes:
        3: "one\n" -> "ONE\n" at 0..1, pending
        4: "" -> "new\n" at 4..4, pending
    "#]],
    );
}

#[test]
fn a_hunk_whose_lines_a_later_turn_changes_again_makes_way_for_one_on_top_of_it() {
    check(
        "one\n22\nthree\nfour\nnew\nfive\n",
        expect![[r#"
        3: "two\n" -> "22\n" at 1..2, pending
        4: "" -> "new\n" at 4..4, pending
        no:
        3: "two\n" -> "22\n" at 1..2, pending
        4: "" -> "new\n" at 4..4, pending
        yes:
        3: "2\n" -> "22\n" at 1..2, pending
        4: "" -> "new\n" at 4..4, pending
    "#]],
    );
}

#[test]
fn what_was_rejected_of_the_newer_hunks_does_not_come_back_with_the_yes() {
    let (mut fixture, taken) = renewed("one\n22\nthree\nfour\nnew\nFIVE\n");
    let rejected = fixture.hunks().pop().unwrap();
    assert_eq!(rejected.after, "new\nFIVE\n");
    fixture.review.rejected(&Selection::Hunk(rejected.id));
    fixture.type_over("two\n", "2\n");
    fixture.review.accepted(&fixture.project.workspace, &taken.files);
    expect![[r#"
        3: "2\n" -> "22\n" at 1..2, pending
    "#]]
    .assert_eq(&fixture.shown());
}

/// Lines that a later turn adds right above or below some that the editor has in hand end on their side of them.
#[test]
fn lines_added_beside_added_ones_that_the_editor_has_stay_on_their_side() {
    let check = |before: &str, first: &str, second: &str, expect: &Expect| {
        for tells_late in [false, true] {
            let mut fixture = Fixture::new(before, first);
            let (review, workspace) = (&fixture.review, &fixture.project.workspace);
            let taken = review.take(workspace, &Selection::Hunk(HunkId(1))).unwrap();
            let restaged: Vec<FileEdit> =
                review.undecided(workspace).into_iter().map(|file| file.edit).collect();
            let edit = FileEdit { after: Some(second.to_owned()), stretches: None, ..restaged[0].clone() };
            let proposal = EditProposal { files: vec![edit] };
            review.renew(proposal, (&EditProposal { files: restaged }, &review.ids()), workspace);
            if tells_late {
                fixture.review.accepted(&fixture.project.workspace, &taken.files);
            }
            fixture.replace(4..4, "F\n");
            if !tells_late {
                fixture.review.accepted(&fixture.project.workspace, &taken.files);
            }
            expect.assert_eq(&fixture.shown());
        }
    };
    let above = expect![[r#"
        2: "" -> "S\n" at 1..1, pending
    "#]];
    check("one\ntwo\n", "one\nF\ntwo\n", "one\nS\nF\ntwo\n", &above);
    check("one\n", "one\nF\n", "one\nS\nF\n", &above);
    let below = expect![[r#"
        2: "" -> "S\n" at 2..2, pending
    "#]];
    check("one\ntwo\n", "one\nF\ntwo\n", "one\nF\nS\ntwo\n", &below);
    check("one\n", "one\nF\n", "one\nF\nS\n", &below);
}

/// The yes is heard of before its change, as in an editor that tells late.
#[test]
fn newer_hunks_fit_whether_the_change_is_told_before_the_yes_or_after_it() {
    let (mut fixture, taken) = renewed("one\n22\nthree\nfour\nnew\nfive\n");
    fixture.review.accepted(&fixture.project.workspace, &taken.files);
    fixture.type_over("two\n", "2\n");
    expect![[r#"
        3: "2\n" -> "22\n" at 1..2, pending
        4: "" -> "new\n" at 4..4, pending
    "#]]
    .assert_eq(&fixture.shown());
    // What the user makes of those lines still counts as theirs.
    fixture.type_over("2\n", "2x\n");
    expect![[r#"
        3: "2\n" -> "22\n" at 1..2, you changed line 2 of a.txt, which the agent also edits. Undo your change or reject that edit
        4: "" -> "new\n" at 4..4, pending
    "#]]
    .assert_eq(&fixture.shown());
}

#[test]
fn a_new_file_that_a_later_turn_writes_otherwise_becomes_an_edit_of_what_the_editor_has_made() {
    let project = Project::new(&[]);
    project.stage("n.txt", "N\n").unwrap();
    let proposal = project.files.proposal();
    let (workspace, path) = (&project.workspace, project.path("n.txt"));
    let review = Review::new(proposal.clone(), workspace);
    let taken = review.take(workspace, &Selection::All).unwrap();
    let newer = FileEdit { after: Some("N\nM\n".to_owned()), ..proposal.files[0].clone() };
    review.renew(EditProposal { files: vec![newer] }, (&proposal, &review.ids()), workspace);
    project.write("n.txt", "N\n");
    review.accepted(workspace, &taken.files);
    expect![[r#"
        2: "" -> "M\n" at 1..1, pending
    "#]]
    .assert_eq(&shown(&review.hunks_of(workspace, &path)));
}
