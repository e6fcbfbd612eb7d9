//! What of `find` only reads: tests, and what prints names.

use super::Reading;

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
