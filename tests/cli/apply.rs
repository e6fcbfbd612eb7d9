//! `--apply`: commands of the turn run on what it has edited, and whatever the end, all of it can be undone at once.

#[cfg(unix)]
use std::time::Duration;

use super::*;

fn edit(find: &str, replace: &str) -> Reply {
    call("edit_file", json!({"path": "a.txt", "find": find, "replace": replace}))
}

fn run(command: &str) -> Reply {
    call("run_command", json!({"command": command}))
}

fn place(model: &FakeModel) -> Place {
    Place::new(&[("a.txt", "one\n")]).with_model(model)
}

const APPLY: [&str; 5] = ["ask", "--apply", "--approve", "all", "go"];

/// Waits for a file that a command makes.
#[cfg(unix)]
async fn appears(place: &Place, path: &str) {
    let there = async {
        while !place.project(path).exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), there).await.unwrap();
}

/// What the model was told of the last call.
async fn last_output(model: &FakeModel, request: usize) -> String {
    model.request(request).await.outputs().pop().unwrap().1
}

// SPEC T8
#[tokio::test]
async fn a_command_sees_the_edits_before_it_and_the_turn_is_undone_at_once() {
    for wire in WIRES {
        let command = json!({"command": "cat a.txt"});
        let steps = [edit("one", "two"), run("cat a.txt"), edit("two", "three").call("run_command", command)];
        let model = FakeModel::start(wire, steps.into_iter().chain([text("Done.")]));
        let place = place(&model);

        let ran = place.run(&APPLY).await;

        ran.assert_code(0).assert_stderr("written: a.txt (+1 -1)\n");
        for (request, seen) in [(3, "two\n"), (4, "three\n")] {
            let output = last_output(&model, request).await;
            assert!(
                output.starts_with("exit code 0") && output.ends_with(seen.trim_end()),
                "{wire}: {output}"
            );
        }
        assert!(ran.stdout.contains("-one\n+three\n"), "{wire}: {ran:#?}");
        assert_eq!(ran.stderr.matches("written: ").count(), 1, "{wire}: {ran:#?}");
        place.run(&["undo"]).await.assert_code(0);
        assert_eq!(place.read("a.txt"), "one\n", "{wire}");
        place.run(&["undo", "--redo"]).await.assert_code(0);
        assert_eq!(place.read("a.txt"), "three\n", "{wire}");
    }
}

#[tokio::test]
async fn of_a_turn_that_breaks_off_what_its_commands_had_to_see_stays_and_its_user_hears_how_to_undo_it() {
    for wire in WIRES {
        let refused = status(400, r#"{"error":{"message":"no such model"}}"#);
        let new = call("write_file", json!({"path": "b.txt", "text": "b\n"}));
        let model = FakeModel::start(wire, [edit("one", "two"), run("cat a.txt"), new, refused]);
        let place = place(&model);

        let ran = place.run(&[&APPLY[..], &["--json"]].concat()).await;

        ran.assert_code(3).assert_stderr("written: a.txt (+1 -1)\n").assert_stderr(
            "not written: b.txt: the agent did not come to its end\nthe agent did not come to its end; \
             askls undo takes back what was written\n",
        );
        let events = ran.events();
        let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(types[types.len() - 3..], ["turn_ended", "written", "not_written"], "{wire}");
        assert_eq!((place.read("a.txt").as_str(), place.project("b.txt").exists()), ("two\n", false));
        place.run(&["undo"]).await.assert_code(0);
        assert_eq!(place.read("a.txt"), "one\n", "{wire}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn who_cancels_a_command_hears_what_was_written_before_it() {
    let model = FakeModel::start(Wire::Chat, [edit("one", "two"), run("touch started; sleep 600")]);
    let place = place(&model);
    let child = place.command(&APPLY).spawn().unwrap();
    appears(&place, "started").await;
    signal(&child, "-INT");
    let ran = Ran::from(child.wait_with_output().await.unwrap());
    ran.assert_code(130)
        .assert_stderr("written: a.txt (+1 -1)\n")
        .assert_stderr("askls undo takes back what was written\n");
    assert_eq!(place.read("a.txt"), "two\n");
}

#[tokio::test]
async fn what_a_command_has_done_away_with_is_not_said_to_be_written_alone() {
    for (command, since) in [
        ("rm a.txt", "written: a.txt (+1 -1), deleted since\n"),
        ("echo one > a.txt", "written: a.txt (+1 -1), put back since\n"),
        (": > a.txt", "written: a.txt (+1 -1), changed since\n"),
    ] {
        let model = FakeModel::start(Wire::Chat, [edit("one", "two"), run(command), text("Done.")]);
        place(&model).run(&APPLY).await.assert_code(0).assert_stderr(since);
    }
    let model = FakeModel::start(Wire::Chat, [edit("one", "two"), run("echo more >> a.txt"), text("Done.")]);
    place(&model).run(&APPLY).await.assert_code(0).assert_stderr("written: a.txt (+1 -1)\n");
}

#[tokio::test]
async fn a_file_with_a_part_of_what_was_written_is_said_to_have_changed_since() {
    let both =
        edit("one", "ONE").call("edit_file", json!({"path": "a.txt", "find": "three", "replace": "THREE"}));
    let command = run("printf 'one\\ntwo\\nTHREE\\n' > a.txt");
    let model = FakeModel::start(Wire::Chat, [both, command, text("Done.")]);
    let place = Place::new(&[("a.txt", "one\ntwo\nthree\n")]).with_model(&model);
    place.run(&APPLY).await.assert_code(0).assert_stderr("written: a.txt (+2 -2), changed since\n");
}

#[tokio::test]
async fn a_move_that_a_command_takes_back_is_put_back_and_its_undo_removes_the_folder_that_it_made() {
    let step = call("move_file", json!({"from": "a.txt", "to": "made/b.txt"}));
    let model = FakeModel::start(Wire::Chat, [step, run("mv made/b.txt a.txt"), text("Done.")]);
    let place = place(&model);
    let moved = "moved: a.txt to made/b.txt (+0 -0), put back since\n";
    place.run(&APPLY).await.assert_code(0).assert_stderr(moved);
    place.run(&["undo"]).await.assert_code(7).assert_stderr("the files are so already");
    assert!(!place.project("made").exists());
}

#[tokio::test]
async fn what_was_kept_before_the_journal_could_not_be_written_is_not_said_to_be_lost() {
    let new = call("write_file", json!({"path": "b.txt", "text": "b\n"}));
    let steps = [edit("one", "two"), run("cat a.txt"), new.gate(), text("Done.")];
    let model = FakeModel::start(Wire::Chat, steps);
    let place = place(&model);
    let child = place.command(&APPLY).spawn().unwrap();
    model.request(3).await;
    let journal = place.folder.path().join(".local/state/askls/checkpoints");
    let aside = journal.with_extension("aside");
    fs::rename(&journal, &aside).unwrap();
    fs::write(&journal, "no folder").unwrap();
    model.release(3);
    let ran = Ran::from(child.wait_with_output().await.unwrap());
    ran.assert_code(0).assert_stderr("warning: askls undo cannot take what was written last to b.txt back: ");

    fs::remove_file(&journal).unwrap();
    fs::rename(&aside, &journal).unwrap();
    place.run(&["undo"]).await.assert_code(0);
    assert_eq!((place.read("a.txt").as_str(), place.read("b.txt").as_str()), ("one\n", "b\n"));
}

#[tokio::test]
async fn what_editors_and_shells_run_by_themselves_is_not_written_for_a_command_either() {
    let tasks = json!({"path": ".vscode/tasks.json", "text": "{}\n"});
    let step = edit("one", "two").call("write_file", tasks).call("run_command", json!({"command": "ls -A"}));
    let model = FakeModel::start(Wire::Chat, [step, text("Done.")]);
    let place = place(&model);

    let ran = place.run(&APPLY).await;

    ran.assert_code(7).assert_stderr(
        "written: a.txt (+1 -1)\nnot written: .vscode/tasks.json: editors and shells run what",
    );
    assert!(ran.stdout.contains("+++ b/.vscode/tasks.json"), "{ran:#?}");
    let output = last_output(&model, 2).await;
    assert!(
        output.contains("not applied: .vscode/tasks.json (editors and shells run what it says"),
        "{output}"
    );
    assert!(!place.project(".vscode").exists());
}

#[tokio::test]
async fn an_edit_of_a_file_that_somebody_else_changed_is_void_and_can_be_made_anew() {
    for (again, code, end) in [(None, 7, "one, and mine\n"), (Some("two, and mine"), 0, "two, and mine\n")] {
        let command = || run("cat a.txt").gate();
        let edited = again.map(|text| edit("one, and mine", text));
        let steps = [edit("one", "two"), command()].into_iter().chain(edited).chain([text("Done.")]);
        let model = FakeModel::start(Wire::Chat, steps);
        let place = place(&model);
        let child = place.command(&APPLY).spawn().unwrap();
        model.request(2).await;
        place.write("project/a.txt", "one, and mine\n");
        model.release(2);

        let ran = Ran::from(child.wait_with_output().await.unwrap());

        let output = last_output(&model, 3).await;
        assert!(output.contains("one, and mine\n"), "{output}");
        assert!(output.contains("not applied: a.txt (a.txt has changed since the edit was made"), "{output}");
        ran.assert_code(code);
        assert_eq!(ran.stderr.contains("not written: a.txt: a.txt has changed since"), code == 7, "{ran:#?}");
        assert_eq!(place.read("a.txt"), end);
    }
}

#[tokio::test]
async fn what_a_command_makes_of_the_edits_is_what_the_next_edit_is_made_for() {
    let steps = [edit("one", "two"), run("echo TWO > a.txt"), edit("TWO", "three"), text("Done.")];
    let model = FakeModel::start(Wire::Chat, steps);
    let place = place(&model);
    place.run(&APPLY).await.assert_code(0).assert_stderr("written: a.txt (+1 -1)\n");
    assert_eq!(place.read("a.txt"), "three\n");
    // What the command did is nobody's part of the turn, so it is asked what is to become of it.
    place.run(&["undo"]).await.assert_code(7).assert_stderr("choose with --on-conflict: merge");
    place.run(&["undo", "--on-conflict", "restore"]).await.assert_code(0);
    assert_eq!(place.read("a.txt"), "one\n");
}

#[cfg(unix)]
#[tokio::test]
async fn a_job_in_the_background_sees_the_edits_of_each_step() {
    let watch = "while ! grep -q two a.txt; do sleep 0.02; done; touch seen";
    let start = call("run_command", json!({"command": watch, "background": true}));
    let model = FakeModel::start(Wire::Chat, [start, edit("one", "two"), text("Done.").gate()]);
    let place = place(&model);
    let child = place.command(&APPLY).spawn().unwrap();
    appears(&place, "seen").await;
    model.release(3);
    Ran::from(child.wait_with_output().await.unwrap()).assert_code(0);
    assert!(last_output(&model, 3).await.ends_with("\nApplied: the disk has it."));
}

#[tokio::test]
async fn without_apply_the_user_hears_that_the_commands_ran_without_the_edits() {
    const TOLD: &str = "the commands of this turn ran without the edits above\n";
    for (steps, is_told) in [
        (vec![edit("one", "two"), run("cat a.txt")], true),
        (vec![run("cat a.txt"), edit("one", "two")], false),
        (vec![edit("one", "two"), run("cat a.txt"), edit("two", "one")], false),
    ] {
        let model = FakeModel::start(Wire::Chat, steps.into_iter().chain([text("Done.")]));
        let ran = place(&model).run(&["ask", "--approve", "all", "go"]).await;
        assert_eq!(ran.assert_code(0).stderr.ends_with(TOLD), is_told, "{ran:#?}");
    }
}

const REFUSED: &str = "this call was not allowed and did not run";

/// Rules hold for what is on the disk when the command runs, and that is what the model has made of it.
#[tokio::test]
async fn a_script_that_the_model_has_just_made_is_judged_as_it_is_when_it_runs() {
    let makes = [
        ("write_file", json!({"path": "x.sh", "text": "touch pushed\n"})),
        ("edit_file", json!({"path": "b.sh", "find": "pulled", "replace": "pushed"})),
        ("move_file", json!({"from": "b.txt", "to": "x.sh"})),
    ];
    for (tool, arguments) in makes {
        let script = if tool == "edit_file" { "b.sh" } else { "x.sh" };
        let command = json!({"command": format!("sh {script}")});
        let made = || call(tool, arguments.clone());
        let in_one_step = vec![made().call("run_command", command.clone())];
        let in_two_steps = vec![made(), call("run_command", command)];
        for steps in [in_one_step, in_two_steps] {
            let answered = steps.len() + 1;
            let model = FakeModel::start(Wire::Chat, steps.into_iter().chain([text("Done.")]));
            let place =
                Place::new(&[("b.sh", "touch pulled\n"), ("b.txt", "touch pushed\n")]).with_model(&model);
            place.write("config/askls/config.toml", "deny = ['command: touch pushed']\n");

            let ran = place.run(&APPLY).await;

            let output = last_output(&model, answered).await;
            assert!(output.starts_with(REFUSED), "{tool}: {output}");
            assert!(!place.project("pushed").exists() && !place.project("pulled").exists(), "{tool}");
            // They were to be written, whatever becomes of the command, and can be undone.
            assert_eq!(place.read(script), "touch pushed\n", "{tool}: {ran:#?}");
            ran.assert_stderr(if tool == "move_file" { "moved: b.txt to x.sh" } else { "written: " });
            place.run(&["undo"]).await.assert_code(0);
            assert!(!place.project("x.sh").exists(), "{tool}");
            assert_eq!(place.read("b.sh"), "touch pulled\n", "{tool}");
        }
    }
}

/// A name that the shell takes apart into others.
#[tokio::test]
async fn the_names_of_files_that_the_model_has_just_made_are_seen_before_a_command_is_let_go() {
    let place = Place::new(&[("a.txt", "one\n")]);
    place.write("beside/note.txt", "kept outside\n");
    let note = place.folder.path().join("beside/note.txt");
    let new = call("write_file", json!({"path": format!("q {} z.txt", note.display()), "text": "x\n"}));
    let find = run(r#"find . -name "*.txt" -type f | xargs cat"#);
    let model = FakeModel::start(Wire::Chat, [new, find, text("Done.")]);
    let place = place.with_model(&model);

    let ran = place.run(&["ask", "--apply", "go"]).await;

    let output = last_output(&model, 3).await;
    assert!(output.starts_with(REFUSED), "{output}\n{ran:#?}");
}

/// What was not written is told of with the refusal too, which does not say that anything ran.
#[tokio::test]
async fn a_command_that_is_refused_says_which_edits_before_it_are_void() {
    let new = call("write_file", json!({"path": ".envrc", "text": "touch found\n"}));
    let model = FakeModel::start(Wire::Chat, [new, run("touch pushed"), text("Done.")]);
    let place = place(&model);
    place.write("config/askls/config.toml", "deny = ['command: touch pushed']\n");

    place.run(&APPLY).await;

    let output = last_output(&model, 3).await;
    assert!(output.starts_with(REFUSED) && output.contains("\nnote: these edits of yours"), "{output}");
    assert!(output.contains(".envrc") && !output.contains("the command ran"), "{output}");
}
