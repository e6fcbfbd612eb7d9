//! What the text of an error keeps from the model: places outside the workspace, and keys. Whoever runs askls sees the
//! whole text, and finds it in the log at the level `debug`, without the keys.

use std::{
    path::{Component, Path, PathBuf},
    sync::{Arc, LazyLock},
};

use regex::Regex;
use serde_json::Value;

use crate::{
    protocol::{ToolCall, ToolOutput},
    workspace::{FileError, TurnFiles},
};

const OUTSIDE: &str = "<outside the workspace>";

const KEY: &str = "<a key>";

/// What stands before a path, so that it is one and not the rest of something else (`and/or`, `https://host/path`).
const BEFORE_PATHS: &str = "\"'`([{=,;:|";

/// What a path without quotes does not go on behind, besides blanks.
const AFTER_PATHS: &str = "\"'`)]}<>,;|";

/// What a sentence puts behind a path.
const AFTER_SENTENCES: &[char] = &['.', ':', '!', '?'];

const QUOTES: &str = "\"'`";

/// Keys as the services make them that are used most: they tell themselves by how they begin.
static KEYS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let keys = r"\b(?:sk-[\w-]{16,}|gh[a-z]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|AKIA[A-Z0-9]{16}|AIza[\w-]{30,})";
    Regex::new(keys).ok()
});

/// Takes out of an error what the model has not named itself and does not need to know.
pub(super) async fn withhold(output: &mut ToolOutput, call: &ToolCall, files: &Arc<TurnFiles>) {
    if !output.is_error || (paths(&output.text).next().is_none() && !holds_key(&output.text)) {
        return;
    }
    let (text, arguments, files) = (output.text.clone(), call.arguments.clone(), Arc::clone(files));
    // Looks at the disk, which may be slow.
    let looked = tokio::task::spawn_blocking(move || {
        let named = names(&arguments);
        let whole = without_keys(&text, &named);
        let told = without_places(&whole, &named, &files);
        (whole, told)
    });
    let Ok((whole, told)) = looked.await else {
        // A fault in here must not let through what it was to take out.
        "this call failed; why cannot be told".clone_into(&mut output.text);
        return;
    };
    if told != output.text {
        tracing::debug!(call = call.name, error = whole, "the model is told less of an error");
        output.text = told;
    }
}

/// The text without the paths outside that are not among what the model named.
fn without_places(text: &str, named: &[String], files: &TurnFiles) -> String {
    let mut rest = 0;
    let mut kept = String::with_capacity(text.len());
    for (start, path) in paths(text) {
        if is_named(path, named) || !is_outside(path, files) {
            continue;
        }
        kept.push_str(text.get(rest..start).unwrap_or_default());
        kept.push_str(OUTSIDE);
        rest = start + path.len();
    }
    kept.push_str(text.get(rest..).unwrap_or_default());
    kept
}

fn without_keys(text: &str, named: &[String]) -> String {
    let Some(keys) = &*KEYS else { return text.to_owned() };
    let key = |found: &regex::Captures<'_>| {
        let found = found.get(0).map_or("", |found| found.as_str());
        if is_named(found, named) { found.to_owned() } else { KEY.to_owned() }
    };
    keys.replace_all(text, key).into_owned()
}

fn is_named(part: &str, named: &[String]) -> bool {
    named.iter().any(|name| name.contains(part))
}

fn holds_key(text: &str) -> bool {
    KEYS.as_ref().is_some_and(|keys| keys.is_match(text))
}

/// Absolute paths in a text, each with where it begins.
fn paths(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end = 0;
    text.char_indices().filter_map(move |(start, _)| {
        if start < end {
            return None;
        }
        let before = text.get(..start)?.chars().next_back();
        let rest = text.get(start..)?;
        if !before.is_none_or(|c| c.is_whitespace() || BEFORE_PATHS.contains(c)) || !begins_path(rest) {
            return None;
        }
        let line = rest.lines().next().unwrap_or_default();
        let quoted = before.filter(|c| QUOTES.contains(*c)).and_then(|quote| line.split_once(quote));
        let path = match quoted {
            Some((path, _)) => path,
            None => {
                let length = line.find(|c: char| c.is_whitespace() || AFTER_PATHS.contains(c));
                line.get(..length.unwrap_or(line.len()))?.trim_end_matches(AFTER_SENTENCES)
            }
        };
        end = start + path.len();
        Some((start, path))
    })
}

/// Whether an absolute path, or the URI of one, begins here; `/` and `//` alone are none.
fn begins_path(rest: &str) -> bool {
    let path = rest.strip_prefix("file://").unwrap_or(rest);
    let name = path.trim_start_matches(['/', '\\']);
    let slashes = path.len() - name.len();
    let is_path = if cfg!(windows) { Path::new(path).is_absolute() } else { slashes == 1 };
    is_path && name.starts_with(|c: char| c.is_alphanumeric() || "._-".contains(c))
}

/// Whether a path leads out of the workspace. One whose first folder is not on this machine is none of it, as the
/// address of a page (`/api/users`).
fn is_outside(path: &str, files: &TurnFiles) -> bool {
    if matches!(files.resolve(path), Ok(_) | Err(FileError::Secret(_))) {
        return false;
    }
    let path = Path::new(path.strip_prefix("file://").unwrap_or(path));
    let mut names = 0;
    let first: PathBuf = path
        .components()
        .take_while(|component| {
            names += u32::from(matches!(component, Component::Normal(_)));
            names <= 1
        })
        .collect();
    first.symlink_metadata().is_ok()
}

/// All texts in the arguments of a call; where they are no JSON, the arguments.
fn names(arguments: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut values = match serde_json::from_str(arguments) {
        Ok(value) => vec![value],
        Err(_) => return vec![arguments.to_owned()],
    };
    while let Some(value) = values.pop() {
        match value {
            Value::String(text) => names.push(text),
            Value::Array(inner) => values.extend(inner),
            Value::Object(inner) => values.extend(inner.into_iter().map(|(_, value)| value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    names
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;
    use crate::workspace::Workspace;

    /// The text as the model sees it; `$` is the folder in which the workspace `project` lies.
    fn check(text: &str, arguments: Value, expected: Expect) {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let project = real.join("project");
        std::fs::create_dir(&project).unwrap();
        let files = TurnFiles::new(Arc::new(Workspace::new(vec![project])));
        let place = |text: &str| text.replace('$', real.to_str().unwrap());
        let named = names(&place(&arguments.to_string()));
        let told = without_places(&without_keys(&place(text), &named), &named, &files);
        expected.assert_eq(&told.replace(real.to_str().unwrap(), "$"));
    }

    // SPEC E8
    #[test]
    fn a_place_outside_the_workspace_is_not_told() {
        check(
            "$/home/.config/x.toml: Permission denied; see '$/my home/a b', ($/c.rs:10:3), file://$/d.",
            json!({}),
            expect![
                "<outside the workspace>: Permission denied; see '<outside the workspace>', (<outside the workspace>), <outside the workspace>."
            ],
        );
    }

    // SPEC E8
    #[test]
    fn a_place_inside_it_is_told() {
        let text = "$/project/src/a.rs:3:1 and $/project and $/project/.env cannot be read";
        check(
            text,
            json!({}),
            expect!["$/project/src/a.rs:3:1 and $/project and $/project/.env cannot be read"],
        );
    }

    // SPEC E8
    #[test]
    fn a_way_out_of_it_is_a_place_outside() {
        check("$/project/../secret", json!({}), expect!["<outside the workspace>"]);
    }

    // SPEC E8
    #[test]
    fn what_the_model_named_is_told() {
        check(
            "$/x is outside, $/xy too",
            json!({"paths": [{"path": "$/x"}]}),
            expect!["$/x is outside, <outside the workspace> too"],
        );
    }

    // SPEC E8
    #[test]
    fn what_only_looks_like_a_path_stays() {
        let text = "and/or 1 / 2 // note </div> https://host/tmp/x GET /no-such-folder/users ~/x a=\"/\"";
        check(
            text,
            json!({}),
            expect![[
                r#"and/or 1 / 2 // note </div> https://host/tmp/x GET /no-such-folder/users ~/x a="/""#
            ]],
        );
    }

    // SPEC E8
    #[test]
    fn a_key_is_not_told() {
        check(
            "401 for sk-proj-0123456789abcdef, not for ghp_0123456789abcdefghij or task-list-of-things",
            json!({"command": "curl ghp_0123456789abcdefghij"}),
            expect!["401 for <a key>, not for ghp_0123456789abcdefghij or task-list-of-things"],
        );
    }
}
