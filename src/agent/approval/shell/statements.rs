//! Statements: lists, pipelines, groups, loops and branches, down to the simple commands in them.

use tree_sitter::Node;

use super::{
    Assignment, Document, MAX_COMMANDS, MAX_DEPTH, NOT_READ, Reader, Simple, Word, because, children,
    documents::begins_word,
};

/// Words that begin something else than a command when they stand in its place.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in",
    "function", "select", "coproc", "[[", "]]", "{", "}", "!",
];

/// What stands before a child of a list of statements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Begin,
    Statement,
    /// `;`, `&&`, or a word such as `then`.
    Mark,
}

impl Reader<'_> {
    /// What the grammar left out between the parts of a command are blanks, or ends of lines that do not count.
    fn check_gaps(&self, node: Node<'_>) -> Result<(), String> {
        let mut at = node.start_byte();
        for child in children(node) {
            self.check_gap(at, child.start_byte())?;
            at = child.end_byte();
        }
        if node.child_count() > 0 && at != node.end_byte() {
            return Err(NOT_READ.to_owned());
        }
        Ok(())
    }

    /// Whether a gap is of blanks; tells if one of them ends a line.
    pub(super) fn gap(&self, from: usize, to: usize) -> Result<bool, String> {
        let gap = self.text.get(from..to).unwrap_or("?");
        let is_escaped = self.text.get(..from).unwrap_or("\\").ends_with('\\');
        let joined = gap.replace("\\\n", "");
        let joins_words = joined.is_empty() && !gap.is_empty();
        if is_escaped || joins_words || !joined.chars().all(|c| matches!(c, ' ' | '\t' | '\n')) {
            return Err(NOT_READ.to_owned());
        }
        Ok(joined.contains('\n'))
    }

    pub(super) fn check_gap(&self, from: usize, to: usize) -> Result<(), String> {
        if self.gap(from, to)? { Err(NOT_READ.to_owned()) } else { Ok(()) }
    }

    /// What a program, a list, a group, a branch or a pipeline is made of.
    pub(super) fn statements(&mut self, node: Node<'_>, depth: usize) -> Result<(), String> {
        self.statements_of(node, children(node), node.start_byte(), depth)
    }

    /// The same of those `parts` of a node that begin behind `at`.
    pub(super) fn statements_of<'n>(
        &mut self,
        node: Node<'n>,
        parts: impl Iterator<Item = Node<'n>>,
        mut at: usize,
        depth: usize,
    ) -> Result<(), String> {
        let kind = node.kind();
        let is_joined = matches!(kind, "list" | "pipeline" | "negated_command");
        let (mut before, mut has_ended) = (Before::Begin, false);
        let mut was_single = false;
        for child in parts {
            let ends_line = self.gap(at, child.start_byte())?;
            at = child.end_byte();
            has_ended |= ends_line;
            if is_joined && ends_line && before != Before::Mark {
                return Err(NOT_READ.to_owned());
            }
            if child.kind() == "comment" {
                let is_one = begins_word(self.text.get(..child.start_byte()).unwrap_or("x"));
                (is_one && !is_joined).then_some(()).ok_or_else(|| because("comment"))?;
                continue;
            }
            let is_mark = match child.kind() {
                "&&" | "||" => kind == "list" || !is_joined,
                ";" | "&" => !is_joined,
                // The end of a branch of `case`.
                ";;" => kind == "case_item",
                "|" => kind == "pipeline",
                "!" => kind == "negated_command",
                "(" | ")" => kind == "subshell" || kind == "command_substitution" && child.kind() == ")",
                "$(" | "`" => kind == "command_substitution",
                "{" | "}" => kind == "compound_statement",
                "do" | "done" => kind == "do_group",
                "if" | "fi" => kind == "if_statement",
                "then" => matches!(kind, "if_statement" | "elif_clause"),
                "elif" => kind == "elif_clause",
                "else" => kind == "else_clause",
                "while" | "until" => kind == "while_statement",
                _ => {
                    let follows = matches!(child.kind(), "elif_clause" | "else_clause" | "do_group");
                    if before == Before::Statement && !has_ended && !follows {
                        return Err(NOT_READ.to_owned());
                    }
                    let first = self.commands.len();
                    self.statement(child, kind, depth)?;
                    let is_single = self.commands.len() == first + 1;
                    if let [.., fed] = self.commands.as_mut_slice() {
                        fed.is_fed |= kind == "pipeline" && was_single && is_single;
                    }
                    was_single = is_single;
                    (before, has_ended) = (Before::Statement, false);
                    continue;
                }
            };
            if !is_mark {
                return Err(because(child.kind()));
            }
            (before, has_ended) = (Before::Mark, false);
        }
        // Behind the last statement nothing may be left but the end of a line.
        self.gap(at, node.end_byte()).map(|_| ())
    }

    fn statement(&mut self, node: Node<'_>, parent: &str, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err("has groups within groups".to_owned());
        }
        // The commands of a list are counted before the first of them is reached, which stands deepest in it.
        if self.commands.len() >= MAX_COMMANDS || nested_lists(node) >= MAX_COMMANDS {
            return Err(format!("has more than {MAX_COMMANDS} commands"));
        }
        match node.kind() {
            // What stands before the last `&&` or `||` is a list in the list, and no group.
            "list" if parent == "list" => self.statements(node, depth),
            "list" | "pipeline" | "subshell" | "compound_statement" | "negated_command" | "if_statement" => {
                self.statements(node, depth + 1)
            }
            "elif_clause" | "else_clause" if parent == "if_statement" => self.statements(node, depth),
            "do_group" if parent == "while_statement" => self.statements(node, depth),
            "while_statement" => {
                self.begin_loop(node);
                self.statements(node, depth + 1)
            }
            "for_statement" => self.for_each(node, depth),
            "case_statement" => self.case(node, depth),
            "command" => {
                self.check_gaps(node)?;
                let mut simple = Simple::default();
                self.command(node, &mut simple)?;
                self.push(simple)
            }
            "variable_assignment" => {
                let assignment = self.assigned(node, false)?;
                self.push(Simple { assignments: vec![assignment], ..Simple::default() })
            }
            "declaration_command" => self.export(node),
            "redirected_statement" => self.redirected(node, depth),
            "test_command" => self.bracket(node),
            kind => Err(because(kind)),
        }
    }

    pub(super) fn push(&mut self, simple: Simple) -> Result<(), String> {
        self.commands.push(simple);
        Ok(())
    }

    fn redirected(&mut self, node: Node<'_>, depth: usize) -> Result<(), String> {
        self.check_gaps(node)?;
        let mut simple = Simple::default();
        let mut inside = 0..0;
        for child in children(node) {
            match child.kind() {
                "file_redirect" => self.redirect(child, &mut simple)?,
                "herestring_redirect" => self.here_string(child, &mut simple)?,
                "command" => {
                    self.check_gaps(child)?;
                    self.command(child, &mut simple)?;
                }
                _ => {
                    let first = self.commands.len();
                    self.statement(child, node.kind(), depth + 1)?;
                    inside = first..self.commands.len();
                }
            }
        }
        // The grammar takes `a && b < x` for a group.
        for command in self.commands.get_mut(inside).unwrap_or_default() {
            command.documents.extend(simple.documents.iter().cloned());
        }
        self.push(simple)
    }

    fn command(&mut self, node: Node<'_>, simple: &mut Simple) -> Result<(), String> {
        for child in children(node) {
            match child.kind() {
                "variable_assignment" => simple.assignments.push(self.assigned(child, true)?),
                "file_redirect" => self.redirect(child, simple)?,
                "herestring_redirect" => self.here_string(child, simple)?,
                "command_name" => {
                    let name = children(child).next().ok_or(NOT_READ)?;
                    let word = self.word(name)?;
                    if !word.is_spelt() {
                        return Err(because("expansion"));
                    }
                    if word.is_glob || word.text.is_empty() {
                        return Err("does not spell the program's name".to_owned());
                    }
                    if RESERVED.contains(&self.source(child)) {
                        return Err(because(child.kind()));
                    }
                    simple.words.push(word);
                }
                _ => {
                    let word = self.word(child)?;
                    simple.words.push(word);
                }
            }
        }
        if simple.words.is_empty() { Err(because("variable_assignments")) } else { Ok(()) }
    }

    /// `export A=b`.
    fn export(&mut self, node: Node<'_>) -> Result<(), String> {
        self.check_gaps(node)?;
        let mut parts = children(node);
        if parts.next().is_none_or(|word| word.kind() != "export") {
            return Err(because("variable_assignments"));
        }
        let mut assignments = Vec::new();
        for part in parts {
            if part.kind() != "variable_assignment" {
                return Err(because("variable_assignments"));
            }
            assignments.push(self.assigned(part, true)?);
        }
        if assignments.is_empty() {
            return Err("shows all variables of the environment".to_owned());
        }
        self.push(Simple { assignments, ..Simple::default() })
    }

    /// A variable that gets one value.
    fn assigned(&mut self, node: Node<'_>, is_exported: bool) -> Result<Assignment, String> {
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
        let value = match value {
            Some(value) => self.word(*value)?,
            None => Word::spelt(""),
        };
        Ok(Assignment { name: self.source(*name).to_owned(), value, is_exported })
    }

    /// `<<< x`
    fn here_string(&mut self, node: Node<'_>, simple: &mut Simple) -> Result<(), String> {
        self.check_gaps(node)?;
        let parts: Vec<_> = children(node).collect();
        let [operator, text] = parts.as_slice() else { return Err(because(node.kind())) };
        if operator.kind() != "<<<" {
            return Err(because(node.kind()));
        }
        let word = self.word(*text)?;
        simple.documents.push(Document { is_open: !word.is_spelt(), text: word.text });
        Ok(())
    }

    fn redirect(&mut self, node: Node<'_>, simple: &mut Simple) -> Result<(), String> {
        self.check_gaps(node)?;
        let mut parts: Vec<_> = children(node).collect();
        if parts.first().is_some_and(|part| part.kind() == "file_descriptor") {
            parts.remove(0);
        }
        let [operator, target] = parts.as_slice() else { return Err(because(node.kind())) };
        let target = self.word(*target)?;
        if target.is_glob || target.text.is_empty() || !target.is_spelt() {
            return Err("does not spell the file that it redirects to".to_owned());
        }
        let document = self.documents.iter().position(|(at, _)| *at == operator.start_byte());
        match operator.kind() {
            "<" if document.is_some() => {
                simple.documents.extend(document.map(|at| self.documents.remove(at).1));
            }
            // From one open stream to another.
            ">&" if target.text.chars().all(|c| c.is_ascii_digit()) => {}
            // To some shells the first two are a command in the background and a redirection: the same command and file.
            "&>" | "&>>" | ">" | ">>" | ">|" => simple.writes.push(target),
            "<" => simple.reads.push(target),
            kind => return Err(because(kind)),
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
