use std::fs;

use expect_test::{Expect, expect};

use super::{super::testing::Project, *};

fn apply(project: &Project) -> String {
    match project.files.proposal().apply_to_disk(&project.workspace) {
        Ok(()) => "applied".to_owned(),
        Err(conflicts) => {
            conflicts.into_iter().map(|conflict| conflict.reason).collect::<Vec<_>>().join("\n")
        }
    }
}

fn run(transaction: &mut Transaction, edits: &[FileEdit]) -> Result<(), Conflict> {
    let prepared = transaction.prepare_all(edits, &BTreeMap::new())?;
    transaction.run(edits, prepared)
}

fn check(project: &Project, expected: &str, disk: Expect) {
    assert_eq!(apply(project), expected);
    disk.assert_eq(&project.disk());
}

// SPEC T5
#[test]
fn all_files_are_written_with_their_folders_and_nothing_is_left_behind() {
    let project = Project::new(&[("a.txt", "\u{feff}a\r\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    project.stage("a.txt", "A\r\nmore\n").unwrap();
    project.stage("src/deep/new/mod.rs", "pub fn b() {}\n").unwrap();
    project.delete("b.txt").unwrap();
    project.rename("c.txt", "moved/c.txt").unwrap();
    check(
        &project,
        "applied",
        expect![[r#"
        a.txt = "\u{feff}A\r\nmore\n"
        moved/
        moved/c.txt = "c\n"
        src/
        src/deep/
        src/deep/new/
        src/deep/new/mod.rs = "pub fn b() {}\n"
    "#]],
    );
}

#[test]
fn two_files_can_change_places() {
    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    project.rename("a.txt", "tmp").unwrap();
    project.rename("b.txt", "a.txt").unwrap();
    project.rename("tmp", "b.txt").unwrap();
    check(
        &project,
        "applied",
        expect![[r#"
        a.txt = "b\n"
        b.txt = "a\n"
    "#]],
    );
}

#[test]
fn a_byte_order_mark_goes_where_its_text_goes() {
    let project = Project::new(&[("a.txt", "\u{feff}a\n"), ("b.txt", "b\n")]);
    project.rename("b.txt", "c.txt").unwrap();
    project.rename("a.txt", "b.txt").unwrap();
    check(
        &project,
        "applied",
        expect![[r#"
            b.txt = "\u{feff}a\n"
            c.txt = "b\n"
        "#]],
    );
}

#[test]
fn a_text_is_at_its_new_place_before_another_takes_the_old_one() {
    let project = Project::new(&[("a", "a\n"), ("b", "b\n"), ("c", "c\n"), ("edited", "e\n"), ("gone", "")]);
    project.stage("edited", "E\n").unwrap();
    project.delete("gone").unwrap();
    for (from, to) in [("c", "new"), ("b", "c"), ("a", "b")] {
        project.rename(from, to).unwrap();
    }
    let proposal = project.files.proposal();
    let order: Vec<_> = in_order(&proposal.files).iter().map(|edit| edit.path.as_str()).collect();
    let place = |path: &str| order.iter().position(|other| *other == path).unwrap();
    assert!(place("new") < place("c") && place("c") < place("b"), "{order:?}");
    check(
        &project,
        "applied",
        expect![[r#"
            b = "a\n"
            c = "b\n"
            edited = "E\n"
            new = "c\n"
        "#]],
    );
}

#[cfg(unix)]
#[test]
fn a_moved_file_is_the_same_file() {
    use std::os::unix::fs::MetadataExt;
    let project = Project::new(&[("a.txt", "a\n")]);
    let file = |path: &str| fs::metadata(project.root.join(path)).unwrap().ino();
    let before = file("a.txt");
    project.rename("a.txt", "sub/b.txt").unwrap();
    assert_eq!(apply(&project), "applied");
    assert_eq!(file("sub/b.txt"), before);
}

#[test]
fn moves_are_taken_back_when_a_later_file_fails() {
    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n"), ("d.txt", "d\n")]);
    project.rename("a.txt", "sub/a.txt").unwrap();
    project.rename("b.txt", "sub/b.txt").unwrap();
    project.stage("sub/b.txt", "B\n").unwrap();
    project.delete("c.txt").unwrap();
    project.delete("d.txt").unwrap();
    let proposal = project.files.proposal();
    let mut transaction = Transaction::default();
    let prepared = transaction.prepare_all(&proposal.files, &BTreeMap::new()).unwrap();
    project.write("d.txt", "theirs\n");
    transaction.run(&proposal.files, prepared).unwrap_err();
    assert_eq!(transaction.undo(), Vec::<String>::new());
    expect![[r#"
        a.txt = "a\n"
        b.txt = "b\n"
        c.txt = "c\n"
        d.txt = "theirs\n"
    "#]]
    .assert_eq(&project.disk());
}

#[test]
fn one_conflict_stops_all() {
    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    project.stage("a.txt", "A\n").unwrap();
    project.stage("b.txt", "B\n").unwrap();
    project.write("b.txt", "somebody else's\n");
    check(
        &project,
        "b.txt has changed since the edit was made; ask for the edit again",
        expect![[r#"
        a.txt = "a\n"
        b.txt = "somebody else's\n"
    "#]],
    );
}

#[test]
fn unsaved_text_and_buffers_without_a_file_are_left_to_the_editor() {
    let project = Project::new(&[("a.txt", "a\n")]);
    project.open("a.txt", 2, "typed\n");
    project.read("a.txt").unwrap();
    project.stage("a.txt", "edited\n").unwrap();
    project.workspace.overlay().open("untitled:1", "text", 1, "x".to_owned());
    project.stage("untitled:1", "y").unwrap();
    check(
        &project,
        "a.txt has unsaved changes in the editor; save it first\nuntitled:1 is not a file on disk; only the editor can change it",
        expect![[r#"
            a.txt = "a\n"
        "#]],
    );
}

#[cfg(unix)]
#[test]
fn permissions_stay_links_stay_and_read_only_files_are_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let project = Project::new(&[("run.sh", "old\n"), ("real.txt", "old\n"), ("fixed.txt", "old\n")]);
    let mode = |path: &str, mode| {
        fs::set_permissions(project.root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("run.sh", 0o750);
    symlink("real.txt", project.root.join("link.txt")).unwrap();
    project.stage("run.sh", "new\n").unwrap();
    project.stage("link.txt", "new\n").unwrap();
    assert_eq!(apply(&project), "applied");
    let metadata = fs::metadata(project.root.join("run.sh")).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o750);
    assert_eq!(fs::read_link(project.root.join("link.txt")).unwrap(), Path::new("real.txt"));
    assert_eq!(fs::read_to_string(project.root.join("real.txt")).unwrap(), "new\n");

    let project = Project::new(&[("fixed.txt", "old\n")]);
    fs::set_permissions(project.root.join("fixed.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    project.stage("fixed.txt", "new\n").unwrap();
    assert_eq!(apply(&project), "fixed.txt is read-only; make it writable first");
}

#[cfg(unix)]
#[test]
fn a_file_that_became_a_link_is_not_followed() {
    let project = Project::new(&[("a.txt", "same\n")]);
    project.stage("a.txt", "new\n").unwrap();
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(outside.path(), "same\n").unwrap();
    fs::remove_file(project.root.join("a.txt")).unwrap();
    std::os::unix::fs::symlink(outside.path(), project.root.join("a.txt")).unwrap();
    assert_eq!(apply(&project), "a.txt no longer lies where it was found; ask for the edit again");
    assert_eq!(fs::read_to_string(outside.path()).unwrap(), "same\n");
}

#[test]
fn a_failure_in_the_middle_restores_what_was_written() {
    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n"), ("d.txt", "d\n")]);
    project.stage("a.txt", "A\n").unwrap();
    project.delete("b.txt").unwrap();
    project.rename("c.txt", "deep/c.txt").unwrap();
    project.stage("d.txt", "D\n").unwrap();
    let before = project.disk();
    let proposal = project.files.proposal();
    let mut transaction = Transaction::default();
    // Somebody takes the last file's place between the check and its turn.
    let last = proposal.files.last().unwrap();
    assert_eq!(last.path.as_str(), "deep/c.txt");
    fs::create_dir(project.root.join("deep")).unwrap();
    fs::write(project.root.join("deep/c.txt"), "theirs\n").unwrap();
    let conflict = run(&mut transaction, &proposal.files).unwrap_err();
    assert!(conflict.reason.starts_with("deep/c.txt could not be written: "), "{conflict:?}");
    assert_eq!(transaction.undo(), Vec::<String>::new());
    fs::remove_dir_all(project.root.join("deep")).unwrap();
    assert_eq!(project.disk(), before);
}

#[test]
fn what_others_saved_meanwhile_is_not_taken_back() {
    let project = Project::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    project.stage("a.txt", "A\n").unwrap();
    project.stage("b.txt", "B\n").unwrap();
    let mut transaction = Transaction::default();
    run(&mut transaction, &project.files.proposal().files[..1]).unwrap();
    let edit = &project.files.proposal().files[0];
    let written = b"A\n".to_vec();
    let metadata = fs::metadata(project.root.join("a.txt")).unwrap();
    let path = edit.path.disk().unwrap().to_owned();
    transaction.done.push(Done::Replaced { path, written, bytes: b"a\n".to_vec(), metadata });
    project.write("a.txt", "theirs\n");
    assert_eq!(transaction.undo().len(), 1, "the user is told that a.txt is not what it was before, and why");
    expect![[r#"
        a.txt = "theirs\n"
        b.txt = "b\n"
    "#]]
    .assert_eq(&project.disk());
}

#[test]
fn folders_made_for_a_file_that_failed_go_again() {
    let project = Project::new(&[("a.txt", "a\n")]);
    project.stage("new/deep/b.txt", "b\n").unwrap();
    project.stage("a.txt", "A\n").unwrap();
    let mut proposal = project.files.proposal();
    proposal.files.sort_by_key(|edit| std::cmp::Reverse(edit.path.clone()));
    project.write("a.txt", "theirs\n");
    let mut transaction = Transaction::default();
    assert!(run(&mut transaction, &proposal.files).is_err());
    assert_eq!(transaction.undo(), Vec::<String>::new());
    expect![[r#"
        a.txt = "theirs\n"
    "#]]
    .assert_eq(&project.disk());
}

/// Needs the right to give files away; without it there is nothing to keep.
#[cfg(unix)]
#[test]
fn a_file_stays_with_its_owner() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let project = Project::new(&[("a.txt", "a\n")]);
    let place = project.root.join("a.txt");
    if chown(&place, Some(12_345), Some(54_321)).is_err() {
        return;
    }
    fs::set_permissions(&place, fs::Permissions::from_mode(0o4750)).unwrap();
    project.stage("a.txt", "A\n").unwrap();
    assert_eq!(apply(&project), "applied");
    let metadata = fs::metadata(&place).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (12_345, 54_321, 0o4750));
}

#[cfg(unix)]
#[test]
fn another_hard_link_keeps_the_old_text() {
    let project = Project::new(&[("a.txt", "a\n")]);
    fs::hard_link(project.root.join("a.txt"), project.root.join("b.txt")).unwrap();
    project.stage("a.txt", "A\n").unwrap();
    check(
        &project,
        "applied",
        expect![[r#"
        a.txt = "A\n"
        b.txt = "a\n"
    "#]],
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Any bytes around the edit, of any line ends, with and without a mark and a last line end.
    #[test]
    fn no_byte_changes_but_those_of_the_edit(
        mark in proptest::bool::ANY,
        before in "([a-c \\t]{0,3}(\r\n|\n|\r)){0,4}",
        after in "((\r\n|\n|\r)[a-c \\t]{0,3}){0,4}",
    ) {
        let mark = if mark { "\u{feff}" } else { "" };
        let project = Project::new(&[("a.txt", &format!("{mark}{before}here{after}"))]);
        project.stage("a.txt", &format!("{before}there{after}")).unwrap();
        proptest::prop_assert_eq!(apply(&project), "applied");
        let now = fs::read_to_string(project.root.join("a.txt")).unwrap();
        proptest::prop_assert_eq!(now, format!("{mark}{before}there{after}"));
    }
}
