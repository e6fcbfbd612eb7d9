//! Commands that run other commands, opened: `env`, `xargs`, `timeout`, `sh -c`, `find -exec` and their like.

mod names;

use super::shell::{self, Assignment, Document, Simple, Word};
use names::{CHANGING_VARIABLES, HARMLESS_VARIABLES, OPAQUE, OTHER_RIGHTS, RUNNERS, SHELLS, WRAPPERS};

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

/// What a wrapper's own words say.
enum Inner {
    /// The words from here on are a command.
    At(usize, Tail),
    /// A text for a shell.
    Text(String),
    /// Several commands by their words.
    Commands(Vec<(Vec<Word>, Tail)>),
    None,
    Doubt(String),
}

impl Inner {
    const fn text(&self) -> Option<&String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
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

fn inner(words: &[Word]) -> Inner {
    let Some(program) = words.first() else { return Inner::None };
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let name = file_name(&program.text);
    if OTHER_RIGHTS.contains(&name) {
        return Inner::Doubt(format!("runs with other rights, by {name}"));
    }
    if name == "set" && only_sets_options(&texts) || name == "read" && only_reads_values(words) {
        return Inner::None;
    }
    if OPAQUE.contains(&name) {
        return Inner::Doubt(format!("changes or hides what runs, by {name}"));
    }
    if RUNNERS.contains(&name) {
        return Inner::Doubt(format!("runs another command, by {name}"));
    }
    let is_wrapper = WRAPPERS.contains(&name);
    if is_wrapper && standard_name(&program.text).is_none() {
        return Inner::Doubt(format!("runs a program of its own that is called {name}"));
    }
    match name {
        "env" => env(&texts),
        "nohup" => after_options(&texts, &[], &[], 0),
        "setsid" => after_options(&texts, &["-w", "-c", "-f", "--wait", "--ctty", "--fork"], &[], 0),
        "nice" => after_options(&texts, &[], &["-n", "--adjustment"], 0),
        "ionice" => after_options(&texts, &["-t"], &["-c", "-n"], 0),
        "stdbuf" => after_options(&texts, &[], &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
        "timeout" => after_options(
            &texts,
            &["-v", "-f", "-p", "--verbose", "--foreground", "--preserve-status"],
            &["-s", "-k", "--signal", "--kill-after"],
            1,
        ),
        "time" => after_options(&texts, &["-p", "-v", "--verbose"], &[], 0),
        "command" if matches!(texts.get(1), Some(&("-v" | "-V"))) => Inner::None,
        "exec" | "command" | "builtin" => after_options(&texts, &[], &[], 0),
        "busybox" | "toybox" => after_options(&texts, &[], &[], 0),
        "xargs" => xargs(&texts),
        "sh" | "bash" | "dash" | "ash" => shell_text(&texts),
        "zsh" | "ksh" | "fish" | "csh" | "tcsh" => {
            Inner::Doubt(format!("starts a shell of another kind, {name}"))
        }
        "find" => find(words),
        _ => Inner::None,
    }
}

/// Whether `set` only has the shell end sooner or show what it runs.
fn only_sets_options(texts: &[&str]) -> bool {
    let mut words = texts.iter().skip(1).peekable();
    if words.peek().is_none() {
        return false;
    }
    while let Some(word) = words.next() {
        let letters = word.strip_prefix(['-', '+']).unwrap_or_default();
        let (plain, takes_name) = letters.strip_suffix('o').map_or((letters, false), |plain| (plain, true));
        let has_name = !takes_name || words.next().is_some_and(|name| SHELL_OPTIONS.contains(name));
        if letters.is_empty() || !plain.chars().all(|letter| "eux".contains(letter)) || !has_name {
            return false;
        }
    }
    true
}

/// Whether `read` only sets variables that no other program sees.
fn only_reads_values(words: &[Word]) -> bool {
    let is_name = |word: &&Word| {
        word.is_spelt()
            && (word.text == "-r" || word.text.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
    };
    words.iter().skip(1).filter(is_name).count() == words.len() - 1
}

/// The command behind a wrapper's options and its `operands`. `flags` stand alone; `valued` take the next word, or a value
/// that is joined to them.
fn after_options(texts: &[&str], flags: &[&str], valued: &[&str], operands: usize) -> Inner {
    let mut at = 1;
    while let Some(text) = texts.get(at).filter(|text| text.starts_with('-') && text.len() > 1) {
        let joined = |option: &&&str| {
            let rest = text.strip_prefix(**option).unwrap_or_default();
            if option.starts_with("--") { rest.starts_with('=') } else { !rest.is_empty() }
        };
        if *text == "--" {
            at += 1;
            break;
        } else if flags.contains(text) || valued.iter().any(|option| joined(&option)) {
            at += 1;
        } else if valued.contains(text) {
            at += 2;
        } else {
            return Inner::Doubt(format!("is given {text}, which is not known"));
        }
    }
    match at + operands {
        at if at < texts.len() => Inner::At(at, Tail::None),
        _ => Inner::None,
    }
}

fn env(texts: &[&str]) -> Inner {
    let mut at = 1;
    while let Some(text) = texts.get(at) {
        match *text {
            "-i" | "-" | "--ignore-environment" => at += 1,
            "-u" | "--unset" => at += 2,
            "--" => at += 1,
            option if option.starts_with('-') => {
                return Inner::Doubt(format!("is given {option}, which is not known"));
            }
            assignment if assignment.contains('=') => {
                let name = assignment.split('=').next().unwrap_or_default();
                if !HARMLESS_VARIABLES.contains(&name) {
                    return Inner::Doubt(format!("sets {name}"));
                }
                at += 1;
            }
            _ => return Inner::At(at, Tail::None),
        }
    }
    Inner::Doubt("shows all variables of the environment".to_owned())
}

fn xargs(texts: &[&str]) -> Inner {
    let flags = ["-0", "-r", "-t", "-x", "--null", "--no-run-if-empty", "--verbose", "--exit"];
    let valued = [
        "-n",
        "-P",
        "-I",
        "-L",
        "-s",
        "-d",
        "--max-args",
        "--max-procs",
        "--replace",
        "--max-lines",
        "--delimiter",
    ];
    match after_options(texts, &flags, &valued, 0) {
        // It puts its input in the place of any word.
        Inner::At(..) if texts.iter().any(|text| text.starts_with("-I") || text.starts_with("--replace")) => {
            Inner::Doubt("fills in words that are not known".to_owned())
        }
        Inner::At(at, _) => Inner::At(at, Tail::Unknown),
        // It echoes its input.
        other => other,
    }
}

/// What a shell may be given by `-o` without another meaning of the text.
const SHELL_OPTIONS: &[&str] = &["errexit", "nounset", "pipefail", "xtrace"];

/// `sh -c TEXT`, with further options on either side of `-c`; with a file instead it is a command like any other.
fn shell_text(texts: &[&str]) -> Inner {
    let (mut at, mut is_text) = (1, false);
    while let Some(option) = texts.get(at).filter(|text| text.starts_with(['-', '+'])) {
        at += 1;
        let letters = option.strip_prefix(['-', '+']).unwrap_or_default();
        match letters {
            // The options end.
            "-" if option.starts_with('-') => break,
            "o" | "eo" | "euo" | "ueo" if texts.get(at).is_some_and(|name| SHELL_OPTIONS.contains(name)) => {
                at += 1
            }
            letters if !letters.is_empty() && letters.chars().all(|letter| "ceux".contains(letter)) => {
                if letters.contains('c') && option.starts_with('+') {
                    return Inner::Doubt(format!("starts a shell with {option}"));
                }
                is_text |= letters.contains('c');
            }
            _ => return Inner::Doubt(format!("starts a shell with {option}")),
        }
    }
    match (is_text, texts.get(at)) {
        (true, Some(text)) => Inner::Text((*text).to_owned()),
        (false, Some(_)) => Inner::None,
        (_, None) => Inner::Doubt("reads commands from its input".to_owned()),
    }
}

/// The commands behind `-exec` and its kin, up to `;` or `+`.
fn find(words: &[Word]) -> Inner {
    let mut commands = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let run: Vec<Word> =
            rest.by_ref().take_while(|word| word.text != ";" && word.text != "+").cloned().collect();
        commands.push((run, Tail::Unknown));
    }
    if commands.is_empty() { Inner::None } else { Inner::Commands(commands) }
}
