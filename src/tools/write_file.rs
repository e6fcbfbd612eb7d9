//! `write_file`: the whole text of a file, new or not.

use std::{borrow::Cow, path::PathBuf, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use similar::DiffOp;

use super::{
    Access, Effect, Tool, ToolContext, ToolError,
    output::{visible, visible_path},
    placeholder, stage, staged,
};
use crate::workspace::{FilePath, StagedChange, TurnFiles};

/// The longest that finding the same lines in a text of mixed line ends may take; the rest then end as those before.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

pub struct WriteFile;

/// Create a file with the given text, or replace the whole text of one that exists and that you have read whole. Folders
/// on the way are created. Use it for new files and full rewrites; to change a part of a file use edit_file, which is
/// shorter and keeps the rest as it is. The file is staged: later calls see it, the user decides whether it is written.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// File to write, relative to the workspace.
    path: String,
    /// The whole new text of the file, nothing left out.
    text: String,
}

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    const EFFECT: Effect = Effect::Edit;
    type Args = Args;

    fn target(args: &Args) -> String {
        args.path.clone()
    }

    fn preview(args: &Args, _roots: &[PathBuf]) -> String {
        format!("write {}\n{}", visible_path(&args.path), visible(&args.text))
    }

    fn access(&self, args: &Args) -> Access {
        Access::paths([args.path.as_str()])
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<String, ToolError> {
        stage(context, move |files| write(files, args)).await
    }
}

fn write(files: &TurnFiles, args: Args) -> Result<String, ToolError> {
    let path = files.resolve_to_edit(&args.path)?;
    let before = current(files, &path)?;
    placeholder::check(&path, before.as_deref(), &args.text)?;
    let text = match &before {
        Some(before) => with_ends_of(before, &args.text),
        None => Cow::Borrowed(&*args.text),
    };
    let kept = if *text == *args.text { "" } else { "; the line ends of the file were kept" };
    let size = size(&text);
    let report = match before {
        None => format!("created {path}: {size}"),
        Some(before) if *before == *text => {
            return Ok(format!("{path} has this text already ({size}): nothing changed{kept}"));
        }
        Some(before) => {
            format!("replaced the text of {path}: {size}, before {}{kept}", self::size(&before))
        }
    };
    files.stage_all(vec![StagedChange::Write { path, text: text.into_owned() }])?;
    Ok(staged(files, &report))
}

/// The new text with the line ends of the old one, line by line where those are mixed, and with a line end at its very
/// end where the old one has it: models write plain line feeds, and forget the last or add one. A text with carriage
/// returns, or that differs in its last line end only, is meant as it is.
fn with_ends_of<'a>(old: &str, new: &'a str) -> Cow<'a, str> {
    if old.is_empty() || new.is_empty() || new.contains('\r') {
        return Cow::Borrowed(new);
    }
    let old_lines = lines_with_ends(old);
    let mut lines: Vec<&str> = new.split('\n').collect();
    let is_ended = lines.pop_if(|last| last.is_empty()).is_some();
    let is_to_be_ended = old.ends_with(['\n', '\r']);
    let is_about_the_end = is_ended != is_to_be_ended
        && lines.len() == old_lines.len()
        && lines.iter().zip(&old_lines).all(|(new, (old, _))| new == old);
    let is_to_be_ended = if is_about_the_end { is_ended } else { is_to_be_ended };
    let ends = ends_like(&old_lines, &lines);
    let mut out = String::with_capacity(new.len() + lines.len());
    for (index, (line, end)) in lines.iter().zip(ends).enumerate() {
        out.push_str(line);
        if index + 1 < lines.len() || is_to_be_ended {
            out.push_str(end);
        }
    }
    if out == new { Cow::Borrowed(new) } else { Cow::Owned(out) }
}

/// How each new line is to end: as it did where it stood in the old text already, else as the line before it.
fn ends_like<'a>(old: &[(&'a str, &'a str)], new: &[&str]) -> Vec<&'a str> {
    let mut known = old.iter().map(|(_, end)| *end).filter(|end| !end.is_empty());
    let first = known.next().unwrap_or("\n");
    if known.all(|end| end == first) {
        return vec![first; new.len()];
    }
    let contents: Vec<&str> = old.iter().map(|(content, _)| *content).collect();
    let diff = similar::TextDiff::configure().timeout(DIFF_TIMEOUT).diff_slices(&contents, new);
    let mut ends = vec![""; new.len()];
    for op in diff.ops() {
        if let DiffOp::Equal { old_index, new_index, len } = *op {
            for (end, (_, old)) in ends.iter_mut().skip(new_index).zip(old.iter().skip(old_index).take(len)) {
                *end = old;
            }
        }
    }
    let mut last = first;
    for end in &mut ends {
        if end.is_empty() {
            *end = last;
        }
        last = end;
    }
    ends
}

/// Lines with what ends them; the last may end with nothing.
fn lines_with_ends(text: &str) -> Vec<(&str, &str)> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        let (line, behind) = rest.split_at(at);
        let length = if behind.starts_with("\r\n") { 2 } else { 1 };
        let (end, behind) = behind.split_at(length);
        lines.push((line, end));
        rest = behind;
    }
    if !rest.is_empty() {
        lines.push((rest, ""));
    }
    lines
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

/// How large a text is, in words.
pub(super) fn size(text: &str) -> String {
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
        let project = Project::new(PROJECT);
        project.call("read_file", json!({"path": "a.txt"})).await;
        expect![[r#"
            replaced the text of a.txt: 2 lines, 4 bytes, before 2 lines, 8 bytes
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]]
        .assert_eq(&project.call("write_file", json!({"path": "a.txt", "text": "x\ny\n"})).await);
        expect![[r#"
            replaced the text of a.txt: 0 lines, 0 bytes, before 2 lines, 4 bytes
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]]
        .assert_eq(&project.call("write_file", json!({"path": "a.txt", "text": ""})).await);
    }

    #[tokio::test]
    async fn a_file_is_not_replaced_whole_that_was_not_read_whole() {
        let project = Project::new("");
        project.write("many.txt", "x\n".repeat(3_000));
        let write = json!({"path": "many.txt", "text": "y\n"});
        expect!["error: many.txt exists and was not read in this turn, so that its text is not replaced unseen; read it first, or edit only a part of it"].assert_eq(&project.call("write_file", write.clone()).await);
        project.call("search", json!({"pattern": "x", "path": "many.txt"})).await;
        expect!["error: many.txt was read only in part in this turn, and lines 101-3000 would be lost unseen; read them first (a line that is cut there cannot be read whole), or edit only the part that is to change"].assert_eq(&project.call("write_file", write.clone()).await);
        project.call("read_file", json!({"path": "many.txt"})).await;
        expect!["error: many.txt was read only in part in this turn, and lines 2001-3000 would be lost unseen; read them first (a line that is cut there cannot be read whole), or edit only the part that is to change"].assert_eq(&project.call("write_file", write.clone()).await);
        project
            .call("edit_file", json!({"path": "many.txt", "find": "x\n".repeat(999), "replace": "z\n"}))
            .await;
        project.call("read_file", json!({"path": "many.txt", "start_line": 2_001})).await;
        expect![[r#"
            replaced the text of many.txt: 1 line, 2 bytes, before 3000 lines, 6000 bytes
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]]
        .assert_eq(&project.call("write_file", write).await);
    }

    #[tokio::test]
    async fn a_line_that_was_cut_was_not_read() {
        let project = Project::new("");
        project.write("a.txt", format!("one\n{}\nthree\n", "x".repeat(5_000)));
        project.call("read_file", json!({"path": "a.txt"})).await;
        expect!["error: a.txt was read only in part in this turn, and line 2 would be lost unseen; read them first (a line that is cut there cannot be read whole), or edit only the part that is to change"]
            .assert_eq(&project.call("write_file", json!({"path": "a.txt", "text": "y\n"})).await);
    }

    #[tokio::test]
    async fn what_edit_file_answered_counts_as_read() {
        let project = Project::new(PROJECT);
        project.call("edit_file", json!({"path": "a.txt", "find": "one", "replace": "1"})).await;
        let answer = project.call("write_file", json!({"path": "a.txt", "text": "y\n"})).await;
        assert!(answer.starts_with("replaced the text of a.txt"), "{answer}");
    }

    #[tokio::test]
    async fn text_that_stands_for_other_text_is_refused() {
        let project = Project::new(PROJECT);
        project.call("read_file", json!({"path": "a.txt"})).await;
        for path in ["a.txt", "new.txt"] {
            let text = "one\n# ... rest of the file unchanged ...\n";
            let answer = project.call("write_file", json!({"path": path, "text": text})).await;
            assert!(answer.starts_with("error: ") && answer.contains("stands for text"), "{answer}");
        }
        assert!(project.context.files.proposal().is_empty());
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
        expect!["error: a.txt exists and was not read in this turn, so that its text is not replaced unseen; read it first, or edit only a part of it"].assert_eq(&project.call("write_file", write.clone()).await);
        assert_eq!(project.text("a.txt"), "typed\n");
        project.call("read_file", json!({"path": "a.txt"})).await;
        expect![[r#"
            replaced the text of a.txt: 1 line, 9 bytes, before 1 line, 6 bytes
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]]
        .assert_eq(&project.call("write_file", write).await);
        assert_eq!(project.text("a.txt"), "replaced\n");
    }

    /// What `text` becomes when it is written over `old`.
    fn check_ends(old: &str, text: &str, expected: &str) {
        assert_eq!(super::with_ends_of(old, text), expected, "{text:?} over {old:?}");
    }

    #[test]
    fn line_ends_of_a_file_stay() {
        check_ends("one\r\ntwo\r\n", "one\nthree\n", "one\r\nthree\r\n");
        check_ends("one\rtwo\r", "one\nthree\n", "one\rthree\r");
        check_ends("a\r\nb\nc\r\nd\n", "new\na\nb\nB\nc\nd\n", "new\r\na\r\nb\nB\nc\r\nd\n");
        check_ends("a\r\nb\r\n", "a\r\nB\n", "a\r\nB\n");
        check_ends("", "a\nb", "a\nb");
    }

    #[test]
    fn the_last_line_ends_as_it_did_unless_that_is_the_change() {
        check_ends("a\nb\n", "a\nB", "a\nB\n");
        check_ends("a\nb", "a\nB\n", "a\nB");
        check_ends("a\r\nb", "a\nB\n", "a\r\nB");
        check_ends("a\nb", "a\nb\n", "a\nb\n");
        check_ends("a\r\nb\r\n", "a\nb", "a\r\nb");
        check_ends("a\n", "", "");
    }

    #[tokio::test]
    async fn a_byte_order_mark_and_line_ends_stay() {
        let project = Project::new("");
        project.write("a.txt", "\u{feff}one\r\ntwo");
        project.call("read_file", json!({"path": "a.txt"})).await;
        expect![[r#"
            replaced the text of a.txt: 2 lines, 10 bytes, before 2 lines, 8 bytes; the line ends of the file were kept
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]]
            .assert_eq(&project.call("write_file", json!({"path": "a.txt", "text": "one\nthree\n"})).await);
        project.context.files.proposal().apply_to_disk(project.context.files.workspace()).unwrap();
        assert_eq!(std::fs::read_to_string(project.path("a.txt")).unwrap(), "\u{feff}one\r\nthree");
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
