//! The files of which git shows what is in them, and the questions by which git tells their names.

use std::path::{Path, PathBuf};

use super::super::{Ground, ground::Kind};

/// What git shows besides names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct GitShows {
    pub(in super::super) texts: Texts,
    /// Words that are commits or files.
    pub(in super::super) operands: Vec<String>,
    /// Files, behind `--`.
    pub(in super::super) limits: Vec<String>,
    /// Files that are named from the top of the repository.
    pub(in super::super) from_top: Vec<String>,
    /// Whether it also shows them under names that they had before.
    pub(in super::super) follows: bool,
    /// By what git tells the names of all files that it would show, and perhaps of more; without any it cannot.
    pub(super) questions: Vec<Question>,
    /// What is enough where all operands are files.
    pub(super) of_files: Option<Question>,
}

/// Of which files git shows what is in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Texts {
    #[default]
    None,
    /// Those that it keeps now.
    OfNow,
    OfCommits,
}

/// Words by which git prints names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) words: Vec<String>,
    pub(super) about: About,
}

/// What of the command's own words follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    Nothing,
    Operands,
    /// The same, and each that is no file has to be a commit: git shows of another object what is in it, in the place of
    /// names.
    Commits,
}

impl Question {
    pub(super) fn of(words: &[&str], about: About) -> Self {
        Self { words: words.iter().map(|word| (*word).to_owned()).collect(), about }
    }

    fn words(&self, shows: &GitShows, is_file: &dyn Fn(&str) -> bool) -> Vec<String> {
        let mut words = self.words.clone();
        if self.about == About::Nothing {
            return words;
        }
        // Before `--` nothing is a file.
        let is_commit =
            |word: &str| self.about == About::Commits && (!shows.limits.is_empty() || !is_file(word));
        words.extend(shows.operands.iter().map(|word| match is_commit(word) {
            true => peeled(word),
            false => word.clone(),
        }));
        if !shows.limits.is_empty() {
            words.push("--".to_owned());
            words.extend(shows.limits.iter().cloned());
        }
        words
    }
}

impl GitShows {
    /// Whether it shows no more than files, or commits, do: an operand may be an object that is a file with another name.
    pub(in super::super) fn is_of_commits(&self) -> bool {
        self.operands.iter().all(|word| word.split("..").all(|end| end.is_empty() || is_commit(end)))
    }

    /// The files that git, which runs in a folder, would show, and perhaps more; `None` where it does not tell.
    pub(in super::super) fn names(&self, ground: &dyn Ground, folder: &Path) -> Option<Vec<PathBuf>> {
        let is_file = |word: &str| ground.kind(folder, word) != Kind::Nothing;
        let are_files = self.operands.iter().all(|word| is_file(word));
        let questions = match &self.of_files {
            Some(question) if are_files => std::slice::from_ref(question),
            _ => &self.questions,
        };
        if questions.is_empty() {
            return None;
        }
        let mut names = Vec::new();
        for question in questions {
            names.extend(ground.git_names(folder, &question.words(self, &is_file))?);
        }
        Some(names)
    }
}

/// The folders that may be the top of the repository of a folder.
pub(in super::super) fn tops(ground: &dyn Ground, folder: &Path) -> Vec<PathBuf> {
    let above: Vec<&Path> = folder.ancestors().collect();
    let last = above.iter().rposition(|above| ground.kind(above, ".git") != Kind::Nothing);
    let above = above.into_iter().take(last.map_or(1, |last| last + 1));
    above.map(Path::to_path_buf).collect()
}

/// Of words that are not known: whatever git keeps.
pub(super) fn everything(words: &[&str]) -> GitShows {
    let may_be_lost = |word: &&str| {
        let parts = word.split(|c: char| !c.is_ascii_alphanumeric());
        parts.into_iter().any(may_be_object) || word.contains("stdin") || word.contains("batch")
    };
    // What no branch leads to any more is named by its number alone.
    let questions = if words.iter().any(may_be_lost) {
        Vec::new()
    } else {
        let mut all = NAMES_OF_COMMITS.to_vec();
        all.extend(["--all", "--reflog"]);
        vec![Question::of(&all, About::Nothing), Question::of(NAMES_OF_INDEX, About::Nothing)]
    };
    GitShows { texts: Texts::OfCommits, questions, follows: true, ..GitShows::default() }
}

pub(super) const NAMES_OF_COMMITS: &[&str] = &[
    "log",
    "--name-only",
    "-z",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--format=",
    "-m",
    "--root",
];

const NAMES_OF_INDEX: &[&str] = &["ls-files", "-z", "--full-name", "--", ":/"];

/// Whether a word may name an object by its number in the repository.
pub(super) fn may_be_object(word: &str) -> bool {
    let is_number = word.len() >= 4 && word.chars().all(|c| c.is_ascii_hexdigit());
    is_number || word.contains("^{")
}

/// Whether a word names a commit for sure, and no object of another kind: branches and what lies behind `HEAD` are none.
pub(super) fn is_commit(word: &str) -> bool {
    let rest = word.strip_prefix("HEAD").or_else(|| word.strip_prefix('@'));
    rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '~' | '^')))
}

/// A word for one or two commits as one that git refuses where it is something else.
fn peeled(word: &str) -> String {
    let (range, ends) = match (word.split_once("..."), word.split_once("..")) {
        (Some(ends), _) => ("...", ends),
        (None, Some(ends)) => ("..", ends),
        (None, None) => return commit(word),
    };
    format!("{}{range}{}", commit(ends.0), commit(ends.1))
}

fn commit(word: &str) -> String {
    let is_plain = !word.is_empty() && !["^!", "^@"].iter().any(|end| word.ends_with(end));
    if is_plain && !word.contains("^-") { format!("{word}^{{commit}}") } else { word.to_owned() }
}

/// A file as a commit or the index has it, as `HEAD:a/b` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blob<'w> {
    FromTop(&'w str),
    FromHere(&'w str),
    /// Something else with a colon in it.
    Other,
}

impl<'w> Blob<'w> {
    pub(super) fn path_from_top(self) -> Option<&'w str> {
        match self {
            Self::FromTop(path) => Some(path).filter(|path| !path.is_empty()),
            Self::FromHere(_) | Self::Other => None,
        }
    }
}

/// `None` for a word that names no file in a commit. A colon in braces is part of what is searched for.
pub(super) fn blob(word: &str) -> Option<Blob<'_>> {
    let mut depth = 0_usize;
    let colon = word.char_indices().find(|(_, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        *c == ':' && depth == 0
    });
    let (at, _) = colon?;
    let (commit, path) = (word.get(..at)?, word.get(at + 1..)?);
    if commit.is_empty() && path.starts_with('/') || commit.starts_with('-') {
        return Some(Blob::Other);
    }
    let is_stage = |path: &&str| path.starts_with(['0', '1', '2', '3']);
    let stage =
        path.split_once(':').filter(|(stage, _)| commit.is_empty() && stage.len() == 1 && is_stage(stage));
    let path = stage.map_or(path, |(_, path)| path);
    let is_from_here =
        ["./", "../"].iter().any(|begin| path.starts_with(begin)) || matches!(path, "." | "..");
    Some(if is_from_here { Blob::FromHere(path) } else { Blob::FromTop(path) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colon_outside_of_braces_divides_a_commit_from_a_file() {
        let read = |word| format!("{:?}", blob(word));
        for (word, expected) in [
            ("HEAD:a/b", "Some(FromTop(\"a/b\"))"),
            (":a", "Some(FromTop(\"a\"))"),
            (":0:a", "Some(FromTop(\"a\"))"),
            ("HEAD:./a", "Some(FromHere(\"./a\"))"),
            ("HEAD^{/fix: a}", "None"),
            ("HEAD^{/fix: a}:b", "Some(FromTop(\"b\"))"),
            (":/fix", "Some(Other)"),
            ("HEAD", "None"),
        ] {
            assert_eq!(read(word), expected, "{word}");
        }
    }

    #[test]
    fn what_has_to_be_a_commit_is_asked_for_as_one() {
        for (word, expected) in [
            ("HEAD~2", "HEAD~2^{commit}"),
            ("a..b", "a^{commit}..b^{commit}"),
            ("a...", "a^{commit}..."),
            ("a^!", "a^!"),
        ] {
            assert_eq!(peeled(word), expected);
        }
    }
}
