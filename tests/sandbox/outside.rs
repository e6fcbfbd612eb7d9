//! What lies outside the workspace, and what is held in it, stays as it is: modes and times as much as texts.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        net::UnixListener,
    },
    path::Path,
};

use super::{Place, git, on_each_machine, python};

fn attributes(path: &Path) -> (u32, u32, i64, i64) {
    let metadata = fs::metadata(path).unwrap();
    (metadata.mode(), metadata.uid(), metadata.mtime(), metadata.mtime_nsec())
}

#[test]
fn modes_and_times_outside_the_workspace_stay_as_they_are() {
    on_each_machine(async |place| {
        if !place.has_namespaces() {
            return;
        }
        let (file, folder) = (place.path("home/notes.txt"), place.path("home"));
        let before = (attributes(&file), attributes(&folder));
        for command in ["chmod 777 ../notes.txt", "chmod 777 ..", "touch -d 2001-01-01 ../notes.txt"] {
            place.run(command).await.assert_refused("Read-only file system");
        }
        assert_eq!((attributes(&file), attributes(&folder)), before);
        place.run("chmod 700 a.txt && touch -d 2001-01-01 a.txt && cat a.txt").await.assert_printed("one");
    });
}

#[test]
fn no_program_gets_the_rights_of_its_owner() {
    on_each_machine(async |place| {
        if place.sandbox.report(&[]).walls.is_empty() {
            return;
        }
        for command in [
            "chmod u+s a.txt",
            "chmod g+s a.txt",
            "install -m 4755 a.txt b.txt",
            "python3 -c \"import os; os.open('b.txt', os.O_CREAT | os.O_WRONLY, 0o4755)\"",
        ] {
            place.run(command).await.assert_fails();
        }
        for entry in fs::read_dir(place.path("home/project")).unwrap().flatten() {
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o6000, 0, "{entry:?}");
        }
        place.run("chmod 755 a.txt && cat a.txt").await.assert_printed("one");
    });
}

#[test]
fn a_socket_is_hidden_whatever_it_was_bound_as() {
    let place = Place::new();
    let folder = place.path("home/sockets");
    fs::create_dir(&folder).unwrap();
    let _bound = UnixListener::bind(folder.join("first.sock")).unwrap();
    fs::rename(folder.join("first.sock"), folder.join("renamed.sock")).unwrap();
    // Another process, since the folder that this one works in is everybody's.
    let script = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind('relative.sock'); s.listen(); print(flush=True); sys.stdin.read()";
    let mut other = std::process::Command::new("python3")
        .args(["-c", script])
        .current_dir(&folder)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    on_each_machine(async |mut inner| {
        inner.sandbox.home = Some(place.path("home"));
        if !inner.can("network:") {
            return;
        }
        for name in ["renamed.sock", "relative.sock"] {
            let path = folder.join(name);
            let script = format!("s = socket.socket(socket.AF_UNIX); s.connect('{}')", path.display());
            inner.run(&python(&script)).await.assert_fails();
        }
    });
    drop(other.stdin.take());
    other.wait().unwrap();
}

#[test]
fn what_is_held_is_not_got_rid_of_with_the_folder_that_it_lies_in() {
    on_each_machine(async |mut place| {
        place.write("home/project/deep/pkg/.vscode/tasks.json", "{}");
        place.write("home/project/.config/askls/config.toml", "");
        place.sandbox.private = vec![place.path("home/project/.config/askls")];
        if !place.has_namespaces() {
            return;
        }
        for (folder, aside) in [("deep/pkg", "deep/aside"), ("deep", "aside"), (".config", "aside")] {
            let command = format!("mv {folder} {aside}");
            place.run(&command).await.assert_refused("Device or resource busy");
        }
        place.run("mkdir other && mv other deep/pkg/ && ls deep/pkg").await.assert_printed("other");
    });
}

#[test]
fn settings_and_hooks_that_git_is_told_of_cannot_be_changed() {
    on_each_machine(async |place| {
        let project = place.path("home/project");
        git(&project, &["init", "-q"]);
        git(&project, &["config", "include.path", "../.gitsettings"]);
        git(&project, &["config", "core.hooksPath", "hooks"]);
        place.write("home/project/.gitsettings", "[core]\n");
        place.write("home/project/hooks/pre-commit", "");
        if !place.has_namespaces() {
            return;
        }
        for file in [".gitsettings", "hooks/pre-commit", "hooks/post-commit"] {
            place.run(&format!("echo x >>{file}")).await.assert_refused("Read-only file system");
        }
    });
}

#[test]
fn a_hidden_file_that_git_takes_for_changed_is_told_of() {
    on_each_machine(async |place| {
        let project = place.path("home/project");
        git(&project, &["init", "-q"]);
        place.write("home/project/.env", "SECRET=1\n");
        git(&project, &["add", "."]);
        git(&project, &["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "one"]);
        if !place.has_namespaces() {
            return;
        }
        let note = "note: the sandbox hides .env from commands";
        for command in
            ["git status --short", "git diff --stat", "git add -A", "git commit -am x", "git stash"]
        {
            let answer = place.run(command).await;
            assert!(
                answer.text.contains(note) && answer.text.contains("\"unsandboxed\": true"),
                "{}",
                answer.text
            );
        }
        let answer = place.run("ls -A; echo read .env first").await;
        assert!(!answer.text.contains("note: "), "{}", answer.text);
        let answer = place.run("git log --format=%s").await;
        answer.assert_printed("one");
    });
}

#[test]
fn a_hidden_file_that_git_could_not_take_up_is_told_of_though_its_error_went_away() {
    on_each_machine(async |place| {
        let project = place.path("home/project");
        git(&project, &["init", "-q"]);
        place.write("home/project/.env", "SECRET=1\n");
        if !place.has_namespaces() {
            return;
        }
        let note = "note: the sandbox hides .env from commands";
        for command in ["git add -A 2>/dev/null", "git add . >/dev/null 2>&1 || true"] {
            let answer = place.run(command).await;
            assert!(answer.text.contains(note), "{command}: {}", answer.text);
        }
        place.write("home/project/.gitignore", ".env\n");
        for command in ["git add -A 2>/dev/null", "git status 2>/dev/null"] {
            let answer = place.run(command).await;
            assert!(!answer.text.contains("note: "), "{command}: {}", answer.text);
        }
    });
}

#[test]
fn a_secret_is_not_moved_to_where_it_is_not_looked_for() {
    on_each_machine(async |place| {
        place.write("home/project/conf/deep/.env", "SECRET=1\n");
        place.write("home/project/.devcontainer/.env", "SECRET=1\n");
        if !place.has_namespaces() {
            return;
        }
        for (folder, aside) in [("conf", "node_modules"), ("conf/deep", "conf/node_modules")] {
            let command = format!("mv {folder} {aside}");
            place.run(&command).await.assert_refused("Device or resource busy");
        }
        place.run("cat .devcontainer/.env").await.assert_refused("Permission denied");
        // Other names in its folder come and go.
        place.run("mkdir conf/a && mv conf/a conf/b && ls conf").await.assert_printed("b\ndeep");
    });
}

#[test]
fn what_was_hidden_stays_so_when_a_command_makes_more_than_is_looked_at() {
    on_each_machine(async |place| {
        place.write("home/project/conf/sub/.env", "SECRET=1\n");
        place.write("home/project/conf/sub/.git/HEAD", "ref: refs/heads/main\n");
        place.write("home/project/conf/sub/.git/config", "");
        if !place.has_namespaces() {
            return;
        }
        // As many as can be hidden, and one.
        let script = "for i in range(2001): open(f'{i}.env', 'w').close()";
        place.run(&format!("python3 -c \"{script}\" && echo made")).await.assert_printed("made");
        place.run("cat conf/sub/.env").await.assert_refused("Permission denied");
        place.run("echo x >>conf/sub/.git/config").await.assert_refused("Read-only file system");
    });
}
