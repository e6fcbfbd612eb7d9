//! Commands that may run a program though none of their words is a command.

use super::{compare, is_listed, sed};
use crate::agent::approval::{
    git,
    opened::{Opened, file_name},
    options,
    shell::{Document, Known, Word},
};

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
pub(in super::super) fn may_run(command: &Opened, program: &str) -> bool {
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
        "test" => !compare::only_tests(words) || !compare::compares(own),
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
    let takes_documents = !is_listed(name) && !matches!(name, "git" | "tee");
    let reads_it = |document: &Document| takes_documents && (document.is_open || names(&document.text));
    names_variable
        || takes_value
        || command.documents.iter().any(reads_it)
        || options::values(name, words, options::Does::Runs).iter().any(|value| names(value))
        || name == "sed" && sed::may_run(words)
        || runs_what_it_names(name, words) && words.iter().any(|word| names(word))
        || git::Line::of(&texts).is_some_and(|line| line.runs_words()) && words.iter().any(|word| names(word))
}

fn runs_what_it_names(program: &str, words: &[&str]) -> bool {
    INTERPRETERS.contains(&program)
        || RUNNING_WORDS
            .iter()
            .any(|(name, runs)| *name == program && words.iter().any(|word| runs.contains(word)))
}
