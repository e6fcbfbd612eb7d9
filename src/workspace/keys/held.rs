//! What the files of secrets of a workspace say. A command that may read such a file may print what is in it, and no shape
//! tells a password of one's own; but its value is known, and wherever it comes out it is the secret.
//!
//! A value is what stands behind the name in a line (`KEY=value`, `"key": "value"`), or the whole line, as in a key in PEM
//! armour. Only what a machine has made counts, since words and addresses stand in files for other reasons: shorter
//! values, words, names, paths, and what has blanks in it are not hidden by this, nor files beyond the bounds below.

use std::{borrow::Cow, ops::Range, path::PathBuf};

use regex::{Regex, RegexBuilder};

use super::{MASK, shapes};
use crate::workspace::bounded;

/// Bytes of the shortest value that is hidden: shorter ones may be names.
const SHORTEST: usize = 20;

/// Bytes of the longest; a longer one is data.
const LONGEST: usize = 1_024;

/// Files that are read; a workspace has a few.
const MAX_FILES: usize = 100;

/// Bytes of a file that is read: that of the longest key, many times. A longer one holds a program's state.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// Values that are looked for in each line of an output.
const MAX_VALUES: usize = 1_000;

/// Bytes that the pattern of so many values may take.
const MAX_PATTERN_MEMORY: usize = 64 << 20;

/// The values of some files.
#[derive(Clone, Default)]
pub struct HeldKeys {
    values: Option<Regex>,
    longest: usize,
}

impl HeldKeys {
    /// What these files say, but for what stands in `named` already: whoever wrote that knows it. Reads the files.
    pub fn of(files: impl IntoIterator<Item = PathBuf>, named: &str) -> Self {
        let mut values = Vec::new();
        for file in files.into_iter().take(MAX_FILES) {
            let Ok(bytes) = bounded::read(&file, MAX_FILE_BYTES) else { continue };
            let text = String::from_utf8_lossy(&bytes);
            values.extend(
                text.lines().filter_map(value_in).filter(|value| !named.contains(value)).map(str::to_owned),
            );
        }
        // A value that holds another one goes first, so that nothing of it is left.
        values.sort_unstable_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        values.truncate(MAX_VALUES);
        let Some(longest) = values.first().map(String::len) else { return Self::default() };
        let pattern = values.iter().map(|value| regex::escape(value)).collect::<Vec<_>>().join("|");
        let pattern = RegexBuilder::new(&pattern).size_limit(MAX_PATTERN_MEMORY).build();
        Self { values: pattern.ok(), longest }
    }

    /// The text without them.
    pub fn masked<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.values {
            Some(values) => values.replace_all(text, MASK),
            None => Cow::Borrowed(text),
        }
    }

    /// How much of a text, which goes on, can be given away: none of a value that has not come whole.
    pub fn settled(&self, text: &str) -> usize {
        let Some(values) = &self.values else { return text.len() };
        let whole_lines = text.rfind('\n').map_or(0, |end| end + 1);
        let end = whole_lines.max(text.len().saturating_sub(self.longest));
        let end = (end..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
        let is_cut = |value: &Range<usize>| value.start < end && end < value.end;
        values.find_iter(text).map(|value| value.range()).find(is_cut).map_or(end, |value| value.start)
    }
}

/// Whether there are any; they are not shown.
impl std::fmt::Debug for HeldKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeldKeys").field("some", &self.values.is_some()).finish()
    }
}

/// What of a line is a value: what stands behind its name, or all of a line that has none; `=` at its end is of base64.
fn value_in(line: &str) -> Option<&str> {
    let line = line.trim();
    let behind_name = line.split_once(['=', ':']).map(|(_, value)| value);
    let value = plain(behind_name.filter(|value| !value.trim_matches('=').is_empty()).unwrap_or(line));
    is_made_value(value).then_some(value)
}

/// A value without what it is quoted with.
fn plain(value: &str) -> &str {
    value.trim().trim_end_matches([',', ';']).trim_matches(['"', '\'', '`'])
}

/// Whether a value is long enough, and looks made by a machine.
pub(in crate::workspace) fn is_made_value(value: &str) -> bool {
    (SHORTEST..=LONGEST).contains(&value.len())
        && !value.contains(char::is_whitespace)
        && !value.contains("://")
        && !value.starts_with(['/', '.', '~', '$', '-'])
        && !shapes::is_example(value)
        && is_made(value)
}

/// Whether a machine has made a value: between letters and digits, and between small letters and large ones, it changes
/// far more often than words and names with numbers do, at least with every fourth character.
fn is_made(value: &str) -> bool {
    let changes = value.as_bytes().windows(2).filter(|pair| match pair {
        [first, second] => {
            let is_number = first.is_ascii_digit() && second.is_ascii_alphabetic()
                || first.is_ascii_alphabetic() && second.is_ascii_digit();
            is_number || first.is_ascii_lowercase() && second.is_ascii_uppercase()
        }
        _ => false,
    });
    changes.count() * 4 >= value.len()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// What is hidden of a text by a file that says `held`.
    fn check(held: &str, named: &str, text: &str, expected: Expect) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".env");
        std::fs::write(&file, held).unwrap();
        expected.assert_eq(&HeldKeys::of([file], named).masked(text));
    }

    const ENV: &str = "\
        # of the staging machine\n\
        export QUEUE_PASS='kP93nfw0XbLq72vRtaYz'\n\
        PUBLIC_URL=https://app-7f3.example.org/a/b/c\n\
        HOST=db2.internal-1.of.the.company\n\
        NAME=my_app_production_v2b3\n\
        LOG_PATH=/var/log/app2024a/out1b.log\n\
        SHORT=a1b2c3\n";

    // SPEC A9
    #[test]
    fn what_a_file_of_secrets_says_is_hidden_wherever_it_comes_out() {
        check(
            ENV,
            "",
            "kP93nfw0XbLq72vRtaYz for my_app_production_v2b3 at db2.internal-1.of.the.company, https://app-7f3.example.org/a/b/c, a1b2c3",
            expect![
                "<key hidden by askls> for my_app_production_v2b3 at db2.internal-1.of.the.company, https://app-7f3.example.org/a/b/c, a1b2c3"
            ],
        );
        check(
            r#"{"id": "4f1e8d3c2b7a69508172", "key": "x"}"#,
            "",
            "4f1e8d3c2b7a69508172",
            expect!["4f1e8d3c2b7a69508172"],
        );
        check(
            "  \"id\": \"4f1e8d3c2b7a69508172\",\n",
            "",
            "id 4f1e8d3c2b7a69508172",
            expect!["id <key hidden by askls>"],
        );
    }

    // SPEC A9
    #[test]
    fn lines_out_of_the_middle_of_a_key_are_known_by_the_file_that_it_is_in() {
        check(
            "-----BEGIN PRIVATE KEY-----\nxPdWfR2oCq9hhE5kT3SbL0ZsVn8mJd7aYtQ1/uGc+64rNwKoHiBeMvAyXlDzO\n-----END PRIVATE KEY-----\n",
            "",
            "7: xPdWfR2oCq9hhE5kT3SbL0ZsVn8mJd7aYtQ1/uGc+64rNwKoHiBeMvAyXlDzO",
            expect!["7: <key hidden by askls>"],
        );
    }

    #[test]
    fn what_the_command_itself_says_is_shown() {
        check(
            ENV,
            "login kP93nfw0XbLq72vRtaYz",
            "as kP93nfw0XbLq72vRtaYz",
            expect!["as kP93nfw0XbLq72vRtaYz"],
        );
    }

    #[test]
    fn of_a_text_that_goes_on_no_part_of_a_value_is_given_away() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".env");
        std::fs::write(&file, ENV).unwrap();
        let held = HeldKeys::of([file], "");
        for text in ["a\nkP93nfw0Xb", "a\nkP93nfw0XbLq72vRtaYz"] {
            assert_eq!(held.settled(text), 2, "{text}");
        }
        let long = format!("{}kP93nfw0XbLq72vRtaYz", "x".repeat(100));
        assert!((0..=long.len()).all(|end| held.settled(&long[..end]) <= 100));
        assert!(held.settled(&format!("{long}{}", "x".repeat(100))) > 190);
    }
}
