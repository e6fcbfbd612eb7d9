//! Files outside the project, on the command line.

use super::*;

/// A project whose user lets edits of one file beside it go ahead.
fn place(model: &FakeModel) -> (Place, PathBuf) {
    let place = Place::new(&[]).with_model(model);
    place.write("notes/note.txt", "beside\n");
    let note = place.folder.path().join("notes/note.txt").canonicalize().unwrap();
    let settings = format!("outside = 'ask'\nallow = ['edit: {}']\n", note.display());
    place.write("config/askls/config.toml", &settings);
    (place, note)
}

// SPEC T10
#[tokio::test]
async fn without_a_terminal_a_place_outside_is_not_read_and_it_is_said_what_would_allow_it() {
    let model = FakeModel::start(Wire::Chat, [read("../notes/note.txt"), text("No.")]);
    let (place, note) = place(&model);
    let ran = place.run(&["ask", "--approve", "all", "What", "is", "there?"]).await;
    ran.assert_stderr(&format!(
        " [denied] read_file (outside is ask): nobody can be asked without a terminal; allow = [\"read: {}\"] lets it go ahead\n",
        note.display()
    ));
    assert!(!String::from_utf8_lossy(&model.requests()[1].body).contains("beside"), "{ran:?}");
}

#[tokio::test]
async fn what_was_written_outside_is_undone_by_the_next_process() {
    let edit = call("edit_file", json!({"path": "../notes/note.txt", "find": "beside", "replace": "edited"}));
    let model = FakeModel::start(Wire::Chat, [edit, text("Edited.")]);
    let (place, note) = place(&model);
    let now = || fs::read_to_string(&note).unwrap();

    let ran = place.run(&["ask", "--apply", "Edit", "it"]).await;
    ran.assert_code(0);
    assert_eq!(now(), "edited\n");

    let ran = place.run(&["undo"]).await;
    ran.assert_code(0);
    assert_eq!(ran.stdout, format!("undone: \"Edit it\"\n  written: {}\n", note.display()));
    assert_eq!(now(), "beside\n");

    // Somebody puts another file in its place.
    place.run(&["undo", "--redo"]).await.assert_code(0);
    place.write("notes/other.txt", "edited\n");
    fs::remove_file(&note).unwrap();
    std::os::unix::fs::symlink(note.with_file_name("other.txt"), &note).unwrap();
    let ran = place.run(&["undo"]).await;
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert_eq!(now(), "edited\n");
}
