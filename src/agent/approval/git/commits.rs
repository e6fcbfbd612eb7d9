//! What `git log`, `diff`, `show` and their like show.

use super::{
    super::readers::Reading,
    shown::{
        About, Blob, GitShows, NAMES_OF_COMMITS, Question, Texts, blob, everything, is_commit, may_be_object,
    },
};

/// Options of `git log`, `diff` and `show` that change how something is printed.
const LOG_OPTIONS: &[&str] = &[
    "--oneline",
    "--graph",
    "--all",
    "--decorate",
    "--no-decorate",
    "--no-merges",
    "--merges",
    "--first-parent",
    "--abbrev-commit",
    "--reverse",
    "--follow",
    "--cached",
    "--staged",
    "--no-color",
    "--word-diff",
    "--color-words",
    "--ignore-all-space",
    "--ignore-space-change",
    "--function-context",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--minimal",
    "--histogram",
    "--patience",
    "--exit-code",
    "--quiet",
    "--check",
    "--boundary",
    "--branches",
    "--cherry-pick",
    "--compact-summary",
    "--dirstat",
    "--find-renames",
    "--full-history",
    "--ignore-blank-lines",
    "--ignore-space-at-eol",
    "--left-right",
    "--raw",
    "--relative",
    "--remotes",
    "--tags",
    "--topo-order",
    "--abbrev",
    "--ancestry-path",
    "--cherry",
    "--cherry-mark",
    "--children",
    "--color",
    "--date-order",
    "--no-abbrev-commit",
    "--no-walk",
    "--parents",
    "--pickaxe-all",
    "--pickaxe-regex",
    "--simplify-by-decoration",
    "--walk-reflogs",
    "-g",
    "-z",
    "-C",
    "-E",
    "-F",
    "-i",
    "-w",
    "-b",
    "-W",
    "-M",
];
/// Options that change neither which commits are looked at nor their order: with these alone, the names of as many commits
/// are those of the ones that are shown.
const PRINTING_ONLY: &[&str] = &[
    "--abbrev",
    "--check",
    "--color",
    "--compact-summary",
    "--date=",
    "--decorate",
    "--dirstat",
    "--exit-code",
    "--find-renames",
    "--format=",
    "--function-context",
    "--histogram",
    "--ignore-all-space",
    "--ignore-blank-lines",
    "--ignore-space",
    "--max-count=",
    "--minimal",
    "--no-color",
    "--no-decorate",
    "--no-ext-diff",
    "--no-renames",
    "--no-textconv",
    "--oneline",
    "--patience",
    "--pretty=",
    "--quiet",
    "--raw",
    "--stat=",
    "--unified",
    "--word-diff",
    "-C",
    "-M",
    "-U",
    "-W",
    "-b",
    "-w",
];
/// Options that add commits.
const ADDING: &[&str] =
    &["--all", "--boundary", "--branches", "--full-history", "--remotes", "--tags", "--walk-reflogs", "-g"];
const LOG_VALUED: &[&str] = &[
    "--max-count=",
    "--skip=",
    "--decorate=",
    "--since=",
    "--until=",
    "--after=",
    "--before=",
    "--author=",
    "--grep=",
    "--format=",
    "--pretty=",
    "--date=",
    "--color=",
    "--abbrev=",
    "--stat=",
    "--diff-filter=",
    "--unified=",
    "-U",
    "-M",
];
/// Options that make `git log` print the texts of files.
const PATCHES: &[&str] = &[
    "--binary",
    "--cc",
    "--dd",
    "--patch",
    "--patch-with-raw",
    "--patch-with-stat",
    "--remerge-diff",
    "-c",
    "-m",
    "-p",
    "-u",
];
/// The beginnings of others that do so too.
const IMPLY_PATCHES: &[&str] =
    &["-U", "--unified", "--word-diff", "--color-words", "-W", "--function-context"];
const NAMES_ONLY: &[&str] =
    &["--stat", "--name-only", "--name-status", "--shortstat", "--numstat", "--summary", "--no-patch", "-s"];

/// Further options of single subcommands, which print no texts.
const OWN_OPTIONS: &[(&str, &[&str])] = &[
    ("diff-files", &["-r", "-t", "--no-commit-id"]),
    ("diff-index", &["-r", "-t", "--no-commit-id"]),
    ("diff-tree", &["-r", "-t", "--no-commit-id", "--root"]),
    ("rev-list", &["--count", "--disk-usage", "--objects", "--timestamp"]),
    ("shortlog", &["--committer", "--email", "--numbered", "--summary"]),
];

/// What the words of a look say, one after the other.
#[derive(Default)]
struct Look {
    reading: Reading,
    git: GitShows,
    prints_names: bool,
    prints_patches: bool,
    is_staged: bool,
    has_blob: bool,
    /// How many commits; and whether something chooses which.
    count: Option<String>,
    chooses: bool,
    /// Options without which git would not tell all names.
    adding: Vec<String>,
}

/// What a look at commits shows; `None` where its words are not all known.
pub(super) fn reading(subcommand: &str, words: &[&str]) -> Option<Reading> {
    let words = match (subcommand, words) {
        ("reflog", ["show", words @ ..]) => words,
        ("reflog", ["list"]) => return Some(names_alone()),
        ("reflog", ["delete" | "drop" | "exists" | "expire" | "migrate" | "write", ..]) => return None,
        (_, words) => words,
    };
    let mut look = Look::default();
    look.adding.extend((subcommand == "reflog").then(|| "-g".to_owned()));
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "--" {
            look.limit(&mut words)?;
        } else if matches!(*word, "-n" | "-S" | "-G") {
            let value = words.next()?;
            match *word {
                "-n" => look.count(value),
                _ => look.chooses = true,
            }
        } else if word.starts_with('-') {
            look.option(subcommand, word)?;
        } else {
            look.operand(subcommand, word)?;
        }
    }
    look.shown(subcommand)
}

/// Of a command of git that shows nothing but names.
pub(super) fn names_alone() -> Reading {
    Reading { git: Some(GitShows::default()), ..Reading::default() }
}

impl Look {
    fn limit(&mut self, words: &mut std::slice::Iter<'_, &str>) -> Option<()> {
        let paths: Vec<String> = words.map(|path| (*path).to_owned()).collect();
        // Git has patterns of its own in paths.
        paths.iter().all(|path| !path.starts_with(':') && !path.contains(['*', '?', '['])).then_some(())?;
        self.reading.paths.extend(paths.iter().cloned());
        self.git.limits = paths;
        Some(())
    }

    /// The last number counts, if it is one.
    fn count(&mut self, number: &str) {
        self.chooses |= self.count.replace(number.to_owned()).is_some() || !is_number(number);
    }

    fn option(&mut self, subcommand: &str, word: &str) -> Option<()> {
        let own = OWN_OPTIONS.iter().find(|(name, _)| *name == subcommand).map_or(&[][..], |(_, own)| own);
        if subcommand == "show" && ["--all", "--tags"].contains(&word) {
            // A tag may lead to a file under no name.
            return None;
        }
        if NAMES_ONLY.contains(&word) {
            self.prints_names = true;
        } else if PATCHES.contains(&word) {
            self.prints_patches = true;
        } else if own.contains(&word)
            || LOG_OPTIONS.contains(&word)
            || LOG_VALUED.iter().any(|option| word.starts_with(option))
        {
            self.git.follows |= word == "--follow";
            self.chooses |= !PRINTING_ONLY.iter().any(|option| word.starts_with(option));
            self.adding.extend(ADDING.contains(&word).then(|| word.to_owned()));
            if let Some(number) = word.strip_prefix("--max-count=") {
                self.count(number);
            }
            self.prints_patches |= IMPLY_PATCHES.iter().any(|option| word.starts_with(option));
            // What is staged is compared with the last commit.
            if matches!(word, "--cached" | "--staged") && subcommand == "diff" {
                self.is_staged = true;
                self.adding.push("--cached".to_owned());
            }
        } else if ["-S", "-G"].iter().any(|option| word.starts_with(option)) {
            self.chooses = true;
        } else if !is_bundle(subcommand, word) {
            let number = word.strip_prefix("-n").or_else(|| word.strip_prefix('-')).unwrap_or_default();
            is_number(number).then(|| self.count(number))?;
        }
        Some(())
    }

    fn operand(&mut self, subcommand: &str, word: &str) -> Option<()> {
        match blob(word) {
            None => {
                self.reading.paths.push(word.to_owned());
                self.git.operands.push(word.to_owned());
            }
            // A file as it was in a commit, under the name that it had.
            Some(Blob::FromTop(path)) if subcommand == "show" => {
                self.has_blob = true;
                self.reading.paths.extend(Some(path.to_owned()).filter(|path| !path.is_empty()));
                self.git.from_top.push(path.to_owned());
            }
            Some(Blob::FromHere(path)) if subcommand == "show" => {
                self.has_blob = true;
                self.reading.paths.push(path.to_owned());
            }
            Some(_) => return None,
        }
        Some(())
    }

    fn shown(self, subcommand: &str) -> Option<Reading> {
        let Self { mut reading, mut git, prints_names, prints_patches, is_staged, has_blob, .. } = self;
        if has_blob {
            // With a commit beside it, it would be two looks.
            git.operands.is_empty().then_some(())?;
            reading.git = Some(GitShows { from_top: git.from_top, ..GitShows::default() });
            return Some(reading);
        }
        // An object that is no commit is shown as it is, whatever else is said.
        let has_object = subcommand == "show" && git.operands.iter().any(|word| may_be_object(word));
        let prints_unasked = matches!(subcommand, "diff" | "show") && !prints_names;
        let only_lists = matches!(subcommand, "rev-list" | "shortlog");
        git.texts = match subcommand {
            _ if has_object => Texts::OfCommits,
            _ if only_lists || !prints_patches && !prints_unasked => Texts::None,
            "diff" if !is_staged => Texts::OfNow,
            _ => Texts::OfCommits,
        };
        let is_sure = |word: &String| is_commit(word);
        if subcommand == "show" && git.texts == Texts::None && !git.operands.iter().all(is_sure) {
            // Git says no where one is another object, and else nothing.
            git.texts = Texts::OfCommits;
            git.questions = vec![Question::of(&["show", "--no-patch", "--format="], About::Commits)];
            reading.git = Some(git);
            return Some(reading);
        }
        let walked = match subcommand {
            "diff" => "diff",
            // With a number, `show` goes on to the commits before.
            "show" if self.count.is_none() || !self.chooses => "show",
            "log" | "reflog" | "show" | "whatchanged" => "log",
            _ => return Some(self::kept(reading, git)),
        };
        // Names of before stand nowhere in the words.
        if git.texts != Texts::None && !git.follows {
            let count = self.count.filter(|_| !self.chooses && matches!(subcommand, "log" | "show"));
            let count = count.map(|count| format!("-{count}"));
            git.questions = vec![question(walked, self.adding.into_iter().chain(count))];
        }
        reading.git = Some(git);
        Some(reading)
    }
}

/// Where git is not asked about the words, it is about all that it keeps.
fn kept(mut reading: Reading, git: GitShows) -> Reading {
    let operands: Vec<&str> = git.operands.iter().map(String::as_str).collect();
    let questions = everything(&operands).questions;
    reading.git = Some(match git.texts {
        Texts::None => git,
        _ => GitShows { questions, follows: true, ..git },
    });
    reading
}

/// Letters of `git shortlog` that stand together.
fn is_bundle(subcommand: &str, word: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    subcommand == "shortlog" && !letters.is_empty() && letters.chars().all(|c| "cens".contains(c))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|character| character.is_ascii_digit())
}

/// The words for the names of what a look shows, and perhaps of more.
fn question(subcommand: &str, options: impl Iterator<Item = String>) -> Question {
    let about = if subcommand == "log" { About::Operands } else { About::Commits };
    let mut question = Question::of(NAMES_OF_COMMITS, about);
    if let Some(first) = question.words.first_mut() {
        *first = subcommand.to_owned();
    }
    if subcommand == "diff" {
        question.words.retain(|word| !matches!(word.as_str(), "--format=" | "-m" | "--root"));
    }
    question.words.extend(options);
    question
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words by which git is asked for the names of what a look shows.
    fn asked(text: &str) -> Vec<String> {
        let words: Vec<&str> = text.split(' ').collect();
        let (subcommand, words) = words.split_first().unwrap();
        reading(subcommand, words).unwrap().git.unwrap().questions.remove(0).words
    }

    #[test]
    fn git_is_asked_for_the_names_of_all_that_it_may_show() {
        let is_narrowed = |text: &str| asked(text).iter().any(|word| word == "-1" || word == "-3");
        for narrow in ["log -p -1", "show -3", "log -p -n 3 --oneline", "log -p --max-count=1 -w"] {
            assert!(is_narrowed(narrow), "{narrow}");
        }
        for wide in [
            "log -p -1 -n 50",
            "log -p -n 50 -1",
            "log -p --max-count=1 -3",
            "log -p -1 --first-parent",
            "log -p -1 --boundary",
            "log -p -1 --topo-order",
            "log -p -1 --graph",
            "log -p -1 --since=today",
            "log -p -1 -S x",
        ] {
            assert!(!is_narrowed(wide), "{wide}");
        }
        assert_eq!(asked("show -1 -n 50").first().map(String::as_str), Some("log"));
        for adding in ADDING {
            assert!(
                asked(&format!("log -p {adding} HEAD~4..HEAD")).contains(&(*adding).to_owned()),
                "{adding}"
            );
        }
    }
}
