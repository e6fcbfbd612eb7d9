//! A command line as a shell reads it: its simple commands, with the words after the quotes are gone.
//!
//! A grammar of bash gives a tree; what is understood is a short list of its kinds of nodes and of the characters that may
//! stand in them without a quote. Whatever else there is, now or in a later version of the grammar, is no command that
//! anyone can judge: the reason says what it was.

mod anywhere;
mod quotes;

use tree_sitter::{Node, Parser};

pub(super) use anywhere::commands_of_script;
use quotes::{STATUS, is_unquoted_brace, quoted, with_statuses};

/// Bytes of the longest text that is looked at: more is a script, which nobody reads in a question either.
const MAX_BYTES: usize = 4_000;

/// Simple commands in one text; more is a script.
const MAX_COMMANDS: usize = 40;

/// Groups within groups; nobody writes more.
const MAX_DEPTH: usize = 12;

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// Empty for redirections that belong to a group or to nothing.
    pub(super) words: Vec<Word>,
    /// The variables that are set for it.
    pub(super) assignments: Vec<String>,
    /// The files that its input comes from.
    pub(super) reads: Vec<Word>,
    /// The files that its output goes to.
    pub(super) writes: Vec<Word>,
}

/// A word as the command gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Holds `*`, `?` or `[` without quotes: the shell puts names of files in its place.
    pub(super) is_glob: bool,
}

/// The simple commands of a text in their order.
///
/// # Errors
/// Why it is not clear what runs, in words that follow "since it".
pub(super) fn parse(text: &str) -> Result<Vec<Simple>, String> {
    if text.len() > MAX_BYTES {
        return Err("is too long to be looked through".to_owned());
    }
    if text.trim().contains('\n') {
        return Err("has more than one line".to_owned());
    }
    if text.chars().any(|c| c.is_control() && c != '\t' && c != '\n') {
        return Err("holds characters that cannot be seen".to_owned());
    }
    let text = text.trim();
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| NOT_READ.to_owned())?;
    let tree = parser.parse(text, None).ok_or(NOT_READ)?;
    let root = tree.root_node();
    if root.has_error() {
        return Err(NOT_READ.to_owned());
    }
    let mut reader = Reader { text, commands: Vec::new() };
    reader.check_gaps(root)?;
    reader.statements(root, 0)?;
    if root.start_byte() != 0 || root.end_byte() != text.len() || reader.commands.is_empty() {
        return Err(NOT_READ.to_owned());
    }
    Ok(reader.commands)
}

/// The words of a text that is one plain command: nothing set, nothing redirected, nothing that a shell expands.
pub(super) fn plain_words(text: &str) -> Option<Vec<String>> {
    let commands = parse(text).ok()?;
    let [Simple { words, assignments, reads, writes }] = commands.as_slice() else { return None };
    let is_plain = assignments.is_empty() && reads.is_empty() && writes.is_empty();
    (is_plain && words.iter().all(|word| !word.is_glob))
        .then(|| words.iter().map(|word| word.text.clone()).collect())
}

const NOT_READ: &str = "is not understood as a command line";

/// Words that begin something else than a command when they stand in its place.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in",
    "function", "select", "coproc", "[[", "]]", "{", "}", "!",
];

struct Reader<'t> {
    text: &'t str,
    commands: Vec<Simple>,
}

impl<'t> Reader<'t> {
    fn source(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// What the grammar left out between its nodes are blanks and nothing else.
    fn check_gaps(&self, node: Node<'_>) -> Result<(), String> {
        let mut at = node.start_byte();
        for child in children(node) {
            let gap = self.text.get(at..child.start_byte()).unwrap_or("?");
            // Inside quotes blanks are text; they have no gaps.
            if !gap.chars().all(|c| c == ' ' || c == '\t') {
                return Err(NOT_READ.to_owned());
            }
            at = child.end_byte();
        }
        if node.child_count() > 0 && at != node.end_byte() {
            return Err(NOT_READ.to_owned());
        }
        Ok(())
    }

    /// What a program, a list, a group or a pipeline is made of.
    fn statements(&mut self, node: Node<'_>, depth: usize) -> Result<(), String> {
        for child in children(node) {
            let fits = match child.kind() {
                "&&" | "||" | ";" => {
                    matches!(node.kind(), "program" | "list" | "subshell" | "compound_statement")
                }
                "|" => node.kind() == "pipeline",
                "!" => node.kind() == "negated_command",
                "(" | ")" => node.kind() == "subshell",
                "{" | "}" => node.kind() == "compound_statement",
                _ => {
                    self.statement(child, depth)?;
                    true
                }
            };
            if !fits {
                return Err(because(child.kind()));
            }
        }
        Ok(())
    }

    fn statement(&mut self, node: Node<'_>, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err("has groups within groups".to_owned());
        }
        // The commands of a list are counted before the first of them is reached, which stands deepest in it.
        if self.commands.len() >= MAX_COMMANDS || nested_lists(node) >= MAX_COMMANDS {
            return Err(format!("has more than {MAX_COMMANDS} commands"));
        }
        self.check_gaps(node)?;
        match node.kind() {
            // What stands before the last `&&` or `||` is a list in the list, and no group.
            "list" if node.parent().is_some_and(|parent| parent.kind() == "list") => {
                self.statements(node, depth)
            }
            "list" | "pipeline" | "subshell" | "compound_statement" | "negated_command" => {
                self.statements(node, depth + 1)
            }
            "command" => {
                let mut simple = Simple::default();
                self.command(node, &mut simple)?;
                self.commands.push(simple);
                Ok(())
            }
            "redirected_statement" => self.redirected(node, depth),
            "test_command" => {
                self.commands.push(self.bracket(node)?);
                Ok(())
            }
            kind => Err(because(kind)),
        }
    }

    /// `[ -f x ]`, which to a shell is a program as any other: read as `test -f x`.
    fn bracket(&self, node: Node<'_>) -> Result<Simple, String> {
        let inner = self.source(node).strip_prefix("[ ").and_then(|text| text.strip_suffix(" ]"));
        let mut commands = parse(&format!("test {}", inner.ok_or_else(|| because(node.kind()))?))?;
        match (commands.pop(), commands.is_empty()) {
            (Some(simple), true) if simple.reads.is_empty() && simple.writes.is_empty() => Ok(simple),
            _ => Err(because(node.kind())),
        }
    }

    fn redirected(&mut self, node: Node<'_>, depth: usize) -> Result<(), String> {
        let mut simple = Simple::default();
        for child in children(node) {
            match child.kind() {
                "file_redirect" => self.redirect(child, &mut simple)?,
                "command" => {
                    self.check_gaps(child)?;
                    self.command(child, &mut simple)?;
                }
                _ => self.statement(child, depth + 1)?,
            }
        }
        self.commands.push(simple);
        Ok(())
    }

    fn command(&self, node: Node<'_>, simple: &mut Simple) -> Result<(), String> {
        for child in children(node) {
            match child.kind() {
                "variable_assignment" => simple.assignments.push(self.assigned(child)?),
                "file_redirect" => self.redirect(child, simple)?,
                "command_name" => {
                    let name = children(child).next().ok_or(NOT_READ)?;
                    let word = self.word(name)?;
                    if word.is_glob || word.text.is_empty() {
                        return Err("does not spell the program's name".to_owned());
                    }
                    if RESERVED.contains(&self.source(child)) {
                        return Err(because(child.kind()));
                    }
                    simple.words.push(word);
                }
                _ => simple.words.push(self.word(child)?),
            }
        }
        if simple.words.is_empty() { Err("sets variables only".to_owned()) } else { Ok(()) }
    }

    /// The name of a variable that gets a plain value.
    fn assigned(&self, node: Node<'_>) -> Result<String, String> {
        self.check_gaps(node)?;
        let parts: Vec<_> = children(node).collect();
        let (name, value) = match parts.as_slice() {
            [name, equals] if equals.kind() == "=" => (name, None),
            [name, equals, value] if equals.kind() == "=" => (name, Some(value)),
            _ => return Err(because(node.kind())),
        };
        if name.kind() != "variable_name" {
            return Err(because(name.kind()));
        }
        if let Some(value) = value {
            self.word(*value)?;
        }
        Ok(self.source(*name).to_owned())
    }

    fn redirect(&self, node: Node<'_>, simple: &mut Simple) -> Result<(), String> {
        self.check_gaps(node)?;
        let mut parts: Vec<_> = children(node).collect();
        if parts.first().is_some_and(|part| part.kind() == "file_descriptor") {
            parts.remove(0);
        }
        let [operator, target] = parts.as_slice() else { return Err(because(node.kind())) };
        let target = self.word(*target)?;
        if target.is_glob || target.text.is_empty() {
            return Err("does not spell the file that it redirects to".to_owned());
        }
        match operator.kind() {
            // From one open stream to another.
            ">&" if target.text.chars().all(|c| c.is_ascii_digit()) => {}
            ">" | ">>" | ">|" => simple.writes.push(target),
            "<" => simple.reads.push(target),
            kind => return Err(because(kind)),
        }
        Ok(())
    }

    fn word(&self, node: Node<'_>) -> Result<Word, String> {
        let mut word = Word { text: String::new(), is_glob: false };
        // The shells take `{}` as it stands; any other pair of braces is expanded.
        if self.source(node).replace("{}", "").contains(['{', '}']) && is_unquoted_brace(node, self.text) {
            return Err("uses braces without quotes".to_owned());
        }
        self.piece(node, true, &mut word)?;
        Ok(word)
    }

    /// Adds what a part of a word says.
    fn piece(&self, node: Node<'_>, is_first: bool, word: &mut Word) -> Result<(), String> {
        self.check_gaps_of_text(node)?;
        match node.kind() {
            "word" | "number" if node.child_count() == 0 => self.unquoted(self.source(node), is_first, word),
            "raw_string" => {
                let inner = self.source(node).strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                word.text.push_str(inner.filter(|text| !text.contains('\'')).ok_or(NOT_READ)?);
                Ok(())
            }
            "string" => {
                let inner = self.source(node).strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                let is_text = |child: Node<'_>| {
                    matches!(child.kind(), "\"" | "string_content") || self.is_status(child)
                };
                if let Some(other) = children(node).find(|child| !is_text(*child)) {
                    return Err(because(other.kind()));
                }
                let statuses = children(node).filter(|child| self.is_status(*child));
                let inner = with_statuses(inner.ok_or(NOT_READ)?, node.start_byte() + 1, statuses)?;
                quoted(&inner, word)
            }
            _ if self.is_status(node) => {
                word.text.push('0');
                Ok(())
            }
            "concatenation" => {
                for (index, child) in children(node).enumerate() {
                    if child.kind() == "concatenation" {
                        return Err(because(child.kind()));
                    }
                    self.piece(child, is_first && index == 0, word)?;
                }
                Ok(())
            }
            kind => Err(because(kind)),
        }
    }

    /// How the last command ended: a number, whichever.
    fn is_status(&self, node: Node<'_>) -> bool {
        node.kind() == "simple_expansion" && self.source(node) == STATUS
    }

    /// Parts of a word touch each other.
    fn check_gaps_of_text(&self, node: Node<'_>) -> Result<(), String> {
        if node.kind() != "concatenation" {
            return Ok(());
        }
        let mut at = node.start_byte();
        for child in children(node) {
            if child.start_byte() != at {
                return Err(NOT_READ.to_owned());
            }
            at = child.end_byte();
        }
        if at == node.end_byte() { Ok(()) } else { Err(NOT_READ.to_owned()) }
    }

    fn unquoted(&self, source: &str, is_first: bool, word: &mut Word) -> Result<(), String> {
        let mut previous = None;
        let mut characters = source.chars();
        while let Some(character) = characters.next() {
            match character {
                'a'..='z'
                | 'A'..='Z'
                | '0'..='9'
                | '_'
                | '.'
                | '/'
                | '-'
                | '+'
                | ','
                | ':'
                | '='
                | '@'
                | '%'
                | '^'
                | '{'
                | '}' => word.text.push(character),
                '#' if previous.is_some() || !is_first => word.text.push(character),
                // A home folder at the begin of a word, and behind these in values.
                '~' if !matches!(previous, None | Some(':' | '=')) => word.text.push(character),
                '~' => return Err("names a home folder by ~".to_owned()),
                '*' | '?' | '[' | ']' => {
                    word.is_glob = true;
                    word.text.push(character);
                }
                '\\' => match characters.next() {
                    Some(escaped) if escaped.is_ascii_punctuation() => word.text.push(escaped),
                    _ => return Err("uses a backslash without quotes".to_owned()),
                },
                '!' => return Err("uses ! in a word".to_owned()),
                other if !other.is_ascii() => {
                    return Err("holds characters beyond ASCII without quotes".to_owned());
                }
                other => return Err(format!("uses {other} without quotes")),
            }
            previous = Some(character);
        }
        Ok(())
    }
}

/// How many lists begin where a node does: to the grammar `a && b && c` is a list of `a && b` and `c`.
fn nested_lists(node: Node<'_>) -> usize {
    std::iter::successors(Some(node).filter(|node| node.kind() == "list"), |node| {
        node.child(0).filter(|first| first.kind() == "list")
    })
    .take(MAX_COMMANDS)
    .count()
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
