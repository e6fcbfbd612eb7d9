//! A command line as a shell reads it: its simple commands, with the words after the quotes are gone.
//!
//! A grammar of bash gives a tree; what is understood is a short list of its kinds of nodes and of the characters that may
//! stand in them without a quote. Whatever else there is, now or in a later version of the grammar, is no command that
//! anyone can judge: the reason says what it was. Of loops and branches every command counts as one that runs.

mod anywhere;
mod branches;
mod documents;
mod quotes;
mod statements;
mod words;

use tree_sitter::{Node, Parser};

pub(super) use anywhere::commands_of_script;
pub(super) use documents::Document;

/// Bytes of the longest text that is looked at: more is a script, which nobody reads in a question either.
const MAX_BYTES: usize = 4_000;

/// Simple commands in one text; more is a script.
const MAX_COMMANDS: usize = 40;

/// Groups within groups; nobody writes more.
const MAX_DEPTH: usize = 12;

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// Empty for redirections that belong to a group or to nothing, and where variables are only set.
    pub(super) words: Vec<Word>,
    /// The variables that are set, for it or by it.
    pub(super) assignments: Vec<Assignment>,
    /// The files that its input comes from.
    pub(super) reads: Vec<Word>,
    /// The files that its output goes to.
    pub(super) writes: Vec<Word>,
    /// What it gets as its input.
    pub(super) documents: Vec<Document>,
    /// Whether its input is what the command before it prints.
    pub(super) is_fed: bool,
}

/// A variable that gets a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) value: Word,
    /// Whether programs see it.
    pub(super) is_exported: bool,
}

/// A word as the command gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// With variables and other commands as they are written, where their values are not known.
    pub(super) text: String,
    /// Holds `*`, `?` or `[` without quotes: the shell puts names of files in its place.
    pub(super) is_glob: bool,
    pub(super) known: Known,
    /// Where what is not spelt out of it comes from.
    pub(super) source: Source,
}

/// Where the values come from that are not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// From values in the same text, and from commands in it that are judged by themselves.
    #[default]
    Told,
    /// It begins with the home folder, as `~/` or by its variable, and the rest is spelt out.
    Home,
    /// From what the shell was given.
    Hidden,
}

/// How much of a word is spelt out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Known {
    #[default]
    All,
    /// It is one word, and how it begins: no option where it does not look like one.
    Begin,
    /// It is one word, whichever.
    One,
    /// It is any number of any words.
    Nothing,
}

/// How the home folder is written.
const HOME: &[&str] = &["~", "${HOME}", "$HOME"];

impl Word {
    pub(super) fn spelt(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_glob: false, known: Known::All, source: Source::Told }
    }

    pub(super) fn is_spelt(&self) -> bool {
        self.known == Known::All
    }

    /// Puts the home folder in its place where that makes one word of it.
    pub(super) fn settle(&mut self, home: &str) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
        let is_one = home.starts_with('/') && home.chars().all(is_plain) && !self.is_glob;
        let rest = HOME.iter().find_map(|written| self.text.strip_prefix(written));
        if let Some(rest) = rest.filter(|_| is_one && self.source == Source::Home && !self.is_spelt()) {
            *self = Self::spelt(format!("{home}{rest}"));
        }
    }

    fn leave_open(&mut self, known: Known, source: Source) {
        self.known = self.known.max(known);
        self.source = self.source.max(source);
    }

    /// Whether it may become an option, or another word more.
    pub(super) fn may_be_option(&self) -> bool {
        match self.known {
            Known::All => false,
            Known::Begin => self.is_glob || self.text.starts_with('-'),
            Known::One | Known::Nothing => true,
        }
    }
}

/// The simple commands of a text in their order.
///
/// # Errors
/// Why it is not clear what runs, in words that follow "since it".
pub(super) fn parse(text: &str) -> Result<Vec<Simple>, String> {
    read(text, &[]).map(|read| read.commands)
}

/// What a text says.
struct Read {
    commands: Vec<Simple>,
    /// Whether it is one command and nothing around it.
    is_plain: bool,
}

/// Reads a text in which variables of loops have the values of `bound`.
fn read(text: &str, bound: &[Bound]) -> Result<Read, String> {
    if text.len() > MAX_BYTES {
        return Err("is too long to be looked through".to_owned());
    }
    if text.chars().any(|c| c.is_control() && c != '\t' && c != '\n') {
        return Err("holds characters that cannot be seen".to_owned());
    }
    let taken = documents::taken_out(text.trim())?;
    let text = taken.text.as_str();
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| NOT_READ.to_owned())?;
    let tree = parser.parse(text, None).ok_or(NOT_READ)?;
    let root = tree.root_node();
    if root.has_error() {
        return Err(NOT_READ.to_owned());
    }
    let mut reader = Reader::new(text);
    reader.documents = taken.documents;
    reader.bound = bound.to_vec();
    reader.statements(root, 0)?;
    let is_whole = root.start_byte() == 0 && root.end_byte() == text.len();
    if !is_whole || reader.commands.is_empty() || !reader.documents.is_empty() {
        return Err(NOT_READ.to_owned());
    }
    let is_plain = root.child_count() == 1 && root.child(0).is_some_and(|node| node.kind() == "command");
    Ok(Read { commands: reader.commands, is_plain })
}

/// Whether nothing in a text gives a variable another value: its name stands only where the value is taken.
pub(super) fn keeps(text: &str, name: &str) -> bool {
    let uses = text.matches(&format!("${name}")).count() + text.matches(&format!("${{{name}")).count();
    text.matches(name).count() == uses && !(text.contains("printf") && text.contains("-v"))
}

/// The words of a text that is one plain command: nothing set, nothing redirected, nothing that a shell expands.
pub(super) fn plain_words(text: &str) -> Option<Vec<String>> {
    let read = read(text, &[]).ok().filter(|read| read.is_plain)?;
    let [simple] = read.commands.as_slice() else { return None };
    let words = &simple.words;
    let is_plain = *simple == Simple { words: words.clone(), ..Simple::default() };
    (is_plain && words.iter().all(|word| !word.is_glob && word.is_spelt()))
        .then(|| words.iter().map(|word| word.text.clone()).collect())
}

const NOT_READ: &str = "is not understood as a command line";

struct Reader<'t> {
    text: &'t str,
    commands: Vec<Simple>,
    /// Documents whose redirection was not met yet, by its place in the text.
    documents: Vec<(usize, Document)>,
    bound: Vec<Bound>,
    /// Commands around it that get what it prints.
    substitutions: usize,
}

/// A variable of a loop with one of its values.
#[derive(Clone)]
struct Bound {
    name: String,
    value: Word,
}

impl<'t> Reader<'t> {
    const fn new(text: &'t str) -> Self {
        Self { text, commands: Vec::new(), documents: Vec::new(), bound: Vec::new(), substitutions: 0 }
    }

    fn source(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }
}

fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    (0..node.child_count()).filter_map(move |index| node.child(index))
}

/// What is said of a kind of node that is not understood.
fn because(kind: &str) -> String {
    match kind {
        "command_substitution" | "process_substitution" | "`" => "runs a command inside another",
        "simple_expansion"
        | "expansion"
        | "$"
        | "arithmetic_expansion"
        | "ansi_c_string"
        | "translated_string" => "uses the values of variables or of other commands",
        "variable_assignment" | "variable_assignments" => "sets variables that other commands may use",
        "heredoc_redirect" | "herestring_redirect" | "<<" | "<<<" => "has a document as its input",
        "&" => "runs something in the background",
        "|&" | "&>" | "&>>" => "uses an operator that shells read differently",
        "comment" => "has a comment",
        "function_definition" => "defines a function",
        "brace_expression" => "uses braces without quotes",
        "file_redirect" | "<&" | "<>" | ">&" | ">&-" | "<&-" => "redirects in a way that is not understood",
        _ => "uses more of the shell's language than plain commands",
    }
    .to_owned()
}

#[cfg(test)]
mod tests;
