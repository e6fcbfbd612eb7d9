//! `askls undo`: what `--apply` wrote is taken back, and what was written since is not lost by it.

use super::*;

fn edit(find: &str, replace: &str) -> Reply {
    call("edit_file", json!({"path": "a.txt", "find": find, "replace": replace}))
}

/// A project in which a turn was applied that changed one file, made one, deleted one and moved one.
async fn applied() -> (Place, FakeModel) {
    let step = edit("two", "TWO")
        .call("write_file", json!({"path": "sub/new.txt", "text": "new\n"}))
        .call("delete_file", json!({"path": "gone.txt"}))
        .call("move_file", json!({"from": "old.txt", "to": "moved.txt"}));
    let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
    let place = Place::new(&[("a.txt", "one\ntwo\nthree\n"), ("gone.txt", "gone\n"), ("old.txt", "old\n")])
        .with_model(&model);
    place.run(&["ask", "--apply", "Change", "all"]).await.assert_code(0);
    (place, model)
}

fn files(place: &Place) -> Vec<(String, String)> {
    let names = ["a.txt", "gone.txt", "moved.txt", "old.txt", "sub/new.txt"];
    let there = names.iter().filter(|name| place.project(name).exists());
    there.map(|name| ((*name).to_owned(), place.read(name))).collect()
}

#[tokio::test]
async fn an_applied_turn_is_undone_and_redone() {
    let (place, _model) = applied().await;
    let after = files(&place);

    let ran = place.run(&["undo"]).await;

    ran.assert_code(0);
    assert_eq!(
        ran.stdout,
        "undone: \"Change all\"\n  written: a.txt\n  created: gone.txt\n  moved: moved.txt to old.txt\n  \
         deleted: sub/new.txt\n"
    );
    let before = [("a.txt", "one\ntwo\nthree\n"), ("gone.txt", "gone\n"), ("old.txt", "old\n")];
    assert_eq!(files(&place), before.map(|(name, text)| (name.to_owned(), text.to_owned())));

    let redone = place.run(&["undo", "--redo"]).await;
    assert!(redone.assert_code(0).stdout.starts_with("redone: \"Change all\"\n"), "{redone:?}");
    assert_eq!(files(&place), after);

    let nothing = place.run(&["undo", "--redo"]).await;
    nothing.assert_code(7).assert_stderr("nothing to redo\n");
}

#[tokio::test]
async fn an_undo_removes_the_folders_that_the_turn_made_once_they_are_empty() {
    let step = call("write_file", json!({"path": "made/deep/new.txt", "text": "new\n"}))
        .call("write_file", json!({"path": "made/other.txt", "text": "other\n"}))
        .call("write_file", json!({"path": "kept/new.txt", "text": "new\n"}))
        .call("write_file", json!({"path": "shared/new.txt", "text": "new\n"}));
    let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
    let place = Place::new(&[("a.txt", "a\n")]).with_model(&model);
    fs::create_dir(place.project("kept")).unwrap();
    place.run(&["ask", "--apply", "Make", "files"]).await.assert_code(0);
    fs::write(place.project("shared/mine.txt"), "mine\n").unwrap();

    place.run(&["undo"]).await.assert_code(0);

    assert!(!place.project("made").exists());
    assert!(place.project("kept").exists(), "it was there before");
    assert_eq!(place.read("shared/mine.txt"), "mine\n");
    place.run(&["undo", "--redo"]).await.assert_code(0);
    assert_eq!(place.read("made/deep/new.txt"), "new\n");
    place.run(&["undo"]).await.assert_code(0);
    assert!(!place.project("made").exists());
}

#[tokio::test]
async fn an_undo_that_finds_the_files_gone_already_says_that_it_removes_their_folders() {
    let step = call("write_file", json!({"path": "made/deep/new.txt", "text": "new\n"}));
    let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
    let place = Place::new(&[("a.txt", "a\n")]).with_model(&model);
    place.run(&["ask", "--apply", "Make", "a", "file"]).await.assert_code(0);
    fs::remove_file(place.project("made/deep/new.txt")).unwrap();

    let ran = place.run(&["undo"]).await;

    ran.assert_code(7).assert_stderr(
        "no file was changed, only 2 empty folders removed: \"Make a file\" counts as undone now: the files are so already",
    );
    assert!(!place.project("made").exists());
}

#[tokio::test]
async fn the_list_says_what_stands_and_what_does_not() {
    let (place, _model) = applied().await;
    place.run(&["undo"]).await.assert_code(0);
    let list = place.run(&["undo", "--list"]).await;
    assert_eq!(
        list.assert_code(0).stdout,
        "  just now  undone   \"Change all\": edited a.txt, deleted gone.txt, moved moved.txt, created sub/new.txt\n"
    );
    place.run(&["undo", "--redo"]).await.assert_code(0);
    let list = place.run(&["undo", "--list"]).await;
    assert!(list.assert_code(0).stdout.starts_with("  just now  applied  \"Change all\": "), "{list:?}");
    let empty = Place::new(&[]).run(&["undo", "--list"]).await;
    empty.assert_code(0).assert_stderr("no turn has been applied in ");
}

#[tokio::test]
async fn in_a_folder_of_the_project_the_project_is_meant() {
    let (place, _model) = applied().await;
    let folder = place.project("sub");
    let mut command = place.command(&["undo"]);
    let ran = command.current_dir(&folder).output().await.unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    assert_eq!(place.read("a.txt"), "one\ntwo\nthree\n");

    // A folder that was named is the one that is meant.
    let sub = folder.to_string_lossy().into_owned();
    let ran = place.run(&["undo", "--redo", "--root", &sub]).await;
    ran.assert_code(7).assert_stderr("no turn has been applied in ").assert_stderr("sub\n");
}

#[tokio::test]
async fn what_could_not_be_undone_can_be_undone_when_it_is_possible() {
    let (place, _model) = applied().await;
    place.run(&["undo"]).await.assert_code(0);
    place.run(&["undo", "--redo"]).await.assert_code(0);
    fs::create_dir(place.project("gone.txt")).unwrap();
    place.run(&["undo"]).await.assert_code(0).assert_stderr("gone.txt: ");
    for arguments in [&["undo"][..], &["undo", "--on-conflict", "merge"]] {
        place.run(arguments).await.assert_code(7).assert_stderr(
            "\"Change all\" can still be undone; with --on-conflict restore it counts as undone",
        );
    }

    fs::remove_dir(place.project("gone.txt")).unwrap();
    let rest = place.run(&["undo"]).await;
    assert_eq!(rest.assert_code(0).stdout, "undone: \"Change all\"\n  created: gone.txt\n");
    place.run(&["undo"]).await.assert_code(7).assert_stderr("nothing left to undo\n");
}

#[tokio::test]
async fn a_file_that_was_deleted_by_hand_is_told_as_such() {
    let (place, _model) = applied().await;
    fs::remove_file(place.project("a.txt")).unwrap();
    place.run(&["undo"]).await.assert_code(7).assert_stderr("  a.txt (deleted since)\n");
}

#[tokio::test]
async fn a_text_that_has_moved_on_is_changed_only_when_that_was_said() {
    let later = "one\nTWO\nthree\nfour\n";
    for (arguments, code, text) in [
        (&["undo"][..], 7, later),
        (&["undo", "--on-conflict", "cancel"], 7, later),
        (&["undo", "--on-conflict", "merge"], 0, "one\ntwo\nthree\nfour\n"),
        (&["undo", "--on-conflict", "restore"], 0, "one\ntwo\nthree\n"),
    ] {
        let (place, _model) = applied().await;
        place.write("project/a.txt", later);

        let ran = place.run(arguments).await;

        ran.assert_code(code);
        assert_eq!(place.read("a.txt"), text, "{ran:?}");
        assert_eq!(place.project("gone.txt").exists(), code == 0, "{ran:?}");
        match (code, arguments.len()) {
            (0, _) => {}
            (_, 1) => {
                ran.assert_stderr("  a.txt (not in the same lines)\nchoose with --on-conflict: merge")
                    .assert_stderr("(--redo brings your changes back)");
            }
            _ => {
                ran.assert_stderr("nothing was changed, as you chose\n");
            }
        }
    }
}

#[tokio::test]
async fn checkpoints_lie_outside_the_project_and_can_be_switched_off() {
    let (place, _model) = applied().await;
    assert!(place.folder.path().join(".local/state/askls/checkpoints").is_dir());
    assert_eq!(fs::read_dir(place.project("")).unwrap().count(), 3);

    let model = FakeModel::start(Wire::Chat, [edit("one", "two"), text("Done.")]);
    let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);
    place.write("config/askls/config.toml", "checkpoints = false\n");
    place.run(&["ask", "--apply", "go"]).await.assert_code(0);
    assert!(!place.folder.path().join(".local").exists());
    place.run(&["undo"]).await.assert_code(2).assert_stderr("the setting checkpoints is off");
}

/// It would take away what the user relies on.
#[tokio::test]
async fn a_project_cannot_switch_checkpoints_off() {
    let model = FakeModel::start(Wire::Chat, [edit("one", "two"), text("Done.")]);
    let place =
        Place::new(&[("a.txt", "one\n"), (".askls/config.toml", "checkpoints = false\n")]).with_model(&model);
    place.run(&["ask", "--apply", "go"]).await.assert_code(0).assert_stderr("checkpoints");
    place.run(&["undo"]).await.assert_code(0);
    assert_eq!(place.read("a.txt"), "one\n");
}

/// Killed at some moment of the writing: the turn is there or it is not, and the next one is kept as ever.
#[tokio::test]
async fn a_process_that_is_killed_while_it_writes_leaves_a_journal_that_reads() {
    const FILES: usize = 40;
    /// How much of the journal is there when the process is killed.
    const MOMENTS: [usize; 5] = [1, 5, 20, 60, 80];
    for moment in MOMENTS {
        let write =
            |number: usize| json!({"path": format!("{number}.txt"), "text": format!("new {number}\n")});
        let step = (1..FILES)
            .fold(call("write_file", write(0)), |step, number| step.call("write_file", write(number)));
        let model = FakeModel::start(Wire::Chat, [step, text("Done."), edit("one", "two"), text("Done.")]);
        let place = Place::new(&[("a.txt", "one\n")]).with_model(&model);

        let mut child = place.command(&["ask", "--apply", "go"]).spawn().unwrap();
        let journal = place.folder.path().join(".local/state/askls/checkpoints");
        while written(&journal) < moment && child.try_wait().unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        child.kill().await.unwrap();

        let list = place.run(&["undo", "--list"]).await;
        list.assert_code(0);
        assert!(!list.stderr.contains("damaged"), "{list:?}");
        assert!(list.stdout.lines().count() <= 1, "{list:?}");
        place.run(&["ask", "--apply", "again"]).await.assert_code(0);
        place.run(&["undo"]).await.assert_code(0);
        assert_eq!(place.read("a.txt"), "one\n");
        if !list.stdout.is_empty() {
            place.run(&["undo"]).await.assert_code(0);
            assert!(!place.project("7.txt").exists());
        }
    }
}

/// Killed at any moment of the writing: each text is somewhere in the project, and one undo brings all back.
#[tokio::test]
async fn a_process_that_is_killed_while_it_writes_can_be_undone() {
    const FILES: usize = 40;
    /// How many files are at their new places when the process is killed.
    const MOMENTS: [usize; 5] = [1, 5, 17, 30, 39];
    let names: Vec<_> =
        (0..FILES).map(|number| (format!("{number}.txt"), format!("text {number}\n"))).collect();
    let files: Vec<_> = names.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    for moment in MOMENTS {
        let mut calls = names.iter().enumerate().map(|(number, (name, text))| match number % 4 {
            0 => ("edit_file", json!({"path": name, "find": text, "replace": "new\n"})),
            _ => ("move_file", json!({"from": name, "to": format!("to/{name}")})),
        });
        let (tool, arguments) = calls.next().unwrap();
        let step = calls.fold(call(tool, arguments), |step, (tool, arguments)| step.call(tool, arguments));
        let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
        let place = Place::new(&files).with_model(&model);
        let is_done = |number: usize| match number % 4 {
            0 => place.read(&names[number].0) == "new\n",
            _ => place.project(&format!("to/{}", names[number].0)).exists(),
        };

        let mut child = place.command(&["ask", "--apply", "go"]).spawn().unwrap();
        while (0..FILES).filter(|number| is_done(*number)).count() < moment
            && child.try_wait().unwrap().is_none()
        {
            tokio::task::yield_now().await;
        }
        child.kill().await.unwrap();

        for (name, text) in &names {
            let moved = place.project(&format!("to/{name}"));
            let there = [place.project(name), moved].map(|path| fs::read_to_string(path).unwrap_or_default());
            assert!(there.contains(text) || there.contains(&"new\n".to_owned()), "{name}: {there:?}");
        }
        place.run(&["undo"]).await.assert_code(0);
        for (name, text) in &names {
            assert_eq!(place.read(name), *text);
            assert!(!place.project(&format!("to/{name}")).exists(), "{name}");
        }
    }
}

/// Killed while it replaces what the user wrote since: the undo goes on, and redos bring the user's texts back.
#[tokio::test]
async fn an_undo_that_is_killed_loses_nothing() {
    const FILES: usize = 30;
    for moment in [1, 10, 25] {
        let name = |number: usize| format!("{number}.txt");
        let write = |number: usize| json!({"path": name(number), "text": "new\n"});
        let step = (1..FILES)
            .fold(call("write_file", write(0)), |step, number| step.call("write_file", write(number)));
        let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
        let place = Place::new(&[]).with_model(&model);
        place.run(&["ask", "--apply", "go"]).await.assert_code(0);
        let mine = |number: usize| format!("new\nmine {number}\n");
        (0..FILES).for_each(|number| fs::write(place.project(&name(number)), mine(number)).unwrap());

        let mut child = place.command(&["undo", "--on-conflict", "restore"]).spawn().unwrap();
        let gone = || (0..FILES).filter(|number| !place.project(&name(*number)).exists()).count();
        while gone() < moment && child.try_wait().unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        child.kill().await.unwrap();

        place.run(&["undo", "--on-conflict", "restore"]).await;
        assert_eq!(gone(), FILES);
        while place.run(&["undo", "--redo"]).await.code == Some(0) {}
        (0..FILES).for_each(|number| assert_eq!(place.read(&name(number)), mine(number)));
    }
}

/// Files of all journals below a folder.
fn written(folder: &Path) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let count = |entry: fs::DirEntry| match entry.path().is_dir() {
        true => written(&entry.path()),
        false => 1,
    };
    entries.flatten().map(count).sum()
}
