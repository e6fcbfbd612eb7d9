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
