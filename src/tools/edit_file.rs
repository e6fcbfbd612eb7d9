//! `edit_file`: one piece of a file replaced by another, where it stands exactly once.

use std::{fmt::Write as _, ops::Range};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Effect, Tool, ToolContext, ToolError,
    output::{one_line, visible, visible_path},
    read_file::number_line,
    stage, staged,
};
use crate::workspace::{
    FileError, TurnFiles,
    matcher::{self, Likeness, Occurrences},
};

/// Lines shown before and after each changed place, so that the next edit can be made without reading again.
const CONTEXT_LINES: usize = 3;

/// Lines of changed places in one answer: the whole change is in the proposal anyway.
const MAX_SHOWN_LINES: usize = 60;

/// Places whose lines are named one by one.
const MAX_NAMED_PLACES: usize = 20;

pub struct EditFile;

/// Replace a piece of text in a file by another. `find` must stand in the file exactly once, unless `all` is true: take
/// enough lines around the change to make it unique, as read_file shows them but without line numbers. Read the file
/// first. For several changes of one file make several calls. The edit is staged: later calls see it, the user decides
/// whether it is applied. To create a file, or to rewrite it whole, use write_file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// File to edit, relative to the workspace.
    path: String,
    /// The text to replace, with its indentation and line breaks. May begin and end in the middle of a line.
    find: String,
    /// The text that takes its place; empty to delete it.
    replace: String,
    /// Replace every place where `find` stands instead of exactly one. Default: false.
    #[serde(default)]
    all: Option<bool>,
}

impl Tool for EditFile {
    const NAME: &'static str = "edit_file";
    const EFFECT: Effect = Effect::Edit;
    type Args = Args;

    fn target(args: &Args) -> String {
        one_line(&args.path, 80)
    }

    fn preview(args: &Args) -> String {
        let every = if args.all == Some(true) { " (every place)" } else { "" };
        let mut text = format!("edit {}{every}\n", visible_path(&args.path));
        for (mark, side) in [('-', &args.find), ('+', &args.replace)] {
            for line in side.lines() {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{mark}{}", visible(line));
            }
        }
        text
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<String, ToolError> {
        stage(context, move |files| edit(files, &args)).await
    }
}

fn edit(files: &TurnFiles, args: &Args) -> Result<String, ToolError> {
    if args.find.is_empty() {
        return Err(ToolError(
            "find is empty: give the text to replace, or use write_file to write the whole file".to_owned(),
        ));
    }
    if args.find == args.replace {
        return Err(ToolError("find and replace are the same: the edit would change nothing".to_owned()));
    }
    let path = files.resolve(&args.path)?;
    let file = files.read(&path).map_err(|error| match error {
        FileError::Missing(_) => ToolError(format!("{error}; use write_file to create it")),
        error => error.into(),
    })?;
    let occurrences = if args.all == Some(true) { Occurrences::All } else { Occurrences::One };
    let replaced = matcher::replace(&file.text, &args.find, &args.replace, occurrences)
        .map_err(|error| ToolError(format!("{path} was not edited: {error}")))?;
    let spans = lines_of(&replaced.text, &replaced.places);
    let shown = changed_regions(&replaced.text, &spans);
    files.stage(&path, replaced.text)?;

    let places = if spans.len() == 1 { "1 place".to_owned() } else { format!("{} places", spans.len()) };
    let likeness = match replaced.likeness {
        Likeness::Exact => "",
        Likeness::LineEnds => "; the line ends of the file were kept",
        Likeness::TrailingSpaces => "; blanks at the ends of lines differed from find",
    };
    Ok(staged(&format!("edited {path} in {places} ({}){likeness}\n{shown}", name_lines(&spans))))
}

/// First and last line (from 1) that each place in `text` touches.
fn lines_of(text: &str, places: &[Range<usize>]) -> Vec<(usize, usize)> {
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line_at = |offset: usize| 1 + ends.partition_point(|&end| end < offset);
    places
        .iter()
        .map(|place| {
            let first = line_at(place.start);
            // A piece that ends with a line end does not touch the line after it.
            (first, line_at(place.end.saturating_sub(1)).max(first))
        })
        .collect()
}

fn name_lines(spans: &[(usize, usize)]) -> String {
    let mut names: Vec<_> = spans
        .iter()
        .take(MAX_NAMED_PLACES)
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    if spans.len() > MAX_NAMED_PLACES {
        names.push("…".to_owned());
    }
    let noun = if matches!(spans, [(first, last)] if first == last) { "line" } else { "lines" };
    format!("{noun} {}", names.join(", "))
}

/// The changed places with the lines around them, numbered as in `read_file`.
fn changed_regions(text: &str, spans: &[(usize, usize)]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = String::new();
    let mut count = 0;
    let mut next = 1;
    for &(first, last) in spans {
        let start = first.saturating_sub(CONTEXT_LINES).max(next);
        let end = (last + CONTEXT_LINES).min(lines.len());
        if start > next && count > 0 {
            shown.push_str("   …\n");
        }
        for (number, line) in (start..=end).zip(lines.iter().skip(start - 1)) {
            if count == MAX_SHOWN_LINES {
                shown.push_str("… the rest of the change is not shown\n");
                return shown;
            }
            number_line(&mut shown, number, line);
            count += 1;
        }
        next = next.max(end + 1);
    }
    shown
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
    fn a_preview_holds_the_whole_edit() {
        use super::{Args, EditFile, Tool};
        let args = Args {
            path: "a.rs".to_owned(),
            find: "one\ntwo".to_owned(),
            replace: "\u{1b}[2Kthree".to_owned(),
            all: Some(true),
        };
        expect![[r#"
            edit a.rs (every place)
            -one
            -two
            +\u{1b}[2Kthree
        "#]]
        .assert_eq(&EditFile::preview(&args));
    }
}
