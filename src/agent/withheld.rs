//! What outputs keep from the model: keys, and in the texts of errors also places outside the workspace. Whoever runs
//! askls sees the whole text of an error, and finds it in the log at the level `debug`, without the keys. What a command
//! printed is no text of askls: the user who allowed the command allowed its output, but for the keys in it.

use std::{
    borrow::Cow,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use serde_json::Value;

use crate::{
    protocol::{ToolCall, ToolOutput},
    workspace::{
        FileError, TurnFiles,
        keys::{self, Masking},
    },
};

const OUTSIDE: &str = "<outside the workspace>";

/// What a path that begins inside of something else stands behind: the rest of a relative one (`src/lib`, `${DIR}/lib`).
const INSIDE: &str = "_.-~/\\%})]*$?";

/// What a path without quotes does not go on behind, besides blanks.
const AFTER_PATHS: &str = "\"'`’”»)]}<>,;|";

/// What a sentence puts behind a path.
const AFTER_SENTENCES: &[char] = &['.', ':', '!', '?'];

/// What a path is quoted with: how it begins and how it ends.
const QUOTES: [(char, char); 6] = [('"', '"'), ('\'', '\''), ('`', '`'), ('‘', '’'), ('“', '”'), ('«', '»')];

/// Blanks of a path without quotes that are looked behind: names of more words are rare.
const MAX_BLANKS: usize = 8;

/// A text of a call without the keys that the call itself does not name: nobody who sees it, the model or a face, needs them.
pub(super) fn without_keys(text: String, arguments: &str, masking: Masking) -> String {
    match masking {
        Masking::On => match keys::masked(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(_) => without_unnamed(&text, &names(arguments)),
        },
        Masking::Off => text,
    }
}

fn without_unnamed(text: &str, named: &[String]) -> String {
    keys::masked_but(text, |key| is_named(key, named)).into_owned()
}

/// Takes out of an error what the model has not named itself and does not need to know.
pub(super) async fn withhold(output: &mut ToolOutput, call: &ToolCall, files: &Arc<TurnFiles>) {
    let holds_key = || matches!(keys::masked(&output.text), Cow::Owned(_));
    if !output.is_error || (paths(&output.text).next().is_none() && !holds_key()) {
        return;
    }
    let (text, arguments, files) = (output.text.clone(), call.arguments.clone(), Arc::clone(files));
    // Looks at the disk, which may be slow.
    let looked = tokio::task::spawn_blocking(move || {
        let named = names(&arguments);
        let whole = without_unnamed(&text, &named);
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

fn is_named(part: &str, named: &[String]) -> bool {
    named.iter().any(|name| name.contains(part))
}

/// Paths in a text that may lead out of the workspace, each with where it begins.
fn paths(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end = 0;
    text.char_indices().filter_map(move |(start, _)| {
        if start < end {
            return None;
        }
        let (before, rest) = text.split_at_checked(start)?;
        let line = rest.lines().next().unwrap_or_default();
        if is_address(before, rest) {
            end = start + line.find(char::is_whitespace).unwrap_or(line.len());
            return None;
        }
        if !begins_path(rest) || !may_begin(before) {
            return None;
        }
        let last = before.chars().next_back();
        let quote = QUOTES.iter().find(|(opening, _)| Some(*opening) == last);
        let quoted = quote.and_then(|(_, closing)| line.split_once(*closing));
        let path = match quoted {
            Some((path, _)) => path,
            None => with_blanks(line),
        };
        end = start + path.len();
        Some((start, path))
    })
}

/// Whether a path may begin behind this text, so that it is one and not the rest of something else (`and/or`).
fn may_begin(before: &str) -> bool {
    let Some(last) = before.chars().next_back() else { return true };
    if !last.is_alphanumeric() {
        return !INSIDE.contains(last);
    }
    // An option of one letter, as compilers have them (`-I/usr/include`).
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    matches!(word.as_bytes(), [b'-', letter] if letter.is_ascii_alphabetic())
}

/// Whether the rest begins at the `//` of an address that is no file's.
fn is_address(before: &str, rest: &str) -> bool {
    let Some(before) = before.strip_suffix(':').filter(|_| rest.starts_with("//")) else { return false };
    let of_schemes = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let scheme = before.rsplit(|c: char| !of_schemes(c)).next().unwrap_or_default();
    !scheme.is_empty() && !scheme.eq_ignore_ascii_case("file")
}

/// Whether an absolute path, the URI of one, or a way up begins here; `/` and `//` alone are none.
fn begins_path(rest: &str) -> bool {
    if rest.starts_with("../") {
        return true;
    }
    let path = without_scheme(rest);
    let name = path.trim_start_matches(['/', '\\']);
    let is_path = if cfg!(windows) {
        Path::new(path).is_absolute()
    } else {
        path.starts_with('/') || path.starts_with("\\/")
    };
    is_path && name.starts_with(|c: char| c.is_alphanumeric() || "._-@+#%$&=~".contains(c))
}

/// The path of a URI of a file, whatever machine it names; any other text as it is.
fn without_scheme(path: &str) -> &str {
    match path.strip_prefix("file://") {
        Some(rest) => rest.find('/').and_then(|slash| rest.get(slash..)).unwrap_or(rest),
        None => path,
    }
}

/// The path that a line begins with. Behind a blank it goes on as far as there are folders of such a name.
fn with_blanks(line: &str) -> &str {
    let ends_at = |c: char| AFTER_PATHS.contains(c);
    let line = line.get(..line.find(ends_at).unwrap_or(line.len())).unwrap_or_default();
    let blanks = line.match_indices(char::is_whitespace).map(|(blank, _)| blank);
    let ends = blanks.take(MAX_BLANKS).chain([line.len()]);
    let words = ends.filter_map(|end| Some(line.get(..end)?.trim_end_matches(AFTER_SENTENCES)));
    let mut longest = "";
    for path in words {
        let added = path.get(longest.len()..).unwrap_or_default();
        let place = unescaped(without_scheme(path));
        let is_there = || {
            let place = Path::new(&*place);
            let is_in_a_folder = added.contains('/') && place.parent().is_some_and(Path::is_dir);
            is_in_a_folder || place.symlink_metadata().is_ok()
        };
        if longest.is_empty() || is_there() {
            longest = path;
        }
    }
    longest
}

/// A path out of JSON that escapes its slashes.
fn unescaped(path: &str) -> Cow<'_, str> {
    if path.contains("\\/") { path.replace("\\/", "/").into() } else { path.into() }
}

/// Whether a path leads out of the workspace. One whose first folder is not on this machine is none of it, as the
/// address of a page (`/api/users`).
fn is_outside(path: &str, files: &TurnFiles) -> bool {
    let path = unescaped(path);
    if matches!(files.resolve_to_read(&path), Ok(_) | Err(FileError::Secret(_))) {
        return false;
    }
    if path.starts_with("..") {
        return true;
    }
    let mut names = 0;
    let first: PathBuf = Path::new(without_scheme(&path))
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
        std::fs::create_dir(real.join("my home")).unwrap();
        let files = TurnFiles::new(Arc::new(Workspace::new(vec![project])));
        let place = |text: &str| text.replace('$', real.to_str().unwrap());
        let named = names(&place(&arguments.to_string()));
        let told = without_places(&without_unnamed(&place(text), &named), &named, &files);
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
    fn a_place_outside_is_found_however_it_is_written() {
        check(
            r#"/$ <$/x> -I$/inc err@$/inc a->$/inc +$/x ‘$/x y’ file://localhost$/x no $/my home/s.txt here ../../x, "$/x"#,
            json!({}),
            expect![[
                r#"<outside the workspace> <<outside the workspace>> -I<outside the workspace> err@<outside the workspace> a-><outside the workspace> +<outside the workspace> ‘<outside the workspace>’ <outside the workspace> no <outside the workspace> here <outside the workspace>, "<outside the workspace>"#
            ]],
        );
        check(r"\/tmp\/x", json!({}), expect!["<outside the workspace>"]);
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
        let text = "and/or src/tmp/x #{DIR}/tmp 1 / 2 // note </div> https://host/tmp/x GET /no-such-folder/users ~/x a=\"/\"";
        check(
            text,
            json!({}),
            expect![[
                r#"and/or src/tmp/x #{DIR}/tmp 1 / 2 // note </div> https://host/tmp/x GET /no-such-folder/users ~/x a="/""#
            ]],
        );
    }

    // SPEC E8
    #[test]
    fn a_key_is_not_told() {
        check(
            "sk_live_51Habcdefghijklmnop hf_abcdefghijklmnopqrstuvwxyz npm_abcdefghijklmnopqrstuv Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc x_sk-proj-abcdefghijklmnop ésk-proj-abcdefghijklmnop",
            json!({}),
            expect![
                "<key hidden by askls> <key hidden by askls> <key hidden by askls> Bearer <key hidden by askls> x_<key hidden by askls> é<key hidden by askls>"
            ],
        );
        check(
            "401 for sk-proj-0123456789abcdef, not for ghp_0123456789abcdefghij or task-list-of-things",
            json!({"command": "curl ghp_0123456789abcdefghij"}),
            expect!["401 for <key hidden by askls>, not for ghp_0123456789abcdefghij or task-list-of-things"],
        );
    }
}
