//! No path leads a tool out of the workspace, however it is written, and none makes it wait.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
};

use serde_json::{Value, json};

use crate::tools::testing::Project;

/// What stands outside; no answer may say it.
const OUTSIDE: &str = "what nobody may see";

/// A project beside a folder that is none of its business, with links, pipes and sockets in it.
fn project() -> (tempfile::TempDir, Project) {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("private.txt"), OUTSIDE).unwrap();
    fs::create_dir(outside.path().join("folder")).unwrap();
    let project = Project::new("//- /a.txt\nplain\n//- /src/b.txt\nplain\n");
    let link = |to: &std::path::Path, name: &str| symlink(to, project.path(name)).unwrap();
    link(&outside.path().join("private.txt"), "link.txt");
    link(outside.path(), "linked");
    link(&outside.path().join("not there yet.txt"), "dangling.txt");
    link("link.txt".as_ref(), "chain.txt");
    link("round-b".as_ref(), "round-a");
    link("round-a".as_ref(), "round-b");
    link("/proc/self".as_ref(), "process");
    assert!(std::process::Command::new("mkfifo").arg(project.path("pipe")).status().unwrap().success());
    drop(UnixListener::bind(project.path("socket")).unwrap());
    fs::File::create(project.path("huge.txt")).unwrap().set_len(1 << 40).unwrap();
    (outside, project)
}

/// Every call that takes a path.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    let patch = |body: String| json!({"input": format!("*** Begin Patch\n{body}\n*** End Patch\n")});
    vec![
        ("read_file", json!({"path": path})),
        ("list_files", json!({"path": path})),
        ("search", json!({"pattern": "nobody", "path": path})),
        ("edit_file", json!({"path": path, "find": "nobody", "replace": "everybody"})),
        ("write_file", json!({"path": path, "text": "x\n"})),
        ("delete_file", json!({"path": path})),
        ("move_file", json!({"from": path, "to": "here.txt"})),
        ("move_file", json!({"from": "a.txt", "to": path})),
        ("apply_patch", patch(format!("*** Add File: {path}\n+x"))),
        ("apply_patch", patch(format!("*** Update File: {path}\n@@\n-nobody\n+everybody"))),
        ("apply_patch", patch(format!("*** Delete File: {path}"))),
        ("apply_patch", patch(format!("*** Update File: a.txt\n*** Move to: {path}"))),
    ]
}

// SPEC T10
#[tokio::test]
async fn no_path_leads_out_of_the_workspace() {
    let (outside, project) = project();
    let out = outside.path().to_str().unwrap().to_owned();
    let name = outside.path().file_name().unwrap().to_str().unwrap().to_owned();
    let paths = [
        format!("../{name}/private.txt"),
        "..".to_owned(),
        "src/../../x.txt".to_owned(),
        "gone/../../x.txt".to_owned(),
        format!("./src/.././../{name}/private.txt"),
        format!("{out}/private.txt"),
        format!("//{out}/private.txt"),
        format!("file://{out}/private.txt"),
        format!("file://localhost{out}/private.txt"),
        format!("FILE:{out}/private%2Etxt"),
        "file:///etc/passwd".to_owned(),
        "file://server/share/x.txt".to_owned(),
        "/etc/passwd".to_owned(),
        "/".to_owned(),
        "link.txt".to_owned(),
        "chain.txt".to_owned(),
        "dangling.txt".to_owned(),
        "linked".to_owned(),
        "linked/private.txt".to_owned(),
        "linked/new.txt".to_owned(),
        "linked/folder/deep/new.txt".to_owned(),
        "src/../linked/private.txt".to_owned(),
        "round-a".to_owned(),
        "round-a/x.txt".to_owned(),
        "/proc/self/environ".to_owned(),
        "/proc/self/root/etc/passwd".to_owned(),
        "/proc/self/cwd/Cargo.toml".to_owned(),
        "process/environ".to_owned(),
        "process/root/etc/passwd".to_owned(),
        "/dev/zero".to_owned(),
        "/dev/stdin".to_owned(),
        "a\0.txt".to_owned(),
        "x".repeat(5_000),
    ];
    for path in &paths {
        for (tool, arguments) in calls(path) {
            let answer = project.call(tool, arguments).await;
            assert!(answer.starts_with("error: "), "{tool} {path:?}: {answer}");
            assert!(!answer.contains(OUTSIDE) && !answer.contains("root:"), "{tool} {path:?}: {answer}");
            assert!(project.context.files.proposal().is_empty(), "{tool} {path:?}: {answer}");
        }
    }
    let found = project.call("search", json!({"pattern": "nobody|plain"})).await;
    assert_eq!(found, "a.txt:1: plain\nsrc/b.txt:1: plain\n");
}

// SPEC T10
#[tokio::test]
async fn what_is_no_regular_file_is_neither_waited_for_nor_read() {
    let (_outside, project) = project();
    for path in ["pipe", "socket", "huge.txt"] {
        for (tool, arguments) in calls(path) {
            // Its name in a listing, and that nothing matches in it, tell nothing.
            if ["list_files", "search"].contains(&tool) {
                project.call(tool, arguments).await;
                continue;
            }
            let answer = project.call(tool, arguments).await;
            assert!(answer.starts_with("error: "), "{tool} {path}: {answer}");
            assert!(project.context.files.proposal().is_empty(), "{tool} {path}: {answer}");
        }
    }
}

// SPEC T10
#[tokio::test]
async fn names_that_mean_something_elsewhere_are_names_below_the_root() {
    let (_outside, project) = project();
    for path in [
        "linked/../x.txt",
        "~/x.txt",
        "~root/x.txt",
        "$HOME/x.txt",
        r"..\x.txt",
        r"\\server\share\x.txt",
        r"\\?\C:\x.txt",
        r"C:\x.txt",
    ] {
        let answer = project.call("write_file", json!({"path": path, "text": "x\n"})).await;
        if !answer.starts_with("error: ") {
            let staged = project.context.files.proposal();
            let root = project.path("").canonicalize().unwrap();
            for file in &staged.files {
                assert!(file.path.disk().unwrap().starts_with(&root), "{path}: {}", file.path);
            }
        }
    }
}

// SPEC T10
#[tokio::test]
async fn a_file_that_becomes_a_link_after_it_was_looked_up_is_not_followed() {
    let (outside, project) = project();
    let files = &project.context.files;
    let (file, below) = (files.resolve("a.txt").unwrap(), files.resolve("src/b.txt").unwrap());
    fs::remove_file(project.path("a.txt")).unwrap();
    symlink(outside.path().join("private.txt"), project.path("a.txt")).unwrap();
    fs::write(outside.path().join("b.txt"), OUTSIDE).unwrap();
    fs::rename(project.path("src"), project.path("old")).unwrap();
    symlink(outside.path(), project.path("src")).unwrap();
    for path in [file, below] {
        let read = files.read(&path).map(|file| file.text.to_string()).map_err(|error| error.to_string());
        assert_eq!(read, Err(format!("{path} no longer lies where it was found")));
    }
}
