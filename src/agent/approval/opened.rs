//! Commands that run other commands, opened: `env`, `xargs`, `timeout`, `sh -c`, `find -exec` and their like.

mod names;
mod wrappers;

use super::shell::{self, Assignment, Document, Simple, Word};
use names::{CHANGING_VARIABLES, CHOOSING_VARIABLES, HARMLESS_VARIABLES, SHELLS, SHOWS_VARIABLES, WRAPPERS};
use wrappers::{Inner, inner};

/// Wrappers within wrappers; nobody writes more.
const MAX_DEPTH: usize = 6;

/// A command with those that it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) words: Vec<Word>,
    /// Where in the words the command begins that it runs: all words when it runs none.
    pub(super) inner_at: usize,
    pub(super) inner: Vec<Self>,
    pub(super) tail: Tail,
    pub(super) reads: Vec<Word>,
    pub(super) writes: Vec<Word>,
    /// The variables that it sets.
    pub(super) sets: Vec<Assignment>,
    /// What it gets as its input.
    pub(super) documents: Vec<Document>,
    /// Whether its input is what the command before it prints.
    pub(super) is_fed: bool,
    /// Why it is not clear what it does, in words that follow "since it".
    pub(super) doubt: Option<String>,
    /// Whether all that is doubtful is a variable that it sets.
    pub(super) sets_only: bool,
}

/// Whether a command gets further words when it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    None,
    Unknown,
}

impl Opened {
    pub(super) fn texts(&self) -> Vec<&str> {
        self.words.iter().map(|word| word.text.as_str()).collect()
    }

    /// Whether a word or its input holds values that are not known.
    pub(super) fn is_open(&self) -> bool {
        !self.words.iter().all(Word::is_spelt) || self.documents.iter().any(|document| document.is_open)
    }

    /// Why it is not clear what it runs or which files it touches.
    pub(super) fn doubt_of_deeds(&self) -> Option<&str> {
        self.doubt.as_deref().filter(|doubt| *doubt != SHOWS_VARIABLES)
    }

    /// Whether it sets a variable by which other files are meant than its words, or those of a later command, name.
    pub(super) fn sets_paths(&self) -> bool {
        // For this one a variable before it is for how it takes a line apart.
        let is_read = self.words.first().is_some_and(|word| word.text == "read");
        !is_read && self.sets.iter().any(|set| CHOOSING_VARIABLES.contains(&set.name.as_str()))
    }

    /// This one and all that it runs.
    pub(super) fn all(&self) -> Vec<&Self> {
        let mut all = vec![self];
        all.extend(self.inner.iter().flat_map(Self::all));
        all
    }
}

/// The folders in which a system keeps the programs that everybody knows.
const STANDARD_FOLDERS: &[&str] = &["/bin/", "/usr/bin/"];

/// The name of a program that the system finds or keeps itself; `None` for one that lies elsewhere.
pub(super) fn standard_name(program: &str) -> Option<&str> {
    let name = STANDARD_FOLDERS.iter().find_map(|folder| program.strip_prefix(folder)).unwrap_or(program);
    (!name.contains('/')).then_some(name)
}

/// The last part of a path.
pub(super) fn file_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

pub(super) fn open(simple: Simple) -> Opened {
    open_within(simple, 0)
}

fn open_within(simple: Simple, depth: usize) -> Opened {
    let Simple { words, assignments, reads, writes, documents, is_fed } = simple;
    let variable = assignments.iter().find(|assignment| !is_harmless(assignment));
    let sets = variable.map(|assignment| match words.is_empty() {
        true => "sets variables that other commands may use".to_owned(),
        false => format!("sets {}", assignment.name),
    });
    let mut opened = open_words(words, depth);
    opened.sets = assignments;
    opened.documents = documents;
    opened.is_fed = is_fed;
    opened.sets_only = sets.is_some() && opened.doubt.is_none();
    opened.doubt = sets.or(opened.doubt);
    opened.reads = reads;
    opened.writes = writes;
    opened
}

/// Whether a variable changes nothing of what runs.
fn is_harmless(Assignment { name, is_exported, .. }: &Assignment) -> bool {
    let is_of_shell = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !["npm_config_", "pnpm_config_", "yarn_"].iter().any(|begin| name.starts_with(begin))
        && !name.ends_with("_proxy");
    HARMLESS_VARIABLES.contains(&name.as_str()) || is_of_shell && !is_exported
}

/// Whether a variable may have another program run than the one that is named, or the one of that name: by what it is, or
/// by a value that names it or is not known.
pub(super) fn may_change(Assignment { name, value, is_exported }: &Assignment, program: &str) -> bool {
    let is_quoted = |c: char| "\\\"'$`*?[{".contains(c);
    let may_be_seen = *is_exported || !name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let names_it =
        value.text.split(|c: char| !c.is_alphanumeric() && !"-_.".contains(c)).any(|part| part == program);
    CHANGING_VARIABLES.contains(&name.as_str())
        || ["LD_", "DYLD_", "BASH"].iter().any(|begin| name.starts_with(begin))
        || names_it
        || may_be_seen
            && !HARMLESS_VARIABLES.contains(&name.as_str())
            && (!value.is_spelt() || value.text.contains(is_quoted))
}

fn open_words(words: Vec<Word>, depth: usize) -> Opened {
    let mut opened = Opened {
        inner_at: words.len(),
        words,
        inner: Vec::new(),
        tail: Tail::None,
        reads: Vec::new(),
        writes: Vec::new(),
        sets: Vec::new(),
        documents: Vec::new(),
        is_fed: false,
        doubt: None,
        sets_only: false,
    };
    if depth > MAX_DEPTH {
        opened.doubt = Some("runs commands within commands".to_owned());
        return opened;
    }
    let is_wrapper = opened.words.first().is_some_and(|word| WRAPPERS.contains(&file_name(&word.text)));
    let may_be_option = |word: &&Word| word.is_glob && word.text.starts_with(['*', '?', '[']);
    if let Some(word) = opened.words.iter().find(may_be_option).filter(|_| is_wrapper) {
        opened.doubt = Some(format!("may get an option from the name of a file, by {}", word.text));
        return opened;
    }
    if opened.words.first().is_some_and(|word| word.text.contains("{}")) {
        opened.doubt = Some("does not spell the program that it runs".to_owned());
        return opened;
    }
    let inner = inner(&opened.words);
    // Its own words, up to the command that it runs.
    let own = match &inner {
        Inner::At(at, _) => *at,
        Inner::Text(_) => {
            opened.words.iter().position(|word| Some(&word.text) == inner.text()).map_or(0, |at| at + 1)
        }
        Inner::None if opened.words.first().is_some_and(|word| SHELLS.contains(&file_name(&word.text))) => {
            opened
                .words
                .iter()
                .skip(1)
                .position(|word| !word.may_be_option() && !word.text.starts_with(['-', '+']))
                .map_or(usize::MAX, |at| at + 2)
        }
        Inner::None | Inner::Commands(_) | Inner::Doubt(_) => usize::MAX,
    };
    if is_wrapper && opened.words.iter().take(own).any(|word| !word.is_spelt()) {
        opened.doubt = Some("is given values that are not known, which may be options".to_owned());
        return opened;
    }
    match inner {
        Inner::None => {}
        Inner::Doubt(doubt) => opened.doubt = Some(doubt),
        Inner::At(at, tail) => {
            let words = opened.words.get(at..).unwrap_or_default().to_vec();
            opened.inner_at = at.min(opened.words.len());
            opened.take(words, tail, depth);
        }
        Inner::Text(text) => match shell::parse(&text) {
            Ok(commands) => {
                opened.inner_at = 1;
                opened.inner = commands.into_iter().map(|simple| open_within(simple, depth + 1)).collect();
            }
            Err(reason) => opened.doubt = Some(format!("runs a text that {reason}")),
        },
        Inner::Commands(commands) => {
            for (words, tail) in commands {
                opened.take(words, tail, depth);
            }
        }
    }
    opened
}

impl Opened {
    fn take(&mut self, words: Vec<Word>, tail: Tail, depth: usize) {
        if words.first().is_none_or(|word| word.is_glob || word.text.is_empty() || !word.is_spelt()) {
            self.doubt = Some("does not spell the program that it runs".to_owned());
            return;
        }
        // A name of a file can be a line of a script.
        if tail == Tail::Unknown && words.iter().any(|word| SHELLS.contains(&file_name(&word.text))) {
            self.doubt = Some("hands a shell words that are not known".to_owned());
        }
        let mut inner = open_words(words, depth + 1);
        if tail == Tail::Unknown {
            inner.tail = Tail::Unknown;
            let name = inner.words.first().map(|word| file_name(&word.text));
            if inner.inner.is_empty() && name.is_some_and(|name| WRAPPERS.contains(&name)) {
                inner.doubt = Some("does not spell the program that it runs".to_owned());
            }
            // What wraps another command hands it the rest.
            for command in &mut inner.inner {
                command.tail = Tail::Unknown;
            }
        }
        self.inner.push(inner);
    }
}
