//! The table of the module's documentation, row by row: what each call does to a file in each state.

use std::{fs, sync::Arc};

use expect_test::{Expect, expect};

use super::{super::super::testing::Project, *};

/// A file of five lines.
const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

/// What `prepare` leaves, and what each call answers then; every call has a project of its own.
fn check(prepare: impl Fn(&Project), expected: Expect) {
    let project = || {
        let project = Project::new(&[("a.txt", TEXT), ("z.txt", "z\n")]);
        prepare(&project);
        project
    };
    let shown = |result: Result<(), FileError>, project: &Project| match result {
        Ok(()) => project.staged().trim_end().replace('\n', " + "),
        Err(error) => format!("{error:?}"),
    };
    let mut out = String::new();
    let read = {
        let project = project();
        project.files.read(&project.path("a.txt")).map(|file| file.text)
    };
    out.push_str(&match read {
        Ok(text) => format!("read: {text:?}\n"),
        Err(error) => format!("read: {error:?}\n"),
    });
    for (name, call) in CALLS {
        let project = project();
        let result = call(&project);
        out.push_str(&format!("{name}: {}\n", shown(result, &project)));
    }
    expected.assert_eq(&out);
}

type Call = fn(&Project) -> Result<(), FileError>;

const CALLS: &[(&str, Call)] = &[
    ("edit", |project| {
        let path = project.path("a.txt");
        let before = project.files.read(&path)?.text;
        let after = before.replace("two", "2");
        project.files.stage_all(vec![StagedChange::Edit { path, before, after }])
    }),
    ("write", |project| project.write_whole("a.txt", "w\n")),
    ("delete", |project| project.delete("a.txt")),
    ("move", |project| project.rename("a.txt", "b.txt")),
];

fn show(project: &Project, lines: Range<usize>) {
    let path = project.path("a.txt");
    let text = project.files.read(&path).unwrap().text;
    project.files.show(&path, &text, &[lines]);
}

#[test]
fn a_file_that_there_is_not() {
    check(
        |project| fs::remove_file(project.root.join("a.txt")).unwrap(),
        expect![[r#"
        read: Missing("a.txt; near it are: z.txt")
        edit: Missing("a.txt; near it are: z.txt")
        write: create a.txt = "w\n"
        delete: Missing("a.txt; near it are: z.txt")
        move: Missing("a.txt; near it are: z.txt")
    "#]],
    );
}

#[test]
fn a_file_that_was_never_read() {
    check(
        |_| {},
        expect![[r#"
        read: "one\ntwo\nthree\nfour\nfive\n"
        edit: edit a.txt = "one\n2\nthree\nfour\nfive\n"
        write: NotRead("a.txt")
        delete: delete a.txt
        move: move a.txt -> b.txt = "one\ntwo\nthree\nfour\nfive\n"
    "#]],
    );
}

#[test]
fn an_open_buffer_that_was_never_read_and_has_nothing_unsaved() {
    check(
        |project| project.open("a.txt", 1, TEXT),
        expect![[r#"
        read: "one\ntwo\nthree\nfour\nfive\n"
        edit: edit a.txt = "one\n2\nthree\nfour\nfive\n"
        write: NotRead("a.txt")
        delete: delete a.txt
        move: move a.txt -> b.txt = "one\ntwo\nthree\nfour\nfive\n"
    "#]],
    );
}

#[test]
fn unsaved_text_that_was_never_read() {
    check(
        |project| project.open("a.txt", 1, "two, typed\n"),
        expect![[r#"
        read: "two, typed\n"
        edit: edit a.txt = "2, typed\n"
        write: NotRead("a.txt")
        delete: Unread("a.txt")
        move: Unread("a.txt")
    "#]],
    );
}

#[test]
fn a_file_that_was_read_in_part() {
    check(
        |project| {
            show(project, 0..1);
            show(project, 3..4);
        },
        expect![[r#"
            read: "one\ntwo\nthree\nfour\nfive\n"
            edit: edit a.txt = "one\n2\nthree\nfour\nfive\n"
            write: ReadInPart("a.txt", "lines 2-3, 5")
            delete: delete a.txt
            move: move a.txt -> b.txt = "one\ntwo\nthree\nfour\nfive\n"
        "#]],
    );
}

#[test]
fn unsaved_text_that_was_read_in_part() {
    check(
        |project| {
            project.open("a.txt", 1, "two, typed\nmore\n");
            show(project, 0..1);
        },
        expect![[r#"
            read: "two, typed\nmore\n"
            edit: edit a.txt = "2, typed\nmore\n"
            write: ReadInPart("a.txt", "line 2")
            delete: ReadInPart("a.txt", "line 2")
            move: move a.txt -> b.txt = "two, typed\nmore\n"
        "#]],
    );
}

#[test]
fn unsaved_text_that_was_edited_and_then_read() {
    check(
        |project| {
            project.open("a.txt", 1, "two, typed\nmore\n");
            project.read("a.txt").unwrap();
            project.stage("a.txt", "2, typed\nmore\n").unwrap();
            show(project, 0..2);
        },
        expect![[r#"
            read: "2, typed\nmore\n"
            edit: edit a.txt = "2, typed\nmore\n"
            write: edit a.txt = "w\n"
            delete: delete a.txt
            move: move a.txt -> b.txt = "2, typed\nmore\n"
        "#]],
    );
}

#[test]
fn a_file_that_was_read_whole() {
    check(
        |project| {
            show(project, 0..3);
            show(project, 3..5);
        },
        expect![[r#"
            read: "one\ntwo\nthree\nfour\nfive\n"
            edit: edit a.txt = "one\n2\nthree\nfour\nfive\n"
            write: edit a.txt = "w\n"
            delete: delete a.txt
            move: move a.txt -> b.txt = "one\ntwo\nthree\nfour\nfive\n"
        "#]],
    );
}

#[test]
fn an_open_buffer_that_has_changed_since_it_was_read() {
    check(
        |project| {
            project.open("a.txt", 1, TEXT);
            project.read("a.txt").unwrap();
            project.open("a.txt", 2, "two, typed\n");
        },
        expect![[r#"
            read: "two, typed\n"
            edit: edit a.txt = "2, typed\n"
            write: Changed("a.txt")
            delete: Changed("a.txt")
            move: Changed("a.txt")
        "#]],
    );
}

#[test]
fn a_file_that_a_command_has_changed_since_it_was_read() {
    check(
        |project| {
            project.read("a.txt").unwrap();
            project.write("a.txt", "two, formatted\n");
        },
        expect![[r#"
            read: "two, formatted\n"
            edit: edit a.txt = "2, formatted\n"
            write: Changed("a.txt")
            delete: Changed("a.txt")
            move: Changed("a.txt")
        "#]],
    );
}

/// The same size and the same time of change: the text itself counts.
#[test]
fn a_change_on_disk_is_noticed_though_size_and_time_are_as_before() {
    check(
        |project| {
            project.read("a.txt").unwrap();
            let place = project.root.join("a.txt");
            let time = fs::metadata(&place).unwrap().modified().unwrap();
            fs::write(&place, TEXT.replace("one", "ONE")).unwrap();
            fs::File::options().write(true).open(&place).unwrap().set_modified(time).unwrap();
        },
        expect![[r#"
            read: "ONE\ntwo\nthree\nfour\nfive\n"
            edit: edit a.txt = "ONE\n2\nthree\nfour\nfive\n"
            write: Changed("a.txt")
            delete: Changed("a.txt")
            move: Changed("a.txt")
        "#]],
    );
}

/// A touched file, or a buffer that shows the same text again, is no other file.
#[test]
fn the_same_text_under_another_time_or_version_is_no_change() {
    check(
        |project| {
            project.open("a.txt", 1, TEXT);
            project.read("a.txt").unwrap();
            project.close("a.txt");
            project.write("a.txt", TEXT);
            project.open("a.txt", 9, TEXT);
        },
        expect![[r#"
            read: "one\ntwo\nthree\nfour\nfive\n"
            edit: edit a.txt = "one\n2\nthree\nfour\nfive\n"
            write: edit a.txt = "w\n"
            delete: delete a.txt
            move: move a.txt -> b.txt = "one\ntwo\nthree\nfour\nfive\n"
        "#]],
    );
}

#[test]
fn a_buffer_that_was_closed_unsaved_since_it_was_read() {
    check(
        |project| {
            project.open("a.txt", 1, "two, typed\n");
            project.read("a.txt").unwrap();
            project.close("a.txt");
        },
        expect![[r#"
            read: "one\ntwo\nthree\nfour\nfive\n"
            edit: edit a.txt = "one\n2\nthree\nfour\nfive\n"
            write: Changed("a.txt")
            delete: Changed("a.txt")
            move: Changed("a.txt")
        "#]],
    );
}

#[test]
fn a_file_that_somebody_deleted_since_it_was_read() {
    check(
        |project| {
            project.read("a.txt").unwrap();
            fs::remove_file(project.root.join("a.txt")).unwrap();
        },
        expect![[r#"
            read: Missing("a.txt; near it are: z.txt")
            edit: Missing("a.txt; near it are: z.txt")
            write: create a.txt = "w\n"
            delete: Missing("a.txt; near it are: z.txt")
            move: Missing("a.txt; near it are: z.txt")
        "#]],
    );
}

#[test]
fn a_file_that_somebody_created_since_it_was_looked_for() {
    check(
        |project| {
            fs::remove_file(project.root.join("a.txt")).unwrap();
            project.read("a.txt").unwrap_err();
            project.write("a.txt", "two, theirs\n");
        },
        expect![[r#"
            read: "two, theirs\n"
            edit: edit a.txt = "2, theirs\n"
            write: NotRead("a.txt")
            delete: delete a.txt
            move: move a.txt -> b.txt = "two, theirs\n"
        "#]],
    );
}

#[test]
fn a_staged_edit_of_a_file_that_was_read_whole() {
    check(
        |project| {
            project.read("a.txt").unwrap();
            project.stage("a.txt", &TEXT.replace("three", "two and a half")).unwrap();
        },
        expect![[r#"
            read: "one\ntwo\ntwo and a half\nfour\nfive\n"
            edit: edit a.txt = "one\n2\n2 and a half\nfour\nfive\n"
            write: edit a.txt = "w\n"
            delete: delete a.txt
            move: move a.txt -> b.txt = "one\ntwo\ntwo and a half\nfour\nfive\n"
        "#]],
    );
}

#[test]
fn a_staged_edit_of_a_file_that_was_not_read() {
    check(
        |project| project.stage("a.txt", &TEXT.replace("three", "two and a half")).unwrap(),
        expect![[r#"
            read: "one\ntwo\ntwo and a half\nfour\nfive\n"
            edit: edit a.txt = "one\n2\n2 and a half\nfour\nfive\n"
            write: ReadInPart("a.txt", "lines 1-2, 4-5")
            delete: delete a.txt
            move: move a.txt -> b.txt = "one\ntwo\ntwo and a half\nfour\nfive\n"
        "#]],
    );
}

#[test]
fn a_file_that_the_turn_wrote() {
    check(
        |project| {
            project.read("a.txt").unwrap();
            project.write_whole("a.txt", "two, written\n").unwrap();
        },
        expect![[r#"
            read: "two, written\n"
            edit: edit a.txt = "2, written\n"
            write: edit a.txt = "w\n"
            delete: delete a.txt
            move: move a.txt -> b.txt = "two, written\n"
        "#]],
    );
}

#[test]
fn a_staged_edit_whose_file_has_changed_beneath_it() {
    check(
        |project| {
            project.read("a.txt").unwrap();
            project.stage("a.txt", "two, staged\n").unwrap();
            project.stage("z.txt", "Z\n").unwrap();
            project.write("a.txt", "two, formatted\n");
        },
        expect![[r#"
            read: "two, staged\n"
            edit: Changed("a.txt")
            write: Changed("a.txt")
            delete: Changed("a.txt")
            move: Changed("a.txt")
        "#]],
    );
}

#[test]
fn only_the_edit_is_dropped_that_no_longer_fits() {
    let project = Project::new(&[("a.txt", TEXT), ("z.txt", "z\n")]);
    project.stage("a.txt", "staged\n").unwrap();
    project.stage("z.txt", "Z\n").unwrap();
    project.write("a.txt", "formatted\n");
    assert_eq!(project.stage("a.txt", "more\n"), Err(FileError::Changed("a.txt".to_owned())));
    expect![[r#"
        edit z.txt = "Z\n"
    "#]]
    .assert_eq(&project.staged());
    assert_eq!(project.read("a.txt").as_deref(), Ok("formatted\n"));
}

#[test]
fn a_staged_file_that_somebody_else_created_meanwhile() {
    check(
        |project| {
            fs::remove_file(project.root.join("a.txt")).unwrap();
            project.stage("a.txt", "two, staged\n").unwrap();
            project.write("a.txt", "two, theirs\n");
        },
        expect![[r#"
            read: "two, staged\n"
            edit: Changed("a.txt")
            write: Changed("a.txt")
            delete: Changed("a.txt")
            move: Changed("a.txt")
        "#]],
    );
}

#[test]
fn a_new_file_in_the_editor_that_was_never_saved() {
    check(
        |project| {
            fs::remove_file(project.root.join("a.txt")).unwrap();
            project.open("a.txt", 1, "two, draft\n");
            project.read("a.txt").unwrap();
        },
        expect![[r#"
            read: "two, draft\n"
            edit: edit a.txt = "2, draft\n"
            write: edit a.txt = "w\n"
            delete: Unsaved("a.txt")
            move: Unsaved("a.txt")
        "#]],
    );
}

#[test]
fn an_untitled_buffer_is_written_whole_only_when_it_was_read() {
    let project = Project::new(&[]);
    project.workspace.overlay().open("untitled:1", "text", 1, "draft\nmore\n".to_owned());
    let write = || project.write_whole("untitled:1", "final\n");
    assert_eq!(write(), Err(FileError::NotRead("untitled:1".to_owned())));
    project.read("untitled:1").unwrap();
    assert_eq!(write(), Ok(()));
    project.workspace.overlay().close("untitled:1");
    // Its text is nowhere any more, and no file is made under the name of a tab.
    assert!(project.files.resolve("untitled:1").is_err());
}

#[test]
fn files_of_several_roots_are_known_apart() {
    let other = Project::new(&[("a.txt", "other\n")]);
    let project = Project::new(&[("a.txt", "first\n")]);
    let second = other.root.parent().unwrap().join("second");
    fs::rename(&other.root, &second).unwrap();
    project.workspace.set_roots(vec![project.root.clone(), second]);
    assert_eq!(project.read("second/a.txt").as_deref(), Ok("other\n"));
    assert_eq!(
        project.write_whole("project/a.txt", "x\n"),
        Err(FileError::NotRead("project/a.txt".to_owned()))
    );
    project.write_whole("second/a.txt", "x\n").unwrap();
    expect![[r#"
        edit second/a.txt = "x\n"
    "#]]
    .assert_eq(&project.staged());
}

#[test]
fn what_was_shown_goes_along_with_a_move_and_with_edits() {
    let project = Project::new(&[("a.txt", TEXT)]);
    show(&project, 0..3);
    project.stage("a.txt", &TEXT.replace("one", "1")).unwrap();
    project.rename("a.txt", "b.txt").unwrap();
    assert_eq!(
        project.write_whole("b.txt", "x\n"),
        Err(FileError::ReadInPart("b.txt".to_owned(), "lines 4-5".to_owned()))
    );
    project.read("b.txt").unwrap();
    assert_eq!(project.write_whole("b.txt", "x\n"), Ok(()));
}

#[test]
fn what_was_shown_of_a_file_counts_again_after_its_edit_was_discarded() {
    let project = Project::new(&[("a.txt", TEXT)]);
    project.read("a.txt").unwrap();
    project.stage("a.txt", "nothing of it\n").unwrap();
    project.files.discard(&project.files.proposal().files);
    assert_eq!(project.write_whole("a.txt", "x\n"), Ok(()));
}

#[test]
fn an_empty_file_can_be_filled_unread() {
    let project = Project::new(&[("a.txt", "")]);
    assert_eq!(project.write_whole("a.txt", "x\n"), Ok(()));
}

#[test]
fn several_changes_are_staged_all_or_none() {
    let project = Project::new(&[("a.txt", TEXT), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    project.stage("c.txt", "C\n").unwrap();
    project.files.drain_changes();
    let path = |path: &str| project.path(path);
    let edit = |name: &str, before: &str, after: &str| StagedChange::Edit {
        path: path(name),
        before: before.into(),
        after: after.to_owned(),
    };
    let good = || {
        vec![
            edit("a.txt", TEXT, "first\n"),
            StagedChange::Move { from: path("a.txt"), to: path("moved.txt") },
            edit("moved.txt", "first\n", "second\n"),
            StagedChange::Delete { path: path("b.txt") },
            StagedChange::Write { path: path("new.txt"), text: "new\n".to_owned() },
        ]
    };
    let mut bad = good();
    bad.push(edit("c.txt", "c\n", "made of what it no longer says\n"));
    assert_eq!(project.files.stage_all(bad), Err(FileError::Changed("c.txt".to_owned())));
    expect![[r#"
        edit c.txt = "C\n"
    "#]]
    .assert_eq(&project.staged());
    assert_eq!(project.files.drain_changes(), []);

    project.files.stage_all(good()).unwrap();
    expect![[r#"
        delete b.txt
        edit c.txt = "C\n"
        move a.txt -> moved.txt = "second\n"
        create new.txt = "new\n"
    "#]]
    .assert_eq(&project.staged());
}

/// The editor has decoded it, and encodes it again when it saves.
#[test]
fn a_file_in_another_encoding_is_edited_only_where_the_editor_shows_it() {
    let project = Project::new(&[]);
    project.write("a.txt", b"gr\xfc\xdfe\n");
    assert!(matches!(project.stage("a.txt", "x\n"), Err(FileError::NotUtf8(..))));
    assert!(matches!(project.delete("a.txt"), Err(FileError::NotUtf8(..))));
    project.open("a.txt", 1, "grüße\n");
    assert_eq!(project.read("a.txt").as_deref(), Ok("grüße\n"));
    project.stage("a.txt", "Grüße\n").unwrap();
    expect![[r#"
        edit a.txt = "Grüße\n"
    "#]]
    .assert_eq(&project.staged());
    assert_eq!(fs::read(project.root.join("a.txt")).unwrap(), b"gr\xfc\xdfe\n");
}

#[test]
fn a_notebook_is_read_but_neither_edited_nor_written() {
    let cells = "{\"cells\": []}\n";
    let project = Project::new(&[("a.ipynb", cells)]);
    let refused = |path: &str| Err(FileError::Notebook(path.to_owned()));
    assert_eq!(project.read("a.ipynb").as_deref(), Ok(cells));
    assert_eq!(project.stage("a.ipynb", "{}\n"), refused("a.ipynb"));
    assert_eq!(project.write_whole("a.ipynb", "{}\n"), refused("a.ipynb"));
    assert_eq!(project.write_whole("new.IPYNB", "{}\n"), refused("new.IPYNB"));
    assert_eq!(project.rename("a.ipynb", "b.ipynb"), Ok(()));
}

/// Reads go on while something is staged, and each change is held against the one before.
#[test]
fn changes_from_several_sides_are_staged_one_after_the_other() {
    let project = Project::new(&[("a.txt", "0\n")]);
    let files = Arc::new(TurnFiles::new(Arc::clone(&project.workspace)));
    let count = || {
        let path = files.resolve("a.txt").unwrap();
        // Whoever was overtaken reads again.
        loop {
            let before = files.read(&path).unwrap().text;
            let number: usize = before.trim().parse().unwrap();
            let after = format!("{}\n", number + 1);
            let change = StagedChange::Edit { path: path.clone(), before, after };
            match files.stage_all(vec![change]) {
                Ok(()) => return,
                Err(FileError::Changed(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..25).for_each(|_| count()));
        }
    });
    let path = files.resolve("a.txt").unwrap();
    assert_eq!(&*files.read(&path).unwrap().text, "100\n");
}
