use std::fs;

use super::*;
use crate::{
    protocol::ThreadId,
    workspace::{checkpoints::OnConflict, testing::Project},
};

/// A project and its journal.
struct Journal {
    project: Project,
    folder: tempfile::TempDir,
    checkpoints: Checkpoints,
}

impl Journal {
    fn new(files: &[(&str, &str)]) -> Self {
        let (project, folder) = (Project::new(files), tempfile::tempdir().unwrap());
        let checkpoints =
            Checkpoints::open(folder.path(), &project.workspace.roots(), SystemTime::now()).unwrap();
        Self { project, folder, checkpoints }
    }

    /// Applies what is staged, as one turn.
    fn apply(&self) -> EditProposal {
        let mark = TurnMark::new(&ThreadId::from("t"), "go");
        let proposal = self.project.files.proposal();
        self.checkpoints.apply(&mark, &proposal, &self.project.workspace, SystemTime::now()).unwrap();
        self.project.files.applied(&proposal.files);
        proposal
    }

    fn plan(&self, direction: Direction) -> UndoPlan {
        self.checkpoints.plan(direction, None, &self.project.workspace).unwrap()
    }

    /// Everything but the end, as a process that is killed then.
    fn begin(&self, plan: &UndoPlan) -> Intent {
        let proposal = plan.proposal(OnConflict::Restore);
        let workspace = &self.project.workspace;
        self.checkpoints
            .apply_undo(&self.checkpoints.lock().unwrap(), plan, proposal, workspace, SystemTime::now())
            .unwrap()
            .unwrap()
    }

    fn take(&self, direction: Direction) {
        let plan = self.plan(direction);
        let intent = self.begin(&plan);
        self.checkpoints.conclude_undo(&plan, intent, true, SystemTime::now()).unwrap();
    }

    fn records(&self) -> usize {
        self.checkpoints.store.record_files().unwrap().len()
    }

    /// From now on nothing can be kept.
    fn break_journal(&self) {
        let blobs = self.checkpoints.store.blobs_folder();
        fs::rename(&blobs, self.folder.path().join("aside")).unwrap();
        fs::write(blobs, "").unwrap();
    }
}

#[test]
fn a_turn_that_broke_off_in_the_middle_is_undone_to_its_original_texts() {
    let files = [("a", "a\n"), ("b", "b\n"), ("gone", "gone\n"), ("old", "old\n"), ("whole", "whole\n")];
    let journal = Journal::new(&files);
    let project = &journal.project;
    let before = project.disk();
    for (path, text) in [("a", "A\n"), ("b", "B\n"), ("new", "new\n")] {
        let _ = project.read(path);
        project.stage(path, text).unwrap();
    }
    project.delete("gone").unwrap();
    project.rename("old", "moved").unwrap();
    project.stage("moved", "MOVED\n").unwrap();
    project.rename("whole", "at both").unwrap();
    journal.apply();
    // What was still to come when it was killed.
    project.write("b", "b\n");
    project.write("gone", "gone\n");
    project.write("old", "old\n");
    project.write("whole", "whole\n");

    let plan = journal.plan(Direction::Undo);
    assert_eq!((&plan.moved_on, &plan.left, &plan.unsaved), (&Vec::new(), &Vec::new(), &Vec::new()));
    journal.take(Direction::Undo);
    assert_eq!(project.disk(), before);
}

#[test]
fn an_undo_that_broke_off_goes_on_and_what_it_replaced_comes_back_by_a_redo() {
    let journal = Journal::new(&[("a", "a\n"), ("b", "b\n")]);
    let project = &journal.project;
    for (path, text) in [("a", "A\n"), ("b", "B\n")] {
        project.read(path).unwrap();
        project.stage(path, text).unwrap();
    }
    journal.apply();
    project.write("a", "A\nmine\n");
    project.write("b", "B\nmine\n");
    let _killed = journal.begin(&journal.plan(Direction::Undo));
    project.write("b", "B\nmine\n");

    journal.take(Direction::Undo);
    assert_eq!((project.read("a").unwrap().as_str(), project.read("b").unwrap().as_str()), ("a\n", "b\n"));
    journal.take(Direction::Redo);
    journal.take(Direction::Redo);
    assert_eq!(project.read("a").unwrap(), "A\nmine\n");
    assert_eq!(project.read("b").unwrap(), "B\nmine\n");
}

#[test]
fn what_somebody_wrote_is_replaced_only_when_it_can_be_kept() {
    let journal = Journal::new(&[("a", "a\n")]);
    let project = &journal.project;
    project.read("a").unwrap();
    project.stage("a", "A\n").unwrap();
    journal.apply();
    project.write("a", "A\nmine\n");
    let plan = journal.plan(Direction::Undo);
    journal.break_journal();
    let proposal = plan.proposal(OnConflict::Restore);
    let refused = journal
        .checkpoints
        .apply_undo(
            &journal.checkpoints.lock().unwrap(),
            &plan,
            proposal,
            &project.workspace,
            SystemTime::now(),
        )
        .unwrap_err();
    assert!(
        refused[0].starts_with("what changed since cannot be kept among the checkpoints: "),
        "{refused:?}"
    );
    assert_eq!(project.read("a").unwrap(), "A\nmine\n");
}

#[test]
fn what_the_turn_left_is_undone_though_the_journal_cannot_be_written() {
    let journal = Journal::new(&[("a", "a\n")]);
    let project = &journal.project;
    project.read("a").unwrap();
    project.stage("a", "A\n").unwrap();
    journal.apply();
    let plan = journal.plan(Direction::Undo);
    journal.break_journal();
    let proposal = plan.proposal(OnConflict::Restore);
    let kept = journal
        .checkpoints
        .apply_undo(
            &journal.checkpoints.lock().unwrap(),
            &plan,
            proposal,
            &project.workspace,
            SystemTime::now(),
        )
        .unwrap();
    assert!(kept.is_err(), "the user is told that this cannot be redone");
    assert_eq!(project.read("a").unwrap(), "a\n");
}

#[test]
fn edits_that_were_refused_or_failed_leave_no_record() {
    let journal = Journal::new(&[("a", "a\n")]);
    let project = &journal.project;
    project.read("a").unwrap();
    project.stage("a", "A\n").unwrap();
    project.write("a", "theirs\n");
    let mark = TurnMark::new(&ThreadId::from("t"), "go");
    let proposal = project.files.proposal();
    let refused = journal.checkpoints.apply(&mark, &proposal, &project.workspace, SystemTime::now());
    assert!(matches!(refused, Err(Unapplied::Conflicts(conflicts)) if conflicts.len() == 1));
    assert_eq!(journal.records(), 0);
}

#[test]
fn an_undo_is_one_record_however_it_was_begun() {
    let journal = Journal::new(&[("a", "a\n")]);
    journal.project.read("a").unwrap();
    journal.project.stage("a", "A\n").unwrap();
    journal.apply();
    journal.take(Direction::Undo);
    assert_eq!(journal.records(), 2);
}

#[cfg(unix)]
#[test]
fn a_deleted_file_comes_back_with_its_mode_bits() {
    use std::os::unix::fs::PermissionsExt as _;
    let journal = Journal::new(&[("run.sh", "#!/bin/sh\n")]);
    let place = journal.project.root.join("run.sh");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o750)).unwrap();
    journal.project.delete("run.sh").unwrap();
    journal.apply();
    journal.take(Direction::Undo);
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o7777, 0o750);
}

#[test]
fn byte_order_marks_are_as_before_after_an_undo_and_as_after_by_a_redo() {
    let journal = Journal::new(&[("a", "\u{feff}a\n"), ("b", "b\n")]);
    let project = &journal.project;
    let before = project.disk();
    project.rename("b", "c").unwrap();
    project.rename("a", "b").unwrap();
    journal.apply();
    let after = project.disk();
    journal.take(Direction::Undo);
    assert_eq!(project.disk(), before);
    journal.take(Direction::Redo);
    assert_eq!(project.disk(), after);
}
