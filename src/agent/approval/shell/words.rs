//! A word as a command gets it.

use tree_sitter::Node;

use super::{
    Known, MAX_DEPTH, NOT_READ, Reader, Source, Word, because, children, keeps,
    quotes::{End, is_unquoted_brace, quoted},
};

/// How the last command ended: a number, whichever.
const STATUS: &str = "$?";

/// Variables that hold one number.
const NUMBERS: &[&str] = &["$#", "$$", "$!"];

/// What may stand in braces behind the name of a variable: a mark, then characters that stand for themselves.
const CHANGES: &[&str] = &[":-", "%%", "##", "%", "#", "-"];

/// Whether a value stands between quotes, which keep it one word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    One,
    Split,
}

impl Reader<'_> {
    pub(super) fn word(&mut self, node: Node<'_>) -> Result<Word, String> {
        let mut word = Word::spelt("");
        if node.kind() == "word" && self.source(node) == "~" {
            word.leave_open(Known::Begin, Source::Home);
            word.text.push('~');
            return Ok(word);
        }
        // The shells take `{}` as it stands; any other pair of braces is expanded.
        if self.source(node).replace("{}", "").contains(['{', '}']) && is_unquoted_brace(node, self.text) {
            return Err("uses braces without quotes".to_owned());
        }
        self.piece(node, true, &mut word)?;
        // Of a pattern nobody knows which name it becomes, so that nothing can be added to it.
        let is_bound = |text: &str| self.bound.iter().any(|bound| bound.value.text == text);
        if word.is_glob && self.source(node).contains('$') && !is_bound(&word.text) {
            word.leave_open(Known::One, Source::Told);
        }
        Ok(word)
    }

    /// Adds what a part of a word says.
    fn piece(&mut self, node: Node<'_>, is_first: bool, word: &mut Word) -> Result<(), String> {
        self.check_gaps_of_text(node)?;
        match node.kind() {
            "word" | "number" if node.child_count() == 0 => self.unquoted(self.source(node), is_first, word),
            "raw_string" => {
                let inner = self.source(node).strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                word.text.push_str(inner.filter(|text| !text.contains('\'')).ok_or(NOT_READ)?);
                Ok(())
            }
            "string" => self.string(node, word),
            "simple_expansion" | "expansion" | "command_substitution" => self.value(node, Kept::Split, word),
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

    /// What stands between double quotes.
    fn string(&mut self, node: Node<'_>, word: &mut Word) -> Result<(), String> {
        let source = self.source(node);
        if source.len() < 2 || !source.starts_with('"') || !source.ends_with('"') {
            return Err(NOT_READ.to_owned());
        }
        let mut at = node.start_byte() + 1;
        for child in children(node).filter(|child| !matches!(child.kind(), "\"" | "string_content" | "$")) {
            // The grammar counts blanks that stand before a value with it.
            let value = self.source(child).trim_start();
            let start = child.end_byte() - value.len();
            // What it takes for a variable whose name follows later is text.
            if value.starts_with("$ ") {
                continue;
            }
            if !matches!(child.kind(), "simple_expansion" | "expansion" | "command_substitution") {
                return Err(because(child.kind()));
            }
            quoted(self.text.get(at..start).ok_or(NOT_READ)?, End::Value, word)?;
            self.value(child, Kept::One, word)?;
            at = child.end_byte();
        }
        quoted(self.text.get(at..node.end_byte() - 1).ok_or(NOT_READ)?, End::Quote, word)
    }

    /// Adds the value of a variable, or what another command prints.
    fn value(&mut self, node: Node<'_>, kept: Kept, word: &mut Word) -> Result<(), String> {
        let source = self.source(node).trim_start();
        let known = match (kept, word.text.is_empty()) {
            (Kept::One, false) => Known::Begin,
            (Kept::One, true) => Known::One,
            (Kept::Split, _) => Known::Nothing,
        };
        if node.kind() == "command_substitution" {
            if !source.starts_with("$(") && !is_plain_backtick(source, kept) {
                return Err(because(node.kind()));
            }
            self.substitutions += 1;
            if self.substitutions > MAX_DEPTH {
                return Err("runs commands within commands".to_owned());
            }
            self.statements(node, 1)?;
            self.substitutions -= 1;
            word.leave_open(known, Source::Told);
            word.text.push_str("$()");
            return Ok(());
        }
        let name = match source.strip_prefix("${").and_then(|inner| inner.strip_suffix('}')) {
            Some(inner) => braced(inner).ok_or_else(|| because(node.kind()))?,
            None => source.strip_prefix('$').ok_or(NOT_READ)?,
        };
        let is_home =
            name == "HOME" && word.text.is_empty() && word.is_spelt() && source.len() <= "${HOME}".len();
        let mut from = if is_home { Source::Home } else { Source::Hidden };
        if let Some(bound) = self.bound.iter().rev().find(|bound| bound.name == name) {
            from = Source::Told;
            let is_whole = source.len() <= name.len() + 3 && !source.contains([':', '%', '#', '-']);
            let is_plain = bound.value.text.chars().all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c));
            let fits = match bound.value.is_glob {
                true => kept == Kept::One && word.text.is_empty(),
                false => kept == Kept::One || is_plain && !bound.value.text.is_empty(),
            };
            if is_whole && fits && !word.is_glob {
                word.text.push_str(&bound.value.text);
                word.is_glob |= bound.value.is_glob;
                return Ok(());
            }
        }
        if source == STATUS {
            word.text.push('0');
            return Ok(());
        }
        // It begins with `/`, and leads where the command runs.
        let is_here = matches!(source, "$PWD" | "${PWD}") && kept == Kept::One;
        let after = self.text.get(node.end_byte()..).unwrap_or_default();
        let ends = |text: &str| text.chars().next().is_none_or(|c| " \t\n;&|)/".contains(c));
        let is_folder = after.starts_with('/') || after.strip_prefix('"').is_some_and(ends);
        if is_here
            && is_folder
            && keeps(self.text, "PWD")
            && (word.text.is_empty() || word.text.ends_with('='))
        {
            word.text.push('.');
            return Ok(());
        }
        // In quotes these become several words as well.
        let is_list = matches!(name, "@" | "*");
        let known = match known {
            _ if is_list => Known::Nothing,
            Known::Nothing if NUMBERS.contains(&source) => Known::One,
            known => known,
        };
        word.leave_open(known, from);
        word.text.push_str(source);
        Ok(())
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
                '~' if previous.is_none() && is_first && characters.as_str().starts_with('/') => {
                    word.leave_open(Known::Begin, Source::Home);
                    word.text.push(character);
                }
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

/// Whether what stands between backticks is read as between `$(` and `)`: a backslash, and quotes around them, would
/// change it.
fn is_plain_backtick(source: &str, kept: Kept) -> bool {
    let inner = source.strip_prefix('`').and_then(|inner| inner.strip_suffix('`'));
    inner.is_some_and(|inner| {
        !inner.contains(['`', '\\', '#', '\n']) && (kept == Kept::Split || !inner.contains(['"', '\'']))
    })
}

/// The name of the variable in braces; `None` where more happens than its value is taken and perhaps cut.
fn braced(inner: &str) -> Option<&str> {
    let length = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
    let (name, rest) = inner.split_at_checked(length)?;
    if name.is_empty() {
        return None;
    }
    let change = CHANGES.iter().find_map(|mark| rest.strip_prefix(mark));
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "_./*?-".contains(c));
    (rest.is_empty() || change.is_some_and(is_plain)).then_some(name)
}
