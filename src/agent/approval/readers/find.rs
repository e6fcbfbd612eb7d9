//! What of `find` only reads: tests, and what prints names.

use super::{Opened, Reading, ends};
use crate::workspace::place::Below;

/// What `find` tests and prints.
const FIND_FLAGS: &[&str] = &[
    "-print",
    "-print0",
    "-not",
    "!",
    "(",
    ")",
    "-o",
    "-a",
    "-or",
    "-and",
    "-empty",
    "-prune",
    "-ls",
    "-depth",
    "-xdev",
    "-mount",
    "-true",
    "-false",
    "-readable",
    "-writable",
    "-executable",
    ",",
];
const FIND_VALUED: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-type",
    "-size",
    "-mtime",
    "-mmin",
    "-ctime",
    "-cmin",
    "-atime",
    "-amin",
    "-maxdepth",
    "-mindepth",
    "-perm",
    "-user",
    "-group",
    "-printf",
];

/// What `find` prints the names of, for another command that shows what is in them.
pub(super) fn found(command: &Opened, words: &[&str]) -> Option<Reading> {
    let reading = super::reading(command)?;
    // These print other words than names.
    let prints_more = words.iter().any(|word| matches!(*word, "-ls" | "-printf"));
    let is_simple = !words.iter().any(|word| matches!(*word, "-o" | "-or" | "," | "!" | "-not" | "("));
    let after = |option: &str| {
        words.iter().position(|word| *word == option).and_then(|at| words.get(at + 1)).copied()
    };
    let names: Vec<String> = after("-name").filter(|_| is_simple).map(str::to_owned).into_iter().collect();
    let below = if is_simple && after("-type") == Some("f") { Below::All } else { Below::Linked };
    (!prints_more).then(|| Reading { below, only: ends(&names), ..reading })
}

pub(super) fn reading(words: &[&str]) -> Option<Reading> {
    let mut reading = Reading::default();
    let is_path = |word: &&&str| !word.starts_with(['-', '(', '!', ',']);
    let paths = words.iter().take_while(is_path).count();
    let (paths, tests) = words.split_at_checked(paths)?;
    reading.paths = paths.iter().map(|path| (*path).to_owned()).collect();
    let mut tests = tests.iter();
    while let Some(test) = tests.next() {
        if FIND_VALUED.contains(test) {
            tests.next()?;
        } else if !FIND_FLAGS.contains(test) {
            return None;
        }
    }
    Some(reading)
}
