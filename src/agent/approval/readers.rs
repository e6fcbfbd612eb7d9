//! Commands that only read, with the options that keep them so. What is not listed here is not known to only read.

mod find;
mod git;
mod jq;
mod sed;
mod table;
mod versions;

use super::opened::{Opened, Tail, file_name, standard_name};
use crate::workspace::place::Below;
use table::{Operands, READERS, Reader};

/// What a command that only reads looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// As they are written, relative to where the command runs.
    pub(super) paths: Vec<String>,
    /// What it shows besides the files that it names.
    pub(super) below: Below,
    /// Of git, which may run programs that the repository's settings name, and show files that nobody named.
    pub(super) git: Option<GitShows>,
}

/// What git shows besides names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GitShows {
    pub(super) texts: Texts,
    /// Words that are commits or files.
    pub(super) operands: Vec<String>,
    /// Files, behind `--`.
    pub(super) limits: Vec<String>,
    /// Whether it also shows them under names that they had before.
    pub(super) follows: bool,
}

/// Of which files git shows what is in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Texts {
    #[default]
    None,
    /// Those that it keeps now.
    OfNow,
    OfCommits,
}

/// What the command looks at; `None` when it is not known to only read. Patterns have become names before.
pub(super) fn reading(command: &Opened) -> Option<Reading> {
    let is_known = command.tail == Tail::None && command.doubt.is_none();
    if !is_known || command.words.iter().any(|word| word.is_glob) {
        return None;
    }
    let texts = command.texts();
    let (program, words) = texts.split_first()?;
    let name = standard_name(program)?;
    if versions::only_tells_version(name, words) {
        return Some(Reading::default());
    }
    match name {
        "find" => find::reading(words),
        "git" => git::reading(words),
        "jq" => jq::reading(words),
        "sed" => sed::reading(words),
        "command" => matches!(words, ["-v" | "-V", ..]).then(Reading::default),
        "test" => only_tests(words).then(Reading::default),
        "ps" => words.iter().all(|word| PS_WORDS.contains(word)).then(Reading::default),
        name => READERS.iter().find(|reader| reader.name == name)?.reading(words),
    }
}

/// Programs that run what a text in their words says, in languages that are not read here.
const INTERPRETERS: &[&str] = &[
    "awk",
    "gawk",
    "lua",
    "make",
    "mawk",
    "node",
    "osascript",
    "perl",
    "php",
    "python",
    "python3",
    "ruby",
    "sed",
    "vi",
    "vim",
];

/// Whether a command may run a program without its words being a command: by a script of `sed`, or by a text in another
/// language that names it.
pub(super) fn may_run(command: &Opened, program: &str) -> bool {
    let texts = command.texts();
    let Some((name, words)) = texts.split_first() else { return false };
    let name = file_name(name);
    let names = |word: &&str| {
        word.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.'))
            .any(|part| part == program)
    };
    // In these bash runs what stands in the brackets of a variable's name.
    let names_variable =
        name == "test" && !only_tests(words) || name == "printf" && words.first() == Some(&"-v");
    names_variable
        || name == "sed" && sed::may_run(words)
        || INTERPRETERS.contains(&name) && words.iter().any(names)
}

/// Why a command is not known to only read, in words that follow "since".
pub(super) fn why_unknown(command: &Opened) -> String {
    let texts = command.texts();
    let program = texts.first().copied().unwrap_or_default();
    let name = standard_name(program).unwrap_or(program);
    let is_reader = matches!(name, "find" | "jq" | "ps" | "sed" | "test")
        || READERS.iter().any(|reader| reader.name == name);
    match texts.get(1) {
        _ if command.tail == Tail::Unknown && is_reader => {
            format!("it hands {} words that are not known", file_name(program))
        }
        _ if is_reader => format!("{program} is not known to only read with these words"),
        Some(subcommand) if name == "git" => {
            format!("git {subcommand} is not known to only read with these words")
        }
        _ => format!("{program} is not known to only read"),
    }
}

/// What `test` compares. With other options bash runs what stands in a word.
const TESTS: &[&str] = &[
    "-a", "-d", "-e", "-ef", "-eq", "-f", "-ge", "-gt", "-h", "-le", "-L", "-lt", "-n", "-ne", "-nt", "-o",
    "-ot", "-r", "-s", "-w", "-x", "-z",
];

fn only_tests(words: &[&str]) -> bool {
    words.iter().all(|word| !word.starts_with('-') || TESTS.contains(word))
}

/// Words of `ps` that show no environment of a process, which may hold keys.
const PS_WORDS: &[&str] =
    &["a", "ax", "aux", "auxf", "auxw", "auxww", "ux", "x", "-A", "-a", "-e", "-ef", "-f", "-l", "-u", "-w"];

impl Reader {
    fn reading(&self, words: &[&str]) -> Option<Reading> {
        let mut reading = Reading::default();
        let has_flag = self.flags.contains('r') && self.below != Below::None;
        if !has_flag {
            reading.below = self.below;
        }
        let mut operands = Vec::new();
        let mut has_pattern = false;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if self.name == "echo" || *word == "-" {
                operands.push(*word);
            } else if *word == "--" {
                operands.extend(words.by_ref());
            } else if let Some(long) = word.strip_prefix("--") {
                self.long(long)?;
            } else if let Some(letters) = word.strip_prefix('-') {
                if self.has_numbers && letters.chars().all(|c| c.is_ascii_digit()) {
                    continue;
                }
                let mut letters = letters.chars();
                while let Some(letter) = letters.next() {
                    if self.flags.contains(letter) {
                        if has_flag && letter == 'r' {
                            reading.below = self.below;
                        }
                        continue;
                    }
                    if !self.valued.contains(letter) {
                        return None;
                    }
                    has_pattern |= letter == 'e';
                    if letters.as_str().is_empty() {
                        words.next()?;
                    }
                    break;
                }
            } else {
                operands.push(*word);
            }
        }
        if operands.len() > self.most {
            return None;
        }
        match self.operands {
            Operands::None => operands.is_empty().then_some(())?,
            Operands::Words => operands.clear(),
            Operands::Formats => {
                operands.iter().all(|word| word.starts_with('+')).then_some(())?;
                operands.clear();
            }
            Operands::PatternAndPaths if !has_pattern => {
                if operands.is_empty() {
                    return None;
                }
                operands.remove(0);
            }
            Operands::PatternAndPaths | Operands::Paths => {}
        }
        if operands.is_empty() && reading.below != Below::None {
            operands.push(".");
        }
        reading.paths = operands.into_iter().filter(|word| *word != "-").map(str::to_owned).collect();
        Some(reading)
    }

    fn long(&self, option: &str) -> Option<()> {
        let is_known = match option.split_once('=') {
            Some((name, _)) => self.long.iter().any(|long| long.strip_suffix('=') == Some(name)),
            None => self.long.contains(&option),
        };
        is_known.then_some(())
    }
}
