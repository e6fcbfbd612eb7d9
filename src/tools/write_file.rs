//! `write_file`: the whole text of a file, new or not.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Effect, Tool, ToolContext, ToolError,
    output::{one_line, visible, visible_path},
    stage, staged,
};
use crate::workspace::{FilePath, TurnFiles};

pub struct WriteFile;

/// Create a file with the given text, or replace the whole text of one that exists. Folders on the way are created.
/// Use it for new files and full rewrites; to change a part of a file use edit_file, which is shorter and keeps the
/// rest as it is. The file is staged: later calls see it, the user decides whether it is written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// File to write, relative to the workspace.
    path: String,
    /// The whole new text of the file.
    text: String,
}

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    const EFFECT: Effect = Effect::Edit;
    type Args = Args;

    fn target(args: &Args) -> String {
        one_line(&args.path, 80)
    }

    fn preview(args: &Args) -> String {
        format!("write {}\n{}", visible_path(&args.path), visible(&args.text))
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<String, ToolError> {
        stage(context, move |files| write(files, args)).await
    }
}

fn write(files: &TurnFiles, args: Args) -> Result<String, ToolError> {
    let path = files.resolve(&args.path)?;
    let before = current(files, &path)?;
    // Models write plain line feeds; that is no wish to change the line ends of a whole file.
    let keeps_crlf = before.as_deref().is_some_and(is_crlf) && !args.text.contains('\r');
    let text = if keeps_crlf { args.text.replace('\n', "\r\n") } else { args.text };
    let size = size(&text);
    let report = match before {
        None => format!("created {path}: {size}"),
        Some(before) if *before == *text => {
            return Ok(format!("{path} has this text already ({size}): nothing changed"));
        }
        Some(before) => {
            let line_ends = if keeps_crlf { "; its CRLF line ends were kept" } else { "" };
            format!("replaced the text of {path}: {size}, before {}{line_ends}", self::size(&before))
        }
    };
    files.stage(&path, text)?;
    Ok(staged(&report))
}

/// The text that is to be replaced, if there is one. Looking at it here does not count as read by the model: whether
/// it may be overwritten unread is for [`TurnFiles::stage`] to say.
fn current(files: &TurnFiles, path: &FilePath) -> Result<Option<Arc<str>>, ToolError> {
    if !files.exists(path) {
        return Ok(None);
    }
    if let Some(edit) = files.proposal().files.into_iter().find(|edit| edit.path == *path) {
        return Ok(edit.after.map(Arc::from));
    }
    Ok(Some(files.workspace().read(path)?.text))
}

/// Whether every line of the text ends with CR LF.
fn is_crlf(text: &str) -> bool {
    text.contains('\n') && text.matches('\n').count() == text.matches("\r\n").count()
}

fn size(text: &str) -> String {
    let lines = text.lines().count();
    let noun = if lines == 1 { "line" } else { "lines" };
    format!("{lines} {noun}, {} bytes", text.len())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::super::testing::Project;

    const PROJECT: &str = "//- /a.txt\none\ntwo\n//- /src/lib.rs\n//- /plain\na file\n";

    async fn check(arguments: Value, expected: Expect) {
        expected.assert_eq(&Project::new(PROJECT).call("write_file", arguments).await);
    }

    // SPEC T5
    #[tokio::test]
    async fn the_answer_says_whether_the_file_is_new_and_how_large_it_is() {
        check(
            json!({"path": "src/deep/new/größe.rs", "text": "pub fn b() {}\n"}),
            expect![[r#"
            created src/deep/new/größe.rs: 1 line, 14 bytes
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
        )
        .await;
        check(
            json!({"path": "a.txt", "text": "x\ny"}),
            expect![[r#"
            replaced the text of a.txt: 2 lines, 3 bytes, before 2 lines, 8 bytes
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
        )
        .await;
        check(
            json!({"path": "a.txt", "text": ""}),
            expect![[r#"
            replaced the text of a.txt: 0 lines, 0 bytes, before 2 lines, 8 bytes
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_text_that_is_there_already_is_said_to_be() {
        check(
            json!({"path": "a.txt", "text": "one\ntwo\n"}),
            expect!["a.txt has this text already (2 lines, 8 bytes): nothing changed"],
        )
        .await;
    }

    #[tokio::test]
    async fn what_cannot_be_written_says_what_to_do() {
        check(json!({"path": "plain/x.txt", "text": "x"}), expect!["error: plain/x.txt cannot be a file below another file; choose a path whose parent is a directory or does not exist"]).await;
        check(
            json!({"path": "src", "text": "x"}),
            expect!["error: src is a directory, not a file; list it, or name a file in it"],
        )
        .await;
        check(json!({"path": "../x.txt", "text": "x"}), expect!["error: ../x.txt is outside the workspace; use a path below one of its folders, relative to it"]).await;
        check(json!({"path": ".git/hooks/pre-commit", "text": "x"}), expect!["error: .git/hooks/pre-commit belongs to the version control or to the settings of this agent, which it does not edit"]).await;
    }

    #[tokio::test]
    async fn unsaved_text_is_not_overwritten_unread() {
        let project = Project::new(PROJECT);
        project.open("a.txt", "typed\n");
        let write = json!({"path": "a.txt", "text": "replaced\n"});
        expect![
            "error: a.txt has unsaved changes in the editor that were not read in this turn; read it first"
        ]
        .assert_eq(&project.call("write_file", write.clone()).await);
        assert_eq!(project.text("a.txt"), "typed\n");
        project.call("read_file", json!({"path": "a.txt"})).await;
        expect![[r#"
            replaced the text of a.txt: 1 line, 9 bytes, before 1 line, 6 bytes
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]]
        .assert_eq(&project.call("write_file", write).await);
        assert_eq!(project.text("a.txt"), "replaced\n");
    }

    #[tokio::test]
    async fn crlf_line_ends_of_a_file_stay() {
        let project = Project::new("");
        project.write("a.txt", "one\r\ntwo\r\n");
        let write = json!({"path": "a.txt", "text": "one\nthree\n"});
        expect![[r#"
            replaced the text of a.txt: 2 lines, 12 bytes, before 2 lines, 10 bytes; its CRLF line ends were kept
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]].assert_eq(&project.call("write_file", write).await);
        assert_eq!(project.text("a.txt"), "one\r\nthree\r\n");
    }

    #[tokio::test]
    async fn nothing_is_staged_after_a_cancel() {
        let project = Project::new(PROJECT);
        project.context.cancel.cancel();
        let answer = project.call("write_file", json!({"path": "b.txt", "text": "x"})).await;
        assert_eq!(answer, "error: the turn was stopped before this call was done");
        assert!(project.context.files.proposal().is_empty());
    }
}
