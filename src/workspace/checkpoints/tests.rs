use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use expect_test::{Expect, expect};

use super::{
    sweep::{MAX_AGE, MAX_BYTES, sweep},
    *,
};
use crate::workspace::{EditProposal, StagedChange, TurnFiles, testing::Project};

/// A project and its journal. Time stands still unless a test moves it.
struct Journal {
    project: Project,
    folder: tempfile::TempDir,
    now: SystemTime,
}

impl Journal {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { project: Project::new(files), folder, now: SystemTime::now() }
    }

    fn open(&self) -> Checkpoints {
        Checkpoints::open(&self.folder.path().join("checkpoints"), &self.project.workspace.roots(), self.now)
            .unwrap()
    }

    /// Writes what is staged, as a go of this turn of thread `t`.
    fn apply(&self, turn: u64) {
        let proposal = self.project.files.proposal();
        proposal.apply_to_disk(&self.project.workspace).unwrap();
        self.project.files.applied(&proposal.files);
        let mark = TurnMark { turn, ..TurnMark::new(&ThreadId::from("t"), &format!("turn {turn}")) };
        let kept = self.open().keep(&mark, &proposal.files, &self.project.workspace, self.now).unwrap();
        assert_eq!(kept.is_some(), !proposal.files.is_empty());
    }

    fn stage(&self, turn: u64, files: &[(&str, &str)]) {
        for (path, text) in files {
            let _ = self.project.read(path);
            self.project.stage(path, text).unwrap();
        }
        self.apply(turn);
    }

    fn plan(&self, direction: Direction) -> Result<UndoPlan, NoPlan> {
        self.open().plan(direction, None, &self.project.workspace)
    }

    /// Carries a plan out; one line of what had to be decided and what was left.
    fn take(&self, direction: Direction, on_conflict: OnConflict) -> String {
        let plan = match self.plan(direction) {
            Ok(plan) => plan,
            Err(error) => return format!("none: {error}\n"),
        };
        let proposal = plan.proposal(on_conflict);
        proposal.apply_to_disk(&self.project.workspace).unwrap();
        let checkpoints = self.open();
        let workspace = &self.project.workspace;
        let is_whole = !plan.can_be_completed;
        checkpoints.keep_undo(&plan, &proposal.files, is_whole, workspace, self.now).unwrap();
        let moved_on: Vec<_> =
            plan.moved_on.iter().map(|file| format!("{} ({})", file.path, file.touched)).collect();
        let settled = if plan.is_settled() { " settled" } else { "" };
        format!("{}{settled}, moved on: {moved_on:?}, left: {:?}\n", plan.turn.label, plan.left)
    }

    fn undo(&self) -> String {
        self.take(Direction::Undo, OnConflict::Merge)
    }

    fn redo(&self) -> String {
        self.take(Direction::Redo, OnConflict::Merge)
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("checkpoints").join(workspace_name(&self.project.workspace.roots()))
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.store().join(folder))
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// What there is of each turn.
    fn list(&self) -> String {
        let (entries, problems) = self.open().list().unwrap();
        let line = |entry: &Entry| {
            let files: Vec<_> =
                entry.files.iter().map(|file| format!("{} {}", file.what, file.path)).collect();
            format!("{}: {}, {}\n", entry.turn.label, entry.state.as_str(), files.join(", "))
        };
        entries.iter().map(line).chain(problems.iter().map(|problem| format!("{problem}\n"))).collect()
    }
}

#[test]
fn what_was_seen_before_an_edit_is_kept_however_many_an_editor_has_refused_before() {
    let journal = Journal::new(&[]);
    let (checkpoints, project) = (journal.open(), &journal.project);
    let new = |path: &str| FileEdit::of(&project.path(path), None, Some("N\n".to_owned()));
    let refused: Vec<_> = (0..MAX_NOTED).map(|number| new(&format!("{number}.txt"))).collect();
    checkpoints.note_before(&refused);

    let edit = new("made/new.txt");
    checkpoints.note_before(std::slice::from_ref(&edit));
    project.write("made/new.txt", "N\n");
    let mark = TurnMark::new(&ThreadId::from("t"), "turn");
    checkpoints.keep(&mark, &[edit], &project.workspace, journal.now).unwrap();

    let plan = journal.plan(Direction::Undo).unwrap();
    fs::remove_file(project.root.join("made/new.txt")).unwrap();
    assert_eq!(plan.remove_made_folders(&[]), 1);
    assert_eq!(checkpoints.noted().len(), MAX_NOTED - 1);
}

fn check(actual: &str, expect: Expect) {
    expect.assert_eq(actual);
}

fn four_changes() -> Journal {
    let journal = Journal::new(&[("edited", "one\n"), ("deleted", "gone\n"), ("old", "moved\n")]);
    let project = &journal.project;
    project.read("edited").unwrap();
    project.stage("edited", "two\n").unwrap();
    project.stage("sub/new", "new\n").unwrap();
    project.delete("deleted").unwrap();
    project.rename("old", "sub/moved").unwrap();
    project.stage("sub/moved", "moved on\n").unwrap();
    journal.apply(1);
    journal
}

#[test]
fn a_turn_is_undone_and_redone_as_one() {
    let journal = four_changes();
    let applied = journal.project.disk();

    check(
        &journal.undo(),
        expect![[r#"
        turn 1, moved on: [], left: []
    "#]],
    );
    check(
        &journal.project.disk(),
        expect![[r#"
            deleted = "gone\n"
            edited = "one\n"
            old = "moved\n"
            sub/
        "#]],
    );
    check(
        &journal.redo(),
        expect![[r#"
        turn 1, moved on: [], left: []
    "#]],
    );
    assert_eq!(journal.project.disk(), applied);
    check(
        &journal.redo(),
        expect![[r#"
        none: nothing to redo
    "#]],
    );
    journal.undo();
    check(
        &journal.list(),
        expect![[r#"
            turn 1: undone, deleted deleted, edited edited, moved sub/moved, created sub/new
        "#]],
    );
}

#[test]
fn turns_are_undone_from_the_newest_and_redone_from_the_last_undone() {
    let journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    journal.stage(2, &[("a", "2\n")]);
    let text = || journal.project.read("a").unwrap();
    journal.undo();
    assert_eq!(text(), "1\n");
    journal.undo();
    assert_eq!(text(), "0\n");
    check(
        &journal.undo(),
        expect![[r#"
        none: nothing left to undo
    "#]],
    );
    journal.redo();
    assert_eq!(text(), "1\n");
    journal.redo();
    assert_eq!(text(), "2\n");
}

#[test]
fn an_undo_is_redone_no_more_once_a_newer_turn_stands() {
    let journal = Journal::new(&[("a", "0\n"), ("b", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    journal.undo();
    journal.stage(2, &[("b", "2\n")]);
    check(
        &journal.redo(),
        expect![[r#"
            none: nothing to redo
        "#]],
    );
    // One that was taken back and forth stands too.
    journal.undo();
    journal.redo();
    check(
        &journal.redo(),
        expect![[r#"
            none: nothing to redo
        "#]],
    );
}

#[test]
fn all_goes_of_a_turn_are_taken_back_together() {
    let journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "0\n1\n")]);
    journal.stage(1, &[("a", "0\n1\n2\n"), ("b", "b\n")]);
    check(
        &journal.undo(),
        expect![[r#"
        turn 1, moved on: [], left: []
    "#]],
    );
    check(
        &journal.project.disk(),
        expect![[r#"
        a = "0\n"
    "#]],
    );
    journal.redo();
    check(
        &journal.project.disk(),
        expect![[r#"
            a = "0\n1\n2\n"
            b = "b\n"
        "#]],
    );
    // A go that comes after the undo of the others.
    journal.undo();
    journal.stage(1, &[("c", "c\n")]);
    journal.undo();
    check(
        &journal.project.disk(),
        expect![[r#"
        a = "0\n"
    "#]],
    );
}

#[test]
fn what_was_typed_between_two_goes_of_a_turn_is_not_lost() {
    let journal = Journal::new(&[("a", "1\n2\n3\n")]);
    journal.stage(1, &[("a", "one\n2\n3\n")]);
    journal.project.write("a", "one\n2\n3\ntyped\n");
    journal.stage(1, &[("a", "one\n2\nthree\ntyped\n")]);
    check(
        &journal.undo(),
        expect![[r#"
        turn 1, moved on: ["a (0)"], left: []
    "#]],
    );
    check(
        &journal.project.disk(),
        expect![[r#"
        a = "1\n2\n3\ntyped\n"
    "#]],
    );
}

#[test]
fn where_the_text_has_moved_on_the_user_chooses() {
    let moved_on = || {
        let journal = Journal::new(&[("a", "1\n2\n3\n"), ("gone", "g\n"), ("made", "")]);
        journal.project.delete("made").unwrap();
        journal.stage(1, &[("a", "one\n2\nthree\n"), ("gone", "G\n"), ("new", "new\n")]);
        journal.project.write("a", "one\n2\n3!\nmine\n");
        fs::remove_file(journal.project.root.join("gone")).unwrap();
        journal.project.write("new", "new\nmine\n");
        journal.project.write("made", "mine\n");
        journal
    };

    let journal = moved_on();
    check(
        &journal.take(Direction::Undo, OnConflict::Merge),
        expect![[r#"
            turn 1, moved on: ["a (1)", "gone (1)", "made (1)", "new (0)"], left: []
        "#]],
    );
    check(
        &journal.project.disk(),
        expect![[r#"
            a = "1\n2\n3!\nmine\n"
            made = "mine\n"
            new = "mine\n"
        "#]],
    );

    let journal = moved_on();
    let later = journal.project.disk();
    journal.take(Direction::Undo, OnConflict::Restore);
    check(
        &journal.project.disk(),
        expect![[r#"
            a = "1\n2\n3\n"
            gone = "g\n"
            made = ""
        "#]],
    );
    // What the user had written is in the checkpoint of the undo.
    journal.take(Direction::Redo, OnConflict::Restore);
    assert_eq!(journal.project.disk(), later);
}

#[test]
fn a_moved_file_whose_old_place_was_taken_is_not_moved_over_it() {
    let moved = || {
        let journal = Journal::new(&[("old", "text\n")]);
        journal.project.rename("old", "new").unwrap();
        journal.apply(1);
        journal.project.write("old", "another\n");
        journal
    };
    let journal = moved();
    check(
        &journal.undo(),
        expect![[r#"
        turn 1, moved on: ["new (1)"], left: []
    "#]],
    );
    check(
        &journal.project.disk(),
        expect![[r#"
            new = "text\n"
            old = "another\n"
        "#]],
    );
    let journal = moved();
    journal.take(Direction::Undo, OnConflict::Restore);
    check(
        &journal.project.disk(),
        expect![[r#"
        old = "text\n"
    "#]],
    );
}

#[test]
fn what_was_undone_by_hand_only_leaves_the_way_to_older_turns() {
    let journal = Journal::new(&[("a", "0\n"), ("b", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    journal.stage(2, &[("b", "2\n")]);
    journal.project.write("b", "0\n");
    check(
        &journal.undo(),
        expect![[r#"
        turn 2 settled, moved on: [], left: []
    "#]],
    );
    check(
        &journal.undo(),
        expect![[r#"
        turn 1, moved on: [], left: []
    "#]],
    );
    assert_eq!(journal.project.read("a").unwrap(), "0\n");
}

#[test]
fn what_was_not_taken_back_can_be_taken_back_later() {
    let journal = Journal::new(&[("a", "0\n"), ("b", "0\n")]);
    journal.stage(1, &[("a", "1\n"), ("b", "1\n")]);
    let plan = journal.plan(Direction::Undo).unwrap();
    let some = EditProposal { files: plan.proposal(OnConflict::Merge).files[..1].to_vec() };
    some.apply_to_disk(&journal.project.workspace).unwrap();
    journal.open().keep_undo(&plan, &some.files, false, &journal.project.workspace, journal.now).unwrap();

    check(
        &journal.undo(),
        expect![[r#"
        turn 1, moved on: [], left: []
    "#]],
    );
    check(
        &journal.project.disk(),
        expect![[r#"
            a = "0\n"
            b = "0\n"
        "#]],
    );
    journal.redo();
    journal.redo();
    check(
        &journal.project.disk(),
        expect![[r#"
            a = "1\n"
            b = "1\n"
        "#]],
    );
}

/// Of each state a turn.
#[test]
fn the_list_has_a_line_for_each_turn() {
    let journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "1\n"), ("b", "1\n")]);
    journal.stage(1, &[("a", "2\n"), ("c", "2\n")]);
    journal.stage(2, &[("a", "3\n")]);
    journal.undo();
    journal.redo();
    journal.undo();
    journal.stage(3, &[("d", "d\n")]);
    journal.undo();
    journal.stage(3, &[("e", "e\n")]);
    check(
        &journal.list(),
        expect![[r#"
            turn 3: partly undone, created d, created e
            turn 2: undone, edited a
            turn 1: applied, edited a, created b, created c
        "#]],
    );
}

#[test]
fn a_turn_that_was_redone_and_goes_on_is_undone_with_all_its_goes() {
    let journal = Journal::new(&[("a", "0\n"), ("b", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    journal.undo();
    journal.redo();
    journal.stage(1, &[("b", "1\n")]);
    journal.undo();
    check(
        &journal.project.disk(),
        expect![[r#"
        a = "0\n"
        b = "0\n"
    "#]],
    );
}

/// The edit is told of a moment later, and the first keys with it.
#[test]
fn what_was_typed_before_the_edit_was_kept_is_the_users() {
    let typed = |now: &str| {
        let journal = Journal::new(&[("a", "1\n2\n3\n")]);
        journal.project.read("a").unwrap();
        journal.project.stage("a", "1\ntwo\n3\n").unwrap();
        let edits = journal.project.files.proposal().files;
        journal.project.open("a", 2, now);
        let mark = TurnMark::new(&ThreadId::from("t"), "typed");
        journal.open().keep(&mark, &edits, &journal.project.workspace, journal.now).unwrap();
        let plan = journal.plan(Direction::Undo).unwrap();
        let edits = &plan.proposal(OnConflict::Merge).files;
        let after: Vec<_> = edits.iter().filter_map(|edit| edit.after.clone()).collect();
        format!("moved on: {}, undone: {after:?}\n", plan.moved_on.len())
    };
    check(
        &typed("1\ntwo\n3\nk\n"),
        expect![[r#"
        moved on: 1, undone: ["1\n2\n3\nk\n"]
    "#]],
    );
    // What the editor does to line ends is nobody's typing.
    check(
        &typed("1\r\ntwo\r\n3\r\n"),
        expect![[r#"
        moved on: 0, undone: ["1\n2\n3\n"]
    "#]],
    );
    check(
        &typed("1\ntwo\n3"),
        expect![[r#"
        moved on: 0, undone: ["1\n2\n3\n"]
    "#]],
    );
}

/// Nothing can be done to a file while a folder is in its place.
#[test]
fn what_could_not_be_undone_now_can_be_undone_when_it_is_possible() {
    for others in [&[][..], &[("b", "1\n")]] {
        let journal = Journal::new(&[("a", "0\n"), ("b", "0\n")]);
        journal.stage(1, &[&[("a", "1\n")], others].concat());
        let path = journal.project.root.join("a");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let told = journal.undo();
        assert!(told.contains("left: [\"a: "), "{told}");
        fs::remove_dir(&path).unwrap();
        journal.project.write("a", "1\n");

        journal.undo();

        check(
            &journal.project.disk(),
            expect![[r#"
                a = "0\n"
                b = "0\n"
            "#]],
        );
        check(
            &journal.undo(),
            expect![[r#"
            none: nothing left to undo
        "#]],
        );
    }
}

#[test]
fn a_text_that_is_away_for_a_moment_does_not_use_the_turn_up() {
    let journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    let blob = journal.store().join("blobs").join(blob::BlobId::of(b"0\n").as_str());
    let aside = journal.folder.path().join("aside");
    fs::rename(&blob, &aside).unwrap();
    check(
        &journal.undo(),
        expect![[r#"
        turn 1 settled, moved on: [], left: ["a: its text is not among the checkpoints any more"]
    "#]],
    );
    fs::rename(&aside, &blob).unwrap();
    journal.undo();
    check(
        &journal.project.disk(),
        expect![[r#"
        a = "0\n"
    "#]],
    );
}

/// What was merged once is not asked about again.
#[test]
fn a_change_that_is_out_of_a_text_that_has_moved_on_was_taken_back() {
    let journal = Journal::new(&[("a", "0\nx\n")]);
    journal.stage(1, &[("a", "1\nx\n")]);
    journal.project.write("a", "0\nx\ntyped\n");
    check(
        &journal.undo(),
        expect![[r#"
        turn 1 settled, moved on: [], left: []
    "#]],
    );
}

#[test]
fn what_cannot_be_read_is_told_of_once() {
    let journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    let path = journal.store().join("records").join(&journal.names("records")[0]);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"version\":1", "\"version\":2")).unwrap();
    let checkpoints = journal.open();
    let told = [(); 2].map(|()| checkpoints.list().unwrap().1.len());
    assert_eq!(told, [1, 0]);
}

#[test]
fn an_unsaved_buffer_is_what_counts() {
    let journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    journal.project.open("a", 1, "1\ntyped\n");
    let plan = journal.plan(Direction::Undo).unwrap();
    assert_eq!(plan.proposal(OnConflict::Merge).files[0].after.as_deref(), Some("0\ntyped\n"));
}

/// To another process the file looks as if the turn had been undone by hand.
#[test]
fn an_edit_that_an_editor_has_not_saved_does_not_count_as_undone() {
    let journal = Journal::new(&[("a", "0\n")]);
    journal.project.stage("a", "1\n").unwrap();
    let edits = journal.project.files.proposal().files;
    journal.project.open("a", 2, "1\n");
    let mark = TurnMark::new(&ThreadId::from("t"), "unsaved");
    journal.open().keep(&mark, &edits, &journal.project.workspace, journal.now).unwrap();
    journal.project.close("a");

    let plan = journal.plan(Direction::Undo).unwrap();
    assert_eq!((plan.is_settled(), plan.unsaved.clone()), (true, vec!["a".to_owned()]));

    // Where it is open, its text says what is so.
    journal.project.open("a", 3, "0\n");
    let plan = journal.plan(Direction::Undo).unwrap();
    assert_eq!((plan.is_settled(), plan.unsaved.len()), (true, 0));
}

#[test]
fn a_byte_order_mark_comes_back_with_its_file() {
    let journal = Journal::new(&[("a", "\u{feff}text\r\n")]);
    journal.project.delete("a").unwrap();
    journal.apply(1);
    journal.undo();
    check(
        &journal.project.disk(),
        expect![[r#"
        a = "\u{feff}text\r\n"
    "#]],
    );
}

#[test]
fn another_thread_is_left_alone() {
    let journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    let other = ThreadId::from("other");
    let error = journal.open().plan(Direction::Undo, Some(&other), &journal.project.workspace).unwrap_err();
    check(&error.to_string(), expect!["nothing left to undo in thread other"]);
}

/// Each editor with a single file has its own, though they share a journal.
#[test]
fn without_a_folder_only_what_is_open_here_is_undone() {
    let journal = Journal::new(&[("a", "0\n"), ("b", "0\n")]);
    let uri = |name: &str| crate::workspace::paths::to_uri(&journal.project.root.join(name));
    let folder = journal.folder.path().join("checkpoints");
    let checkpoints = Checkpoints::open(&folder, &[], journal.now).unwrap();
    let alone = |name: &str| {
        let workspace = Arc::new(Workspace::new(Vec::new()));
        workspace.overlay().open(&uri(name), "text", 1, "0\n".to_owned());
        workspace
    };
    let (one, other) = (alone("a"), alone("b"));
    for (turn, workspace, name) in [(1, &one, "a"), (2, &other, "b")] {
        let files = TurnFiles::new(Arc::clone(workspace));
        let path = files.resolve(&uri(name)).unwrap();
        files.stage_for_user(StagedChange::Write { path: path.clone(), text: "1\n".to_owned() }).unwrap();
        let mark = TurnMark { turn, ..TurnMark::new(&ThreadId::from("t"), name) };
        workspace.overlay().close(&uri(name));
        workspace.overlay().open(&uri(name), "text", 2, "1\n".to_owned());
        checkpoints.keep(&mark, &files.proposal().files, workspace, journal.now).unwrap();
    }
    let plan = checkpoints.plan(Direction::Undo, None, &one).unwrap();
    assert_eq!(plan.turn.label, "a");
}

#[test]
fn a_torn_record_is_set_aside_and_told_of_once() {
    let journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    journal.stage(2, &[("a", "2\n")]);
    let name = journal.names("records").remove(1);
    let path = journal.store().join("records").join(&name);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();

    let list = journal.list();

    let damaged = journal.store().join("damaged");
    let expected = format!("; it was put aside in {}\n", damaged.display());
    assert!(list.starts_with("turn 1: applied, edited a\nthe checkpoint "), "{list}");
    assert!(list.ends_with(&format!(" is damaged{expected}")), "{list}");
    assert_eq!(journal.names("damaged"), [name]);
    check(
        &journal.list(),
        expect![[r#"
        turn 1: applied, edited a
    "#]],
    );
}

#[test]
fn any_bytes_are_no_record_and_no_panic() {
    for bytes in ["", "null", "[]", "{\"version\":1}", "\u{0}\u{0}", "{\"version\":1,\"files\":[{}]}"] {
        let journal = Journal::new(&[]);
        journal.open();
        let name = format!("{:020}-00000000.json", 1);
        fs::write(journal.store().join("records").join(&name), bytes).unwrap();
        let store = Store::open(&journal.store()).unwrap();
        assert_eq!(store.records().unwrap().problems.len(), 1, "{bytes:?}");
    }
}

#[test]
fn a_damaged_text_is_told_of_and_the_other_files_are_undone() {
    let journal = Journal::new(&[("a", "0\n"), ("b", "0 of b\n")]);
    journal.stage(1, &[("a", "1\n"), ("b", "1\n")]);
    let blob = journal.store().join("blobs").join(blob::BlobId::of(b"0 of b\n").as_str());
    fs::write(&blob, "0 of").unwrap();

    let plan = journal.plan(Direction::Undo).unwrap();
    assert_eq!(plan.left.len(), 1, "{plan:?}");
    assert!(plan.left[0].starts_with("b: its text among the checkpoints is damaged; it was put aside in"));
    journal.undo();
    check(
        &journal.project.disk(),
        expect![[r#"
            a = "0\n"
            b = "1\n"
        "#]],
    );
    assert!(!blob.exists());
}

#[test]
fn a_damaged_text_is_written_anew_when_it_is_kept_again() {
    let journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    let blob = journal.store().join("blobs").join(blob::BlobId::of(b"1\n").as_str());
    fs::write(&blob, "damaged").unwrap();
    journal.stage(2, &[("b", "1\n")]);
    assert_eq!(fs::read_to_string(blob).unwrap(), "1\n");
}

/// Neither its record nor its texts.
#[test]
fn what_a_newer_version_has_kept_is_left_alone() {
    let mut journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    let path = journal.store().join("records").join(&journal.names("records")[0]);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"version\":1", "\"version\":2")).unwrap();
    journal.now += Duration::from_secs(24 * 60 * 60);

    let list = journal.list();

    assert!(list.ends_with("was written by a newer askls\n"), "{list}");
    assert_eq!((journal.names("records").len(), journal.names("blobs").len()), (1, 2));
}

#[test]
fn checkpoints_go_after_a_month_with_the_texts_that_nobody_needs_any_more() {
    let mut journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    journal.now += MAX_AGE / 2;
    journal.stage(2, &[("a", "2\n")]);
    journal.open();
    assert_eq!((journal.names("records").len(), journal.names("blobs").len()), (2, 3));

    journal.now += MAX_AGE / 2 + Duration::from_secs(1);
    journal.open();

    assert_eq!(journal.names("records").len(), 1);
    let texts: Vec<_> = ["1\n", "2\n"].map(|text| blob::BlobId::of(text.as_bytes()).to_string()).into();
    let mut kept = journal.names("blobs");
    kept.retain(|name| !texts.contains(name));
    assert_eq!(kept, [""; 0]);
    check(
        &journal.undo(),
        expect![[r#"
        turn 2, moved on: [], left: []
    "#]],
    );
}

#[test]
fn beyond_the_bytes_that_are_kept_the_oldest_go_and_the_newest_stays() {
    let journal = Journal::new(&[("a", "0\n")]);
    for turn in 1..=3 {
        journal.stage(turn, &[("a", &format!("{turn}").repeat(1_000))]);
    }
    let store = Store::open(&journal.store()).unwrap();
    sweep(&store, journal.now, MAX_BYTES).unwrap();
    assert_eq!(journal.names("records").len(), 3);
    sweep(&store, journal.now, 3_800).unwrap();
    assert_eq!(journal.names("records").len(), 2);
    sweep(&store, journal.now, 0).unwrap();
    assert_eq!(journal.names("records").len(), 1);
}

/// Its project may never be opened again.
#[test]
fn the_old_checkpoints_of_another_workspace_go_as_well() {
    let mut journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    let old = journal.store();
    journal.now += MAX_AGE + Duration::from_secs(1);
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = journal.folder.path().join("checkpoints");
    Checkpoints::open(&folder, &[elsewhere.path().to_owned()], journal.now).unwrap();
    assert!(!old.exists());
}

#[test]
fn a_clock_that_is_set_back_does_not_change_the_order() {
    let mut journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    journal.now -= Duration::from_secs(3_600);
    journal.stage(2, &[("a", "2\n")]);
    check(
        &journal.undo(),
        expect![[r#"
        turn 2, moved on: [], left: []
    "#]],
    );
    check(
        &journal.undo(),
        expect![[r#"
        turn 1, moved on: [], left: []
    "#]],
    );
}

/// As two servers and the command line do it.
#[test]
fn many_writers_lose_nothing() {
    const WRITERS: u64 = 4;
    const TURNS: u64 = 10;
    let journal = Journal::new(&[("a", "0\n")]);
    let path = journal.project.path("a");
    let edit = |turn: u64| FileEdit {
        path: path.clone(),
        moved_from: None,
        before: journal.project.workspace.read(&path).ok(),
        after: Some(format!("{turn}\n")),
        text_from: None,
        stretches: None,
    };
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (journal, edit) = (&journal, &edit);
            scope.spawn(move || {
                let checkpoints = journal.open();
                for turn in 0..TURNS {
                    let mark =
                        TurnMark { turn, ..TurnMark::new(&ThreadId::from(&*format!("t{writer}")), "go") };
                    let workspace = &journal.project.workspace;
                    checkpoints.keep(&mark, &[edit(turn)], workspace, journal.now).unwrap();
                }
            });
        }
    });
    let (entries, problems) = journal.open().list().unwrap();
    let mut turns: Vec<_> =
        entries.iter().map(|entry| format!("{} {}", entry.turn.thread, entry.turn.turn)).collect();
    turns.sort();
    turns.dedup();
    assert_eq!((turns.len() as u64, problems.len()), (WRITERS * TURNS, 0));
    assert!(
        journal.names("records").iter().chain(&journal.names("blobs")).all(|name| !name.starts_with('.'))
    );
}

/// A process that was killed while it wrote leaves what has no name yet.
#[test]
fn what_was_never_finished_is_no_checkpoint_and_goes() {
    let mut journal = Journal::new(&[("a", "0\n")]);
    journal.stage(1, &[("a", "1\n")]);
    for folder in ["records", "blobs"] {
        fs::write(journal.store().join(folder).join(".new-x"), "{\"vers").unwrap();
    }
    check(
        &journal.list(),
        expect![[r#"
            turn 1: applied, edited a
        "#]],
    );
    journal.now += Duration::from_secs(2 * 60 * 60);
    journal.open();
    assert_eq!((journal.names("records").len(), journal.names("blobs").len()), (1, 2));
}

#[test]
fn a_workspace_is_the_set_of_its_roots() {
    let name = |roots: &[&str]| workspace_name(&roots.iter().map(PathBuf::from).collect::<Vec<_>>());
    assert_eq!(name(&["/none/a", "/none/b"]), name(&["/none/b", "/none/a"]));
    assert_ne!(name(&["/none/a", "/none/b"]), name(&["/none/a"]));
    assert_ne!(name(&["/none/ab"]), name(&["/none/a", "/none/b"]));
}

#[cfg(unix)]
#[test]
fn only_their_owner_reads_checkpoints() {
    use std::os::unix::fs::PermissionsExt as _;
    let journal = four_changes();
    let entries =
        ignore::WalkBuilder::new(journal.folder.path().join("checkpoints")).standard_filters(false).build();
    for entry in entries.map(Result::unwrap) {
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        let expected = if entry.path().is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, expected, "{}", entry.path().display());
    }
}

/// What the guard names is never edited, so that it never comes here; a record that names it is not carried out.
#[test]
fn a_secret_is_neither_kept_nor_written() {
    let journal = Journal::new(&[("a", "0\n"), (".env", "KEY=1\n")]);
    assert!(journal.project.stage(".env", "KEY=2\n").is_err());
    journal.stage(1, &[("a", "1\n")]);
    let path = journal.store().join("records").join(&journal.names("records")[0]);
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("/a\"", "/.env\"");
    fs::write(&path, text).unwrap();
    check(
        &journal.undo(),
        expect![[r#"
            none: nothing left to undo; the files of "turn 1" are out of reach: .env may hold secrets, so that it is never read, searched or edited; ask the user if it matters
        "#]],
    );
    assert_eq!(fs::read_to_string(journal.project.root.join(".env")).unwrap(), "KEY=1\n");
}

#[test]
#[cfg(unix)]
fn a_turn_whose_folder_became_a_link_out_of_the_project_says_so() {
    let journal = Journal::new(&[("src/a", "a\n")]);
    journal.stage(1, &[("src/a", "A\n")]);
    let outside = tempfile::tempdir().unwrap();
    let (folder, moved) = (journal.project.root.join("src"), outside.path().join("src"));
    std::fs::rename(&folder, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &folder).unwrap();
    let reason = journal.plan(Direction::Undo).unwrap_err().to_string();
    assert!(
        reason.starts_with("nothing left to undo; the files of \"turn 1\" are out of reach: "),
        "{reason}"
    );
}

#[test]
fn who_waited_for_another_undo_or_turn_is_told_what_happened_and_nothing_is_done() {
    let journal = Journal::new(&[("a.txt", "one\n")]);
    // What is said to somebody who asked before `meanwhile` happened.
    let told = |direction, meanwhile: &dyn Fn()| {
        let workspace = &journal.project.workspace;
        let before = journal.open().newest(direction, None, workspace).unwrap();
        meanwhile();
        let refused = journal.open().refuse_another(direction, before, None, workspace);
        refused.err().map_or_else(|| "it is as before".to_owned(), |error| error.to_string())
    };
    let said = [
        told(Direction::Undo, &|| journal.stage(1, &[("a.txt", "two\n")])),
        told(Direction::Undo, &|| journal.stage(2, &[("a.txt", "three\n")])),
        told(Direction::Undo, &|| drop(journal.undo())),
        told(Direction::Redo, &|| drop(journal.undo())),
        told(Direction::Redo, &|| journal.stage(3, &[("a.txt", "four\n")])),
        told(Direction::Undo, &|| ()),
    ];
    expect![[r#"
        nothing was changed: "turn 1" was applied meanwhile by another askls; ask again to undo that turn
        nothing was changed: "turn 2" was applied meanwhile by another askls; ask again to undo that turn
        "turn 2" was undone already by another askls
        nothing was changed: "turn 1" was undone meanwhile by another askls; ask again to redo that turn
        nothing was changed: another askls worked meanwhile, and nothing is left to redo
        it is as before
    "#]]
    .assert_eq(&(said.join("\n") + "\n"));
}
