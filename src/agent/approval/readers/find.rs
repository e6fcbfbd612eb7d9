//! What of `find` only reads: tests, and what prints names.

use super::{Reading, ends};
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
    "-nogroup",
    "-nouser",
    "-quit",
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
    "-newer",
    "-anewer",
    "-cnewer",
    "-newermt",
    "-links",
    "-printf",
];

/// A word of the expression of `find` with its value.
struct Test<'w> {
    name: &'w str,
    value: Option<&'w str>,
}

/// The words of `find` told apart.
struct Words<'w> {
    paths: Vec<&'w str>,
    tests: Vec<Test<'w>>,
    /// The commands that it runs.
    run: Vec<Vec<&'w str>>,
}

impl<'w> Words<'w> {
    fn of(words: &[&'w str]) -> Option<Self> {
        let is_path = |word: &&&str| !word.starts_with(['-', '(', '!', ',']);
        let paths = words.iter().take_while(is_path).count();
        let (paths, rest) = words.split_at_checked(paths)?;
        let (mut tests, mut run) = (Vec::new(), Vec::new());
        let mut rest = rest.iter().copied();
        while let Some(name) = rest.next() {
            if name == "-exec" {
                let mut command = Vec::new();
                loop {
                    match rest.next()? {
                        ";" => break,
                        "+" if command.last() == Some(&"{}") => break,
                        // Another find may end the command here.
                        "+" => return None,
                        word => command.push(word),
                    }
                }
                run.push(command);
                tests.push(Test { name, value: None });
            } else if FIND_VALUED.contains(&name) {
                tests.push(Test { name, value: Some(rest.next()?) });
            } else {
                FIND_FLAGS.contains(&name).then_some(())?;
                tests.push(Test { name, value: None });
            }
        }
        Some(Self { paths: paths.to_vec(), tests, run })
    }

    fn reading(&self) -> Reading {
        let paths = self.paths.iter().map(|path| (*path).to_owned()).collect();
        Reading { paths, ..Reading::default() }
    }

    /// What is shown of the files that it finds when another command gets their names.
    fn found(&self) -> Reading {
        const CHOOSING: &[&str] = &["-o", "-or", ",", "!", "-not", "("];
        const ACTIONS: &[&str] = &["-print", "-print0", "-exec"];
        let is_simple = !self.tests.iter().any(|test| CHOOSING.contains(&test.name));
        // What follows the first action says nothing about what that is done with.
        let before =
            || self.tests.iter().take_while(|test| !ACTIONS.contains(&test.name)).filter(|_| is_simple);
        let name = before().find(|test| test.name == "-name").and_then(|test| test.value);
        let are_files = before().any(|test| test.name == "-type" && test.value == Some("f"));
        let mut reading = self.reading();
        if reading.paths.is_empty() {
            reading.paths.push(".".to_owned());
        }
        reading.below = if are_files { Below::All } else { Below::Linked };
        reading.only = ends(&name.map(str::to_owned).into_iter().collect::<Vec<_>>());
        reading
    }
}

/// What `find` prints the names of, for another command that shows what is in them; `None` where it prints more.
pub(super) fn printed(words: &[&str]) -> Option<Reading> {
    let words = Words::of(words)?;
    let prints_more = words.tests.iter().any(|test| matches!(test.name, "-ls" | "-printf" | "-exec"));
    (!prints_more).then(|| words.found())
}

/// What `find` finds for the commands that it runs, and these.
pub(super) fn run_with<'w>(words: &[&'w str]) -> Option<(Reading, Vec<Vec<&'w str>>)> {
    let words = Words::of(words)?;
    let found = words.found();
    Some((found, words.run))
}

/// What `find` looks at that runs nothing.
pub(super) fn reading(words: &[&str]) -> Option<Reading> {
    let words = Words::of(words)?;
    words.run.is_empty().then(|| words.reading())
}
