//! Loops, branches and tests: what in them may run.

use tree_sitter::Node;

use super::{Assignment, Bound, Known, NOT_READ, Reader, Simple, Word, because, children, read};

/// Statements of a loop times its values, for each of which they are read; with more, no value is known.
const MAX_READ_AGAIN: usize = 16;

/// Words that may set a variable in a way that is not followed here.
const SETTERS: &[&str] = &["declare", "getopts", "let", "local", "mapfile", "read", "readarray", "typeset"];

/// What stands between two words of `[[` or before one, and looks at files and texts alone.
const DOUBLE_TESTS: &[&str] =
    &["-d", "-e", "-ef", "-f", "-h", "-L", "-n", "-nt", "-ot", "-r", "-s", "-w", "-x", "-z"];

impl Reader<'_> {
    /// What runs again runs where it went the time before: nobody knows where that is.
    pub(super) fn begin_loop(&mut self, node: Node<'_>) {
        let words = self.source(node).split(|c: char| !c.is_ascii_alphanumeric());
        if words.into_iter().any(|word| word == "cd") {
            let target = Word { known: Known::Nothing, ..Word::spelt("$()") };
            self.commands.push(Simple { words: vec![Word::spelt("cd"), target], ..Simple::default() });
        }
    }

    /// `for x in a b; do …; done`: its commands once for each value, where these are spelt out.
    pub(super) fn for_each(&mut self, node: Node<'_>, depth: usize) -> Result<(), String> {
        let (mut at, mut values, mut name, mut has_in) = (node.start_byte(), Vec::new(), "", false);
        for child in children(node) {
            let ends_line = self.gap(at, child.start_byte())?;
            at = child.end_byte();
            match child.kind() {
                "do_group" => {
                    if name.is_empty() {
                        return Err(NOT_READ.to_owned());
                    }
                    return self.for_values(child, name, has_in.then_some(values), depth);
                }
                _ if ends_line => return Err(NOT_READ.to_owned()),
                "for" | ";" => {}
                "in" => has_in = true,
                "variable_name" if !has_in => name = self.source(child),
                _ if has_in => values.push(self.word(child)?),
                kind => return Err(because(kind)),
            }
        }
        Err(NOT_READ.to_owned())
    }

    fn for_values(
        &mut self,
        body: Node<'_>,
        name: &str,
        values: Option<Vec<Word>>,
        depth: usize,
    ) -> Result<(), String> {
        // With another value than those of the loop no value is known.
        let sets = [format!("{name}="), format!("{name}+=")];
        let is_set = self.text.matches(&format!("for {name} ")).count() > 1
            || sets.iter().any(|set| self.text.contains(set))
            || self.text.contains("printf") && self.text.contains("-v")
            || self.text.split(|c: char| !c.is_ascii_alphabetic()).any(|word| SETTERS.contains(&word));
        let spelt = values.as_ref().filter(|values| {
            let is_few = values.len() * body.named_child_count() <= MAX_READ_AGAIN;
            !is_set && is_few && !values.is_empty() && values.iter().all(Word::is_spelt)
        });
        let open = Word { known: Known::One, ..Word::spelt(format!("${name}")) };
        let value = match spelt.map(Vec::as_slice) {
            Some([value]) => value.clone(),
            _ => open,
        };
        let assignment = Assignment { name: name.to_owned(), value, is_exported: false };
        self.commands.push(Simple { assignments: vec![assignment], ..Simple::default() });
        self.begin_loop(body);
        let outer = self.bound.clone();
        self.bound.retain(|bound| bound.name != name);
        let read = match spelt {
            None => self.statements(body, depth + 1),
            Some(values) => values.iter().try_for_each(|value| {
                self.bound.push(Bound { name: name.to_owned(), value: value.clone() });
                let read = self.statements(body, depth + 1);
                self.bound.pop();
                read
            }),
        };
        self.bound = outer;
        read
    }

    /// `case x in a | b) …;; esac`: all its commands may run.
    pub(super) fn case(&mut self, node: Node<'_>, depth: usize) -> Result<(), String> {
        let mut at = node.start_byte();
        let mut before = "";
        for child in children(node) {
            let kind = child.kind();
            let ends_line = self.gap(at, child.start_byte())?;
            at = child.end_byte();
            match (before, kind) {
                ("", "case") | ("word", "in") if !ends_line => before = kind,
                ("case", _) if !ends_line => {
                    self.word(child)?;
                    before = "word";
                }
                ("in", "case_item") => self.case_item(child, depth + 1)?,
                ("in", "esac") => before = kind,
                _ => return Err(because(node.kind())),
            }
        }
        if before == "esac" && at == node.end_byte() { Ok(()) } else { Err(NOT_READ.to_owned()) }
    }

    fn case_item(&mut self, node: Node<'_>, depth: usize) -> Result<(), String> {
        let mut at = node.start_byte();
        let mut parts = children(node);
        let mut has_pattern = false;
        for child in parts.by_ref() {
            self.check_gap(at, child.start_byte())?;
            at = child.end_byte();
            match child.kind() {
                ")" if has_pattern => return self.statements_of(node, parts, at, depth),
                "(" if child.start_byte() == node.start_byte() => {}
                "|" if has_pattern => {}
                // Where a pattern of this name ends nothing is left to be compared.
                _ if self.source(child) == "esac" => break,
                _ => {
                    self.pattern(child)?;
                    has_pattern = true;
                }
            }
        }
        Err(because("case_statement"))
    }

    /// What a value is compared with: names no file, whatever it is.
    fn pattern(&mut self, node: Node<'_>) -> Result<(), String> {
        match node.kind() {
            "extglob_pattern" => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-*?".contains(c);
                self.source(node).chars().all(is_plain).then_some(()).ok_or_else(|| because(node.kind()))
            }
            _ => self.word(node).map(|_| ()),
        }
    }

    /// `[ -f x ]`, which to a shell is a program as any other, read as `test -f x`; and `[[ -f x ]]`, whose words are each
    /// one word to it.
    pub(super) fn bracket(&mut self, node: Node<'_>) -> Result<(), String> {
        let source = self.source(node);
        let double = source.strip_prefix("[[ ").and_then(|text| text.strip_suffix(" ]]"));
        let single = || source.strip_prefix("[ ").and_then(|text| text.strip_suffix(" ]"));
        let inner = double.or_else(single).filter(|inner| !inner.contains(['\n', '#', ';']));
        let inner = inner.ok_or_else(|| because(node.kind()))?;
        if double.is_none() {
            return self.tests(inner, false);
        }
        // A shell that does not know it takes what follows one of these for a command.
        let mut halves = inner.split(" && ").flat_map(|part| part.split(" || "));
        let first = halves.next().ok_or(NOT_READ)?;
        self.tests(first, true)?;
        halves.try_for_each(|part| match part.starts_with('-') {
            true => self.tests(part, true),
            false => Err(because(node.kind())),
        })
    }

    fn tests(&mut self, inner: &str, is_double: bool) -> Result<(), String> {
        let unread = || because("test_command");
        if inner.contains(['&', '|']) {
            return Err(unread());
        }
        let mut commands = read(&format!("test {inner}"), &self.bound)?.commands;
        let mut last = commands.pop().ok_or(NOT_READ)?;
        if !last.reads.is_empty() || !last.writes.is_empty() || !last.documents.is_empty() {
            return Err(unread());
        }
        if is_double {
            // In these bash runs what stands in the brackets of a name or of a number.
            let words = last.words.iter().skip(1);
            let is_known = |word: &Word| {
                !word.is_spelt() || !word.text.starts_with('-') || DOUBLE_TESTS.contains(&word.text.as_str())
            };
            if !words.clone().all(is_known) || words.count() > 4 {
                return Err(unread());
            }
            for word in &mut last.words {
                word.is_glob = false;
                word.known = word.known.min(Known::One);
            }
        }
        commands.push(last);
        commands.into_iter().try_for_each(|command| self.push(command))
    }
}
