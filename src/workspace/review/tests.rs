mod equal_lines;
mod model;
mod taken;

use expect_test::{Expect, expect};

use super::{
    super::{
        document::Change,
        paths,
        position::{self, Encoding, LineStarts},
        testing::Project,
    },
    *,
};

/// One open file `a.txt` with an edit that waits.
struct Fixture {
    project: Project,
    review: Review,
    version: i32,
}

impl Fixture {
    fn new(before: &str, after: &str) -> Self {
        let project = Project::new(&[("a.txt", before)]);
        project.open("a.txt", 1, before);
        project.read("a.txt").unwrap();
        project.stage("a.txt", after).unwrap();
        let review = Review::new(project.files.proposal(), &project.workspace);
        Self { project, review, version: 1 }
    }

    fn path(&self) -> FilePath {
        self.project.path("a.txt")
    }

    fn text(&self) -> String {
        self.project.workspace.open_document(&self.path()).unwrap().text.to_string()
    }

    fn change(&mut self, change: Change) {
        self.version += 1;
        let uri = paths::to_uri(&self.project.root.join("a.txt"));
        let overlay = self.project.workspace.overlay();
        overlay.change(&uri, self.version, &[change], Encoding::Utf8).unwrap();
        self.review.follow_taken(&self.project.workspace);
    }

    /// Replaces bytes of the buffer as an editor does.
    fn replace(&mut self, bytes: ops::Range<usize>, new: &str) {
        let text = self.text();
        let lines = LineStarts::new(&text);
        let position = |at| lines.position(&text, at, Encoding::Utf8);
        let range = position::Range { start: position(bytes.start), end: position(bytes.end) };
        self.change(Change { range: Some(range), text: new.to_owned() });
    }

    /// Replaces the first place where the buffer says `old`.
    fn type_over(&mut self, old: &str, new: &str) {
        let at = self.text().find(old).unwrap();
        self.replace(at..at + old.len(), new);
    }

    fn hunks(&self) -> Vec<HunkView> {
        self.review.hunks_of(&self.project.workspace, &self.path())
    }

    fn take(&self, selection: &Selection) -> Result<String, Vec<String>> {
        take(&self.review, &self.project.workspace, selection)
    }

    fn shown(&self) -> String {
        shown(&self.hunks())
    }
}

/// What the first file says once a selection is applied, or the conflicts.
fn take(review: &Review, workspace: &Workspace, selection: &Selection) -> Result<String, Vec<String>> {
    let taken = review.take(workspace, selection);
    let taken = taken.map_err(|conflicts| conflicts.into_iter().map(|it| it.reason).collect::<Vec<_>>())?;
    assert_eq!(taken.proposal().conflicts(workspace), []);
    review.put_back(&taken.hunks());
    Ok(taken.files[0].edit.after.clone().unwrap_or_default())
}

/// Without what a review says besides: where the user was shown the changes.
fn as_staged(mut proposal: EditProposal) -> EditProposal {
    proposal.files.iter_mut().for_each(|file| file.stretches = None);
    proposal
}

fn shown(hunks: &[HunkView]) -> String {
    let mut out = String::new();
    for HunkView { id, state, lines_now, before, after, .. } in hunks {
        let state = match state {
            HunkState::Pending => "pending",
            HunkState::Taken => "taken",
            HunkState::Conflict(reason) => reason,
        };
        out += &format!("{}: {before:?} -> {after:?} at {lines_now:?}, {state}\n", id.0);
    }
    out
}

/// What becomes of the hunks of an edit when the user replaces these texts one after the other, and what taking all of
/// them makes of the file then.
fn check(before: &str, after: &str, typed: &[(&str, &str)], expect: Expect) {
    let mut fixture = Fixture::new(before, after);
    for (old, new) in typed {
        fixture.type_over(old, new);
    }
    expect.assert_eq(&format!("{}{:?}\n", fixture.shown(), fixture.take(&Selection::All)));
}

const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\n";
const AFTER: &str = "one\n2\nthree\nfour\nnew\nfive\n";

#[test]
fn hunks_move_with_what_is_typed_above_and_below_them() {
    check(
        BEFORE,
        AFTER,
        &[("one", "zero\none"), ("four", "fo\nur")],
        expect![[r#"
        1: "two\n" -> "2\n" at 2..3, pending
        2: "" -> "new\n" at 6..6, pending
        Ok("zero\none\n2\nthree\nfo\nur\nnew\nfive\n")
    "#]],
    );
    // Right above and right below.
    check(
        BEFORE,
        AFTER,
        &[("two", "1.5\ntwo"), ("two\n", "two\n2.5\n")],
        expect![[r#"
        1: "two\n" -> "2\n" at 2..3, pending
        2: "" -> "new\n" at 6..6, pending
        Ok("one\n1.5\n2\n2.5\nthree\nfour\nnew\nfive\n")
    "#]],
    );
}

#[test]
fn an_empty_file_that_an_editor_opens_as_an_empty_line_is_still_empty() {
    for (opened, after) in [("\n", "N\n"), ("\r\n", "N"), ("", "N\n")] {
        let mut fixture = Fixture::new("", after);
        fixture.project.open("a.txt", 2, opened);
        assert_eq!(fixture.take(&Selection::All), Ok(after.to_owned()), "{opened:?}");
        fixture.replace(0..0, "x");
        assert!(fixture.take(&Selection::All).is_err(), "{opened:?}");
    }
    // A line that the user types is theirs.
    let mut fixture = Fixture::new("", "N\n");
    fixture.replace(0..0, "\n");
    assert!(fixture.take(&Selection::All).is_err());
}

#[test]
fn typing_on_a_line_of_a_hunk_is_a_conflict_until_it_is_undone() {
    check(
        BEFORE,
        AFTER,
        &[("two", "two!")],
        expect![[r#"
            1: "two\n" -> "2\n" at 1..2, you changed line 2 of a.txt, which the agent also edits. Undo your change or reject that edit
            2: "" -> "new\n" at 4..4, pending
            Ok("one\ntwo!\nthree\nfour\nnew\nfive\n")
        "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("two", "two!"), ("two!", "two")],
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, pending
        2: "" -> "new\n" at 4..4, pending
        Ok("one\n2\nthree\nfour\nnew\nfive\n")
    "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("two", "xtwo")],
        expect![[r#"
            1: "two\n" -> "2\n" at 1..2, you changed line 2 of a.txt, which the agent also edits. Undo your change or reject that edit
            2: "" -> "new\n" at 4..4, pending
            Ok("one\nxtwo\nthree\nfour\nnew\nfive\n")
        "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("two\n", "two")],
        expect![[r#"
            1: "two\n" -> "2\n" at 1..2, you changed line 2 of a.txt, which the agent also edits. Undo your change or reject that edit
            2: "" -> "new\n" at 3..3, pending
            Ok("one\ntwothree\nfour\nnew\nfive\n")
        "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("one\n", "one")],
        expect![[r#"
            1: "two\n" -> "2\n" at 0..1, you changed line 1 of a.txt, which the agent also edits. Undo your change or reject that edit
            2: "" -> "new\n" at 3..3, pending
            Ok("onetwo\nthree\nfour\nnew\nfive\n")
        "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("one\n", "one"), ("onetwo", "one\ntwo")],
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, pending
        2: "" -> "new\n" at 4..4, pending
        Ok("one\n2\nthree\nfour\nnew\nfive\n")
    "#]],
    );
}

#[test]
fn deleting_a_hunk_is_a_conflict_until_it_is_undone() {
    check(
        BEFORE,
        AFTER,
        &[("two\n", "")],
        expect![[r#"
            1: "two\n" -> "2\n" at 1..1, you changed line 2 of a.txt, which the agent also edits. Undo your change or reject that edit
            2: "" -> "new\n" at 3..3, pending
            Ok("one\nthree\nfour\nnew\nfive\n")
        "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("ne\ntwo\nth", "")],
        expect![[r#"
            1: "two\n" -> "2\n" at 0..1, you changed line 1 of a.txt, which the agent also edits. Undo your change or reject that edit
            2: "" -> "new\n" at 2..2, pending
            Ok("oree\nfour\nnew\nfive\n")
        "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("ne\ntwo\nth", ""), ("oree", "one\ntwo\nthree")],
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, pending
        2: "" -> "new\n" at 4..4, pending
        Ok("one\n2\nthree\nfour\nnew\nfive\n")
    "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[(BEFORE, ""), ("", BEFORE)],
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, pending
        2: "" -> "new\n" at 4..4, pending
        Ok("one\n2\nthree\nfour\nnew\nfive\n")
    "#]],
    );
}

#[test]
fn added_lines_stay_pending_while_the_line_above_or_below_is_what_it_was() {
    check(
        BEFORE,
        AFTER,
        &[("four", "4")],
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, pending
        2: "" -> "new\n" at 4..4, pending
        Ok("one\n2\nthree\n4\nnew\nfive\n")
    "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("five", "5")],
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, pending
        2: "" -> "new\n" at 4..4, pending
        Ok("one\n2\nthree\nfour\nnew\n5\n")
    "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("four\n", "4\n"), ("five", "5")],
        expect![[r#"
            1: "two\n" -> "2\n" at 1..2, pending
            2: "" -> "new\n" at 3..5, you changed lines 4-5 of a.txt, which the agent also edits. Undo your change or reject that edit
            Ok("one\n2\nthree\n4\n5\n")
        "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("four\nfive", "")],
        expect![[r#"
            1: "two\n" -> "2\n" at 1..2, pending
            2: "" -> "new\n" at 3..4, you changed line 4 of a.txt, which the agent also edits. Undo your change or reject that edit
            Ok("one\n2\nthree\n\n")
        "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("four\n", "four\ntyped\n")],
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, pending
        2: "" -> "new\n" at 5..5, pending
        Ok("one\n2\nthree\nfour\ntyped\nnew\nfive\n")
    "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("four\n", "four\ntyped\n"), ("five", "5")],
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, pending
        2: "" -> "new\n" at 4..4, pending
        Ok("one\n2\nthree\nfour\nnew\ntyped\n5\n")
    "#]],
    );
}

#[test]
fn enter_at_the_end_of_a_line_leaves_that_line_as_it_was() {
    check(
        BEFORE,
        AFTER,
        &[("two", "two\n  typed"), ("four", "four\n")],
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, pending
        2: "" -> "new\n" at 6..6, pending
        Ok("one\n2\n  typed\nthree\nfour\n\nnew\nfive\n")
    "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("\nthree", "")],
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, pending
        2: "" -> "new\n" at 3..3, pending
        Ok("one\n2\nfour\nnew\nfive\n")
    "#]],
    );
}

#[test]
fn lines_that_read_as_the_hunk_would_make_them_are_done_while_they_do() {
    check(
        BEFORE,
        AFTER,
        &[("two", "2"), ("four\n", "four\nnew\n")],
        expect![[r#"
        Err([])
    "#]],
    );
    check(
        BEFORE,
        AFTER,
        &[("two", "2"), ("2", "two")],
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, pending
        2: "" -> "new\n" at 4..4, pending
        Ok("one\n2\nthree\nfour\nnew\nfive\n")
    "#]],
    );
    check(
        "one\ntwo\n",
        "one\n",
        &[("two\n", "")],
        expect![[r#"
        Err([])
    "#]],
    );
}

#[test]
fn what_stands_between_two_edits_of_the_user_is_untouched_once_its_deletion_is_undone() {
    let typed =
        [("one", "ONE"), ("three", "THREE"), ("ONE\ntwo\nTHREE", ""), ("\nfour", "ONE\ntwo\nTHREE\nfour")];
    check(
        BEFORE,
        AFTER,
        &typed,
        expect![[r#"
        1: "two\n" -> "2\n" at 1..2, pending
        2: "" -> "new\n" at 4..4, pending
        Ok("ONE\n2\nTHREE\nfour\nnew\nfive\n")
    "#]],
    );
}

#[test]
fn a_last_line_may_get_a_line_end_and_lines_below_it() {
    check(
        "one\ntwo",
        "one\n2",
        &[("two", "two\n")],
        expect![[r#"
        1: "two" -> "2" at 1..2, pending
        Ok("one\n2\n")
    "#]],
    );
    check(
        "one\ntwo",
        "one\n2\n",
        &[("two", "two\n")],
        expect![[r#"
        1: "two" -> "2\n" at 1..2, pending
        Ok("one\n2\n")
    "#]],
    );
    check(
        "one\ntwo",
        "one\n2\nnew",
        &[("two", "two\r\ntyped")],
        expect![[r#"
        1: "two" -> "2\nnew" at 1..2, pending
        Ok("one\n2\nnew\r\ntyped")
    "#]],
    );
    check(
        "one\r\ntwo\r\n",
        "one\r\n2",
        &[("two\r\n", "two\r\ntyped\r\n")],
        expect![[r#"
        1: "two\r\n" -> "2" at 1..2, pending
        Ok("one\r\n2\r\ntyped\r\n")
    "#]],
    );
    check(
        "one\n",
        "one\nnew",
        &[("one\n", "one\ntyped")],
        expect![[r#"
        1: "" -> "new" at 1..1, pending
        Ok("one\nnew\ntyped")
    "#]],
    );
    check(
        "one\ntwo",
        "one",
        &[("two", "two\ntyped\n")],
        expect![[r#"
        1: "one\ntwo" -> "one" at 0..2, pending
        Ok("one\ntyped\n")
    "#]],
    );
}

#[test]
fn a_formatter_leaves_the_hunks_among_lines_that_it_leaves() {
    let before = "a1\nb\nc\nd\ne\nf1\ng\n";
    let after = "a1\nb\nc\nD\ne\nf1\nG\n";
    check(
        before,
        after,
        &[(before, "  a1\nb\nc\nd\ne\n  f1\ng\n")],
        expect![[r#"
        1: "d\n" -> "D\n" at 3..4, pending
        2: "g\n" -> "G\n" at 6..7, pending
        Ok("  a1\nb\nc\nD\ne\n  f1\nG\n")
    "#]],
    );
    // A block that was pasted over another has a brace, but not the same one.
    let block = "fn a() {\n    a();\n}\n\n";
    let other = "fn b() {\n    b();\n    c();\n}\n//\n";
    check(
        block,
        &block.replace("}\n", "} // a\n"),
        &[(block, other)],
        expect![[r#"
            1: "}\n" -> "} // a\n" at 0..5, you changed lines 1-5 of a.txt, which the agent also edits. Undo your change or reject that edit
            Err(["you changed lines 1-5 of a.txt, which the agent also edits. Undo your change or reject that edit"])
        "#]],
    );
}

#[test]
fn a_byte_order_mark_in_the_buffer_is_no_part_of_the_text() {
    let mut fixture = Fixture::new("\u{feff}one\ntwo\n", "ONE\ntwo\n");
    assert_eq!(fixture.take(&Selection::All), Ok("ONE\ntwo\n".to_owned()));
    fixture.type_over("\u{feff}", "");
    assert_eq!(fixture.take(&Selection::All), Ok("ONE\ntwo\n".to_owned()));
    fixture.type_over("one", "\u{feff}one");
    assert_eq!(fixture.take(&Selection::All), Ok("ONE\ntwo\n".to_owned()));
    fixture.type_over("one", "zero\none");
    assert_eq!(fixture.take(&Selection::All), Ok("zero\nONE\ntwo\n".to_owned()));
    fixture.type_over("zero", "zero\u{feff}");
    fixture.type_over("\none", "one");
    assert!(fixture.take(&Selection::All).is_err());
}

/// As an editor applies it.
fn applied(edit: &FileEdit, encoding: Encoding) -> String {
    let before = &edit.before.as_ref().unwrap().text;
    let mut out = before.to_string();
    for change in edit.text_edits(encoding).into_iter().rev() {
        let offset = |position| position::offset(before, position, encoding);
        out.replace_range(offset(change.range.start)..offset(change.range.end), &change.new_text);
    }
    out
}

#[test]
fn taking_one_hunk_of_three_makes_exactly_that_change() {
    let before = "größe 😀 = 1\r\nb\n\nd 😀 é\ne";
    let after = "größe 😀 = 2\r\nb\n\nadded\r\nd 😀 é\nE\n";
    let fixture = Fixture::new(before, after);
    let expected = [
        "größe 😀 = 2\r\nb\n\nd 😀 é\ne",
        "größe 😀 = 1\r\nb\n\nadded\r\nd 😀 é\ne",
        "größe 😀 = 1\r\nb\n\nd 😀 é\nE\n",
    ];
    let hunks = fixture.hunks();
    assert_eq!(hunks.len(), 3);
    for (hunk, expected) in hunks.iter().zip(expected) {
        let taken = fixture.review.take(&fixture.project.workspace, &Selection::Hunk(hunk.id)).unwrap();
        assert_eq!(taken.hunks(), [hunk.id]);
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            assert_eq!(applied(&taken.files[0].edit, encoding), expected);
        }
        fixture.review.put_back(&taken.hunks());
    }
}

#[test]
fn accepted_hunks_go_whether_the_change_comes_before_the_answer_or_after_it() {
    for is_early in [true, false] {
        let mut fixture = Fixture::new(BEFORE, AFTER);
        let first = fixture.hunks()[0].id;
        let taken = fixture.review.take(&fixture.project.workspace, &Selection::Hunk(first)).unwrap();
        if is_early {
            fixture.type_over("two", "2");
            assert_eq!(fixture.hunks().len(), 1);
        }
        fixture.review.accepted(&fixture.project.workspace, &taken.files);
        if !is_early {
            fixture.type_over("two", "2");
        }
        assert_eq!(fixture.shown(), "2: \"\" -> \"new\\n\" at 4..4, pending\n");
        assert_eq!(fixture.take(&Selection::All).as_deref(), Ok(AFTER));
    }
}

#[test]
fn what_is_taken_is_not_taken_again_until_it_is_put_back() {
    let fixture = Fixture::new(BEFORE, AFTER);
    let workspace = &fixture.project.workspace;
    let taken = fixture.review.take(workspace, &Selection::All).unwrap();
    assert_eq!(fixture.review.take(workspace, &Selection::File(fixture.path())), Err(Vec::new()));
    assert_eq!(fixture.review.rejected(&Selection::All), []);
    assert_eq!(fixture.review.remaining(workspace), Remaining::default());
    assert!(fixture.hunks().iter().all(|hunk| hunk.state == HunkState::Taken));
    fixture.review.put_back(&taken.hunks());
    assert_eq!(fixture.review.remaining(workspace).proposal, taken.proposal());
    assert_eq!(fixture.review.take(workspace, &Selection::All), Ok(taken));
}

#[test]
fn a_rejected_hunk_is_gone_and_its_name_is_not_given_again() {
    let fixture = Fixture::new(BEFORE, AFTER);
    let workspace = &fixture.project.workspace;
    let [first, second] = [0, 1].map(|index| fixture.hunks()[index].id);
    assert_eq!(fixture.review.rejected(&Selection::Hunk(first)), [fixture.path()]);
    assert_eq!(fixture.take(&Selection::All), Ok(BEFORE.replace("five", "new\nfive")));
    assert_eq!(fixture.review.take(workspace, &Selection::Hunk(first)), Err(Vec::new()));
    fixture.review.rejected(&Selection::Hunk(second));
    assert!(fixture.review.is_empty());
    fixture.review.add(fixture.project.files.proposal(), workspace);
    assert_eq!(fixture.hunks().iter().map(|hunk| hunk.id.0).collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn a_closed_file_is_followed_on_disk_and_back_into_an_editor() {
    let fixture = Fixture::new(BEFORE, AFTER);
    fixture.project.close("a.txt");
    fixture.project.write("a.txt", "zero\none\ntwo\nthree\n4\nfive\n");
    expect![[r#"
        1: "two\n" -> "2\n" at 2..3, pending
        2: "" -> "new\n" at 5..5, pending
    "#]]
    .assert_eq(&fixture.shown());
    fixture.project.open("a.txt", 1, &format!("zero\n{BEFORE}"));
    expect![[r#"
        1: "two\n" -> "2\n" at 2..3, pending
        2: "" -> "new\n" at 5..5, pending
    "#]]
    .assert_eq(&fixture.shown());
    fixture.project.close("a.txt");
    std::fs::remove_file(fixture.project.root.join("a.txt")).unwrap();
    expect![[r#"
        1: "two\n" -> "2\n" at 2..3, there is no file a.txt; undo that to have the edit again, or reject it
        2: "" -> "new\n" at 5..5, there is no file a.txt; undo that to have the edit again, or reject it
    "#]]
    .assert_eq(&fixture.shown());
    fixture.project.write("a.txt", BEFORE);
    assert_eq!(fixture.take(&Selection::All).as_deref(), Ok(AFTER));
}

#[test]
fn more_changes_than_are_remembered_leave_the_hunks_where_their_lines_are() {
    let mut fixture = Fixture::new(BEFORE, AFTER);
    for _ in 0..5_000 {
        fixture.replace(0..0, "x\n");
    }
    let expected = format!("{}{AFTER}", "x\n".repeat(5_000));
    assert_eq!(fixture.take(&Selection::All), Ok(expected));
}

/// Files that are made, deleted, moved and tied together.
fn whole_files() -> (Project, Review) {
    let project = Project::new(&[
        ("gone.txt", "gone\n"),
        ("old.txt", "one\ntwo\nthree\n"),
        ("tied a.txt", "a\n"),
        ("tied b.txt", "b\n"),
    ]);
    project.stage("new.txt", "new\n").unwrap();
    project.delete("gone.txt").unwrap();
    project.rename("old.txt", "moved.txt").unwrap();
    project.stage("moved.txt", "one\n2\nthree\n").unwrap();
    project.delete("tied b.txt").unwrap();
    project.rename("tied a.txt", "tied b.txt").unwrap();
    let review = Review::new(project.files.proposal(), &project.workspace);
    (project, review)
}

fn paths_of(files: &[FilePath]) -> Vec<&str> {
    files.iter().map(FilePath::as_str).collect()
}

#[test]
fn a_file_that_is_made_deleted_or_moved_is_one_hunk() {
    let (project, review) = whole_files();
    let mut out = String::new();
    for view in review.hunks(&project.workspace) {
        out += &format!("{} {:?} {}", view.path, view.kind, shown(std::slice::from_ref(&view)));
    }
    expect![[r#"
        gone.txt Delete 1: "gone\n" -> "" at 0..1, pending
        moved.txt Move 2: "two\n" -> "2\n" at 1..2, pending
        new.txt Create 3: "" -> "new\n" at 0..0, pending
        tied a.txt Delete 4: "a\n" -> "" at 0..1, pending
        tied b.txt File 5: "b\n" -> "a\n" at 0..1, pending
    "#]]
    .assert_eq(&out);
    let taken = review.take(&project.workspace, &Selection::All).unwrap();
    assert_eq!(as_staged(taken.proposal()), project.files.proposal());
    taken.proposal().apply_to_disk(&project.workspace).unwrap();
    review.accepted(&project.workspace, &taken.files);
    assert!(review.is_empty());
}

#[test]
fn typing_in_a_file_that_is_moved_goes_with_it() {
    let (project, review) = whole_files();
    project.open("old.txt", 1, "zero\none\ntwo\nthree\n");
    let taken = review.take(&project.workspace, &Selection::File(project.path("old.txt"))).unwrap();
    assert_eq!(taken.files[0].edit.after.as_deref(), Some("zero\none\n2\nthree\n"));
    review.put_back(&taken.hunks());
    project.open("old.txt", 2, "zero\none\ntwo!\nthree\n");
    assert!(review.take(&project.workspace, &Selection::File(project.path("moved.txt"))).is_err());
}

#[test]
fn whole_files_that_changed_meanwhile_are_left_out_and_named() {
    let (project, review) = whole_files();
    project.write("new.txt", "somebody else's\n");
    project.write("gone.txt", "somebody else's\n");
    project.write("tied b.txt", "b!\n");
    let taken = review.take(&project.workspace, &Selection::All).unwrap();
    let left: Vec<_> = taken.left_out.iter().map(|conflict| conflict.reason.as_str()).collect();
    expect![[r#"
        gone.txt has changed since its deletion was proposed; undo that to have the edit again, or reject it
        new.txt exists by now; ask for the edit again
        tied b.txt was changed on disk at line 1, which the agent also edits. Undo your change or reject that edit
        tied a.txt only makes sense together with the edit of tied b.txt"#]].assert_eq(&left.join("\n"));
    assert_eq!(taken.files.iter().map(|file| file.edit.path.as_str()).collect::<Vec<_>>(), ["moved.txt"]);
    review.accepted(&project.workspace, &taken.files);
    assert_eq!(paths_of(&review.paths()), ["gone.txt", "new.txt", "tied a.txt", "tied b.txt"]);
}

#[test]
fn a_word_about_one_edit_is_a_word_about_those_tied_to_it() {
    let (project, review) = whole_files();
    let taken = review.take(&project.workspace, &Selection::File(project.path("tied a.txt"))).unwrap();
    let paths: Vec<_> = taken.files.iter().map(|file| file.edit.path.as_str()).collect();
    assert_eq!(paths, ["tied a.txt", "tied b.txt"]);
    review.put_back(&taken.hunks());
    let rejected = review.rejected(&Selection::Hunk(taken.hunks()[1]));
    assert_eq!(paths_of(&rejected), ["tied a.txt", "tied b.txt"]);
}

#[test]
fn what_remains_can_be_staged_again() {
    let mut fixture = Fixture::new(BEFORE, AFTER);
    fixture.type_over("one", "zero\none");
    fixture.type_over("two", "two!");
    let remaining = fixture.review.remaining(&fixture.project.workspace);
    assert_eq!(remaining.left_out.len(), 1);
    let later = crate::workspace::TurnFiles::new(std::sync::Arc::clone(&fixture.project.workspace));
    for edit in &remaining.proposal.files {
        later.restage(edit).unwrap();
    }
    assert_eq!(later.proposal(), as_staged(remaining.proposal));
    let after = later.proposal().files[0].after.clone();
    assert_eq!(after.as_deref(), Some("zero\none\ntwo!\nthree\nfour\nnew\nfive\n"));
}

#[test]
fn the_diff_is_one_of_the_texts_of_now_with_conflicts_in_words() {
    let mut fixture = Fixture::new(BEFORE, AFTER);
    fixture.type_over("one", "zero\none");
    fixture.type_over("two", "two!");
    let diff = fixture.review.diff(&fixture.project.workspace);
    expect![[r#"
        # not in this diff: you changed line 3 of a.txt, which the agent also edits. Undo your change or reject that edit
        # -two
        # +2
        diff --git a/a.txt b/a.txt
        --- a/a.txt
        +++ b/a.txt
        @@ -3,4 +3,5 @@
         two!
         three
         four
        +new
         five
    "#]].assert_eq(&diff);
    let root = &fixture.project.root;
    std::fs::write(root.join("../the.diff"), &diff).unwrap();
    fixture.project.write("a.txt", fixture.text());
    let mut git = std::process::Command::new("git");
    let output = git.args(["apply", "../the.diff"]).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

proptest::proptest! {
    /// Editors that send the whole text may send several changes as one.
    #[test]
    fn a_whole_text_leaves_the_lines_that_it_does_not_change(
        hunks in proptest::collection::btree_set(0_usize..12, 1..4),
        typed in proptest::collection::vec((0_usize..12, 0_usize..4), 1..5),
    ) {
        let line = |index: usize| format!("line {index}\n");
        let before: String = (0..12).map(line).collect();
        let after: String =
            (0..12).map(|index| if hunks.contains(&index) { format!("new {index}\n") } else { line(index) }).collect();
        let mut fixture = Fixture::new(&before, &after);
        let now: String = (0..12)
            .map(|index| match typed.iter().find(|(at, _)| *at == index && !hunks.contains(&index)) {
                Some((_, 0)) => String::new(),
                Some((_, count)) => (0..*count).map(|nth| format!("typed {index} {nth}\n")).collect(),
                None => line(index),
            })
            .collect();
        fixture.change(Change { range: None, text: now.clone() });
        for view in fixture.hunks() {
            proptest::prop_assert_eq!(&view.state, &HunkState::Pending, "{} in {}", view.before, now);
        }
        let taken: String = now.lines().map(|line| match line.strip_prefix("line ") {
            Some(index) if hunks.contains(&index.parse().unwrap()) => format!("new {index}\n"),
            _ => format!("{line}\n"),
        }).collect();
        proptest::prop_assert_eq!(fixture.take(&Selection::All), Ok(taken));
    }
}

#[test]
fn a_bracket_between_two_changes_is_no_landmark() {
    let mut fixture = Fixture::new("fn a() {\n  one\n}\nfn b() {\n", "fn a() {\n  one\n};\nfn b() {\n");
    fixture.change(Change { range: None, text: "fn c() {\n  two\n}\nfn d() {\n".to_owned() });
    assert!(matches!(fixture.hunks()[0].state, HunkState::Conflict(_)), "{}", fixture.shown());
}
