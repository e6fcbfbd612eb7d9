mod followed;
mod rules;

use expect_test::expect;
use proptest::prelude::*;

use super::{super::testing::Project, stage::MAX_EDIT_BYTES, *};

/// What a call answers, as its text.
fn text(result: Result<(), FileError>) -> String {
    result.map_or_else(|error| error.to_string(), |()| "ok".to_owned())
}

// SPEC T17
#[test]
fn a_read_prefers_staged_edits_then_the_open_buffer_then_the_disk() {
    let project = Project::new(&[("a.txt", "disk\n")]);
    assert_eq!(project.read("a.txt").as_deref(), Ok("disk\n"));
    project.open("a.txt", 3, "buffer\n");
    assert_eq!(project.read("a.txt").as_deref(), Ok("buffer\n"));
    project.stage("a.txt", "staged\n").unwrap();
    assert_eq!(project.read("a.txt").as_deref(), Ok("staged\n"));
    let version = project.files.read(&project.path("a.txt")).unwrap().version;
    assert_eq!(version, Some(3));
}

#[test]
fn a_buffer_that_is_closed_without_saving_leaves_the_truth_to_the_disk() {
    let project = Project::new(&[("a.txt", "v1\n")]);
    project.open("a.txt", 3, "v1\nuser line\n");
    project.close("a.txt");
    assert_eq!(project.read("a.txt").as_deref(), Ok("v1\n"));
}

#[test]
fn a_buffer_whose_file_was_never_saved_can_be_read_and_edited_but_not_moved() {
    let project = Project::new(&[]);
    project.open("draft.txt", 1, "draft\n");
    assert_eq!(project.read("draft.txt").as_deref(), Ok("draft\n"));
    expect!["draft.txt is open in the editor and was never saved, so that it can be edited but not moved or deleted"]
        .assert_eq(&text(project.rename("draft.txt", "b.txt")));
    project.stage("draft.txt", "final\n").unwrap();
    expect![[r#"
        edit draft.txt = "final\n"
    "#]]
    .assert_eq(&project.staged());
}

#[test]
fn a_buffer_that_is_no_file_is_edited_under_its_uri_and_a_view_is_only_read() {
    let project = Project::new(&[]);
    let overlay = project.workspace.overlay();
    overlay.open("untitled:Untitled-1", "text", 1, "hello\nworld\n".to_owned());
    overlay.open("git:/tmp/a.rs?x", "rust", 1, "old\n".to_owned());
    assert_eq!(project.read("untitled:Untitled-1").as_deref(), Ok("hello\nworld\n"));
    project.stage("untitled:Untitled-1", "hello\nthere\n").unwrap();
    assert_eq!(project.read("git:/tmp/a.rs?x").as_deref(), Ok("old\n"));
    expect!["git:/tmp/a.rs?x is a view that can be read but not edited; edit the file that it shows"]
        .assert_eq(&text(project.stage("git:/tmp/a.rs?x", "new\n")));
    expect![[r#"
        edit untitled:Untitled-1 = "hello\nthere\n"
    "#]]
    .assert_eq(&project.staged());
    expect![""].assert_eq(&project.disk());
}

#[test]
fn a_missing_file_names_what_is_near() {
    let project = Project::new(&[("src/main.rs", ""), ("src/agent/thread.rs", "")]);
    let error = |path: &str| project.read(path).unwrap_err().to_string();
    assert_eq!(error("src/mian.rs"), "there is no file src/mian.rs; near it are: src/main.rs");
    assert_eq!(error("thread.rs"), "there is no file thread.rs; near it are: src/agent/thread.rs");
    assert_eq!(error("zzz"), "there is no file zzz; list the files to see what there is");
    assert_eq!(error("src"), "src is a directory, not a file; list it, or name a file in it");
}

#[test]
fn staging_makes_edits_and_new_files_and_nothing_when_nothing_changes() {
    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    project.stage("a.txt", "A\n").unwrap();
    project.stage("new/deep/c.txt", "c\n").unwrap();
    project.stage("b.txt", "b\n").unwrap();
    expect![[r#"
        edit a.txt = "A\n"
        create new/deep/c.txt = "c\n"
    "#]]
    .assert_eq(&project.staged());
    project.stage("a.txt", "a\n").unwrap();
    project.delete("new/deep/c.txt").unwrap();
    expect![""].assert_eq(&project.staged());
    expect![[r#"
        a.txt = "a\n"
        b.txt = "b\n"
    "#]]
    .assert_eq(&project.disk());
}

#[test]
fn a_deleted_file_is_gone_for_the_turn_and_can_be_written_again() {
    let project = Project::new(&[("a.txt", "a\n")]);
    project.delete("a.txt").unwrap();
    assert_eq!(
        project.read("a.txt").unwrap_err().to_string(),
        "there is no file a.txt any more: it was deleted in this turn"
    );
    expect!["delete a.txt\n"].assert_eq(&project.staged());
    project.stage("a.txt", "again\n").unwrap();
    expect![[r#"
        edit a.txt = "again\n"
    "#]]
    .assert_eq(&project.staged());
}

#[test]
fn a_chain_of_moves_is_one_move_and_keeps_the_edits() {
    let project = Project::new(&[("a.txt", "a\n")]);
    project.stage("a.txt", "one\n").unwrap();
    project.rename("a.txt", "b.txt").unwrap();
    project.rename("b.txt", "new/c.txt").unwrap();
    project.stage("new/c.txt", "two\n").unwrap();
    expect![[r#"
        move a.txt -> new/c.txt = "two\n"
    "#]]
    .assert_eq(&project.staged());
    assert_eq!(
        project.read("a.txt").unwrap_err().to_string(),
        "there is no file a.txt any more: it was moved to new/c.txt in this turn"
    );
    project.rename("new/c.txt", "a.txt").unwrap();
    expect![[r#"
        edit a.txt = "two\n"
    "#]]
    .assert_eq(&project.staged());
    project.stage("a.txt", "a\n").unwrap();
    expect![""].assert_eq(&project.staged());
}

#[test]
fn a_file_that_the_turn_made_is_still_new_after_a_move() {
    let project = Project::new(&[]);
    project.stage("a.txt", "a\n").unwrap();
    project.rename("a.txt", "b.txt").unwrap();
    expect![[r#"
        create b.txt = "a\n"
    "#]]
    .assert_eq(&project.staged());
}

#[test]
fn a_moved_file_that_is_deleted_is_deleted_where_it_was() {
    let project = Project::new(&[("a.txt", "a\n")]);
    project.rename("a.txt", "b.txt").unwrap();
    project.delete("b.txt").unwrap();
    expect!["delete a.txt\n"].assert_eq(&project.staged());
}

#[test]
fn a_place_that_a_move_left_can_be_taken_and_no_order_matters() {
    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    project.rename("a.txt", "old.txt").unwrap();
    project.stage("a.txt", "stub\n").unwrap();
    expect![[r#"
        edit a.txt = "stub\n"
        create old.txt = "a\n"
    "#]]
    .assert_eq(&project.staged());

    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    project.rename("a.txt", "tmp").unwrap();
    project.rename("b.txt", "a.txt").unwrap();
    project.rename("tmp", "b.txt").unwrap();
    expect![[r#"
        edit a.txt = "b\n"
        edit b.txt = "a\n"
    "#]]
    .assert_eq(&project.staged());
}

/// Which edits of the turn are to be taken together with each.
fn together(project: &Project) -> String {
    let proposal = project.files.proposal();
    let mut out = String::new();
    for edit in &proposal.files {
        let paths = proposal.together_with(edit.origin());
        let paths: Vec<_> = paths.iter().map(FilePath::as_str).collect();
        out.push_str(&format!("{}: {}\n", edit.path, paths.join(" ")));
    }
    out
}

#[test]
fn edits_that_carry_a_text_from_one_file_to_another_are_taken_together() {
    let files = [("a.txt", "a\n"), ("b.txt", "b\n"), ("other.txt", "x\n"), ("plain.txt", "p\n")];
    let project = Project::new(&files);
    project.stage("other.txt", "y\n").unwrap();
    project.rename("plain.txt", "moved.txt").unwrap();
    project.delete("b.txt").unwrap();
    project.rename("a.txt", "b.txt").unwrap();
    project.stage("b.txt", "A\n").unwrap();
    expect![[r#"
        a.txt: a.txt b.txt
        b.txt: a.txt b.txt
        moved.txt: moved.txt
        other.txt: other.txt
    "#]]
    .assert_eq(&together(&project));

    let project = Project::new(&files);
    project.rename("a.txt", "old.txt").unwrap();
    project.stage("a.txt", "stub\n").unwrap();
    project.rename("old.txt", "older.txt").unwrap();
    expect![[r#"
        a.txt: a.txt older.txt
        older.txt: a.txt older.txt
    "#]]
    .assert_eq(&together(&project));

    let project = Project::new(&files);
    for (from, to) in [("a.txt", "tmp"), ("b.txt", "a.txt"), ("other.txt", "b.txt"), ("tmp", "other.txt")] {
        project.rename(from, to).unwrap();
    }
    expect![[r#"
        a.txt: a.txt b.txt other.txt
        b.txt: a.txt b.txt other.txt
        other.txt: a.txt b.txt other.txt
    "#]]
    .assert_eq(&together(&project));
}

#[test]
fn edits_staged_again_are_the_same_edits() {
    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n"), ("d.txt", "d\n")]);
    project.delete("b.txt").unwrap();
    project.rename("a.txt", "b.txt").unwrap();
    project.rename("c.txt", "moved.txt").unwrap();
    project.stage("new.txt", "n\n").unwrap();
    project.delete("d.txt").unwrap();
    let proposal = project.files.proposal();
    let again = TurnFiles::new(Arc::clone(&project.workspace));
    for edit in &proposal.files {
        again.restage(edit).unwrap();
    }
    assert_eq!(again.proposal(), proposal);
}

#[test]
fn a_move_never_costs_a_file() {
    let project = Project::new(&[("a.txt", "before\n"), ("b.txt", "important\n"), ("dir/x.txt", "x\n")]);
    for (from, to, expected) in [
        ("a.txt", "a.txt", "a.txt is the same file under another name; there is nothing to move"),
        ("a.txt", "./dir/../a.txt", "a.txt is the same file under another name; there is nothing to move"),
        ("a.txt", "b.txt", "b.txt exists already; choose another path, or edit or delete it first"),
        ("a.txt", "dir", "dir is a directory, not a file; list it, or name a file in it"),
        (
            "a.txt",
            "b.txt/c.txt",
            "b.txt/c.txt cannot be a file below another file; choose a path whose parent is a directory or does not exist",
        ),
        ("dir", "dir2", "dir is a directory, not a file; list it, or name a file in it"),
    ] {
        assert_eq!(text(project.rename(from, to)), expected, "{from} -> {to}");
    }
    for path in ["dir", "."] {
        let error = text(project.delete(path));
        assert!(error.ends_with("is a directory, not a file; list it, or name a file in it"), "{error}");
    }
    expect![""].assert_eq(&project.staged());
}

#[test]
fn a_new_file_needs_a_place() {
    let project = Project::new(&[("plain", "a file\n"), ("src/lib.rs", "")]);
    project.stage("fresh", "x\n").unwrap();
    for (path, expected) in [
        ("plain/x.txt", FileError::BelowFile("plain/x.txt".to_owned())),
        ("fresh/x.txt", FileError::BelowFile("fresh/x.txt".to_owned())),
        ("src", FileError::Directory("src".to_owned())),
        (".git/hooks/pre-commit", FileError::Protected(".git/hooks/pre-commit".to_owned())),
        (".askls/config.toml", FileError::Protected(".askls/config.toml".to_owned())),
        (".env", FileError::Secret(".env".to_owned())),
    ] {
        assert_eq!(project.stage(path, "x\n"), Err(expected), "{path}");
    }
    project.stage("übung 1/größe.txt", "ok\n").unwrap();
    project.stage("new/a.txt", "ok\n").unwrap();
    assert_eq!(project.stage("new", "x\n"), Err(FileError::Directory("new".to_owned())));
}

#[test]
fn settings_of_askls_are_never_staged_and_what_editors_run_is_marked() {
    let project = Project::new(&[("a.toml", "x\n")]);
    let protected = |path: &str| Err(FileError::Protected(path.to_owned()));
    let settings = ".config/askls/config.toml";
    assert_eq!(project.stage(settings, "approvals = \"all\"\n"), protected(settings));
    assert_eq!(project.rename("a.toml", settings), protected(settings));
    project.workspace.set_roots(vec![project.root.join(".config/askls")]);
    assert_eq!(project.stage("config.toml", "approvals = \"all\"\n"), protected("config.toml"));

    project.workspace.set_roots(vec![project.root.clone()]);
    project.stage(".vscode/tasks.json", "{}\n").unwrap();
    project.stage("tasks.json", "{}\n").unwrap();
    let marked = || -> Vec<bool> {
        let files = project.files.proposal().files;
        files.iter().map(|file| file.is_run_unasked(&project.workspace)).collect()
    };
    assert_eq!(marked(), [true, false]);
}

#[test]
fn a_workspace_below_a_folder_that_editors_look_into_has_its_own_files_marked_only() {
    let project = Project::new(&[("a.toml", "x\n")]);
    project.workspace.set_roots(vec![project.root.join(".vscode/extensions/mine")]);
    project.stage("src/a.rs", "x\n").unwrap();
    project.stage(".vscode/tasks.json", "{}\n").unwrap();
    let marked = || -> Vec<bool> {
        let files = project.files.proposal().files;
        files.iter().map(|file| file.is_run_unasked(&project.workspace)).collect()
    };
    assert_eq!(marked(), [true, false]);
    // Of two folders of the workspace the outer one says that the inner one is such a folder.
    project.workspace.set_roots(vec![project.root.clone(), project.root.join(".vscode/extensions/mine")]);
    assert_eq!(marked(), [true, true]);
}

#[test]
fn a_text_over_the_bound_is_refused() {
    let project = Project::new(&[("big.txt", &"x".repeat(MAX_EDIT_BYTES + 1))]);
    let too_large = |path: &str| Err(FileError::TooLargeEdit(path.to_owned()));
    assert_eq!(project.stage("big.txt", "small"), too_large("big.txt"));
    assert_eq!(project.write_whole("big.txt", "small"), too_large("big.txt"));
    assert_eq!(project.stage("new.txt", &"x".repeat(MAX_EDIT_BYTES + 1)), too_large("new.txt"));
    assert_eq!(project.stage("new.txt", &"x".repeat(MAX_EDIT_BYTES)), Ok(()));
}

#[test]
fn what_the_user_typed_since_the_read_is_never_overwritten() {
    let project = Project::new(&[("a.txt", "v1\n")]);
    project.open("a.txt", 3, "v1\n");
    project.read("a.txt").unwrap();
    project.open("a.txt", 4, "top\nv1\n");
    assert_eq!(project.write_whole("a.txt", "v2\n"), Err(FileError::Changed("a.txt".to_owned())));
    assert_eq!(project.read("a.txt").as_deref(), Ok("top\nv1\n"));
    assert_eq!(project.write_whole("a.txt", "top\nv2\n"), Ok(()));

    project.open("a.txt", 5, "typed\n");
    assert_eq!(project.write_whole("a.txt", "top\nv3\n"), Err(FileError::Changed("a.txt".to_owned())));
    assert_eq!(project.read("a.txt").as_deref(), Ok("typed\n"));
    expect![""].assert_eq(&project.staged());
}

#[test]
fn unsaved_text_that_was_never_read_is_neither_deleted_nor_moved() {
    let project = Project::new(&[("dirty.txt", "v1\n"), ("saved.txt", "v1\n"), ("closed.txt", "v1\n")]);
    project.open("dirty.txt", 3, "v1\nuser line\n");
    project.open("saved.txt", 3, "v1\n");
    let unread = Err(FileError::Unread("dirty.txt".to_owned()));
    assert_eq!(project.delete("dirty.txt"), unread);
    assert_eq!(project.rename("dirty.txt", "b.txt"), unread);
    expect![""].assert_eq(&project.staged());
    assert_eq!(project.delete("saved.txt"), Ok(()));
    assert_eq!(project.delete("closed.txt"), Ok(()));

    project.read("dirty.txt").unwrap();
    project.open("dirty.txt", 4, "v1\nuser line\nand more\n");
    let changed = Err(FileError::Changed("dirty.txt".to_owned()));
    assert_eq!(project.delete("dirty.txt"), changed);
    assert_eq!(project.rename("dirty.txt", "b.txt"), changed);
    project.read("dirty.txt").unwrap();
    assert_eq!(project.rename("dirty.txt", "b.txt"), Ok(()));
}

#[test]
fn changes_are_given_once() {
    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let changed = || -> Vec<String> {
        project.files.drain_changes().iter().map(|edit| edit.path.to_string()).collect()
    };
    project.stage("b.txt", "B\n").unwrap();
    project.stage("a.txt", "A\n").unwrap();
    assert_eq!(changed(), ["a.txt", "b.txt"]);
    assert_eq!(changed(), Vec::<String>::new());
    project.rename("a.txt", "c.txt").unwrap();
    assert_eq!(changed(), ["c.txt"]);
}

#[test]
fn existence_counts_what_is_staged_and_open() {
    let project = Project::new(&[("a.txt", ""), ("gone.txt", ""), ("dir/", "")]);
    project.open("open.txt", 1, "");
    project.stage("new.txt", "x").unwrap();
    project.delete("gone.txt").unwrap();
    let exists: Vec<bool> = ["a.txt", "open.txt", "new.txt", "gone.txt", "dir", "none"]
        .map(|path| project.files.exists(&project.path(path)))
        .to_vec();
    assert_eq!(exists, [true, true, true, false, false, false]);
}

#[test]
fn a_byte_order_mark_stays_and_is_no_part_of_the_text() {
    let project = Project::new(&[("a.txt", "\u{feff}a\n")]);
    assert_eq!(project.read("a.txt").as_deref(), Ok("a\n"));
    project.stage("a.txt", "\u{feff}b\n").unwrap();
    let edit = project.files.proposal().files.remove(0);
    assert_eq!((edit.before.unwrap().bom, edit.after.as_deref()), (true, Some("b\n")));
}

#[test]
fn without_a_root_open_buffers_are_read_and_edited() {
    let other = Project::new(&[("a.txt", "disk\n")]);
    let workspace = Arc::new(Workspace::default());
    let uri = super::super::paths::to_uri(&other.root.join("a.txt"));
    workspace.overlay().open(&uri, "text", 1, "buffer\n".to_owned());
    let files = TurnFiles::new(workspace);
    let path = files.resolve("a.txt").unwrap();
    let before = files.read(&path).unwrap().text;
    assert_eq!(&*before, "buffer\n");
    let change = StagedChange::Edit { path, before, after: "edited\n".to_owned() };
    assert_eq!(files.stage_all(vec![change]), Ok(()));
    assert_eq!(
        files.resolve("b.txt").unwrap_err().to_string(),
        "no folder is open, so that only open buffers can be used, and b.txt is none of them"
    );
}

const NAMES: [&str; 5] = ["a", "b", "c", "d/e", "d/f"];

#[derive(Clone, Debug)]
enum Step {
    Write(usize, u8),
    Delete(usize),
    Move(usize, usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let name = || 0..NAMES.len();
    prop_oneof![
        (name(), 0u8..3).prop_map(|(name, text)| Step::Write(name, text)),
        name().prop_map(Step::Delete),
        (name(), name()).prop_map(|(from, to)| Step::Move(from, to)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_steps_end_on_disk_as_if_each_had_been_done_at_once(steps in prop::collection::vec(any_step(), 1..14)) {
        let project = Project::new(&[("a", "0"), ("b", "1"), ("d/e", "2")]);
        let mut model: BTreeMap<&str, String> =
            [("a", "0"), ("b", "1"), ("d/e", "2")].map(|(name, text)| (name, text.to_owned())).into();
        for step in steps {
            let (done, expected) = match step {
                Step::Write(name, text) => {
                    let (name, text) = (NAMES[name], text.to_string());
                    let done = project.stage(name, &text);
                    model.insert(name, text);
                    (done, true)
                }
                Step::Delete(name) => (project.delete(NAMES[name]), model.remove(NAMES[name]).is_some()),
                Step::Move(from, to) => {
                    let (from, to) = (NAMES[from], NAMES[to]);
                    let possible = model.contains_key(from) && !model.contains_key(to);
                    if let Some(text) = possible.then(|| model.remove(from)).flatten() {
                        model.insert(to, text);
                    }
                    (project.rename(from, to), possible)
                }
            };
            prop_assert_eq!(done.is_ok(), expected, "{:?}", done);
            for name in NAMES {
                prop_assert_eq!(project.read(name).ok(), model.get(name).cloned(), "{}", name);
            }
        }
        let proposal = project.files.proposal();
        for edit in &proposal.files {
            let place_is_origin = proposal.files.iter().any(|other| other.moved_from.as_ref() == Some(&edit.path));
            prop_assert!(!place_is_origin, "{:?}", proposal);
        }
        prop_assert_eq!(proposal.apply_to_disk(&project.workspace), Ok(()));
        let on_disk: BTreeMap<&str, String> = NAMES
            .into_iter()
            .filter_map(|name| Some((name, std::fs::read_to_string(project.root.join(name)).ok()?)))
            .collect();
        prop_assert_eq!(on_disk, model);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_that_the_turn_kept_is_lost_by_taking_only_some_edits(
        steps in prop::collection::vec(any_step(), 1..14), choice in any::<prop::sample::Index>(),
    ) {
        let project = Project::new(&[("a", "0"), ("b", "1"), ("d/e", "2")]);
        for step in steps {
            let _ = match step {
                Step::Write(..) => Ok(()),
                Step::Delete(name) => project.delete(NAMES[name]),
                Step::Move(from, to) => project.rename(NAMES[from], NAMES[to]),
            };
        }
        let kept: Vec<String> = NAMES.into_iter().filter_map(|name| project.read(name).ok()).collect();
        let mut proposal = project.files.proposal();
        if !proposal.is_empty() {
            let chosen = proposal.files[choice.index(proposal.files.len())].path.clone();
            let together = proposal.together_with(&chosen);
            proposal.files.retain(|edit| together.contains(&edit.path));
        }
        prop_assert_eq!(proposal.apply_to_disk(&project.workspace), Ok(()));
        let on_disk: Vec<String> =
            NAMES.into_iter().filter_map(|name| std::fs::read_to_string(project.root.join(name)).ok()).collect();
        for text in &kept {
            prop_assert!(on_disk.contains(text), "{text} of {kept:?} is not in {on_disk:?}: {proposal:?}");
        }
    }
}

#[test]
fn an_applied_edit_leaves_the_truth_to_the_buffer_and_can_be_edited_on() {
    let project = Project::new(&[("a.txt", "disk\n")]);
    project.open("a.txt", 1, "one\n");
    project.read("a.txt").unwrap();
    project.stage("a.txt", "two\n").unwrap();
    let edits = project.files.proposal().files;
    project.open("a.txt", 2, "two\r\n");
    project.files.applied(&edits);
    expect![""].assert_eq(&project.staged());
    assert_eq!(text(project.write_whole("a.txt", "three\r\n")), "ok");
}

#[test]
fn an_applied_edit_of_which_the_editor_made_something_else_must_be_read_again() {
    let project = Project::new(&[("a.txt", "one\n")]);
    project.stage("a.txt", "two\n").unwrap();
    let edits = project.files.proposal().files;
    project.open("a.txt", 1, "formatted\n");
    project.files.applied(&edits);
    expect!["a.txt has changed since it was read; nothing of this edit was kept: read the file again and edit what it says now"]
        .assert_eq(&text(project.write_whole("a.txt", "three\n")));
    assert_eq!(project.read("a.txt").as_deref(), Ok("formatted\n"));
    assert_eq!(text(project.write_whole("a.txt", "three\n")), "ok");
}

#[test]
fn a_discarded_edit_was_never_there() {
    let project = Project::new(&[("a.txt", "one\n")]);
    project.stage("a.txt", "two\n").unwrap();
    project.files.discard(&project.files.proposal().files);
    assert_eq!(project.read("a.txt").as_deref(), Ok("one\n"));
    assert_eq!(text(project.stage("a.txt", "two\n")), "ok");
}
