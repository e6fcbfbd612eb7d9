//! Requests for changes over a small project: what became of the files, or what was said where none changed.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{
    project::{Project, user},
    result,
};
use crate::protocol::UserMessage;

const FILES: &str = "//- code.py
import os
import sys

# TODO later
def f(x):
    return x + 1
//- README.md
See code.py and util.py.
foo bar foo
//- util.py
def h():
    pass
//- a.txt
foo
bar
foo food
//- app.toml
port = 80
name = \"x\"
";

/// Each prompt with the files as they are after it, or the first paragraph of the answer when they are as before.
fn check(prompts: &[&str], expected: Expect) {
    let mut text = String::new();
    for prompt in prompts {
        let mut project = Project::new(FILES);
        let before = project.files.clone();
        let answer = result(&mut project, &[], user(prompt));
        text.push_str(&format!("> {}\n", prompt.replace('\n', "\\n")));
        if project.files == before {
            text.push_str(&format!("  {answer}\n"));
        }
        for (path, old) in &before {
            match project.files.get(path) {
                Some(new) if new == old => {}
                Some(new) => text.push_str(&format!("  {path}: {new:?}\n")),
                None => text.push_str(&format!("  {path} is gone\n")),
            }
        }
        for (path, new) in project.files.iter().filter(|(path, _)| !before.contains_key(*path)) {
            text.push_str(&format!("  new {path}: {new:?}\n"));
        }
    }
    expected.assert_eq(&text);
}

#[test]
fn a_file_is_deleted_only_when_every_word_of_the_request_was_understood() {
    check(
        &[
            "delete line 2 of code.py",
            "delete lines 1-2 of code.py",
            "delete the last line of code.py",
            "delete the first line in code.py",
            "delete the contents of code.py",
            "delete everything in code.py",
            "delete everything but code.py",
            "delete all files except code.py",
            "delete code.py only if it is empty",
            "delete code.py?",
            "delete `code.py` ?",
            "can you delete code.py?",
            "delete the test for code.py",
            "delete the file after code.py",
            "delete the copy of code.py",
            "remove the permissions of code.py",
            "delete the class in util.py",
            "delete the unused import in code.py",
            "delete a.txt from git",
            "delete code.py*",
            "delete *.py",
            "delete src/*.py",
            "delete -f code.py",
            "delete !code.py",
            "delete code.py (not util.py)",
            "delete code.py or util.py",
            "delete code.py, not util.py",
            "delete code.py when nobody uses it",
            "rm -r code.py",
            "drop support for code.py",
            "erase code.py from README.md",
            "delete it",
            "delete the file",
            "delete the license",
        ],
        expect![[r#"
            > delete line 2 of code.py
              Nothing was changed: “line 2 of code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete lines 1-2 of code.py
              Nothing was changed: “lines 1-2 of code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete the last line of code.py
              Nothing was changed: “last line of code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete the first line in code.py
              Nothing was changed: “first line in code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete the contents of code.py
              Nothing was changed: “contents of code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete everything in code.py
              Nothing was changed: “everything in code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete everything but code.py
              Nothing was changed: “everything but code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete all files except code.py
              Nothing was changed: “files except code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete code.py only if it is empty
              Nothing was changed: “only if it is empty” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete code.py?
              Nothing was changed: what ends with a question mark is not taken for an order; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete `code.py` ?
              Nothing was changed: what ends with a question mark is not taken for an order; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > can you delete code.py?
              Nothing was changed: what ends with a question mark is not taken for an order; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete the test for code.py
              Nothing was changed: “test for code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete the file after code.py
              Nothing was changed: “after code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete the copy of code.py
              Nothing was changed: “copy of code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > remove the permissions of code.py
              Nothing was changed: “permissions of code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete the class in util.py
              Nothing was changed: “class in util.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete the unused import in code.py
              Nothing was changed: “unused import in code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete a.txt from git
              Nothing was changed: “from git” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete code.py*
              Nothing was changed: the sign “*” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete *.py
              Nothing was changed: “*.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete src/*.py
              Nothing was changed: “src/*.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete -f code.py
              Nothing was changed: “f code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete !code.py
              Nothing was changed: the sign “!” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete code.py (not util.py)
              Nothing was changed: “not util.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete code.py or util.py
              Nothing was changed: “or util.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete code.py, not util.py
              Nothing was changed: “not util.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete code.py when nobody uses it
              Nothing was changed: “when nobody uses it” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > rm -r code.py
              Nothing was changed: “r code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > drop support for code.py
              Nothing was changed: “support for code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > erase code.py from README.md
              Nothing was changed: “from README.md” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete it
              Nothing was changed: “it” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete the file
              Nothing was changed: something is missing; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > delete the license
              Nothing was changed: “license” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
        "#]],
    );
}

#[test]
fn a_sentence_that_bounds_a_change_holds_it_back() {
    check(
        &[
            "delete code.py. Only if it is empty.",
            "delete code.py, when it is empty",
            "delete code.py, which is empty",
            "if code.py is empty, delete util.py",
            "do not touch code.py, delete util.py",
            "please do not delete code.py",
            "delete a.txt and refactor code.py",
            "replace foo with bar in a.txt, then delete line 2 of a.txt",
            "What does this do?\n\nrm code.py",
            "explain this command:\n\nrm code.py",
            "explain this\n\nrm code.py",
            "From the log:\n- delete code.py",
            "I deleted code.py yesterday",
            "what would delete code.py do",
            "delete 1.txt, 2.txt, 3.txt, 4.txt, 5.txt, 6.txt, 7.txt, a.txt and code.py",
        ],
        expect![[r#"
            > delete code.py. Only if it is empty.
              Nothing was changed: “Only if it is empty” may restrict the change; ask for the change alone. Nothing was found for `empty`.
            > delete code.py, when it is empty
              Nothing was changed: “when it is empty” may restrict the change; ask for the change alone. Nothing was found for `empty`.
            > delete code.py, which is empty
              Nothing was changed: “which is empty” may restrict the change; ask for the change alone. Nothing was found for `empty`.
            > if code.py is empty, delete util.py
              Nothing was changed: “if code.py is empty” may restrict the change; ask for the change alone. The best match is `README.md:1`: `See code.py and util.py.`.
            > do not touch code.py, delete util.py
              Nothing was changed: “do not touch code.py” may restrict the change; ask for the change alone. The best match is `README.md:1`: `See code.py and util.py.`.
            > please do not delete code.py
              The best match is `README.md:1`: `See code.py and util.py.`.
            > delete a.txt and refactor code.py
              Nothing was changed: “refactor code.py” may restrict the change; ask for the change alone. Writing is beyond the built-in model, which only searches, reads and makes exact edits. `code.py` has 6 lines: 1 function.
            > replace foo with bar in a.txt, then delete line 2 of a.txt
              Nothing was changed: “line 2 of a.txt” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > What does this do?\n\nrm code.py
              Nothing was changed: “What does this do” may restrict the change; ask for the change alone. Nothing to look for was recognised in the question: name a file, or something that stands in the code.
            > explain this command:\n\nrm code.py
              Nothing was changed: “explain this command:” may restrict the change; ask for the change alone. Nothing was found for `command`.
            > explain this\n\nrm code.py
              Nothing was changed: “explain this” may restrict the change; ask for the change alone. Nothing to look for was recognised in the question: name a file, or something that stands in the code.
            > From the log:\n- delete code.py
              Nothing was changed: “From the log:” may restrict the change; ask for the change alone. Nothing was found for `log`.
            > I deleted code.py yesterday
              The best match is `README.md:1`: `See code.py and util.py.`.
            > what would delete code.py do
              The best match is `README.md:1`: `See code.py and util.py.`.
            > delete 1.txt, 2.txt, 3.txt, 4.txt, 5.txt, 6.txt, 7.txt, a.txt and code.py
              Nothing was changed: one message may hold 8 requests; ask for the change alone. Only the first 8 things are answered: ask again for the 1 after them.
        "#]],
    );
}

#[test]
fn a_message_too_long_to_be_read_whole_changes_nothing() {
    let long = format!("delete code.py. {}", "Read a.txt. ".repeat(2_000));
    let mut project = Project::new(FILES);
    let answer = result(&mut project, &[], user(&long));
    assert_eq!(project.files, Project::new(FILES).files);
    assert!(answer.starts_with("Nothing was changed: so long a message is not read whole"), "{answer}");
}

#[test]
fn text_is_removed_only_where_quotes_say_which() {
    check(
        &[
            "delete function f in code.py",
            "remove the function h from util.py",
            "remove the function h from util.py and add it to code.py",
            "remove the function `h` from util.py",
            "remove comments from code.py",
            "remove foo from a.txt",
            "remove code.py from the README",
            "remove line \"foo\" from a.txt",
            "remove the second \"foo\" from a.txt",
            "remove \"foo\" from a.txt except on line 1",
            "remove \"foo\" from a.txt",
            "delete all occurrences of `foo` in a.txt and README.md",
            "delete the word foo from a.txt",
            "in a.txt, delete `bar`",
            "remove `f` from code.py",
            "remove \"code.py\" from README.md",
        ],
        expect![[r#"
            > delete function f in code.py
              Nothing was changed: “function f in code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > remove the function h from util.py
              Nothing was changed: “function h from util.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > remove the function h from util.py and add it to code.py
              Nothing was changed: “function h from util.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks. Writing is beyond the built-in model, which only searches, reads and makes exact edits. `code.py` has 6 lines: 1 function.
            > remove the function `h` from util.py
              Nothing was changed: “function `h` from util.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > remove comments from code.py
              Nothing was changed: “comments from code.py” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > remove foo from a.txt
              Nothing was changed: “foo from a.txt” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > remove code.py from the README
              Nothing was changed: “from the README” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > remove line "foo" from a.txt
              Nothing was changed: “line "foo" from a.txt” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > remove the second "foo" from a.txt
              Nothing was changed: “second "foo" from a.txt” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > remove "foo" from a.txt except on line 1
              Nothing was changed: “except on line 1” was not understood; what is understood: delete FILE, or FILE and FILE; remove `text` from FILE, with the text in back-ticks.
            > remove "foo" from a.txt
              a.txt: "\nbar\n food\n"
            > delete all occurrences of `foo` in a.txt and README.md
              README.md: "See code.py and util.py.\n bar \n"
              a.txt: "\nbar\n food\n"
            > delete the word foo from a.txt
              a.txt: "\nbar\n food\n"
            > in a.txt, delete `bar`
              a.txt: "foo\n\nfoo food\n"
            > remove `f` from code.py
              code.py: "import os\nimport sys\n\n# TODO later\ndef (x):\n    return x + 1\n"
            > remove "code.py" from README.md
              README.md: "See  and util.py.\nfoo bar foo\n"
        "#]],
    );
}

#[test]
fn a_replacement_keeps_every_bound_that_was_said_or_is_not_made() {
    check(
        &[
            "replace foo with bar in every file except README.md",
            "replace foo with baz in a.txt, only the first one",
            "replace foo with \"bar\" unless it is on line 1 of a.txt",
            "replace line 2 of a.txt with QQQ",
            "replace the second foo with baz in a.txt",
            "replace foo in a.txt",
            "replace all of a.txt with x",
            "replace foo by bar and bar by foo in a.txt",
            "replace a.txt with README.md",
            "replace foo with bar in all .md files",
            "replace foo with bar in src",
            "replace foo with bar in the first paragraph of a.txt",
            "replace foo with bar in a.txt on lines 1-2",
            "replace <foo> with <b> in a.txt",
            "replace foo with bar in a.txt but keep food",
            "replace foo with bar in a.txt?",
            "replace foo with nothing in a.txt",
            "swap foo and bar in a.txt",
            "change the port to 9090 in app.toml",
            "change foo to FOO",
            "rename x to z in the function f of code.py",
            "rename the file",
            "set port to 81 in app.toml if it is 80",
            "set the port of the server to 81 in app.toml",
            "update port to 81",
            "explain s/foo/bar/ in a.txt",
            "s/foo/bar/ in a.txt except line 1",
        ],
        expect![[r#"
            > replace foo with bar in every file except README.md
              Nothing was changed: “except README.md” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace foo with baz in a.txt, only the first one
              Nothing was changed: “only the first one” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace foo with "bar" unless it is on line 1 of a.txt
              Nothing was changed: “unless it is on line 1 of a.txt” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace line 2 of a.txt with QQQ
              Nothing was changed: “2 of a.txt with QQQ” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace the second foo with baz in a.txt
              Nothing was changed: “foo with baz in a.txt” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace foo in a.txt
              Nothing was changed: something is missing; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace all of a.txt with x
              Nothing was changed: “a.txt with x” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace foo by bar and bar by foo in a.txt
              Nothing was changed: “and bar by foo in a.txt” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace a.txt with README.md
              Nothing was changed: “a.txt with README.md” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace foo with bar in all .md files
              Nothing was changed: “all .md files” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace foo with bar in src
              Nothing was changed: “src” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace foo with bar in the first paragraph of a.txt
              Nothing was changed: “first paragraph of a.txt” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace foo with bar in a.txt on lines 1-2
              Nothing was changed: “on lines 1-2” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace <foo> with <b> in a.txt
              Nothing was changed: the sign “<” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace foo with bar in a.txt but keep food
              Nothing was changed: “but keep food” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace foo with bar in a.txt?
              Nothing was changed: what ends with a question mark is not taken for an order; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > replace foo with nothing in a.txt
              Nothing was changed: to remove the text say: remove `foo` from FILE.
            > swap foo and bar in a.txt
              Nothing was changed: “and bar in a.txt” was not understood; what is understood: replace `old` with `new` in FILE, or in FILE and FILE, or in all files; replace the first `old` with `new` in FILE; replace `old` with `new` on line 3 of FILE.
            > change the port to 9090 in app.toml
              Nothing was changed: say what is meant: replace `port` with `9090` in FILE, or set `port` to `9090` in FILE.
            > change foo to FOO
              Nothing was changed: say what is meant: replace `foo` with `FOO` in FILE, or set `foo` to `FOO` in FILE.
            > rename x to z in the function f of code.py
              Nothing was changed: “function f of code.py” was not understood; what is understood: rename `old` to `new` in FILE, or in all files; rename FILE to FILE.
            > rename the file
              Nothing was changed: something is missing; what is understood: rename `old` to `new` in FILE, or in all files; rename FILE to FILE.
            > set port to 81 in app.toml if it is 80
              Nothing was changed: “if it is 80” was not understood; what is understood: set `key` to `value` in FILE.
            > set the port of the server to 81 in app.toml
              Nothing was changed: “server to 81 in app.toml” was not understood; what is understood: set `key` to `value` in FILE.
            > update port to 81
              Nothing was changed: say in which file: set `port` to `81` in FILE.
            > explain s/foo/bar/ in a.txt
              There is no file s/foo/bar. `a.txt` has 3 lines.
            > s/foo/bar/ in a.txt except line 1
              Nothing was changed: “except line 1” was not understood; what is understood: `s/old/new/ in FILE`.
        "#]],
    );
}

#[test]
fn replacements_that_are_understood_are_made_in_every_file_that_was_named() {
    check(
        &[
            "replace foo with bar in a.txt and README.md",
            "replace `foo` with `bar` in `a.txt`, `README.md`.",
            "replace foo with baz in all files",
            "replace the first foo with baz in a.txt",
            "replace `foo` with `x y` in a.txt",
            "replace foo with bar on line 3 of a.txt",
            "change foo to FOO on line 3 of a.txt",
            "replace \"foo\" by \"\" in the file a.txt as a word, please",
            "Please replace all occurrences of foo in a.txt with bar",
            "substitute bar for foo in a.txt",
            "rename x to z in code.py",
            "rename the function f to ff in code.py and README.md",
            "set port to 81 in app.toml",
            "set the port in app.toml to 81",
            "s/bar/BAR/ in a.txt",
        ],
        expect![[r#"
            > replace foo with bar in a.txt and README.md
              README.md: "See code.py and util.py.\nbar bar bar\n"
              a.txt: "bar\nbar\nbar food\n"
            > replace `foo` with `bar` in `a.txt`, `README.md`.
              README.md: "See code.py and util.py.\nbar bar bar\n"
              a.txt: "bar\nbar\nbar bard\n"
            > replace foo with baz in all files
              README.md: "See code.py and util.py.\nbaz bar baz\n"
              a.txt: "baz\nbar\nbaz food\n"
            > replace the first foo with baz in a.txt
              a.txt: "baz\nbar\nfoo food\n"
            > replace `foo` with `x y` in a.txt
              a.txt: "x y\nbar\nx y x yd\n"
            > replace foo with bar on line 3 of a.txt
              a.txt: "foo\nbar\nbar food\n"
            > change foo to FOO on line 3 of a.txt
              a.txt: "foo\nbar\nFOO food\n"
            > replace "foo" by "" in the file a.txt as a word, please
              a.txt: "\nbar\n food\n"
            > Please replace all occurrences of foo in a.txt with bar
              a.txt: "bar\nbar\nbar food\n"
            > substitute bar for foo in a.txt
              a.txt: "bar\nbar\nbar food\n"
            > rename x to z in code.py
              code.py: "import os\nimport sys\n\n# TODO later\ndef f(z):\n    return z + 1\n"
            > rename the function f to ff in code.py and README.md
              code.py: "import os\nimport sys\n\n# TODO later\ndef ff(x):\n    return x + 1\n"
            > set port to 81 in app.toml
              app.toml: "port = 81\nname = \"x\"\n"
            > set the port in app.toml to 81
              app.toml: "port = 81\nname = \"x\"\n"
            > s/bar/BAR/ in a.txt
              a.txt: "foo\nBAR\nfoo food\n"
        "#]],
    );
}

#[test]
fn files_are_moved_only_from_one_path_to_another() {
    check(
        &[
            "move line 3 to line 5 in code.py",
            "move function f to util.py",
            "move f from code.py to util.py",
            "move everything from util.py to lib.py",
            "move code.py",
            "move code.py to trash",
            "move code.py to lib.py unless it exists",
            "move code.py and util.py to lib/",
            "rename code.py to lib.py and update the imports",
            "move code.py to lib/",
            "move code.py into the folder lib/old",
            "mv code.py lib.py",
            "rename the file `code.py` to `my code.py`",
        ],
        expect![[r#"
            > move line 3 to line 5 in code.py
              Nothing was changed: “line 3 to line 5 in code.py” was not understood; what is understood: move FILE to FILE; move FILE to FOLDER/.
            > move function f to util.py
              Nothing was changed: “function f to util.py” was not understood; what is understood: move FILE to FILE; move FILE to FOLDER/.
            > move f from code.py to util.py
              Nothing was changed: “f from code.py to util.py” was not understood; what is understood: move FILE to FILE; move FILE to FOLDER/.
            > move everything from util.py to lib.py
              Nothing was changed: “everything from util.py to lib.py” was not understood; what is understood: move FILE to FILE; move FILE to FOLDER/.
            > move code.py
              Nothing was changed: something is missing; what is understood: move FILE to FILE; move FILE to FOLDER/.
            > move code.py to trash
              Nothing was changed: “trash” was not understood; what is understood: move FILE to FILE; move FILE to FOLDER/.
            > move code.py to lib.py unless it exists
              Nothing was changed: “unless it exists” was not understood; what is understood: move FILE to FILE; move FILE to FOLDER/.
            > move code.py and util.py to lib/
              Nothing was changed: “and util.py to lib/” was not understood; what is understood: move FILE to FILE; move FILE to FOLDER/.
            > rename code.py to lib.py and update the imports
              Nothing was changed: “update the imports” may restrict the change; ask for the change alone. Writing is beyond the built-in model, which only searches, reads and makes exact edits. The best match is `code.py:1`: `import os`.
            > move code.py to lib/
              code.py is gone
              new lib/code.py: "import os\nimport sys\n\n# TODO later\ndef f(x):\n    return x + 1\n"
            > move code.py into the folder lib/old
              code.py is gone
              new lib/old/code.py: "import os\nimport sys\n\n# TODO later\ndef f(x):\n    return x + 1\n"
            > mv code.py lib.py
              code.py is gone
              new lib.py: "import os\nimport sys\n\n# TODO later\ndef f(x):\n    return x + 1\n"
            > rename the file `code.py` to `my code.py`
              code.py is gone
              new my code.py: "import os\nimport sys\n\n# TODO later\ndef f(x):\n    return x + 1\n"
        "#]],
    );
}

#[test]
fn new_text_is_written_only_where_it_is_clear_which() {
    check(
        &[
            "create a function foo in new.py",
            "create a test for code.py",
            "create new.py with the contents of code.py",
            "create new.py with the text of the license",
            "overwrite a.txt with the contents of util.py",
            "overwrite a.txt with `q` if it is empty",
            "overwrite a.txt: only the first line",
            "overwrite a.txt with hello",
            "write \"x\" to all files",
            "add \"zzz\" to the top of a.txt",
            "add \"zzz\" before \"bar\" in a.txt",
            "append the contents of util.py to a.txt",
            "append \"x\" to all files",
            "overwrite a.txt with `q`",
            "write \"x\" to new.txt",
            "create a new file new.txt with the text hi",
            "create new.txt: buy milk",
            "create an empty file new.txt",
            "touch new.txt",
            "add the line \"end\" to the end of a.txt",
            "append \"end\" to a.txt and README.md",
        ],
        expect![[r#"
            > create a function foo in new.py
              Writing is beyond the built-in model, which only searches, reads and makes exact edits. There is no file new.py. The best match is `a.txt:1`: `foo`; see also `README.md:2`.
            > create a test for code.py
              Writing is beyond the built-in model, which only searches, reads and makes exact edits. `code.py` has 6 lines: 1 function. The best match is `README.md:1`: `See code.py and util.py.`.
            > create new.py with the contents of code.py
              Writing is beyond the built-in model, which only searches, reads and makes exact edits. There is no file new.py. The best match is `README.md:1`: `See code.py and util.py.`.
            > create new.py with the text of the license
              Writing is beyond the built-in model, which only searches, reads and makes exact edits. There is no file new.py. Nothing was found for `new`, `license`, `text`.
            > overwrite a.txt with the contents of util.py
              Nothing was changed: “of util.py” was not understood; what is understood: create FILE with `text`; overwrite FILE with `text`.
            > overwrite a.txt with `q` if it is empty
              Nothing was changed: “if it is empty” was not understood; what is understood: create FILE with `text`; overwrite FILE with `text`.
            > overwrite a.txt: only the first line
              Nothing was changed: “only the first line” was not understood; what is understood: create FILE with `text`; overwrite FILE with `text`.
            > overwrite a.txt with hello
              Nothing was changed: “hello” was not understood; what is understood: create FILE with `text`; overwrite FILE with `text`.
            > write "x" to all files
              Nothing was changed: “all files” was not understood; what is understood: create FILE with `text`; overwrite FILE with `text`.
            > add "zzz" to the top of a.txt
              Nothing was changed: “top of a.txt” was not understood; what is understood: append `text` to FILE.
            > add "zzz" before "bar" in a.txt
              Nothing was changed: “before "bar" in a.txt” was not understood; what is understood: append `text` to FILE.
            > append the contents of util.py to a.txt
              Nothing was changed: “contents of util.py to a.txt” was not understood; what is understood: append `text` to FILE.
            > append "x" to all files
              Nothing was changed: “all files” was not understood; what is understood: append `text` to FILE.
            > overwrite a.txt with `q`
              a.txt: "q\n"
            > write "x" to new.txt
              new new.txt: "x\n"
            > create a new file new.txt with the text hi
              new new.txt: "hi\n"
            > create new.txt: buy milk
              new new.txt: "buy milk\n"
            > create an empty file new.txt
              new new.txt: ""
            > touch new.txt
              new new.txt: ""
            > add the line "end" to the end of a.txt
              a.txt: "foo\nbar\nfoo food\nend\n"
            > append "end" to a.txt and README.md
              README.md: "See code.py and util.py.\nfoo bar foo\nend\n"
              a.txt: "foo\nbar\nfoo food\nend\n"
        "#]],
    );
}

#[test]
fn every_file_that_was_named_is_deleted() {
    check(
        &[
            "delete code.py",
            "remove code.py and util.py",
            "please delete the files code.py, util.py, and a.txt.",
            "delete `code.py`, `util.py`",
            "delete a.txt. Which files use util.py?",
            "list the files, then delete a.txt and show me util.py",
            "delete missing.py and util.py",
        ],
        expect![[r#"
            > delete code.py
              code.py is gone
            > remove code.py and util.py
              code.py is gone
              util.py is gone
            > please delete the files code.py, util.py, and a.txt.
              a.txt is gone
              code.py is gone
              util.py is gone
            > delete `code.py`, `util.py`
              code.py is gone
              util.py is gone
            > delete a.txt. Which files use util.py?
              a.txt is gone
            > list the files, then delete a.txt and show me util.py
              a.txt is gone
            > delete missing.py and util.py
              util.py is gone
        "#]],
    );
}

#[test]
fn the_open_file_is_deleted_when_it_is_said_to_be_the_one() {
    let ask = |prompt: &str| {
        let mut project = Project::new(FILES);
        let context = Some("The user has util.py open.".to_owned());
        project.ask(&[], UserMessage { text: prompt.to_owned(), context });
        project.files.contains_key("util.py")
    };
    assert_eq!(
        ["delete this file", "delete it", "delete this", "delete this function"].map(ask),
        [false, true, true, true]
    );
}

/// Words that may stand in any request.
const KNOWN: &[&str] = &["please", "pls", "kindly", "thanks", "the", "this", "my", "our", "file", "files"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn one_word_too_many_changes_nothing(word in "[a-z]{1,9}") {
        prop_assume!(!KNOWN.contains(&word.as_str()) && word != "everywhere" && word != "globally");
        for prompt in [
            format!("delete {word} code.py"),
            format!("delete code.py {word}"),
            format!("delete code.py, {word} a.txt"),
            format!("delete code.py and {word}"),
            format!("move code.py to {word} lib/"),
            format!("move code.py to lib/ {word}"),
            format!("remove `foo` from a.txt {word}"),
            format!("replace `foo` with `bar` {word} a.txt {word}"),
            format!("replace `foo` {word} with `bar` in a.txt"),
            format!("replace `foo` with `bar` in a.txt {word}"),
            format!("rename f to {word} g in code.py"),
            format!("set port to 81 {word} in app.toml"),
            format!("append `end` to {word} a.txt {word}"),
            format!("overwrite a.txt with `q` {word}"),
        ] {
            let mut project = Project::new(FILES);
            project.ask(&[], user(&prompt));
            prop_assert_eq!(&project.files, &Project::new(FILES).files, "{}", prompt);
        }
    }
}
