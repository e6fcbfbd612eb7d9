//! `apply_patch`: changes of several files in the patch format that some models are trained on, all or none.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Effect, Tool, ToolContext, ToolError, changes,
    output::{MAX_BYTES, visible},
    patch::{self, FileChange, FilePatch, Hunk, PatchError},
    placeholder, stage, staged,
    write_file::size,
};
use crate::workspace::{
    FileError, FilePath, StagedChange, TurnFiles,
    matcher::{self, PatchHunk, Replaced},
};

/// Bytes of an answer in which changed lines are still shown; the files behind are only named.
const MAX_SHOWN_BYTES: usize = MAX_BYTES / 2;

/// Files that a progress line names.
const MAX_NAMED_FILES: usize = 3;

pub struct ApplyPatch;

/// Change, create, delete and move files with one patch; all of it is staged, or nothing. Read the files first. Give
/// three lines that stay before and after each change; where these stand more than once, name lines above them behind
/// `@@`. The edit is staged: later calls see it, the user decides whether it is applied.
///
/// ```text
/// *** Begin Patch
/// *** Update File: src/app.py
/// *** Move to: src/main.py
/// @@ def greet():
///      name = input()
/// -    print("Hi")
/// +    print("Hello, " + name)
/// *** Add File: notes/new.txt
/// +each line of a new file
/// *** Delete File: old.txt
/// *** End Patch
/// ```
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The whole patch, from `*** Begin Patch` to `*** End Patch`; paths relative to the workspace.
    #[serde(alias = "patch")]
    input: String,
}

impl Tool for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const EFFECT: Effect = Effect::Edit;
    type Args = Args;

    fn target(args: &Args) -> String {
        let Ok(files) = patch::parse(&args.input) else { return "a patch".to_owned() };
        let mut names: Vec<&str> =
            files.iter().map(|file| file.path.as_str()).take(MAX_NAMED_FILES).collect();
        if files.len() > MAX_NAMED_FILES {
            names.push("…");
        }
        names.join(", ")
    }

    fn preview(args: &Args, _roots: &[PathBuf]) -> String {
        visible(&args.input)
    }

    fn access(&self, args: &Args) -> Access {
        // What is no patch does nothing.
        let files = patch::parse(&args.input).unwrap_or_default();
        Access::paths(files.iter().flat_map(FilePatch::paths))
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<String, ToolError> {
        stage(context, move |files| {
            apply(files, &args.input)
                .map_err(|ToolError(reason)| ToolError(format!("nothing of the patch was applied: {reason}")))
        })
        .await
    }
}

/// The files as they will be, while the patch is only looked at.
struct Plan<'a> {
    files: &'a TurnFiles,
    /// What the patch itself makes of a file so far; `None` where it takes it away.
    texts: BTreeMap<FilePath, Option<Arc<str>>>,
    changes: Vec<StagedChange>,
    reports: Vec<Report>,
}

/// What the answer says of one file.
enum Report {
    Said(String),
    Changed { path: FilePath, said: String, replaced: Replaced },
}

fn apply(files: &TurnFiles, input: &str) -> Result<String, ToolError> {
    let patches = patch::parse(input).map_err(|error: PatchError| ToolError(error.to_string()))?;
    let mut plan = Plan { files, texts: BTreeMap::new(), changes: Vec::new(), reports: Vec::new() };
    for patch in &patches {
        plan.take(patch)?;
    }
    files.stage_all(plan.changes)?;
    let mut answer = String::new();
    for report in &plan.reports {
        // Writing to a string cannot fail.
        let _ = match report {
            Report::Said(said) => writeln!(answer, "{said}"),
            Report::Changed { path, said, replaced } => {
                let room = MAX_SHOWN_BYTES.saturating_sub(answer.len());
                let changed = changes::describe(files, path, replaced, room);
                writeln!(answer, "{said} in {}", changed.trim_end())
            }
        };
    }
    Ok(staged(files, &answer))
}

impl Plan<'_> {
    fn take(&mut self, patch: &FilePatch) -> Result<(), ToolError> {
        let goes = match &patch.change {
            FileChange::Add { .. } => false,
            FileChange::Delete => true,
            FileChange::Update { move_to, .. } => move_to.is_some(),
        };
        let path = match goes {
            true => self.files.resolve_itself(&patch.path)?,
            false => self.files.resolve_to_edit(&patch.path)?,
        };
        let line = patch.line;
        match &patch.change {
            FileChange::Add { text } => {
                if self.exists(&path) {
                    return Err(ToolError(format!(
                        "line {line} of the patch: {path} exists already; change it with `*** Update File`, or delete it \
                         first with `*** Delete File`"
                    )));
                }
                placeholder::check(&path, None, text)?;
                self.reports.push(Report::Said(format!("created {path}: {}", size(text))));
                self.texts.insert(path.clone(), Some(text.as_str().into()));
                self.changes.push(StagedChange::Write { path, text: text.clone() });
            }
            FileChange::Delete => {
                self.read(&path, line)?;
                self.reports.push(Report::Said(format!("deleted {path}")));
                self.texts.insert(path.clone(), None);
                self.changes.push(StagedChange::Delete { path });
            }
            FileChange::Update { move_to, hunks } => {
                let before = self.read(&path, line)?;
                let to = match move_to {
                    Some(to) => Some(self.files.resolve_to_edit(to)?).filter(|to| *to != path),
                    None => None,
                };
                self.update(path, &before, to, hunks)?;
            }
        }
        Ok(())
    }

    fn update(
        &mut self,
        path: FilePath,
        before: &Arc<str>,
        to: Option<FilePath>,
        hunks: &[Hunk],
    ) -> Result<(), ToolError> {
        let place = to.as_ref().unwrap_or(&path).clone();
        let mut said = match &to {
            Some(to) => format!("moved {path} to {to}"),
            None => String::new(),
        };
        let mut text = Arc::clone(before);
        if hunks.is_empty() {
            self.reports.push(Report::Said(said));
        } else {
            let wanted: Vec<PatchHunk> = hunks.iter().map(|hunk| hunk.hunk.clone()).collect();
            let replaced = matcher::replace_hunks(before, &wanted).map_err(|(index, error)| {
                let line = hunks.get(index).map_or(0, |hunk| hunk.line);
                let old = wanted.get(index).map(|hunk| hunk.old_lines.concat()).unwrap_or_default();
                let (reason, hint) = (self.files.said(error.to_string(), before), placeholder::hint(&old));
                ToolError(format!("the hunk at line {line} of the patch does not fit {path}: {reason}{hint}"))
            })?;
            placeholder::check(&path, Some(before), &replaced.text)?;
            said.push_str(if said.is_empty() { "edited " } else { " and edited " });
            said.push_str(if to.is_some() { "it" } else { path.as_str() });
            text = replaced.text.as_str().into();
            let (before, after) = (Arc::clone(before), replaced.text.clone());
            self.changes.push(StagedChange::Edit { path: path.clone(), before, after });
            self.reports.push(Report::Changed { path: place.clone(), said, replaced });
        }
        if let Some(to) = to {
            self.texts.insert(path.clone(), None);
            self.changes.push(StagedChange::Move { from: path, to });
        }
        self.texts.insert(place, Some(text));
        Ok(())
    }

    fn exists(&self, path: &FilePath) -> bool {
        match self.texts.get(path) {
            Some(text) => text.is_some(),
            None => self.files.exists(path),
        }
    }

    /// What the file says where the patch has come to.
    fn read(&self, path: &FilePath, line: usize) -> Result<Arc<str>, ToolError> {
        match self.texts.get(path) {
            Some(Some(text)) => Ok(Arc::clone(text)),
            Some(None) => Err(ToolError(format!(
                "line {line} of the patch: {path} is not there any more: the patch itself takes it away before"
            ))),
            None => self.files.read(path).map(|file| file.text).map_err(|error| match error {
                FileError::Missing(_) => ToolError(format!(
                    "line {line} of the patch: {error}; a file is created with `*** Add File`"
                )),
                error => ToolError(format!("line {line} of the patch: {error}")),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::super::testing::Project;

    const PROJECT: &str = "\
//- /a.rs
fn one() {
    go(1);
}
// two
fn two() {
    go(1);
}
//- /b.txt
one
two
//- /old.txt
old
";

    /// The answer, and what is staged after it.
    async fn check(patch: &str, answer: Expect, staged: Expect) {
        let project = Project::new(PROJECT);
        let input = format!("*** Begin Patch\n{patch}*** End Patch\n");
        answer.assert_eq(&project.call("apply_patch", json!({"input": input})).await);
        staged.assert_eq(&project.context.files.proposal().diff());
    }

    #[tokio::test]
    async fn several_files_are_changed_by_one_patch() {
        check(
            "\
*** Update File: a.rs
@@ fn two() {
-    go(1);
+    go(2);
*** Add File: new/c.txt
+c
*** Delete File: old.txt
*** Update File: b.txt
*** Move to: moved.txt
@@
 one
-two
+2
",
            expect![[r#"
                edited a.rs in 1 place (line 6)
                     3	}
                     4	// two
                     5	fn two() {
                     6	    go(2);
                     7	}
                created new/c.txt: 1 line, 2 bytes
                deleted old.txt
                moved b.txt to moved.txt and edited it in 1 place (lines 1-2)
                     1	one
                     2	2
                Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
            expect![[r#"
                diff --git a/a.rs b/a.rs
                --- a/a.rs
                +++ b/a.rs
                @@ -3,5 +3,5 @@
                 }
                 // two
                 fn two() {
                -    go(1);
                +    go(2);
                 }
                diff --git a/b.txt b/moved.txt
                rename from b.txt
                rename to moved.txt
                --- a/b.txt
                +++ b/moved.txt
                @@ -1,2 +1,2 @@
                 one
                -two
                +2
                diff --git a/new/c.txt b/new/c.txt
                new file mode 100644
                --- /dev/null
                +++ b/new/c.txt
                @@ -0,0 +1 @@
                +c
                diff --git a/old.txt b/old.txt
                deleted file mode 100644
                --- a/old.txt
                +++ /dev/null
                @@ -1 +0,0 @@
                -old
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn one_hunk_that_does_not_fit_undoes_all() {
        check(
            "*** Add File: c.txt\n+c\n*** Update File: b.txt\n@@\n-one\n+1\n@@\n-three\n+3\n",
            expect!["error: nothing of the patch was applied: the hunk at line 8 of the patch does not fit b.txt: the text to find is not in the file, and nothing in it is near; read the file again and copy the text from there"],
            expect![""],
        )
        .await;
    }

    #[tokio::test]
    async fn each_section_sees_what_those_before_it_did() {
        check(
            "\
*** Update File: b.txt
-one
+1
*** Update File: b.txt
*** Move to: c.txt
-two
+2
*** Update File: c.txt
 1
-2
+zwei
*** Delete File: old.txt
*** Add File: old.txt
+new
",
            expect![[r#"
                edited b.txt in 1 place (line 1)
                     1	1
                     2	two
                moved b.txt to c.txt and edited it in 1 place (line 2)
                     1	1
                     2	2
                edited c.txt in 1 place (lines 1-2)
                     1	1
                     2	zwei
                deleted old.txt
                created old.txt: 1 line, 4 bytes
                Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
            expect![[r#"
                diff --git a/b.txt b/c.txt
                rename from b.txt
                rename to c.txt
                --- a/b.txt
                +++ b/c.txt
                @@ -1,2 +1,2 @@
                -one
                -two
                +1
                +zwei
                diff --git a/old.txt b/old.txt
                --- a/old.txt
                +++ b/old.txt
                @@ -1 +1 @@
                -old
                +new
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn what_does_not_fit_the_files_says_what_to_do() {
        check("*** Add File: b.txt\n+b\n", expect!["error: nothing of the patch was applied: line 2 of the patch: b.txt exists already; change it with `*** Update File`, or delete it first with `*** Delete File`"], expect![""]).await;
        check("*** Update File: c.txt\n-b\n+c\n", expect!["error: nothing of the patch was applied: line 2 of the patch: there is no file c.txt; near it are: b.txt; a file is created with `*** Add File`"], expect![""]).await;
        check("*** Delete File: c.txt\n", expect!["error: nothing of the patch was applied: line 2 of the patch: there is no file c.txt; near it are: b.txt; a file is created with `*** Add File`"], expect![""]).await;
        check("*** Delete File: b.txt\n*** Update File: b.txt\n-one\n+1\n", expect!["error: nothing of the patch was applied: line 3 of the patch: b.txt is not there any more: the patch itself takes it away before"], expect![""])
            .await;
        check("*** Update File: b.txt\n*** Move to: old.txt\n-one\n+1\n", expect!["error: nothing of the patch was applied: old.txt exists already; choose another path, or edit or delete it first"], expect![""])
            .await;
        check("*** Update File: ../b.txt\n-one\n+1\n", expect!["error: nothing of the patch was applied: ../b.txt is outside the workspace; use a path below one of its folders, relative to it"], expect![""]).await;
        check("*** Update File: b.txt\n", expect!["error: nothing of the patch was applied: line 2 of the patch: the file has no hunk: below `@@` give lines that stay (begin with a blank), go (`-`) and come (`+`)"], expect![""]).await;
    }

    /// Others have lost the file that way.
    #[tokio::test]
    async fn a_move_to_its_own_place_is_an_edit() {
        check(
            "*** Update File: b.txt\n*** Move to: ./b.txt\n@@\n-one\n+1\n",
            expect![[r#"
                edited b.txt in 1 place (line 1)
                     1	1
                     2	two
                Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
            expect![[r#"
                diff --git a/b.txt b/b.txt
                --- a/b.txt
                +++ b/b.txt
                @@ -1,2 +1,2 @@
                -one
                +1
                 two
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn text_that_stands_for_other_text_is_refused() {
        check(
            "*** Update File: b.txt\n@@\n one\n-two\n+# ... rest of the file unchanged\n",
            expect!["error: nothing of the patch was applied: b.txt was not changed: the line `# ... rest of the file unchanged` of the new text stands for text that is not there, and would take its place in the file; write out the text that it stands for, or change with edit_file only the lines that are to change"],
            expect![""],
        )
        .await;
        check("*** Add File: c.rs\n+fn a() {}\n+// ... existing code ...\n", expect!["error: nothing of the patch was applied: c.rs was not changed: the line `// ... existing code ...` of the new text stands for text that is not there, and would take its place in the file; the file is new, so write out its whole text"], expect![""])
            .await;
    }

    #[tokio::test]
    async fn line_ends_of_the_files_stay() {
        let project = Project::new("");
        project.write("a.txt", "one\r\ntwo\r\nthree");
        let input =
            "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n+2b\n three\n*** End Patch\n";
        project.call("apply_patch", json!({"input": input})).await;
        assert_eq!(project.text("a.txt"), "one\r\n2\r\n2b\r\nthree");
    }

    #[tokio::test]
    async fn a_long_patch_is_shown_in_part_and_only_what_was_shown_was_read() {
        let project = Project::new("");
        let mut input = "*** Begin Patch\n".to_owned();
        for number in 0..100 {
            project.write(&format!("{number}.txt"), format!("{}\nlast\n", "x".repeat(600)));
            input.push_str(&format!("*** Update File: {number}.txt\n@@\n-last\n+new\n"));
        }
        let answer = project.call("apply_patch", json!({"input": input})).await;
        assert!(answer.contains("edited 99.txt in 1 place (line 2)\n"), "{answer}");
        assert!(answer.len() < 40_000, "{} bytes", answer.len());
        let write = |path: &str| json!({"path": path, "text": "whole\n"});
        let answer = project.call("write_file", write("0.txt")).await;
        assert!(answer.starts_with("replaced"), "{answer}");
        let answer = project.call("write_file", write("99.txt")).await;
        assert!(answer.contains("read only in part"), "{answer}");
    }

    #[test]
    fn a_progress_line_names_the_files() {
        use super::{ApplyPatch, Args, Tool};
        let target = |input: &str| ApplyPatch::target(&Args { input: input.to_owned() });
        assert_eq!(
            target("*** Delete File: a\n*** Delete File: b\n*** Delete File: c\n*** Delete File: d\n"),
            "a, b, c, …"
        );
        assert_eq!(target("?"), "a patch");
    }
}
