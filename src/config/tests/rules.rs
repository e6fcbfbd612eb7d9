//! Rules of consent: their lists add up, and a project only adds to those that guard.

use expect_test::expect;

use super::*;

#[test]
fn the_rules_of_all_places_add_up_and_a_project_allows_nothing() {
    Place::new()
        .user("allow = [\"command: cargo test\"]\ndeny = [\"command: git push\"]\n")
        .project("allow = [\"effect: execute\"]\nask = [\"edit: ci/**\"]\ndeny = [\"command: git push\", \"tool: search\"]\n")
        .check_editor(json!({"allow": ["edit: docs/**"]}), expect![[r#"
            allow = ["command: cargo test", "edit: docs/**"] ($/config/askls/config.toml and editor)
            ask = ["edit: ci/**"] ($/project/.askls/config.toml)
            deny = ["command: git push", "tool: search"] ($/config/askls/config.toml and $/project/.askls/config.toml)
            ! $/project/.askls/config.toml:1:1: allow is ignored in a project's file, since it could run a program: set it in your own settings file, or list the project's folder in trusted_folders there
        "#]]);
}

#[test]
fn a_rule_that_cannot_be_read_is_told_with_its_line_and_what_fits() {
    Place::new()
        .user("max_steps = 5\nallow = [\"cargo test\"]\nask = [\"edit: ../x\"]\ndeny = [\"command: rm && ls\", 3]\n")
        .check(expect![[r#"
            max_steps = 5 ($/config/askls/config.toml)
            ! $/config/askls/config.toml:2:1: allow: "cargo test" is no rule: it begins with one of command, exactly, edit, read, tool, effect, host, and a colon, such as `command: cargo test`
            ! $/config/askls/config.toml:3:1: ask: "../x" is no pattern of paths: write one relative to the project, as src/** or *.md
            ! $/config/askls/config.toml:4:1: deny: `command: rm && ls` would hold for this spelling only: name the program and its first words, as in `command: git push`
        "#]]);
}

#[test]
fn a_rule_that_forbids_or_asks_and_cannot_be_read_ends_the_ask() {
    let held_up = |place: Place| place.load().settings.model_choice().held_up().is_some();
    assert!(held_up(Place::new().user("deny = [\"git push\"]\n")));
    assert!(held_up(Place::new().user("ask = \"command: git push\"\n")));
    // Without it more is asked.
    assert!(!held_up(Place::new().user("allow = [\"git push\"]\n")));
    // Nobody looked at a project that was just cloned.
    assert!(!held_up(Place::new().project("deny = [\"git push\"]\n")));
    // A stronger layer adds to the list and does not say it again.
    let editor = Place::new()
        .user("deny = [\"git push\"]\n")
        .load()
        .settings
        .with_editor(&json!({"deny": ["command: x"]}));
    assert!(editor.settings.model_choice().held_up().is_some());
}

#[test]
fn what_a_user_answered_for_a_project_holds_for_it_and_for_no_other() {
    let place = Place::new();
    let project = place.folder.path().join("project");
    std::fs::create_dir_all(&project).unwrap();
    let rule = |text: &str| text.parse().unwrap();
    let settings = place.load().settings;
    settings.kept_rules().unwrap().allow(&project, &[rule("command: cargo test")]).unwrap();
    settings.kept_rules().unwrap().allow(place.folder.path(), &[rule("command: make")]).unwrap();
    place.check(expect![[r#"
        allow = ["command: cargo test"] ($/config/askls/projects.toml)
    "#]]);
}

#[test]
fn what_adds_up_names_every_place_that_it_comes_from() {
    let place = Place::new().user("allow = [\"command: make\"]\ndeny = [\"command: rm\"]\n");
    let place = place.project("deny = [\"command: curl\"]\n");
    let project = place.folder.path().join("project");
    let kept = place.load().settings.kept_rules().unwrap();
    kept.allow(&project, &["command: cargo test".parse().unwrap()]).unwrap();
    place.check(expect![[r#"
        allow = ["command: make", "command: cargo test"] ($/config/askls/config.toml and $/config/askls/projects.toml)
        deny = ["command: rm", "command: curl"] ($/config/askls/config.toml and $/project/.askls/config.toml)
    "#]]);
    let files: Vec<_> =
        place.load().settings.files().iter().map(|file| (file.path.clone(), file.exists)).collect();
    assert!(files.contains(&(kept.file().to_owned(), true)), "{files:?}");
}

#[test]
fn a_file_of_answers_that_cannot_be_read_ends_the_ask() {
    let place = Place::new().write("config/askls/projects.toml", b"oops");
    assert!(place.load().settings.model_choice().held_up().is_some());
    place.check(expect![[r#"
        ! $/config/askls/projects.toml:1:5: nothing in this file is used: this line is not valid TOML and is not used: a line is name = value, with text in quotes, or [table] (the fault: key with no value, expected `=`)
    "#]]);
}
