//! What would run later, outside the sandbox: it cannot be changed, nor made where it was not there, or it is told.

use std::{fs, os::unix::fs::symlink};

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
        place.write("home/project/pkg/a.rs", "");
        place.run("touch a.rs").await.assert_printed("(no output)");
        if place.sandbox.report(&[]).walls.is_empty() {
            return;
        }
        for folder in [".vscode", "pkg/.vscode", "pkg/new/.vscode"] {
            let answer = place.run(&format!("mkdir -p {folder} && echo {{}} >{folder}/tasks.json")).await;
            assert!(answer.text.contains(&format!("/{folder} came to be, which editors")), "{}", answer.text);
            assert!(place.path("home/project").join(folder).join("tasks.json").exists());
        }
        place.run("touch b.rs").await.assert_printed("(no output)");
    });
}

#[test]
fn settings_of_a_new_repository_are_put_aside_only_when_they_name_programs() {
    on_each_machine(async |place| {
        if place.sandbox.report(&[]).walls.is_empty() {
            return;
        }
        for folder in ["plain", "deep/plain"] {
            let command = format!("git init -q {folder} && git -C {folder} config user.name A");
            place.run(&command).await.assert_printed("(no output)");
        }
        let project = place.path("home/project");
        for (folder, settings) in [(".", ".git/config"), ("deep/sub", "deep/sub/.git/config")] {
            let command = format!("git init -q {folder} && git -C {folder} config core.fsmonitor ./run.sh");
            assert_put_aside(&place, &command, settings).await;
        }
        for (bare, settings) in [("bare", "bare/config"), ("node_modules/x", "node_modules/x/config")] {
            let command = format!(
                "git init -q --bare {bare} && git -C {bare} config core.fsmonitor ./run.sh && \
                 mkdir -p {bare}-tree && echo gitdir: $PWD/{bare} >{bare}-tree/.git"
            );
            // Nothing below that folder is looked through, but for what a file of git's names.
            let tree =
                format!("mkdir -p tree-of-{} && cp {bare}-tree/.git tree-of-{}/", bare.len(), bare.len());
            assert_put_aside(&place, &format!("{command} && {tree}"), settings).await;
        }
        let hook = "git init -q hooked && echo touch x >hooked/.git/hooks/pre-commit";
        assert_put_aside(&place, hook, "hooked/.git/hooks").await;
        assert!(!project.join(".git/config").exists());
    });
}

/// A command that makes what decides which programs version control runs, somewhere in the project.
async fn assert_put_aside(place: &Place, command: &str, path: &str) {
    let answer = place.run(command).await;
    let aside = format!("{path}.from-sandbox");
    assert!(answer.text.contains(&aside), "{command}: {}", answer.text);
    let project = place.path("home/project");
    assert!(project.join(path).symlink_metadata().is_err(), "{path} is there after: {command}");
    assert!(project.join(&aside).symlink_metadata().is_ok(), "{aside} is not there after: {command}");
    let (from, to) = (project.join(&aside), project.join("taken-away"));
    fs::rename(from, &to).unwrap();
    match to.is_dir() && !to.is_symlink() {
        true => fs::remove_dir_all(to).unwrap(),
        false => fs::remove_file(to).unwrap(),
    }
}

#[test]
fn what_git_finds_in_the_place_of_a_spoilt_repository_runs_nothing() {
    on_each_machine(async |place| {
        if !place.has_namespaces() {
            return;
        }
        for spoilt in ["mv .git/HEAD .git/H", "echo x >.git/HEAD", "mv .git/objects .git/o"] {
            let project = place.path("home/project");
            let _ = fs::remove_dir_all(&project);
            fs::create_dir(&project).unwrap();
            git(&project, &["init", "-q"]);
            let command = format!(
                "{spoilt}; mkdir objects refs; echo ref: refs/heads/main >HEAD; \
                 printf '[core]\\n bare = false\\n worktree = .\\n fsmonitor = ./run.sh\\n' >config"
            );
            assert_put_aside(&place, &command, "config").await;
        }
    });
}

#[test]
fn a_repository_without_files_beside_it_is_held_like_any_other() {
    on_each_machine(async |place| {
        git(&place.path("home/project"), &["init", "-q", "--bare", "tests/bare"]);
        if !place.has_namespaces() {
            return;
        }
        place.run("echo x >>tests/bare/config").await.assert_refused("Read-only file system");
    });
}

#[test]
fn a_repository_behind_a_link_is_held_like_any_other() {
    on_each_machine(async |place| {
        let project = place.path("home/project");
        git(&project, &["init", "-q"]);
        fs::rename(project.join(".git"), project.join("repository")).unwrap();
        symlink("repository", project.join(".git")).unwrap();
        if !place.has_namespaces() {
            return;
        }
        place.run("echo x >>.git/config").await.assert_refused("Read-only file system");
        assert_put_aside(&place, "rm .git && ln -s /dev/shm .git", ".git").await;
    });
}

#[test]
fn a_file_that_leads_git_out_of_the_workspace_is_put_aside() {
    on_each_machine(async |place| {
        if place.sandbox.report(&[]).walls.is_empty() {
            return;
        }
        assert_put_aside(&place, "mkdir a && echo gitdir: /dev/shm >a/.git", "a/.git").await;
        assert_put_aside(&place, "mkdir b && ln -s /dev/shm b/.git", "b/.git").await;
    });
}

#[test]
fn a_further_working_tree_belongs_to_the_repository_in_which_it_lies() {
    on_each_machine(async |place| {
        let project = place.path("home/project");
        git(&project, &["init", "-q"]);
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        git(&project, &[who.as_slice(), &["commit", "-q", "--allow-empty", "-m", "x"]].concat());
        if !place.has_namespaces() {
            return;
        }
        place.run("git worktree add -q one 2>/dev/null").await.assert_printed("(no output)");
        let command =
            "git worktree add -q two && mkdir other && echo $PWD/other >.git/worktrees/two/commondir";
        assert_put_aside(&place, command, ".git/worktrees/two/commondir").await;
    });
}

#[test]
fn what_gits_settings_name_cannot_be_changed_and_does_not_come_to_be() {
    on_each_machine(async |place| {
        let project = place.path("home/project");
        git(&project, &["init", "-q"]);
        let config = project.join(".git/config");
        let settings = "[include] path = ../one # team\n[core] hooksPath = .hk\n[alias]\n s = !./st.sh\n\
                        [filter \"x\"] clean = sh tools/f.sh\n[include]\npath = ../absent/git\n";
        fs::write(&config, fs::read_to_string(&config).unwrap() + settings).unwrap();
        for (path, text) in
            [("one", "[include]\npath = two\n"), ("two", ""), ("st.sh", ""), ("tools/f.sh", "")]
        {
            place.write(&format!("home/project/{path}"), text);
        }
        if !place.has_namespaces() {
            return;
        }
        for path in ["one", "two", "st.sh", "tools/f.sh"] {
            place.run(&format!("echo x >>{path}")).await.assert_refused("Read-only file system");
        }
        assert_put_aside(&place, "mkdir .hk && echo x >.hk/pre-commit", ".hk").await;
        assert_put_aside(&place, "mkdir -p absent && echo x >absent/git", "absent/git").await;
        assert_put_aside(&place, "rmdir absent && ln -s /dev/shm absent", "absent").await;
    });
}

#[test]
fn nothing_outside_the_workspace_is_moved_by_a_link_in_it() {
    on_each_machine(async |place| {
        place.write("home/.config/tool/config.toml", "theirs");
        place.write("home/project/.jj/README", "");
        if !place.has_namespaces() {
            return;
        }
        place.run("mkdir .jj/repo").await.assert_printed("(no output)");
        let target = place.path("home/.config/tool");
        let link = format!("rmdir .jj/repo && ln -s {} .jj/repo", target.display());
        place.run(&link).await.assert_refused("Device or resource busy");
        fs::remove_dir(place.path("home/project/.jj/repo")).unwrap();
        assert_put_aside(&place, &format!("ln -s {} .jj/repo", target.display()), ".jj/repo").await;
        assert_eq!(fs::read_to_string(target.join("config.toml")).unwrap(), "theirs");
    });
}

#[test]
fn what_a_background_job_makes_is_put_aside_while_it_runs() {
    on_each_machine(async |place| {
        git(&place.path("home/project"), &["init", "-q"]);
        if !place.has_namespaces() {
            return;
        }
        // It ends by itself when askls has done it, and fails otherwise.
        let command = "echo x >.git/config.worktree; for i in $(seq 600); do [ -e .git/config.worktree ] || exit 0; \
                       sleep 0.1; done; exit 1";
        let answer = place.run(command).await;
        assert!(answer.text.starts_with("exit code 0"), "{}", answer.text);
        assert!(answer.text.contains("config.worktree.from-sandbox"), "{}", answer.text);
    });
}

#[test]
fn settings_that_git_could_not_write_are_told_whatever_its_exit_code() {
    on_each_machine(async |place| {
        let project = place.path("home/project");
        git(&project, &["init", "-q", "-b", "main"]);
        let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
        git(&project, &[who.as_slice(), &["commit", "-q", "--allow-empty", "-m", "x"]].concat());
        if !place.has_namespaces() {
            return;
        }
        let answer = place.run("git branch --track feature main; true").await;
        assert!(answer.text.starts_with("exit code 0"), "{}", answer.text);
        assert!(answer.text.contains("cannot change git's settings"), "{}", answer.text);
    });
}
