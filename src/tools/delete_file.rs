//! `delete_file`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Access, Effect, Tool, ToolContext, ToolError, output::visible_path, stage, staged};
use crate::workspace::StagedChange;

pub struct DeleteFile;

/// Delete one file (not a folder). The deletion is staged: later calls no longer see the file, the user decides whether
/// it is deleted. To rename a file use move_file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// File to delete, relative to the workspace.
    path: String,
}

impl Tool for DeleteFile {
    const NAME: &'static str = "delete_file";
    const EFFECT: Effect = Effect::Edit;
    type Args = Args;

    fn target(args: &Args) -> String {
        args.path.clone()
    }

    fn preview(args: &Args, _roots: &[PathBuf]) -> String {
        format!("delete {}", visible_path(&args.path))
    }

    fn access(&self, args: &Args) -> Access {
        Access::paths([args.path.as_str()])
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<String, ToolError> {
        stage(context, move |files| {
            let path = files.resolve_itself(&args.path)?;
            files.stage_all(vec![StagedChange::Delete { path: path.clone() }])?;
            Ok(staged(files, &format!("deleted {path}")))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::super::testing::Project;

    async fn check(arguments: Value, expected: Expect) {
        let project = Project::new("//- /a.txt\none\n//- /dir/x.txt\nx\n");
        expected.assert_eq(&project.call("delete_file", arguments).await);
        assert!(project.path("a.txt").exists(), "nothing happens on disk");
    }

    // SPEC T6
    #[tokio::test]
    async fn a_deletion_is_staged() {
        check(
            json!({"path": "a.txt"}),
            expect![[r#"
            deleted a.txt
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
        )
        .await;
    }

    // SPEC T6
    #[tokio::test]
    async fn what_cannot_be_deleted_says_what_to_do() {
        check(
            json!({"path": "b.txt"}),
            expect!["error: there is no file b.txt; near it are: a.txt, dir/x.txt"],
        )
        .await;
        check(
            json!({"path": "dir"}),
            expect!["error: dir is a directory, not a file; list it, or name a file in it"],
        )
        .await;
        check(
            json!({"path": "."}),
            expect!["error: . is a directory, not a file; list it, or name a file in it"],
        )
        .await;
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_is_not_taken_for_the_file_behind_it() {
        let project = Project::new("//- /real.txt\none\n");
        std::os::unix::fs::symlink("real.txt", project.path("link.txt")).unwrap();
        expect!["error: link.txt is a link to real.txt, and only files are deleted or moved; name real.txt if that one is meant, or use a command for the link"].assert_eq(&project.call("delete_file", json!({"path": "link.txt"})).await);
        expect!["error: ./link.txt is a link to real.txt, and only files are deleted or moved; name real.txt if that one is meant, or use a command for the link"]
            .assert_eq(&project.call("move_file", json!({"from": "./link.txt", "to": "new.txt"})).await);
        assert!(project.context.files.proposal().is_empty());
    }

    #[tokio::test]
    async fn a_deleted_file_is_gone_for_later_calls() {
        let project = Project::new("//- /a.txt\none\n");
        project.call("delete_file", json!({"path": "a.txt"})).await;
        expect!["error: there is no file a.txt any more: it was deleted in this turn"]
            .assert_eq(&project.call("read_file", json!({"path": "a.txt"})).await);
    }
}
