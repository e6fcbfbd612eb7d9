//! `search`: the lines of all files that a regular expression matches.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Effect, Tool, ToolContext, ToolError,
    list_files::under,
    look,
    output::{listed_path, one_line},
};
use crate::workspace::{
    FilePath, TurnFiles,
    search::{ListQuery, Match, SearchQuery},
};

/// Matching lines in one answer: more than these are a sign of a pattern that is too wide.
const MAX_MATCHES: usize = 100;

/// Bytes of one answer, about 5,000 tokens. (Lines are cut where they are found, around the match.)
const MAX_ANSWER_BYTES: usize = 20 * 1024;

/// Far more than a pattern needs; compiling one of a megabyte takes seconds.
const MAX_PATTERN_BYTES: usize = 4_000;

/// Characters of a pattern that are said again when nothing was found.
const MAX_NAMED_CHARS: usize = 200;

pub struct Search;

/// Search the text of all files for a regular expression, line by line. Answers one line a match: `path:line: text`.
/// Use it to find where something is defined or used; then read_file around the lines that matter. Sees unsaved
/// changes and staged edits; skips binary files and what .gitignore excludes. At most 100 matches: narrow a search
/// that has more by `path`, `glob`, or a more exact pattern.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Regular expression (syntax of Rust's regex crate; no look-around, no back references). Put a
    /// backslash before `( ) [ ] { } . * + ? | ^ $` and before a backslash to find them as they are.
    pattern: String,
    /// Folder or file to search. Default: the whole workspace.
    #[serde(default)]
    path: Option<String>,
    /// Search only files that match this pattern, as in .gitignore: `*.rs`, `src/**/*.ts`.
    #[serde(default)]
    glob: Option<String>,
    /// Whether capital and small letters differ. Default: false.
    #[serde(default)]
    case_sensitive: Option<bool>,
}

impl Tool for Search {
    const NAME: &'static str = "search";
    const EFFECT: Effect = Effect::Read;
    type Args = Args;

    fn target(args: &Args) -> String {
        let place =
            args.path.iter().chain(&args.glob).map(|place| format!(" in {place}")).collect::<String>();
        format!("{}{place}", args.pattern)
    }

    fn access(&self, args: &Args) -> Access {
        Access::below(args.path.as_deref())
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<String, ToolError> {
        look(context, move |files| search(files, args)).await
    }
}

fn search(files: &TurnFiles, args: Args) -> Result<String, ToolError> {
    if args.pattern.is_empty() {
        return Err(ToolError(
            "pattern is empty: it would match every line; use list_files to list files".to_owned(),
        ));
    }
    if args.pattern.len() > MAX_PATTERN_BYTES {
        return Err(ToolError(format!(
            "pattern is longer than {MAX_PATTERN_BYTES} bytes: search for a short piece of it"
        )));
    }
    let under = under(files, args.path.as_deref())?;
    let place = under.as_ref().map_or(String::new(), |path: &FilePath| format!(" below {path}"));
    let query = SearchQuery {
        pattern: args.pattern,
        case_sensitive: args.case_sensitive.unwrap_or(false),
        files: ListQuery { under, glob: args.glob, depth: None, hidden: false, limit: usize::MAX },
        limit: MAX_MATCHES,
    };
    let found = files.search(&query)?;
    if found.matches.is_empty() {
        let noun = if found.searched == 1 { "file" } else { "files" };
        let pattern = one_line(&query.pattern, MAX_NAMED_CHARS);
        return Ok(format!("no matches for {pattern} in {} {noun}{place}", found.searched));
    }
    let mut text = String::new();
    let mut shown = 0;
    for hit in &found.matches {
        let before = text.len();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}:{}: {}", listed_path(hit.path.as_str()), hit.line, hit.text);
        if text.len() > MAX_ANSWER_BYTES && shown > 0 {
            text.truncate(before);
            break;
        }
        shown += 1;
    }
    note_shown(files, found.matches.get(..shown).unwrap_or_default());
    if found.truncated || shown < found.matches.len() {
        let _ =
            write!(text, "… more matches after these {shown}: narrow the search by path, glob or pattern");
    }
    Ok(text)
}

/// The lines of the hits count as shown, where the file still has them and they are not cut.
fn note_shown(files: &TurnFiles, hits: &[Match]) {
    for hits in hits.chunk_by(|one, other| one.path == other.path) {
        let Some(path) = hits.first().map(|hit| &hit.path) else { continue };
        let Ok(file) = files.read(path) else { continue };
        let lines: Vec<&str> = file.text.lines().collect();
        let shown = hits.iter().filter_map(|hit| {
            let index = usize::try_from(hit.line).ok()?.checked_sub(1)?;
            let line = lines.get(index)?;
            // With a mask it is all of the line that there is to see.
            (*line == hit.text || files.shown(line) == hit.text).then_some(index..index + 1)
        });
        files.show(path, &file.text, &shown.collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::{super::testing::Project, *};

    const PROJECT: &str = "\
//- /.gitignore
/target
//- /src/main.rs
use askls::Agent;
fn main() { agent(); }
//- /src/agent.rs
pub struct Agent;
//- /docs/guide.md
The agent reads.
//- /target/agent.txt
agent
";

    async fn check(arguments: Value, expected: Expect) {
        expected.assert_eq(&Project::new(PROJECT).call("search", arguments).await);
    }

    #[tokio::test]
    async fn each_match_is_a_line_with_its_place() {
        check(
            json!({"pattern": "agent"}),
            expect![[r#"
                docs/guide.md:1: The agent reads.
                src/agent.rs:1: pub struct Agent;
                src/main.rs:1: use askls::Agent;
                src/main.rs:2: fn main() { agent(); }
            "#]],
        )
        .await;
        check(
            json!({"pattern": "Agent", "case_sensitive": true}),
            expect![[r#"
                src/agent.rs:1: pub struct Agent;
                src/main.rs:1: use askls::Agent;
            "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_search_can_be_narrowed() {
        check(
            json!({"pattern": r"\bagent\b", "glob": "*.rs"}),
            expect![[r#"
                src/agent.rs:1: pub struct Agent;
                src/main.rs:1: use askls::Agent;
                src/main.rs:2: fn main() { agent(); }
            "#]],
        )
        .await;
        check(
            json!({"pattern": "agent", "path": "docs"}),
            expect![[r#"
                docs/guide.md:1: The agent reads.
            "#]],
        )
        .await;
        check(
            json!({"pattern": "agent", "path": "src/main.rs"}),
            expect![[r#"
                src/main.rs:1: use askls::Agent;
                src/main.rs:2: fn main() { agent(); }
            "#]],
        )
        .await;
    }

    // SPEC E9
    #[tokio::test]
    async fn nothing_found_says_how_much_was_looked_at() {
        check(json!({"pattern": "zebra"}), expect!["no matches for zebra in 3 files"]).await;
        check(
            json!({"pattern": "zebra", "path": "docs"}),
            expect!["no matches for zebra in 1 file below docs"],
        )
        .await;
    }

    #[tokio::test]
    async fn a_pattern_that_is_none_says_where_and_what_to_do() {
        check(
            json!({"pattern": "main("}),
            expect![[r#"
                error: the pattern is not a regular expression that can be matched line by line: regex parse error:
                    main(
                        ^
                error: unclosed group
                put a backslash before a character to find it as it is"#]],
        )
        .await;
        check(
            json!({"pattern": ""}),
            expect!["error: pattern is empty: it would match every line; use list_files to list files"],
        )
        .await;
    }

    // SPEC T17
    #[tokio::test]
    async fn what_the_user_typed_and_staged_edits_are_searched() {
        let project = Project::new(PROJECT);
        project.open("docs/guide.md", "The zebra reads.\n");
        project.call("write_file", json!({"path": "new.txt", "text": "a zebra\n"})).await;
        expect![[r#"
            docs/guide.md:1: The zebra reads.
            new.txt:1: a zebra
        "#]]
        .assert_eq(&project.call("search", json!({"pattern": "zebra"})).await);
    }

    #[tokio::test]
    async fn an_answer_is_bounded_in_matches_and_bytes() {
        let project = Project::new("");
        project.write("many.txt", "needle\n".repeat(500));
        let text = project.call("search", json!({"pattern": "needle"})).await;
        assert_eq!(text.lines().count(), MAX_MATCHES + 1);
        expect!["… more matches after these 100: narrow the search by path, glob or pattern"]
            .assert_eq(text.lines().last().unwrap());

        project.write("many.txt", format!("needle {}\n", "ä".repeat(50_000)).repeat(50));
        let text = project.call("search", json!({"pattern": "needle"})).await;
        assert!(text.len() < MAX_ANSWER_BYTES + 200, "{} bytes", text.len());
        expect!["… more matches after these 10: narrow the search by path, glob or pattern"]
            .assert_eq(text.lines().last().unwrap());
    }
}
