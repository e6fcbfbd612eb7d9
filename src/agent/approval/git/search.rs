//! What `git grep`, `git blame` and `git cat-file` show.

use super::{
    super::readers::Reading,
    commits::names_alone,
    shown::{About, Blob, GitShows, Question, Texts, blob, everything},
};

/// Letters of `git grep` that have no value, and those that have one.
const LETTERS: &str = "aEFGHILPWchilnopqvwz";
const VALUED_LETTERS: &str = "ABCem";

const LONG: &[&str] = &[
    "--all-match",
    "--and",
    "--basic-regexp",
    "--break",
    "--cached",
    "--color",
    "--column",
    "--count",
    "--extended-regexp",
    "--files-with-matches",
    "--files-without-match",
    "--fixed-strings",
    "--full-name",
    "--function-context",
    "--heading",
    "--ignore-case",
    "--invert-match",
    "--line-number",
    "--name-only",
    "--no-color",
    "--not",
    "--null",
    "--only-matching",
    "--or",
    "--perl-regexp",
    "--quiet",
    "--show-function",
    "--text",
    "--word-regexp",
];

const LONG_VALUED: &[&str] = &[
    "--after-context=",
    "--before-context=",
    "--color=",
    "--context=",
    "--max-count=",
    "--max-depth=",
    "--threads=",
];

/// `git grep` looks into the files that git tracks, or into those of a commit that is named behind the pattern.
pub(super) fn grep(words: &[&str]) -> Option<Reading> {
    let mut git = GitShows { texts: Texts::OfNow, ..GitShows::default() };
    let (mut has_pattern, mut is_limited) = (false, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "--" {
            git.limits = words.by_ref().map(|path| (*path).to_owned()).collect();
            git.limits.iter().all(|path| !path.starts_with(':')).then_some(())?;
            is_limited = true;
        } else if word.starts_with("--") {
            let is_known = LONG.contains(word) || LONG_VALUED.iter().any(|option| word.starts_with(option));
            is_known.then_some(())?;
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let is_number = letters.chars().all(|c| c.is_ascii_digit());
            let valued = letters.find(|c| VALUED_LETTERS.contains(c));
            let flags = letters.get(..valued.unwrap_or(letters.len()))?;
            (is_number || flags.chars().all(|c| LETTERS.contains(c))).then_some(())?;
            if let Some(at) = valued.filter(|_| !is_number) {
                has_pattern |= letters.get(at..)?.starts_with('e');
                if letters.len() == at + 1 {
                    words.next()?;
                }
            }
        } else if !has_pattern {
            has_pattern = true;
        } else {
            (!word.contains(':')).then_some(())?;
            git.operands.push((*word).to_owned());
        }
    }
    // What is no file before it is a commit.
    git.of_files = (git.operands.is_empty() || !is_limited)
        .then(|| Question::of(&["ls-files", "-z", "--full-name"], About::Operands));
    let operands: Vec<&str> = git.operands.iter().map(String::as_str).collect();
    git.questions = everything(&operands).questions;
    let named = git.operands.iter().chain(&git.limits).filter(|path| !path.contains(['*', '?', '[']));
    Some(Reading { paths: named.cloned().collect(), git: Some(git), ..Reading::default() })
}

const BLAME_OPTIONS: &[&str] =
    &["--date=short", "--line-porcelain", "--porcelain", "-M", "-e", "-f", "-l", "-n", "-s", "-w"];

/// `git blame` shows one file, which it names.
pub(super) fn blame(words: &[&str]) -> Option<Reading> {
    let mut reading = names_alone();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "-L" => {
                words.next()?;
            }
            "--" => {
                let paths: Vec<String> = words.by_ref().map(|path| (*path).to_owned()).collect();
                paths.iter().all(|path| !path.starts_with(':')).then_some(())?;
                reading.paths.extend(paths);
            }
            word if BLAME_OPTIONS.contains(&word) || word.starts_with("-L") => {}
            word if word.starts_with('-') || word.contains(':') => return None,
            word => reading.paths.push(word.to_owned()),
        }
    }
    Some(reading)
}

/// `git cat-file` of a file that is named, or of what an object is and not what is in it.
pub(super) fn cat_file(words: &[&str]) -> Option<Reading> {
    let (option, object) = match words {
        [option, object] if !object.starts_with('-') => (*option, *object),
        _ => return None,
    };
    let mut reading = names_alone();
    match (option, blob(object)) {
        ("-t" | "-s" | "-e", _) => {}
        ("-p" | "blob", Some(Blob::FromTop(path))) if !path.is_empty() => {
            reading.paths.push(path.to_owned());
            reading.git = Some(GitShows { from_top: vec![path.to_owned()], ..GitShows::default() });
        }
        ("-p" | "blob", Some(Blob::FromHere(path))) => reading.paths.push(path.to_owned()),
        _ => return None,
    }
    Some(reading)
}
