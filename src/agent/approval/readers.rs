//! Commands that only read, with the options that keep them so. What is not listed here is not known to only read.

mod awk;
mod compare;
mod find;
mod given;
mod jq;
mod rg;
mod running;
mod sed;
mod table;
mod versions;
mod yq;

use super::{
    git::{self, GitShows},
    opened::{Opened, Tail, file_name, standard_name},
    options,
    shell::{Source, Word},
};
use crate::workspace::place::Below;
use table::READERS;

pub(super) use running::may_run;

/// What a command that only reads looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// As they are written, relative to where the command runs.
    pub(super) paths: Vec<String>,
    /// What it shows besides the files that it names.
    pub(super) below: Below,
    /// How the names end of what it shows besides; nothing is any name.
    pub(super) only: Vec<String>,
    /// Files of the project that would have it run a program, where they are.
    pub(super) unless: &'static [&'static str],
    /// Of git, which may run programs that the repository's settings name, and show files that nobody named.
    pub(super) git: Option<GitShows>,
}

/// What the command looks at; `None` when it is not known to only read. Patterns have become names before.
pub(super) fn reading(command: &Opened) -> Option<Reading> {
    let is_open = command.is_open() && !only_repeats(command);
    let is_known = command.tail == Tail::None && command.doubt.is_none() && !is_open;
    if !is_known || command.words.iter().any(|word| word.is_glob && word.is_spelt()) {
        return None;
    }
    let texts = command.texts();
    let (program, words) = texts.split_first()?;
    let name = standard_name(program)?;
    if versions::only_tells_version(name, words) {
        return Some(Reading::default());
    }
    match name {
        "cargo" => {
            only_shows_packages(words).then(|| Reading { unless: CARGO_SETTINGS, ..Reading::default() })
        }
        "awk" | "gawk" | "mawk" | "nawk" => awk::reading(words),
        "find" => find::reading(words),
        "git" => git::reading(words),
        "jq" => jq::reading(words),
        "rg" => rg::reading(words),
        "sed" => sed::reading(words),
        "set" => Some(Reading::default()),
        "command" => matches!(words, ["-v" | "-V", ..]).then(Reading::default),
        "test" => compare::only_tests(words).then(Reading::default),
        "yq" => yq::reading(words),
        "ps" => words.iter().all(|word| PS_WORDS.contains(word)).then(Reading::default),
        name => READERS.iter().find(|reader| reader.name == name)?.reading(words),
    }
}

/// What a command looks at where the shell puts names in the place of its patterns: these stand in it as they are
/// written.
pub(super) fn as_written(command: &Opened) -> Option<Reading> {
    let mut written = command.clone();
    written.words.iter_mut().for_each(|word| word.is_glob = false);
    let mut reading = reading(&written)?;
    // One of these names may become an option by which it shows more.
    let may_be_option = |word: &Word| word.is_glob && word.text.starts_with(['*', '?', '[']);
    if reading.below == Below::Linked || command.words.iter().any(may_be_option) {
        reading.only.clear();
    }
    Some(reading)
}

/// Whether a command, as `echo` does, shows of its words nothing but what they are, and none of them holds what the text
/// does not tell: a name of a file that a loop goes through, or what another command in it prints.
pub(super) fn only_repeats(command: &Opened) -> bool {
    let Some((program, words)) = command.words.split_first() else { return false };
    let repeats = match standard_name(&program.text) {
        Some("echo") => true,
        // What is a number to it some shells compute; one of its options sets a variable.
        Some("printf") => words.first().is_some_and(|format| {
            let text = format.text.replace("%%", "");
            let are_texts = text.split('%').skip(1).all(|rest| rest.starts_with('s'));
            format.is_spelt() && !format.is_glob && !text.starts_with('-') && are_texts
        }),
        _ => false,
    };
    let is_told = |word: &Word| word.is_spelt() || word.source == Source::Told;
    repeats && command.documents.is_empty() && words.iter().all(is_told)
}

/// Whether a command runs no program that its words name.
pub(super) fn runs_nothing(command: &Opened) -> bool {
    let Some(program) = command.words.first().and_then(|word| standard_name(&word.text)) else {
        return false;
    };
    let words = command.words.get(1..).unwrap_or_default();
    is_listed(program) && program != "printf" && !options::has_runner(program, words)
        || git::Line::of(&command.texts()).is_some_and(|line| line.runs_nothing())
}

/// Files by which cargo, or what stands before it, runs programs of the project.
const CARGO_SETTINGS: &[&str] =
    &[".cargo/config", ".cargo/config.toml", "rust-toolchain", "rust-toolchain.toml"];

/// Whether `cargo tree` is asked for no more than how it prints.
fn only_shows_packages(words: &[&str]) -> bool {
    const OPTIONS: &[&str] = &[
        "--all-features",
        "--duplicates",
        "--locked",
        "--no-default-features",
        "--offline",
        "--workspace",
        "-d",
    ];
    const VALUED: &[&str] =
        &["--depth", "--edges", "--features", "--invert", "--package", "--prefix", "-e", "-i", "-p"];
    let ["tree", words @ ..] = words else { return false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let is_known = OPTIONS.contains(word)
            || word.split_once('=').is_some_and(|(name, _)| VALUED.contains(&name))
            || VALUED.contains(word) && words.next().is_some_and(|value| !value.starts_with('-'));
        if !is_known {
            return false;
        }
    }
    true
}

/// Whatever stands in the place of a name that is found: it has to be a file to the command that gets it.
const ANY: &str = "./any";

/// Names for many of them: more than any program tells apart.
const MANY: usize = 3;

/// What a command shows that gets the names of found files, in so many places of its words, besides these files.
fn reading_besides(command: &Opened, places: usize) -> Option<Reading> {
    let mut reading = reading(command)?;
    let are_files = reading.paths.iter().filter(|path| *path == ANY).count() == places;
    reading.paths.retain(|path| path != ANY);
    (are_files && reading.git.is_none() && reading.unless.is_empty()).then_some(reading)
}

/// Whether a command is spelt out but for the names that it gets.
fn is_whole(command: &Opened) -> bool {
    command.inner.is_empty() && command.doubt.is_none() && command.tail == Tail::Unknown
}

/// What `xargs` shows that hands a reader the names which `find` prints: of `find`, and of the reader besides.
pub(super) fn reading_found(command: &Opened, feeding: &Opened) -> Option<(Reading, Reading)> {
    let (texts, found) = (command.texts(), feeding.texts());
    let [inner] = command.inner.as_slice() else { return None };
    let is_fed = command.is_fed && texts.first() == Some(&"xargs") && command.doubt.is_none();
    if !is_fed || !is_whole(inner) || found.first() != Some(&"find") {
        return None;
    }
    reading(feeding)?;
    let found = find::printed(found.get(1..)?)?;
    // Whatever comes behind its words has to be a file to it.
    let mut reader = Opened { tail: Tail::None, ..inner.clone() };
    reader.words.extend(std::iter::repeat_n(Word::spelt(ANY), MANY));
    let besides = reading_besides(&reader, MANY)?;
    Some((found.shown_by(&besides), besides))
}

/// Readers that show of files no more than `find` does.
const SHOWING_NAMES: &[&str] = &["du", "ls", "readlink", "realpath", "stat"];

/// What `find` shows that has readers run with the names of what it finds: what it finds, and what the readers show
/// besides.
pub(super) fn reading_each(command: &Opened) -> Option<(Reading, Vec<Reading>)> {
    let texts = command.texts();
    let (program, words) = texts.split_first()?;
    let is_plain = command.tail == Tail::None && command.doubt.is_none() && !command.is_open();
    let is_find = is_plain && standard_name(program) == Some("find");
    if !is_find || command.words.iter().any(|word| word.is_glob) {
        return None;
    }
    let (mut found, run) = find::run_with(words)?;
    (run.len() == command.inner.len() && !run.is_empty()).then_some(())?;
    let (mut besides, mut shows_texts) = (Vec::new(), false);
    for (inner, run) in command.inner.iter().zip(run) {
        // The name stands in one place, as a word of its own.
        let places = inner.words.iter().filter(|word| word.text.contains("{}")).count();
        (is_whole(inner) && inner.texts() == run && places == 1).then_some(())?;
        let mut reader = Opened { tail: Tail::None, ..inner.clone() };
        let at = reader.words.iter().position(|word| word.text == "{}")?;
        // At the end it may become several.
        let count = if at + 1 == reader.words.len() { MANY } else { 1 };
        reader.words.splice(at..=at, std::iter::repeat_n(Word::spelt(ANY), count));
        let reading = reading_besides(&reader, count)?;
        found = found.shown_by(&reading);
        besides.push(reading);
        let name = run.first().and_then(|program| standard_name(program));
        shows_texts |= !name.is_some_and(|name| SHOWING_NAMES.contains(&name));
    }
    if !shows_texts {
        found.below = Below::None;
    }
    Some((found, besides))
}

impl Reading {
    /// Of found files: what a reader of this kind shows of them.
    fn shown_by(mut self, reader: &Self) -> Self {
        if reader.below != Below::None {
            // Of a folder that was found it shows what lies below, whatever that is called.
            self.below = Below::Linked;
            self.only.clear();
        }
        self
    }
}

/// The files that scripts of `sed` may write.
pub(super) fn written_by_sed(words: &[&str]) -> Vec<String> {
    if !sed::may_run(words) {
        return Vec::new();
    }
    let behind = |word: &str, at: usize| {
        word.get(at + 1..).map(|rest| rest.split(['\n', '}']).next().unwrap_or_default().trim().to_owned())
    };
    let files =
        words.iter().flat_map(|word| word.match_indices('w').filter_map(move |(at, _)| behind(word, at)));
    files.filter(|file| !file.is_empty()).collect()
}

/// Of a command of git that prints what is in files: which. What is not known of it may be anything that git keeps.
pub(super) fn shown_by_git(command: &Opened) -> Option<GitShows> {
    git::Line::of(&command.texts())?.prints()
}

/// Why a command is not known to only read, in words that follow "since".
pub(super) fn why_unknown(command: &Opened) -> String {
    let texts = command.texts();
    let program = texts.first().copied().unwrap_or_default();
    let name = standard_name(program).unwrap_or(program);
    let is_reader = is_reader(name);
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

/// Whether something of a program is known to only read.
fn is_reader(name: &str) -> bool {
    const OTHERS: &[&str] = &["awk", "find", "gawk", "jq", "mawk", "nawk", "ps", "sed", "test", "yq"];
    OTHERS.contains(&name) || is_listed(name)
}

/// Whether a program takes no word and no input for something to run, but by its options.
fn is_listed(name: &str) -> bool {
    name == rg::RG.name || READERS.iter().any(|reader| reader.name == name)
}

/// How names end that fit these patterns; nothing where one of them says more than that.
fn ends(patterns: &[String]) -> Vec<String> {
    let end = |pattern: &String| {
        let end = pattern.strip_prefix('*').unwrap_or(pattern);
        (!end.is_empty() && !end.contains(['*', '?', '[', '\\', '{', '/'])).then(|| end.to_owned())
    };
    patterns.iter().map(end).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// Words of `ps` that show no environment of a process, which may hold keys.
const PS_WORDS: &[&str] =
    &["a", "ax", "aux", "auxf", "auxw", "auxww", "ux", "x", "-A", "-a", "-e", "-ef", "-f", "-l", "-u", "-w"];
