use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{super::testing::Project, *};

fn file(path: &str) -> FilePath {
    FilePath::file(std::path::Path::new("/root").join(path).as_path(), path)
}

fn text(text: &str) -> FileText {
    FileText { text: text.into(), version: None, bom: false }
}

fn edit(before: &str, after: &str) -> FileEdit {
    FileEdit::of(&file("a.txt"), Some(text(before)), Some(after.to_owned()))
}

/// Applies edits as an editor does: to the text before, by positions.
fn applied(before: &str, edits: &[TextEdit], encoding: Encoding) -> String {
    let lines = LineStarts::new(before);
    let mut out = before.to_owned();
    for edit in edits.iter().rev() {
        let start = lines.offset(before, edit.range.start, encoding);
        let end = lines.offset(before, edit.range.end, encoding);
        out.replace_range(start..end, &edit.new_text);
    }
    out
}

fn check_edits(before: &str, after: &str, encoding: Encoding, expect: Expect) {
    let edits = edit(before, after).text_edits(encoding);
    let mut shown = String::new();
    for TextEdit { range: Range { start, end }, new_text } in &edits {
        let (from, to) = ((start.line, start.character), (end.line, end.character));
        shown.push_str(&format!("{}:{}-{}:{} {new_text:?}\n", from.0, from.1, to.0, to.1));
    }
    expect.assert_eq(&shown);
    assert_eq!(applied(before, &edits, encoding), after);
}

#[test]
fn only_what_differs_is_replaced() {
    check_edits(
        "one\ntwo\nthree\n",
        "one\n2\nthree\nfour\n",
        Encoding::Utf16,
        expect![[r#"
        1:0-1:3 "2"
        2:5-2:5 "\nfour"
    "#]],
    );
    check_edits(
        "a\nb\nc",
        "a\nB\nc",
        Encoding::Utf16,
        expect![[r#"
        1:0-1:1 "B"
    "#]],
    );
    check_edits(
        "a\nb\nc",
        "a\nb\nc\nd",
        Encoding::Utf16,
        expect![[r#"
        2:1-2:1 "\nd"
    "#]],
    );
    check_edits(
        "",
        "a\n",
        Encoding::Utf16,
        expect![[r#"
        0:0-0:1 "a\n"
    "#]],
    );
}

#[test]
fn columns_count_in_the_editors_units() {
    check_edits(
        "😀é = 1;\n",
        "😀é = 2;\n",
        Encoding::Utf8,
        expect![[r#"
        0:9-0:10 "2"
    "#]],
    );
    check_edits(
        "😀é = 1;\n",
        "😀é = 2;\n",
        Encoding::Utf16,
        expect![[r#"
        0:6-0:7 "2"
    "#]],
    );
    check_edits(
        "😀é = 1;\n",
        "😀é = 2;\n",
        Encoding::Utf32,
        expect![[r#"
        0:5-0:6 "2"
    "#]],
    );
}

#[test]
fn no_position_stands_inside_a_line_end() {
    check_edits(
        "a\r\nb\r\n",
        "a\nb\n",
        Encoding::Utf16,
        expect![[r#"
        0:1-2:0 "\nb\n"
    "#]],
    );
    check_edits(
        "a\r\nb\r\n",
        "a\rb\r\n",
        Encoding::Utf16,
        expect![[r#"
        0:1-1:0 "\r"
    "#]],
    );
}

#[test]
fn a_mark_in_the_editors_buffer_moves_the_first_line() {
    let marked = FileText { version: Some(1), bom: true, ..text("ab\nc\n") };
    let edit = FileEdit::of(&file("a.txt"), Some(marked), Some("aB\nC\n".to_owned()));
    let start = |encoding| edit.text_edits(encoding).first().map(|edit| edit.range.start.character);
    assert_eq!((start(Encoding::Utf8), start(Encoding::Utf16)), (Some(4), Some(2)));
}

/// A position after the last line is a line of its own to Neovim, and an empty one would be left there.
#[test]
fn what_is_added_at_the_end_leaves_no_empty_line_in_editors_that_have_no_line_after_the_last() {
    let cases = [
        ("a\n", "a\nb\n", ((0, 1), (0, 1), "\nb")),
        ("a\r\n", "a\r\nb\r\nc\r\n", ((0, 1), (0, 1), "\r\nb\r\nc")),
        ("a\n", "a\n\n", ((0, 1), (0, 1), "\n")),
        // Nothing stands after what is added, or the added line ends in another way.
        ("a\n", "a\nb", ((1, 0), (1, 0), "b")),
        ("a\n", "a\nb\r\n", ((1, 0), (1, 0), "b\r\n")),
        ("a", "a\nb\n", ((0, 1), (0, 1), "\nb\n")),
        // The character after an empty line is its end, by the protocol.
        ("", "a\n", ((0, 0), (0, 1), "a\n")),
        ("", "a", ((0, 0), (0, 0), "a")),
    ];
    for (before, after, (start, end, new_text)) in cases {
        let position = |(line, character)| Position { line, character };
        let range = Range { start: position(start), end: position(end) };
        let expected = [TextEdit { range, new_text: new_text.to_owned() }];
        let edits = edit(before, after).text_edits(Encoding::Utf16);
        assert_eq!(edits, expected, "{before:?} to {after:?}");
        assert_eq!(applied(before, &edits, Encoding::Utf16), after);
    }
}

#[test]
fn a_new_file_is_one_insertion_and_a_deletion_is_none() {
    let created = FileEdit::of(&file("a.txt"), None, Some("x\n".to_owned()));
    assert_eq!(created.text_edits(Encoding::Utf16), edit("", "x\n").text_edits(Encoding::Utf16));
    let empty = FileEdit::of(&file("a.txt"), None, Some(String::new()));
    assert_eq!(empty.text_edits(Encoding::Utf16), []);
    assert_eq!(FileEdit::of(&file("a.txt"), Some(text("x")), None).text_edits(Encoding::Utf16), []);
}

proptest! {
    #[test]
    fn text_edits_make_exactly_the_text_after(
        before in "([ab😀é]{0,3}(\n|\r\n|\r)?){0,8}", after in "([ab😀é]{0,3}(\n|\r\n|\r)?){0,8}",
    ) {
        for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
            let edits = edit(&before, &after).text_edits(encoding);
            prop_assert_eq!(applied(&before, &edits, encoding), after.as_str());
            let ordered = edits.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start);
            prop_assert!(ordered, "{:?}", edits);
        }
    }

    #[test]
    fn hunks_kept_and_left_make_both_texts(
        before in "([ab]{0,2}(\n|\r\n)?){0,8}", after in "([ab]{0,2}(\n|\r\n)?){0,8}",
    ) {
        let edit = edit(&before, &after);
        let (all, none) = (edit.only(|_| true), edit.only(|_| false));
        prop_assert_eq!(all.after.as_deref(), Some(after.as_str()));
        prop_assert_eq!(none.after.as_deref(), Some(before.as_str()));
    }
}

#[test]
fn one_hunk_can_be_accepted_without_the_others() {
    let edit = edit("one\ntwo\nthree\nfour\n", "ONE\ntwo\nthree\nnew\nfour\n");
    assert_eq!(edit.hunks(), [Hunk { before: 0..1, after: 0..1 }, Hunk { before: 3..3, after: 3..4 }]);
    assert_eq!(edit.only(|hunk| hunk == 1).after.as_deref(), Some("one\ntwo\nthree\nnew\nfour\n"));
}

#[test]
fn a_diff_reads_as_gits() {
    let moved = FileEdit { moved_from: Some(file("old.txt")), ..edit("a\nb\nc", "a\nB\nc") };
    let only_moved = FileEdit { moved_from: Some(file("old.txt")), ..edit("a\n", "a\n") };
    let proposal = EditProposal {
        files: vec![
            edit("one\r\ntwo\r\n", "one\r\n2\r\n"),
            FileEdit::of(&file("new.txt"), None, Some("x\n".to_owned())),
            FileEdit::of(&file("empty.txt"), None, Some(String::new())),
            FileEdit::of(&file("gone.txt"), Some(text("x\n")), None),
            moved,
            only_moved,
        ],
    };
    expect![[r#"
        diff --git a/a.txt b/a.txt
        --- a/a.txt
        +++ b/a.txt
        @@ -1,2 +1,2 @@
         one\r
        -two\r
        +2\r
        diff --git a/new.txt b/new.txt
        new file mode 100644
        --- /dev/null
        +++ b/new.txt
        @@ -0,0 +1 @@
        +x
        diff --git a/empty.txt b/empty.txt
        new file mode 100644
        diff --git a/gone.txt b/gone.txt
        deleted file mode 100644
        --- a/gone.txt
        +++ /dev/null
        @@ -1 +0,0 @@
        -x
        diff --git a/old.txt b/a.txt
        rename from old.txt
        rename to a.txt
        --- a/old.txt
        +++ b/a.txt
        @@ -1,3 +1,3 @@
         a
        -b
        +B
         c
        \ No newline at end of file
        diff --git a/old.txt b/a.txt
        rename from old.txt
        rename to a.txt
    "#]]
    .assert_eq(&proposal.diff().replace('\r', "\\r"));
}

#[cfg(unix)]
#[test]
fn a_path_in_a_diff_cannot_read_as_something_else() {
    let project =
        Project::new(&[("a\nb.txt", "x\n"), ("ä \u{202e}.txt", "1\n2\n3\n4\n"), ("plain ä.txt", "x\n")]);
    project.stage("a\nb.txt", "y\n").unwrap();
    project.rename("ä \u{202e}.txt", "q\"\\\t.txt").unwrap();
    project.delete("plain ä.txt").unwrap();
    let diff = project.files.proposal().diff();
    expect![[r#"
        diff --git "a/a\nb.txt" "b/a\nb.txt"
        --- "a/a\nb.txt"
        +++ "b/a\nb.txt"
        @@ -1 +1 @@
        -x
        +y
        diff --git a/plain ä.txt b/plain ä.txt
        deleted file mode 100644
        --- a/plain ä.txt
        +++ /dev/null
        @@ -1 +0,0 @@
        -x
        diff --git "a/ä \342\200\256.txt" "b/q\"\\\t.txt"
        rename from "ä \342\200\256.txt"
        rename to "q\"\\\t.txt"
    "#]]
    .assert_eq(&diff);
    std::fs::write(project.root.join("../the.diff"), &diff).unwrap();
    let mut git = std::process::Command::new("git");
    let applied = git.args(["apply", "../the.diff"]).current_dir(&project.root).output().unwrap();
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    assert!(project.root.join("q\"\\\t.txt").exists());
}

#[test]
fn git_applies_the_diff() {
    let project = Project::new(&[
        ("a.txt", "one\r\ntwo\nthree"),
        ("gone.txt", "x\n"),
        ("old name.txt", "1\n2\n3\n4\n5\n6\n7\n8\n"),
    ]);
    project.stage("a.txt", "one\r\n2\nthree\n").unwrap();
    project.stage("new/größe.txt", "new\n").unwrap();
    project.delete("gone.txt").unwrap();
    project.rename("old name.txt", "new/name.txt").unwrap();
    project.stage("new/name.txt", "1\n2\n3\n4\nfive\n6\n7\n8\n").unwrap();
    let diff = project.files.proposal().diff();
    std::fs::write(project.root.join("../the.diff"), &diff).unwrap();
    let applied = std::process::Command::new("git")
        .args(["-c", "core.autocrlf=false", "apply", "../the.diff"])
        .current_dir(&project.root)
        .output()
        .unwrap();
    assert!(applied.status.success(), "{}\n{diff}", String::from_utf8_lossy(&applied.stderr));
    expect![[r#"
        a.txt = "one\r\n2\nthree\n"
        new/
        new/größe.txt = "new\n"
        new/name.txt = "1\n2\n3\n4\nfive\n6\n7\n8\n"
    "#]]
    .assert_eq(&project.disk());
}

fn conflicts(project: &Project, proposal: &EditProposal) -> Vec<String> {
    proposal.conflicts(&project.workspace).into_iter().map(|conflict| conflict.reason).collect()
}

#[test]
fn an_edit_whose_file_changed_or_went_is_in_conflict() {
    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    for path in ["a.txt", "b.txt", "new.txt"] {
        project.stage(path, "edited\n").unwrap();
    }
    project.rename("c.txt", "d.txt").unwrap();
    let proposal = project.files.proposal();
    assert_eq!(conflicts(&project, &proposal), [""; 0]);
    project.open("a.txt", 7, "typed\n");
    std::fs::remove_file(project.root.join("b.txt")).unwrap();
    project.write("new.txt", "somebody else's\n");
    project.write("d.txt", "somebody else's\n");
    assert_eq!(
        conflicts(&project, &proposal),
        [
            "a.txt has changed since the edit was made; ask for the edit again",
            "b.txt is no longer there; ask for the edit again",
            "d.txt exists by now; ask for the edit again",
            "new.txt exists by now; ask for the edit again",
        ]
    );
}

#[test]
fn without_folders_only_edits_of_open_files_can_be_applied() {
    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    for path in ["a.txt", "b.txt", "new.txt"] {
        project.stage(path, "edited\n").unwrap();
    }
    project.open("b.txt", 1, "b\n");
    project.workspace.set_roots(Vec::new());
    assert_eq!(
        conflicts(&project, &project.files.proposal()),
        ["a.txt", "new.txt"]
            .map(|path| format!("{path} no longer lies in the workspace; ask for the edit again"))
    );
}

#[test]
fn the_same_text_is_no_conflict_whether_it_is_open_saved_or_closed() {
    let project = Project::new(&[("a.txt", "a\n")]);
    project.open("a.txt", 1, "typed\n");
    project.read("a.txt").unwrap();
    project.stage("a.txt", "edited\n").unwrap();
    let proposal = project.files.proposal();
    project.open("a.txt", 9, "typed\n");
    assert_eq!(conflicts(&project, &proposal), [""; 0]);
    project.write("a.txt", "typed\n");
    project.close("a.txt");
    assert_eq!(conflicts(&project, &proposal), [""; 0]);
}

#[test]
fn the_uri_of_an_edit_is_the_one_that_the_editor_opened() {
    let project = Project::new(&[("a(1).txt", "a\n"), ("b.txt", "b\n")]);
    let opened = format!("file://{}/a%281%29.txt", project.root.display());
    project.workspace.overlay().open(&opened, "text", 1, "a\n".to_owned());
    assert_eq!(project.workspace.uri(&project.path("a(1).txt")), opened);
    assert_eq!(
        project.workspace.uri(&project.path("b.txt")),
        format!("file://{}/b.txt", project.root.display())
    );
    let shared: &Arc<Workspace> = project.files.workspace();
    assert!(shared.open_document(&project.path("b.txt")).is_none());
}

/// A file of lines that no other line equals, and what an edit makes of it: for each line of the file its text, its line
/// end, and what becomes of it (0: changed, 1: deleted, 2: a line comes above it, else nothing).
#[derive(Clone, Debug)]
struct AnyFile {
    before: String,
    after: String,
    is_marked: bool,
    /// The bytes of `before` that nobody asked to change.
    kept: Vec<ops::Range<usize>>,
}

fn any_file(end: &'static str) -> impl Strategy<Value = AnyFile> {
    let line = ("[ \t]{0,2}[aé😀]{0,3}", prop::sample::select(vec!["\n", "\r\n", "\r"]), 0..8);
    (prop::collection::vec(line, 1..14), any::<[bool; 2]>()).prop_map(
        move |(lines, [is_marked, ends_whole])| {
            let (mut before, mut after, mut kept) = (String::new(), String::new(), Vec::new());
            let last = lines.len() - 1;
            for (number, (text, any_end, fate)) in lines.into_iter().enumerate() {
                let end = if end.is_empty() { any_end } else { end };
                let end = if number == last && !ends_whole { "" } else { end };
                let start = before.len();
                before += &format!("{text}<{number}>{end}");
                match fate {
                    0 => after += &format!("{text}<new {number}>{end}"),
                    1 => {}
                    _ => {
                        if fate == 2 {
                            after += &format!("<added {number}>\n");
                        }
                        after += &format!("{text}<{number}>{end}");
                        kept.push(start..before.len());
                    }
                }
            }
            AnyFile { before, after, is_marked, kept }
        },
    )
}

fn check_bytes(file: &AnyFile) {
    let AnyFile { before, after, is_marked, kept } = file;
    let edit = FileEdit {
        before: Some(FileText { version: Some(1), bom: *is_marked, ..text(before) }),
        ..edit(before, after)
    };
    let mark = if *is_marked { "\u{feff}" } else { "" };
    let buffer = format!("{mark}{before}");
    let lines = LineStarts::new(&buffer);
    for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
        let edits = edit.text_edits(encoding);
        assert_eq!(applied(&buffer, &edits, encoding), format!("{mark}{after}"));
        for TextEdit { range, .. } in &edits {
            let offset = |position| lines.offset(&buffer, position, encoding) - mark.len();
            let (start, end) = (offset(range.start), offset(range.end));
            let foreign = kept.iter().find(|kept| kept.start < end && start < kept.end && start < end);
            assert_eq!(foreign, None, "{range:?} of {buffer:?} to {after:?}");
        }
    }
    let hunks = edit.hunks().len();
    for one in 0..hunks {
        let first = edit.only(|hunk| hunk == one);
        let others =
            FileEdit { before: Some(text(first.after.as_deref().unwrap_or_default())), ..edit.clone() };
        assert_eq!(others.hunks().len() + 1, hunks);
    }
}

// 10,000 files.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_500))]

    #[test]
    fn no_foreign_byte_changes_in_files_with_lf(file in any_file("\n")) {
        check_bytes(&file);
    }

    #[test]
    fn no_foreign_byte_changes_in_files_with_crlf(file in any_file("\r\n")) {
        check_bytes(&file);
    }

    #[test]
    fn no_foreign_byte_changes_in_files_with_cr(file in any_file("\r")) {
        check_bytes(&file);
    }

    #[test]
    fn no_foreign_byte_changes_in_files_with_mixed_line_ends(file in any_file("")) {
        check_bytes(&file);
    }
}
