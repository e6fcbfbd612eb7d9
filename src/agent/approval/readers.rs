//! Commands that only read, with the options that keep them so. What is not listed here is not known to only read.

mod find;
mod jq;
mod sed;
mod table;
mod versions;

use super::{
    git::{self, GitShows},
    opened::{Opened, Tail, file_name, standard_name},
    options,
    shell::{Document, Known, Source, Word},
};
use crate::workspace::place::Below;
use table::{Operands, READERS, Reader};

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
        "find" => find::reading(words),
        "git" => git::reading(words),
        "jq" => jq::reading(words),
        "sed" => sed::reading(words),
        "set" => Some(Reading::default()),
        "command" => matches!(words, ["-v" | "-V", ..]).then(Reading::default),
        "test" => only_tests(words).then(Reading::default),
        "ps" => words.iter().all(|word| PS_WORDS.contains(word)).then(Reading::default),
        name => READERS.iter().find(|reader| reader.name == name)?.reading(words),
    }
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
    READERS.iter().any(|reader| reader.name == program)
        && program != "printf"
        && !options::has_runner(program, words)
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

/// What `xargs` shows that hands a reader the names which `find` prints: of `find`, and of the reader besides.
pub(super) fn reading_found(command: &Opened, feeding: &Opened) -> Option<(Reading, Reading)> {
    let (texts, found) = (command.texts(), feeding.texts());
    let [inner] = command.inner.as_slice() else { return None };
    let is_fed = command.is_fed && texts.first() == Some(&"xargs") && command.doubt.is_none();
    let is_whole = inner.inner.is_empty() && inner.doubt.is_none() && inner.tail == Tail::Unknown;
    if !is_fed || !is_whole || found.first() != Some(&"find") {
        return None;
    }
    let mut found = find::found(feeding, found.get(1..)?)?;
    // Whatever comes behind its words has to be a file to it.
    const ANY: &str = "./any";
    let mut reader = Opened { tail: Tail::None, ..inner.clone() };
    reader.words.extend([ANY, ANY, ANY].map(Word::spelt));
    let mut reading = reading(&reader)?;
    let are_files = reading.paths.iter().filter(|path| *path == ANY).count() == 3;
    reading.paths.retain(|path| path != ANY);
    (are_files && reading.git.is_none() && reading.unless.is_empty()).then_some(())?;
    if found.paths.is_empty() {
        found.paths.push(".".to_owned());
    }
    Some((found, reading))
}

/// Programs that run what a text in their words says, in languages that are not read here.
const INTERPRETERS: &[&str] = &[
    "awk",
    "bunx",
    "gawk",
    "lua",
    "make",
    "mawk",
    "node",
    "npx",
    "osascript",
    "perl",
    "php",
    "pnpx",
    "python",
    "python3",
    "ruby",
    "sed",
    "ssh",
    "uvx",
    "vi",
    "vim",
];

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

/// Programs that run the program that is named behind one of these words.
const RUNNING_WORDS: &[(&str, &[&str])] = &[
    ("bundle", &["exec"]),
    ("conda", &["run"]),
    ("direnv", &["exec"]),
    ("docker", &["exec", "run"]),
    ("mise", &["exec", "x"]),
    ("nix", &["develop", "run", "shell"]),
    ("npm", &["exec", "x"]),
    ("pipenv", &["run"]),
    ("pipx", &["run"]),
    ("pnpm", &["dlx", "exec"]),
    ("poetry", &["run"]),
    ("uv", &["run"]),
    ("yarn", &["dlx", "exec", "run"]),
];

/// Whether a command may run a program without its words being a command: by a script of `sed`, or by a text in another
/// language that names it.
pub(super) fn may_run(command: &Opened, program: &str) -> bool {
    let texts = command.texts();
    let Some((name, words)) = texts.split_first() else { return false };
    let name = file_name(name);
    let names = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.'))
            .any(|part| part == program)
    };
    let own = command.words.get(1..).unwrap_or_default();
    // In these bash runs what stands in the brackets of a variable's name.
    let names_variable = match name {
        "test" => !only_tests(words) || !compares(own),
        "printf" => words.first() == Some(&"-v") || own.first().is_some_and(Word::may_be_option),
        _ => false,
    };
    // What a program takes for its input, its script or an option may be anything.
    let is_script = |word: &&Word| word.is_spelt() && !word.text.starts_with('-');
    let before_script = own.iter().position(|word| is_script(&word)).unwrap_or(own.len());
    let may_be_script = |word: &Word| word.known != Known::All;
    let takes_value = match name {
        "make" | "osascript" | "sed" => own.iter().any(may_be_script),
        name if INTERPRETERS.contains(&name) => own.iter().take(before_script).any(may_be_script),
        name => options::has_runner(name, own) && own.iter().any(Word::may_be_option),
    };
    let takes_documents = !READERS.iter().any(|reader| reader.name == name) && !matches!(name, "git" | "tee");
    let reads_it = |document: &Document| takes_documents && (document.is_open || names(&document.text));
    names_variable
        || takes_value
        || command.documents.iter().any(reads_it)
        || options::values(name, words, options::Does::Runs).iter().any(|value| names(value))
        || name == "sed" && sed::may_run(words)
        || runs_what_it_names(name, words) && words.iter().any(|word| names(word))
        || git::Line::of(&texts).is_some_and(|line| line.runs_words()) && words.iter().any(|word| names(word))
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

/// How names end that fit these patterns; nothing where one of them says more than that.
fn ends(patterns: &[String]) -> Vec<String> {
    let end = |pattern: &String| {
        let end = pattern.strip_prefix('*').unwrap_or(pattern);
        (!end.is_empty() && !end.contains(['*', '?', '[', '\\', '{'])).then(|| end.to_owned())
    };
    patterns.iter().map(end).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// What `test` compares. With other options bash runs what stands in a word.
const TESTS: &[&str] = &[
    "-a", "-d", "-e", "-ef", "-eq", "-f", "-ge", "-gt", "-h", "-le", "-L", "-lt", "-n", "-ne", "-nt", "-o",
    "-ot", "-r", "-s", "-w", "-x", "-z",
];

fn runs_what_it_names(program: &str, words: &[&str]) -> bool {
    INTERPRETERS.contains(&program)
        || RUNNING_WORDS
            .iter()
            .any(|(name, runs)| *name == program && words.iter().any(|word| runs.contains(word)))
}

/// Whether a test compares values and nothing else, whatever they are: by the number of its words.
fn compares(words: &[Word]) -> bool {
    if words.iter().all(Word::is_spelt) {
        return true;
    }
    let words = match words {
        [not, rest @ ..] if not.is_spelt() && not.text == "!" => rest,
        words => words,
    };
    let is_mark =
        |word: &Word| word.is_spelt() && word.text.starts_with('-') && TESTS.contains(&word.text.as_str());
    let is_operator =
        |word: &Word| word.is_spelt() && matches!(word.text.as_str(), "=" | "!=" | "==") || is_mark(word);
    words.iter().all(|word| word.known != Known::Nothing)
        && match words {
            [mark, _] => is_mark(mark),
            [_, operator, _] => is_operator(operator),
            _ => false,
        }
}

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
                if let Some(pattern) = long.strip_prefix("include=") {
                    reading.only.push(pattern.to_owned());
                }
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
        reading.only = ends(&reading.only);
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
