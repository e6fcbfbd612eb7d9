//! What the user let a call reach outside the workspace is used like any file, and nothing beside it.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::{
    tools::testing::Project,
    workspace::{Purpose, search::ListQuery},
};

/// A project beside a folder of others, `$` in calls and answers, of which some places are let in.
struct Beside {
    project: Project,
    _folder: tempfile::TempDir,
    folder: PathBuf,
}

impl Beside {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().canonicalize().unwrap();
        for (path, text) in [
            ("notes.txt", "one\ntwo\n"),
            ("other.txt", "another one\n"),
            ("lib/a.h", "int one;\n"),
            ("lib/sub/b.h", "int two;\n"),
            ("lib/.env", "ONE=1\n"),
            ("lib/.git/HEAD", "one\n"),
        ] {
            fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
            fs::write(folder.join(path), text).unwrap();
        }
        symlink(folder.join("notes.txt"), folder.join("lib/notes")).unwrap();
        symlink(folder.join("lib/a.h"), folder.join("lib/z.h")).unwrap();
        let project = Project::new("//- /a.txt\nplain\n");
        symlink(folder.join("notes.txt"), project.path("link.txt")).unwrap();
        Self { project, _folder: scratch, folder }
    }

    fn let_in(self, purpose: Purpose, path: &str) -> Self {
        self.project.context.files.let_in(purpose, &self.folder.join(path));
        self
    }

    async fn call(&self, tool: &str, arguments: Value) -> String {
        let folder = self.folder.display().to_string();
        let arguments = serde_json::from_str(&arguments.to_string().replace('$', &folder)).unwrap();
        self.project.call(tool, arguments).await.replace(&folder, "$")
    }

    async fn check(&self, tool: &str, arguments: Value, expected: Expect) {
        expected.assert_eq(&self.call(tool, arguments).await);
    }
}

// SPEC T10
#[tokio::test]
async fn a_file_that_was_let_in_is_read_by_every_way_to_it_and_no_other_is() {
    let beside = Beside::new().let_in(Purpose::Read, "notes.txt");
    beside
        .check(
            "read_file",
            json!({"path": "$/notes.txt"}),
            expect![[r#"
        $/notes.txt (lines 1-2 of 2)
             1	one
             2	two
    "#]],
        )
        .await;
    beside
        .check(
            "read_file",
            json!({"path": "link.txt"}),
            expect![[r#"
        $/notes.txt (lines 1-2 of 2)
             1	one
             2	two
    "#]],
        )
        .await;
    beside
        .check(
            "search",
            json!({"pattern": "two", "path": "$/notes.txt"}),
            expect![[r#"
        $/notes.txt:2: two
    "#]],
        )
        .await;
    beside.check("read_file", json!({"path": "$/other.txt"}), expect!["error: $/other.txt is outside the workspace; use a path below one of its folders, relative to it"]).await;
    beside
        .check("edit_file", json!({"path": "$/notes.txt", "find": "two", "replace": "2"}), expect!["error: $/notes.txt is outside the workspace; use a path below one of its folders, relative to it"])
        .await;
    // It is no folder for commands either.
    beside
        .check(
            "run_command",
            json!({"command": "true", "path": "$"}),
            expect!["error: $ is outside the workspace; use a path below one of its folders, relative to it"],
        )
        .await;
}

// SPEC T10
#[tokio::test]
async fn a_folder_that_was_let_in_is_looked_through_without_its_secrets_and_without_its_links() {
    let beside = Beside::new().let_in(Purpose::Read, "lib");
    beside
        .check(
            "list_files",
            json!({"path": "$/lib", "hidden": true}),
            expect![[r#"
        $/lib/.env
        $/lib/a.h
        $/lib/sub/
        $/lib/sub/b.h
        $/lib/z.h
    "#]],
        )
        .await;
    beside
        .check(
            "search",
            json!({"pattern": "(?i)one|two", "path": "$/lib"}),
            expect![[r#"
        $/lib/a.h:1: int one;
        $/lib/sub/b.h:1: int two;
    "#]],
        )
        .await;
    beside.check("read_file", json!({"path": "$/lib/a.h"}), expect!["error: $/lib/a.h is outside the workspace; use a path below one of its folders, relative to it"]).await;
    let files = &beside.project.context.files;
    let under = files.resolve_to_read(&beside.folder.join("lib").to_string_lossy()).unwrap();
    fs::rename(beside.folder.join("lib"), beside.folder.join("old")).unwrap();
    symlink(&beside.folder, beside.folder.join("lib")).unwrap();
    let query = ListQuery { under: Some(under), limit: 9, ..ListQuery::default() };
    let moved = files.list(&query).unwrap_err().to_string();
    expect!["$/lib no longer lies where it was found"]
        .assert_eq(&moved.replace(&beside.folder.display().to_string(), "$"));
    let whole = beside.call("list_files", json!({})).await;
    assert_eq!(whole, "a.txt\n", "the workspace is what it was");
}

// SPEC T10
#[tokio::test]
async fn what_the_editor_has_unsaved_counts_outside_too() {
    let beside = Beside::new().let_in(Purpose::Read, "lib").let_in(Purpose::Read, "notes.txt");
    for (path, text) in [("lib/a.h", "int typed;\n"), ("notes.txt", "typed\n")] {
        let uri = crate::workspace::paths::to_uri(&beside.folder.join(path));
        beside.project.context.files.workspace().overlay().open(&uri, "c", 1, text.to_owned());
    }
    beside
        .check(
            "read_file",
            json!({"path": "$/notes.txt"}),
            expect![[r#"
        $/notes.txt (lines 1-1 of 1) · unsaved in the editor
             1	typed
    "#]],
        )
        .await;
    beside
        .check(
            "search",
            json!({"pattern": "typed", "path": "$/lib"}),
            expect![[r#"
        $/lib/a.h:1: int typed;
    "#]],
        )
        .await;
}

#[tokio::test]
async fn an_edit_outside_is_staged_and_shown_like_any_other() {
    let beside = Beside::new().let_in(Purpose::Edit, "notes.txt").let_in(Purpose::Edit, "new/x.txt");
    beside
        .check(
            "edit_file",
            json!({"path": "link.txt", "find": "two", "replace": "2"}),
            expect![[r#"
            edited $/notes.txt in 1 place (line 2)
                 1	one
                 2	2
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
        )
        .await;
    beside
        .check(
            "write_file",
            json!({"path": "$/new/x.txt", "text": "x\n"}),
            expect![[r#"
        created $/new/x.txt: 1 line, 2 bytes
        Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
        )
        .await;
    beside.check("delete_file", json!({"path": "link.txt"}), expect!["error: link.txt is a link to $/notes.txt, and only files are deleted or moved; name $/notes.txt if that one is meant, or use a command for the link"]).await;
    let staged = beside.project.context.files.proposal();
    let diffs: String = staged.files.iter().map(|file| file.diff()).collect();
    expect![[r#"
        diff --git a/$/new/x.txt b/$/new/x.txt
        new file mode 100644
        --- /dev/null
        +++ b/$/new/x.txt
        @@ -0,0 +1 @@
        +x
        diff --git a/$/notes.txt b/$/notes.txt
        --- a/$/notes.txt
        +++ b/$/notes.txt
        @@ -1,2 +1,2 @@
         one
        -two
        +2
    "#]]
    .assert_eq(&diffs.replace(&beside.folder.display().to_string(), "$"));
    assert_eq!(fs::read_to_string(beside.folder.join("notes.txt")).unwrap(), "one\ntwo\n");
}

// SPEC T10
#[tokio::test]
async fn a_link_that_leads_elsewhere_since_the_yes_leads_nowhere() {
    let beside = Beside::new().let_in(Purpose::Edit, "notes.txt");
    let swap = |name: &Path| {
        fs::remove_file(name).unwrap();
        symlink(beside.folder.join("other.txt"), name).unwrap();
    };
    swap(&beside.project.path("link.txt"));
    beside.check("read_file", json!({"path": "link.txt"}), expect!["error: link.txt is outside the workspace; use a path below one of its folders, relative to it"]).await;
    beside.check("write_file", json!({"path": "link.txt", "text": "x"}), expect!["error: link.txt is outside the workspace; use a path below one of its folders, relative to it"]).await;
    // The very place that was allowed is a link now.
    let found =
        beside.project.context.files.resolve_to_read(&beside.folder.join("notes.txt").to_string_lossy());
    swap(&beside.folder.join("notes.txt"));
    beside.check("read_file", json!({"path": "$/notes.txt"}), expect!["error: $/notes.txt is outside the workspace; use a path below one of its folders, relative to it"]).await;
    // And so it is while it is being read.
    let read = beside.project.context.files.read(&found.unwrap()).unwrap_err();
    expect!["$/notes.txt no longer lies where it was found"]
        .assert_eq(&read.to_string().replace(&beside.folder.display().to_string(), "$"));
}
