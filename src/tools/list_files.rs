//! `list_files`: what is in the workspace, as paths that the other tools take.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Access, Effect, Tool, ToolContext, ToolError, arguments::whole_number, look, output::listed_path,
};
use crate::workspace::{
    FilePath, TurnFiles,
    search::{ListQuery, Listing},
};

/// Entries in one answer: about 5,000 tokens.
const MAX_ENTRIES: usize = 500;

/// Levels up to which a tree that is too large is tried. Deeper ones hardly ever fit when the levels above do not.
const MAX_TRIED_DEPTH: usize = 6;

pub struct ListFiles;

/// List the files and folders of the workspace, one path a line, sorted, folders with a `/` at the end. Use it to
/// learn how a project is laid out, or with `glob` to find files by name; to find files by what is in them, use
/// search. Paths are relative to the workspace, as the other tools take them. Lists the whole tree; when that is more
/// than 500 entries, as many levels as fit.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Folder to list. Default: the whole workspace.
    #[serde(default)]
    path: Option<String>,
    /// List only files that match this pattern, as in .gitignore: `*.rs`, `src/**/mod.rs`.
    #[serde(default)]
    glob: Option<String>,
    /// Levels to list: 1 is only what lies directly in the folder. Default: all levels.
    #[serde(default, deserialize_with = "whole_number")]
    #[schemars(range(min = 1))]
    depth: Option<u64>,
    /// Also list files that .gitignore or a leading dot hides (never those in .git). Default: false.
    #[serde(default)]
    hidden: Option<bool>,
}

impl Tool for ListFiles {
    const NAME: &'static str = "list_files";
    const EFFECT: Effect = Effect::Read;
    type Args = Args;

    fn target(args: &Args) -> String {
        let folder = args.path.as_deref().unwrap_or(".");
        match &args.glob {
            Some(glob) => format!("{folder} {glob}"),
            None => folder.to_owned(),
        }
    }

    fn access(&self, args: &Args) -> Access {
        // To list names is not to read what is in the files.
        Access::names_below(args.path.as_deref())
    }

    async fn run(&self, args: Args, context: ToolContext) -> Result<String, ToolError> {
        look(context, move |files| list(files, &args)).await
    }
}

fn list(files: &TurnFiles, args: &Args) -> Result<String, ToolError> {
    if args.depth == Some(0) {
        return Err(ToolError("depth must be at least 1".to_owned()));
    }
    let under = under(files, args.path.as_deref())?;
    let query = ListQuery {
        under: under.clone(),
        glob: args.glob.clone(),
        depth: args.depth.map(|depth| usize::try_from(depth).unwrap_or(usize::MAX)),
        hidden: args.hidden.unwrap_or(false),
        limit: MAX_ENTRIES,
    };
    let listing = files.list(&query)?;
    let folder = under.as_ref().map_or("the workspace", FilePath::as_str);
    if listing.entries.is_empty() {
        return Ok(match &args.glob {
            Some(glob) => format!("no files in {folder} match {glob}"),
            None => {
                format!("{folder} is empty (files that are ignored or hidden are listed with hidden: true)")
            }
        });
    }
    if !listing.truncated {
        return Ok(lines(&listing));
    }
    // Below a glob the levels say nothing, and a depth that was asked for is not changed.
    if args.glob.is_none()
        && args.depth.is_none()
        && let Some((depth, fitting)) = deepest_that_fits(files, &query)?
    {
        let levels =
            if depth == 1 { "only the first level" } else { &format!("only the first {depth} levels") };
        return Ok(format!(
            "{}… there are more than {MAX_ENTRIES} entries, so {levels} are shown: call list_files with the path of a \
             folder, or with a glob",
            lines(&fitting)
        ));
    }
    Ok(format!(
        "{}… more than {MAX_ENTRIES} entries, the rest is left out: call list_files with the path of a folder, \
         a narrower glob, or a smaller depth",
        lines(&listing)
    ))
}

/// The folder that a call is about; `None` for all roots. An error when there is no such folder.
pub(super) fn under(files: &TurnFiles, path: Option<&str>) -> Result<Option<FilePath>, ToolError> {
    match path.map(str::trim) {
        None | Some("" | "." | "./") => Ok(None),
        Some(path) => Ok(Some(files.resolve_to_read(path)?)),
    }
}

fn deepest_that_fits(files: &TurnFiles, query: &ListQuery) -> Result<Option<(usize, Listing)>, ToolError> {
    let mut fitting = None;
    for depth in 1..=MAX_TRIED_DEPTH {
        let listing = files.list(&ListQuery { depth: Some(depth), ..query.clone() })?;
        if listing.truncated {
            break;
        }
        fitting = Some((depth, listing));
    }
    Ok(fitting)
}

fn lines(listing: &Listing) -> String {
    let mut lines = String::new();
    for entry in &listing.entries {
        lines.push_str(&listed_path(entry.path.as_str()));
        if entry.is_dir && !entry.path.as_str().ends_with('/') {
            lines.push('/');
        }
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::{super::testing::Project, MAX_ENTRIES};

    const PROJECT: &str = "\
//- /Cargo.toml
[package]
//- /.gitignore
/target
//- /src/main.rs
fn main() {}
//- /src/a/deep.rs
//- /target/debug/askls
binary
//- /docs/guide.md
";

    async fn check(arguments: Value, expected: Expect) {
        let project = Project::new(PROJECT);
        std::fs::create_dir(project.path("empty")).unwrap();
        expected.assert_eq(&project.call("list_files", arguments).await);
    }

    // SPEC T3
    #[tokio::test]
    async fn the_whole_tree_is_listed_sorted_without_what_is_ignored() {
        check(
            json!({}),
            expect![[r#"
            Cargo.toml
            docs/
            docs/guide.md
            empty/
            src/
            src/a/
            src/a/deep.rs
            src/main.rs
        "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn what_is_hidden_is_listed_when_asked_for() {
        check(
            json!({"hidden": true, "depth": 1}),
            expect![[r#"
            .gitignore
            Cargo.toml
            docs/
            empty/
            src/
            target/
        "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_folder_is_listed_with_paths_that_other_tools_take() {
        check(
            json!({"path": "src"}),
            expect![[r#"
            src/a/
            src/a/deep.rs
            src/main.rs
        "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_glob_lists_files_by_name() {
        check(
            json!({"glob": "*.rs"}),
            expect![[r#"
            src/a/deep.rs
            src/main.rs
        "#]],
        )
        .await;
    }

    // SPEC E9
    #[tokio::test]
    async fn nothing_is_said_in_words() {
        check(
            json!({"path": "empty"}),
            expect!["empty is empty (files that are ignored or hidden are listed with hidden: true)"],
        )
        .await;
        check(json!({"glob": "*.py", "path": "src"}), expect!["no files in src match *.py"]).await;
    }

    #[tokio::test]
    async fn what_cannot_be_listed_says_what_to_do() {
        check(
            json!({"path": "scr"}),
            expect!["error: there is no file scr; near it are: src/main.rs, src/a/deep.rs"],
        )
        .await;
        check(
            json!({"path": "../.."}),
            expect![
                "error: ../.. is outside the workspace; use a path below one of its folders, relative to it"
            ],
        )
        .await;
        check(
            json!({"path": "Cargo.toml"}),
            expect![[r#"
            Cargo.toml
        "#]],
        )
        .await;
        check(json!({"glob": "[z-a]"}), expect!["error: the glob is not valid: error parsing glob '[z-a]': invalid range; 'z' > 'a'; write it as in .gitignore, such as `*.rs` or `src/**/mod.rs`"]).await;
        check(json!({"depth": 0}), expect!["error: depth must be at least 1"]).await;
    }

    #[tokio::test]
    async fn files_that_exist_only_in_the_editor_or_as_edits_are_listed() {
        let project = Project::new("//- /a.txt\n");
        project.open("c.txt", "draft");
        project.call("write_file", json!({"path": "b/new.txt", "text": "x"})).await;
        project.call("delete_file", json!({"path": "a.txt"})).await;
        expect![[r#"
            b/
            b/new.txt
            c.txt
        "#]]
        .assert_eq(&project.call("list_files", json!({})).await);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_name_with_a_line_end_makes_no_false_line() {
        let project = Project::new("");
        project.write("a\n.ssh/b", "needle");
        assert_eq!(project.call("list_files", json!({})).await, "a\\n.ssh/\na\\n.ssh/b\n");
        let found = project.call("search", json!({"pattern": "needle"})).await;
        assert_eq!(found, "a\\n.ssh/b:1: needle\n");
    }

    #[tokio::test]
    async fn a_large_tree_is_listed_as_deep_as_it_fits() {
        let project = Project::new("");
        for folder in 0..20 {
            for file in 0..30 {
                project.write(&format!("src/part{folder:02}/file{file:02}.rs"), "");
            }
        }
        let listing = project.call("list_files", json!({})).await;
        assert!(listing.starts_with("src/\nsrc/part00/\nsrc/part01/\n"), "{listing}");
        expect!["… there are more than 500 entries, so only the first 2 levels are shown: call list_files with the path of a folder, or with a glob"].assert_eq(listing.lines().last().unwrap());

        let listing = project.call("list_files", json!({"glob": "*.rs"})).await;
        assert_eq!(listing.lines().count(), MAX_ENTRIES + 1);
        expect!["… more than 500 entries, the rest is left out: call list_files with the path of a folder, a narrower glob, or a smaller depth"].assert_eq(listing.lines().last().unwrap());
    }
}
