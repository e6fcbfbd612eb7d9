//! `edit_file`: pieces of a file replaced by others, each where it stands exactly once.

use std::{fmt::Write as _, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Effect, Tool, ToolContext, ToolError, changes,
    output::{cut_line, visible, visible_path},
    placeholder, stage, staged,
};
use crate::workspace::{
    FileError, StagedChange, TurnFiles,
    matcher::{self, Occurrences, Replacement},
};

/// Replacements of one call: more are a rewrite of the file.
const MAX_EDITS: usize = 200;

/// Characters of a text to find that tell which of several replacements an error is about.
const MAX_NAMED_CHARS: usize = 80;

pub struct EditFile;

/// Replace a piece of text in a file by another. `find` must stand in the file exactly once, unless `all` is true: take
/// enough lines around the change to make it unique, as read_file shows them but without line numbers. Read the file
/// first. Put further changes of the same file into `edits`: all are made, or none. The edit is staged: later calls see
/// it, the user decides whether it is applied. To create a file, or to rewrite it whole, use write_file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// File to edit, relative to the workspace.
    path: String,
    /// The text to replace, with its indentation and line breaks. May begin and end in the middle of a line.
    // Required in the schema alone: a call that has only `edits` says all that is needed.
    #[schemars(required)]
    find: Option<String>,
    /// The text that takes its place, written out in full; empty to delete it.
    #[schemars(required)]
    replace: Option<String>,
    /// Replace every place where `find` stands instead of exactly one. Default: false.
    #[serde(default)]
    all: Option<bool>,
    /// Further replacements in the same file. Each finds its text in the file as it is before the call.
    #[serde(default)]
    edits: Option<Vec<Edit>>,
}

/// One more replacement.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The text to replace.
    find: String,
    /// The text that takes its place.
    replace: String,
    /// Replace every place instead of exactly one. Default: false.
    #[serde(default)]
    all: Option<bool>,
}

impl Args {
    /// All replacements, that of the call itself first. Some models leave it empty when they fill `edits`.
    fn replacements(&self) -> Result<Vec<Replacement<'_>>, ToolError> {
        let replacement = |find, replace_with, all: Option<bool>| Replacement {
            find,
            replace_with,
            occurrences: if all == Some(true) { Occurrences::All } else { Occurrences::One },
        };
        let edits = self.edits.as_deref().unwrap_or_default();
        let mut replacements = Vec::new();
        match (self.find.as_deref(), self.replace.as_deref()) {
            (None | Some(""), None | Some("")) if !edits.is_empty() => {}
            (Some(find), Some(replace)) => replacements.push(replacement(find, replace, self.all)),
            (None, _) => return Err(ToolError("find is missing: give the text to replace".to_owned())),
            (_, None) => {
                let missing = "replace is missing: give the text that takes the place of find, or an empty one to delete it";
                return Err(ToolError(missing.to_owned()));
            }
        }
        replacements.extend(edits.iter().map(|edit| replacement(&edit.find, &edit.replace, edit.all)));
        Ok(replacements)
    }
}

impl Tool for EditFile {
    const NAME: &'static str = "edit_file";
    const EFFECT: Effect = Effect::Edit;
    type Args = Args;

    fn target(args: &Args) -> String {
        args.path.clone()
    }

    fn preview(args: &Args, _roots: &[PathBuf]) -> String {
        let mut text = format!("edit {}\n", visible_path(&args.path));
        let replacements = args.replacements().unwrap_or_default();
        for Replacement { find, replace_with, occurrences } in &replacements {
            match occurrences {
                Occurrences::All => text.push_str("@@ every place\n"),
                Occurrences::One if replacements.len() > 1 => text.push_str("@@\n"),
                Occurrences::One => {}
            }
            for (mark, side) in [('-', find), ('+', replace_with)] {
                for line in side.lines() {
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "{mark}{}", visible(line));
                }
            }
        }
        text
    }

    fn access(&self, args: &Args) -> Access {
        Access::paths([args.path.as_str()])
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<String, ToolError> {
        stage(context, move |files| edit(files, &args)).await
    }
}

fn edit(files: &TurnFiles, args: &Args) -> Result<String, ToolError> {
    let replacements = args.replacements()?;
    if replacements.len() > MAX_EDITS {
        return Err(ToolError(format!(
            "{} replacements are more than the {MAX_EDITS} of one call; write the file whole, or make several calls",
            replacements.len()
        )));
    }
    for (index, Replacement { find, replace_with, .. }) in replacements.iter().enumerate() {
        let which = which(index, find, replacements.len());
        if find.is_empty() {
            return Err(ToolError(format!(
                "{which}find is empty: give the text to replace, or use write_file to write the whole file"
            )));
        }
        if find == replace_with {
            return Err(ToolError(format!(
                "{which}find and replace are the same: the edit would change nothing"
            )));
        }
    }
    let path = files.resolve_to_edit(&args.path)?;
    files.check_editable(&path)?;
    let file = files.read(&path).map_err(|error| match error {
        FileError::Missing(_) => ToolError(format!("{error}; use write_file to create it")),
        error => error.into(),
    })?;
    let replaced = matcher::replace_each(&file.text, &replacements).map_err(|(index, error)| {
        let find = replacements.get(index).map_or("", |replacement| replacement.find);
        let which = which(index, find, replacements.len());
        let reason = files.said(error.to_string(), &file.text);
        ToolError(format!("{path} was not edited: {which}{reason}{}", placeholder::hint(find)))
    })?;
    placeholder::check(&path, Some(&file.text), &replaced.text)?;
    let after = replaced.text.clone();
    files.stage_all(vec![StagedChange::Edit { path: path.clone(), before: file.text, after }])?;
    let described = changes::describe(files, &path, &replaced, changes::MAX_SHOWN_BYTES);
    Ok(staged(files, &format!("edited {path} in {described}")))
}

/// Names one of several replacements before what is wrong with it; nothing for the only one.
fn which(index: usize, find: &str, count: usize) -> String {
    if count < 2 {
        return String::new();
    }
    let first = find.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    format!("replacement {} of {count} (`{}`): ", index + 1, cut_line(first, MAX_NAMED_CHARS))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::super::testing::Project;

    const PROJECT: &str = "\
//- /a.rs
fn one() {
    go(1);
}

fn two() {
    go(2);
}

fn three() {
    go(1);
}
";

    async fn check(arguments: Value, expected: Expect) {
        expected.assert_eq(&Project::new(PROJECT).call("edit_file", arguments).await);
    }

    #[tokio::test]
    async fn the_changed_lines_are_shown_with_those_around() {
        check(
            json!({"path": "a.rs", "find": "go(2);", "replace": "go(3);\n    stop();"}),
            expect![[r#"
            edited a.rs in 1 place (lines 6-7)
                 3	}
                 4	
                 5	fn two() {
                 6	    go(3);
                 7	    stop();
                 8	}
                 9	
                10	fn three() {
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
        )
        .await;
    }

    #[tokio::test]
    async fn every_place_is_replaced_when_asked_for() {
        check(
            json!({"path": "a.rs", "find": "go(1)", "replace": "run(1)", "all": true}),
            expect![[r#"
            edited a.rs in 2 places (lines 2, 10)
                 1	fn one() {
                 2	    run(1);
                 3	}
                 4	
                 5	fn two() {
               …
                 7	}
                 8	
                 9	fn three() {
                10	    run(1);
                11	}
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_piece_can_be_deleted() {
        let edit = json!({"path": "a.rs", "find": "\n\nfn two() {\n    go(2);\n}", "replace": ""});
        check(
            edit,
            expect![[r#"
            edited a.rs in 1 place (line 3)
                 1	fn one() {
                 2	    go(1);
                 3	}
                 4	
                 5	fn three() {
                 6	    go(1);
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
        )
        .await;
    }

    // SPEC T6
    #[tokio::test]
    async fn an_edit_that_is_not_clear_is_refused() {
        check(json!({"path": "a.rs", "find": "go(1)", "replace": "x"}), expect!["error: a.rs was not edited: the text to find stands at 2 places (lines 2, 10); add lines around it so that it stands only once, or ask to replace all"]).await;
        check(
            json!({"path": "a.rs", "find": "go(7);", "replace": "x"}),
            expect![[r#"
            error: a.rs was not edited: the text to find is not in the file; the nearest is line 2:
            2:     go(1);
            line 2 is `    go(1);`, not `go(7);` (the first difference)"#]],
        )
        .await;
        check(
            json!({"path": "a.rs", "find": "", "replace": "x"}),
            expect![
                "error: find is empty: give the text to replace, or use write_file to write the whole file"
            ],
        )
        .await;
        check(
            json!({"path": "a.rs", "find": "go(2)", "replace": "go(2)"}),
            expect!["error: find and replace are the same: the edit would change nothing"],
        )
        .await;
        check(
            json!({"path": "b.rs", "find": "a", "replace": "b"}),
            expect!["error: there is no file b.rs; near it are: a.rs; use write_file to create it"],
        )
        .await;
        check(
            json!({"path": "../b.rs", "find": "a", "replace": "b"}),
            expect![
                "error: ../b.rs is outside the workspace; use a path below one of its folders, relative to it"
            ],
        )
        .await;
    }

    #[tokio::test]
    async fn a_notebook_is_refused_for_what_it_is() {
        let project = Project::new("//- /a.ipynb\n{}\n");
        let edit = json!({"path": "a.ipynb", "find": "cells", "replace": "x"});
        expect!["error: a.ipynb is a notebook: its cells are documents of their own in an editor, so that its text can be read but not edited here; say which cell should become what, or run a command that edits notebooks"].assert_eq(&project.call("edit_file", edit).await);
    }

    #[tokio::test]
    async fn line_ends_of_the_file_stay() {
        let project = Project::new("");
        project.write("a.txt", "line one\r\nline two\r\nline three\r\n");
        let edit =
            json!({"path": "a.txt", "find": "line one\nline two", "replace": "line ONE\nline 2a\nline 2b"});
        expect![[r#"
            edited a.txt in 1 place (lines 1-3); the line ends of the file were kept
                 1	line ONE
                 2	line 2a
                 3	line 2b
                 4	line three
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]]
        .assert_eq(&project.call("edit_file", edit).await);
        assert_eq!(project.text("a.txt"), "line ONE\r\nline 2a\r\nline 2b\r\nline three\r\n");
    }

    #[tokio::test]
    async fn a_later_edit_sees_the_earlier_one_and_the_disk_sees_none() {
        let project = Project::new("//- /a.txt\nn0\nbeta\n\n\n");
        for number in 0..10 {
            let edit =
                json!({"path": "a.txt", "find": format!("n{number}"), "replace": format!("n{}", number + 1)});
            let answer = project.call("edit_file", edit).await;
            assert!(answer.starts_with("edited a.txt in 1 place (line 1)\n"), "{answer}");
        }
        assert_eq!(project.text("a.txt"), "n10\nbeta\n\n\n");
        assert_eq!(std::fs::read_to_string(project.path("a.txt")).unwrap(), "n0\nbeta\n\n\n");
    }

    #[tokio::test]
    async fn a_long_change_is_shown_in_part() {
        let project = Project::new("");
        project.write("a.txt", "x\n".repeat(1_000));
        let edit = json!({"path": "a.txt", "find": "x", "replace": "y", "all": true});
        let answer = project.call("edit_file", edit).await;
        let lines: Vec<&str> = answer.lines().collect();
        expect!["edited a.txt in 1000 places (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, …)"].assert_eq(lines[0]);
        expect![[r#"
                60	y
            … the rest of the change is not shown
            Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]]
        .assert_eq(&lines[lines.len() - 3..].join("\n"));
    }

    #[test]
    fn a_preview_holds_every_replacement() {
        use super::{Args, EditFile, Tool};
        let preview = |args: Value| EditFile::preview(&serde_json::from_value::<Args>(args).unwrap(), &[]);
        expect![[r#"
            edit a.rs
            @@ every place
            -one
            -two
            +\u{1b}[2Kthree
        "#]]
        .assert_eq(&preview(
            json!({"path": "a.rs", "find": "one\ntwo", "replace": "\u{1b}[2Kthree", "all": true}),
        ));
        expect![[r#"
            edit a.rs
            @@
            -a
            +b
            @@ every place
            -c
            +d
        "#]]
        .assert_eq(&preview(json!({"path": "a.rs", "find": "a", "replace": "b", "edits": [
            {"find": "c", "replace": "d", "all": true},
        ]})));
    }

    #[tokio::test]
    async fn several_replacements_are_made_at_once() {
        let edits = json!({"path": "a.rs", "find": "go(2)", "replace": "run(2)", "edits": [
            {"find": "go(1)", "replace": "run(1)", "all": true},
            {"find": "fn two", "replace": "fn second"},
        ]});
        check(
            edits,
            expect![[r#"
                edited a.rs in 4 places (lines 2, 5, 6, 10)
                     1	fn one() {
                     2	    run(1);
                     3	}
                     4	
                     5	fn second() {
                     6	    run(2);
                     7	}
                     8	
                     9	fn three() {
                    10	    run(1);
                    11	}
                Staged as a proposal: nothing is on disk yet, and the user decides whether to apply it."#]],
        )
        .await;
        // Some models leave the first one out, or empty.
        for first in [json!({}), json!({"find": "", "replace": ""}), json!({"find": null, "replace": null})] {
            let mut edits = json!({"path": "a.rs", "edits": [{"find": "go(2)", "replace": "run(2)"}]});
            edits.as_object_mut().unwrap().extend(first.as_object().unwrap().clone());
            let answer = Project::new(PROJECT).call("edit_file", edits).await;
            assert!(answer.starts_with("edited a.rs in 1 place (line 6)\n"), "{answer}");
        }
    }

    #[tokio::test]
    async fn of_several_replacements_all_are_made_or_none() {
        let project = Project::new(PROJECT);
        let edits = json!({"path": "a.rs", "find": "go(2)", "replace": "run(2)", "edits": [
            {"find": "\n    go(7);", "replace": "x"},
        ]});
        expect![[r#"
            error: a.rs was not edited: replacement 2 of 2 (`go(7);`): the text to find is not in the file; the nearest is at lines 1-2:
            1: fn one() {
            2:     go(1);
            line 1 is `fn one() {`, not `` (the first difference)"#]].assert_eq(&project.call("edit_file", edits).await);
        assert!(project.context.files.proposal().is_empty());
        check(
            json!({"path": "a.rs", "find": "go(2)", "replace": "x", "edits": [{"find": "", "replace": "y"}]}),
            expect!["error: replacement 2 of 2 (``): find is empty: give the text to replace, or use write_file to write the whole file"],
        )
        .await;
        check(json!({"path": "a.rs", "find": "go(2)"}), expect!["error: replace is missing: give the text that takes the place of find, or an empty one to delete it"]).await;
        check(
            json!({"path": "a.rs", "replace": "go(2)"}),
            expect!["error: find is missing: give the text to replace"],
        )
        .await;
        check(json!({"path": "a.rs"}), expect!["error: find is missing: give the text to replace"]).await;
    }

    #[tokio::test]
    async fn text_that_stands_for_other_text_is_refused() {
        let project = Project::new(PROJECT);
        let lazy = json!({"path": "a.rs", "find": "fn one() {\n    go(1);\n}", "replace": "fn one() {\n    // ... existing code ...\n    go(3);\n}"});
        expect!["error: a.rs was not changed: the line `// ... existing code ...` of the new text stands for text that is not there, and would take its place in the file; write out the text that it stands for, or change with edit_file only the lines that are to change"].assert_eq(&project.call("edit_file", lazy).await);
        assert!(project.context.files.proposal().is_empty());
    }

    /// An edit is made in the text as it is when the call comes: nothing has to be read again for it.
    #[tokio::test]
    async fn an_edit_is_made_in_what_a_command_left() {
        let project = Project::new(PROJECT);
        project.call("read_file", json!({"path": "a.rs"})).await;
        project.write("a.rs", PROJECT.replace("//- /a.rs\n", "// formatted\n"));
        let answer =
            project.call("edit_file", json!({"path": "a.rs", "find": "go(2)", "replace": "go(3)"})).await;
        assert!(answer.starts_with("edited a.rs in 1 place (line 7)\n"), "{answer}");
        assert!(project.text("a.rs").starts_with("// formatted\n"));
    }
}
