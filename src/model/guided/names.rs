//! Which files are known: every name that a tool told or that the user wrote, taken from the history in one place.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;

use crate::model::{
    offline::{
        outputs::{Listing, Matches},
        words,
    },
    patterns::constant,
};

use super::{
    scene::{Role, Step},
    subject::Subject,
};

/// Names that are kept of a thread: far more than are ever offered, so that ranking has a choice.
const MOST_NAMES: usize = 10_000;

/// Bytes of a name that can be offered: the longest path that is worth the tokens it costs.
const LONGEST_NAME: usize = 200;

/// Files and folders that exist as far as is known.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// In the order in which they were told.
    pub(super) files: Vec<String>,
    pub(super) folders: Vec<String>,
    /// A listing told all files that there are.
    pub(super) are_all: bool,
    known: BTreeSet<String>,
}

impl Names {
    /// Takes what the output of a call tells.
    pub(super) fn take(&mut self, step: &Step<'_>) {
        if step.is_error {
            return;
        }
        match step.role() {
            Role::List => {
                let listing = Listing::parse(step.output);
                for path in &listing.paths {
                    match path.strip_suffix('/') {
                        Some(folder) => self.add_folder(folder),
                        None => self.add_file(path),
                    }
                }
                let listed = step.argument("path").unwrap_or(".");
                let is_whole = listing.notice.is_none() && step.argument("glob").is_none();
                if is_whole && matches!(listed, "" | "." | "./") {
                    self.are_all = true;
                }
                // Its content is known now, or as much of it as there will ever be.
                self.folders.retain(|folder| folder != listed.trim_end_matches('/'));
            }
            Role::Search => {
                for found in Matches::parse(step.output).matches {
                    self.add_file(&found.path);
                }
            }
            Role::Read | Role::Edit | Role::Write => {
                if let Some(path) = step.argument("path") {
                    self.add_file(path.trim_start_matches("./"));
                }
            }
            Role::Rename | Role::Run | Role::Job | Role::Other => {}
        }
    }

    /// Takes the files that the user names, and the one that is open. A typed name that only ends a known one is that one.
    pub(super) fn take_words(&mut self, question: &str, context: Option<&str>) {
        if let Some(open) = context.and_then(open_file) {
            self.add_file(open);
        }
        if self.are_all {
            return;
        }
        for token in words::tokens(question).iter().filter(|token| token.is_path()) {
            let name = token.text.trim_start_matches("./");
            let is_plain = !name.ends_with('/') && !name.contains(['*', '?', '\\']);
            let is_known = self.files.iter().any(|file| is_end_of(name, file));
            if is_plain && !is_known {
                self.add_file(name);
            }
        }
    }

    fn add_file(&mut self, name: &str) {
        if self.is_new(name) {
            self.files.push(name.to_owned());
        }
    }

    fn add_folder(&mut self, name: &str) {
        if self.is_new(name) {
            self.folders.push(name.to_owned());
        }
    }

    fn is_new(&mut self, name: &str) -> bool {
        let is_fit = !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(char::is_control);
        is_fit && self.known.len() < MOST_NAMES && self.known.insert(name.to_owned())
    }
}

/// Whether `name` is `file`, or the last parts of it.
pub(super) fn is_end_of(name: &str, file: &str) -> bool {
    file.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// The file that the face says is open.
fn open_file(context: &str) -> Option<&str> {
    static OPEN: LazyLock<Regex> = LazyLock::new(|| constant(r"(?m)^The user has (.+) open\.$"));
    OPEN.captures(context)?.get(1).map(|path| path.as_str())
}

/// The names with those first that hold most of what the question is about; among equals their order stays.
pub(super) fn ranked(mut names: Vec<String>, question: &str, subject: &Subject) -> Vec<String> {
    let question = question.to_lowercase();
    names.sort_by_cached_key(|name| {
        let file = name.rsplit('/').next().unwrap_or(name).to_lowercase();
        let is_named = file.contains('.') && question.contains(&file);
        std::cmp::Reverse((is_named, subject.weight_in(name)))
    });
    names
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::super::{
        scene::Scene,
        tests::{done, user},
    };
    use crate::protocol::{Item, UserMessage};

    fn check(items: Vec<Item>, expected: Expect) {
        let scene = Scene::of(&items);
        expected.assert_eq(&format!("{:?}\nfolders {:?}\n", scene.files, scene.folders));
    }

    fn after(question: &str, name: &str, arguments: Value, output: &str) -> Vec<Item> {
        [vec![user(question)], done(name, arguments, output)].concat()
    }

    #[test]
    fn the_files_of_a_listing_that_the_question_is_about_come_first() {
        let listing = "README.md\nsrc/\nsrc/cart.ts\nsrc/shipping_cost.ts\n";
        check(
            after("what does shipping cost?", "list_files", json!({}), listing),
            expect![[r#"
            ["src/shipping_cost.ts", "README.md", "src/cart.ts"]
            folders []
        "#]],
        );
        check(
            after("what says the readme.md?", "list_files", json!({}), listing),
            expect![[r#"
            ["README.md", "src/cart.ts", "src/shipping_cost.ts"]
            folders []
        "#]],
        );
    }

    #[test]
    fn folders_of_a_listing_that_is_not_whole_can_be_listed() {
        let listing = "docs/\nsrc/\n… there are more than 500 entries, so only the first level are shown: call list_files with the path of a folder, or with a glob";
        check(
            after("why?", "list_files", json!({}), listing),
            expect![[r#"
            []
            folders ["docs", "src"]
        "#]],
        );
    }

    #[test]
    fn matches_of_a_search_are_files() {
        let found = "src/a b.c:1: int width;\nsrc/a b.c:7: width = 3;\n";
        check(
            after("why?", "search", json!({"pattern": "width"}), found),
            expect![[r#"
            ["src/a b.c"]
            folders []
        "#]],
        );
    }

    #[test]
    fn what_a_failed_call_says_is_no_file() {
        let mut items =
            after("why?", "read_file", json!({"path": "a.c"}), "there is no file a.c; near it are: b.c");
        if let Some(Item::Output(output)) = items.last_mut() {
            output.is_error = true;
        }
        check(
            items,
            expect![[r#"
            []
            folders []
        "#]],
        );
    }

    #[test]
    fn the_open_file_and_those_that_the_user_names_are_known() {
        let context = "<context>\nThe user has src/my file.c open.\n</context>".to_owned();
        let message =
            UserMessage { text: "compare it with src/b.c and src/*.h".to_owned(), context: Some(context) };
        check(
            vec![Item::User(message)],
            expect![[r#"
            ["src/b.c", "src/my file.c"]
            folders []
        "#]],
        );
        check(
            after("what is in door.c?", "search", json!({"pattern": "x"}), "src/door.c:1: x\n"),
            expect![[r#"
                ["src/door.c"]
                folders []
            "#]],
        );
    }
}
