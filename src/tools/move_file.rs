//! `move_file`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Access, Effect, Tool, ToolContext, ToolError, output::visible_path, stage, staged};
use crate::workspace::StagedChange;

pub struct MoveFile;

/// Move or rename one file (not a folder). Folders on the way are created; a file that exists is never overwritten.
/// Uses of the old path in other files are not changed: search for them. The move is staged: later calls see the file
/// in its new place, the user decides whether it is moved.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// File to move, relative to the workspace.
    from: String,
    /// Its whole new path, name included, relative to the workspace.
    to: String,
}

impl Tool for MoveFile {
    const NAME: &'static str = "move_file";
    const EFFECT: Effect = Effect::Edit;
    type Args = Args;

    fn target(args: &Args) -> String {
        format!("{} → {}", args.from, args.to)
    }

    fn preview(args: &Args, _roots: &[PathBuf]) -> String {
        format!("move {} to {}", visible_path(&args.from), visible_path(&args.to))
    }

    fn access(&self, args: &Args) -> Access {
        Access::paths([args.from.as_str(), args.to.as_str()])
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<String, ToolError> {
        stage(context, move |files| {
            let from = files.resolve_itself(&args.from)?;
            let to = files.resolve_to_edit(&args.to)?;
            if from == to {
                return Err(ToolError(format!("{from} and {} are the same file", args.to)));
            }
            files.stage_all(vec![StagedChange::Move { from: from.clone(), to: to.clone() }])?;
            Ok(staged(files, &format!("moved {from} to {to}")))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::super::testing::Project;

    const PROJECT: &str = "//- /a.txt\nbefore\n//- /b.txt\nimportant\n//- /dir/x.txt\nx\n";

    async fn check(arguments: Value, expected: Expect) {
        let project = Project::new(PROJECT);
        expected.assert_eq(&project.call("move_file", arguments).await);
        assert!(project.path("a.txt").exists(), "nothing happens on disk");
    }

    #[tokio::test]
    async fn a_move_is_staged() {
        check(
            json!({"from": "a.txt", "to": "new/dir/a.txt"}),
            expect![[r#"
            moved a.txt to new/dir/a.txt
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
        )
        .await;
    }

    #[tokio::test]
    async fn nothing_is_moved_onto_itself_or_onto_another_file() {
        check(
            json!({"from": "a.txt", "to": "./dir/../a.txt"}),
            expect!["error: a.txt and ./dir/../a.txt are the same file"],
        )
        .await;
        check(
            json!({"from": "a.txt", "to": "b.txt"}),
            expect!["error: b.txt exists already; choose another path, or edit or delete it first"],
        )
        .await;
        check(
            json!({"from": "a.txt", "to": "dir"}),
            expect!["error: dir is a directory, not a file; list it, or name a file in it"],
        )
        .await;
        check(
            json!({"from": "c.txt", "to": "d.txt"}),
            expect!["error: there is no file c.txt; near it are: a.txt, b.txt, dir/x.txt"],
        )
        .await;
        check(json!({"from": "a.txt", "to": "../a.txt"}), expect!["error: ../a.txt is outside the workspace; use a path below one of its folders, relative to it"]).await;
    }

    #[tokio::test]
    async fn later_calls_see_the_file_in_its_new_place() {
        let project = Project::new(PROJECT);
        project.call("move_file", json!({"from": "a.txt", "to": "c.txt"})).await;
        assert_eq!(project.text("c.txt"), "before\n");
        expect!["error: there is no file a.txt any more: it was moved to c.txt in this turn"]
            .assert_eq(&project.call("read_file", json!({"path": "a.txt"})).await);
    }
}
