//! What would run later, outside the sandbox: it cannot be changed, nor made where it was not there, or it is told.

use std::fs;

use super::{Place, git, on_each_machine};

/// A project with a repository that has a submodule and a second working tree.
fn with_repository(place: &Place) {
    let project = place.path("home/project");
    git(&project, &["init", "-q"]);
    for (path, text) in [
        ("modules/lib/HEAD", "ref: refs/heads/main\n"),
        ("modules/lib/config", "[core]\n"),
        ("modules/group/deep/HEAD", "ref: refs/heads/main\n"),
        ("modules/group/deep/config", "[core]\n"),
        ("worktrees/w/HEAD", "ref: refs/heads/w\n"),
        ("worktrees/w/commondir", "../..\n"),
        ("worktrees/w/gitdir", "/nowhere/.git\n"),
    ] {
        place.write(&format!("home/project/.git/{path}"), text);
    }
    // As with a template that has none.
    fs::remove_dir_all(project.join(".git/hooks")).unwrap();
}

#[test]
fn what_git_runs_in_submodules_and_working_trees_cannot_be_changed() {
    on_each_machine(async |place| {
        with_repository(&place);
        if !place.has_namespaces() {
            return;
        }
        for file in [
            "modules/lib/config",
            "modules/lib/hooks/post-checkout",
            "modules/group/deep/config",
            "worktrees/w/commondir",
            "worktrees/w/gitdir",
        ] {
            place.run(&format!("echo x >.git/{file}")).await.assert_refused("Read-only file system");
        }
        for folder in ["modules", "modules/lib", "modules/group", "worktrees", "worktrees/w"] {
            let command = format!("mv .git/{folder} .git/aside");
            place.run(&command).await.assert_refused("Device or resource busy");
        }
    });
}

#[test]
fn a_hook_cannot_be_made_where_there_were_none() {
    on_each_machine(async |place| {
        with_repository(&place);
        if !place.has_namespaces() {
            return;
        }
        let answer = place.run("mkdir -p .git/hooks && echo x >.git/hooks/pre-commit").await;
        answer.assert_refused("Read-only file system");
        assert_eq!(fs::read_dir(place.path("home/project/.git/hooks")).unwrap().count(), 0);
    });
}

#[test]
fn settings_of_version_control_that_a_command_makes_are_put_aside_and_told() {
    on_each_machine(async |place| {
        with_repository(&place);
        if !place.has_namespaces() {
            return;
        }
        for _ in 0..2 {
            let answer = place.run("echo /tmp/other >.git/commondir").await;
            assert!(answer.text.contains("commondir.from-sandbox"), "{}", answer.text);
        }
        let place = place.path("home/project/.git");
        assert!(!place.join("commondir").exists());
        for aside in ["commondir.from-sandbox", "commondir.from-sandbox-2"] {
            assert_eq!(fs::read_to_string(place.join(aside)).unwrap(), "/tmp/other\n");
        }
    });
}

#[test]
fn what_came_to_be_that_editors_run_by_themselves_is_told_and_stays() {
    on_each_machine(async |place| {
        place.run("touch a.rs").await.assert_printed("(no output)");
        if place.sandbox.report(&[]).walls.is_empty() {
            return;
        }
        let answer = place.run("mkdir .vscode && echo {} >.vscode/tasks.json").await;
        assert!(answer.text.contains("/.vscode came to be, which editors"), "{}", answer.text);
        assert!(place.path("home/project/.vscode/tasks.json").exists());
    });
}

#[test]
fn a_new_repository_is_told_only_when_it_names_programs() {
    on_each_machine(async |place| {
        if place.sandbox.report(&[]).walls.is_empty() {
            return;
        }
        place.run("git init -q").await.assert_printed("(no output)");
        fs::remove_dir_all(place.path("home/project/.git")).unwrap();
        let answer = place.run("git init -q && git config core.fsmonitor ./run.sh").await;
        assert!(answer.text.contains("/.git came to be"), "{}", answer.text);
    });
}
