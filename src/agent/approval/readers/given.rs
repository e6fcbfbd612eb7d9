//! The words of a program that reads, told apart as options with their values and the others.

use super::{
    Reading, ends,
    table::{Operands, Reader},
};
use crate::workspace::place::Below;

/// What a program is given.
#[derive(Default)]
pub(super) struct Given<'w> {
    /// Without the marks before them, a letter or a long name each, with their values.
    pub(super) options: Vec<(&'w str, Option<&'w str>)>,
    pub(super) operands: Vec<&'w str>,
}

impl Reader {
    /// What the words are; `None` where one of them is not known.
    pub(super) fn given<'w>(&self, words: &[&'w str]) -> Option<Given<'w>> {
        let mut given = Given::default();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            if self.name == "echo" || word == "-" {
                given.operands.push(word);
            } else if word == "--" {
                given.operands.extend(words.by_ref());
            } else if let Some(long) = word.strip_prefix("--") {
                given.options.push(self.long(long, || words.next())?);
            } else if let Some(letters) = word.strip_prefix('-') {
                if self.has_numbers && letters.chars().all(|c| c.is_ascii_digit()) {
                    continue;
                }
                self.letters(letters, || words.next(), &mut given)?;
            } else {
                given.operands.push(word);
            }
        }
        Some(given)
    }

    fn letters<'w>(
        &self,
        letters: &'w str,
        mut next: impl FnMut() -> Option<&'w str>,
        given: &mut Given<'w>,
    ) -> Option<()> {
        for (at, letter) in letters.char_indices() {
            let (_, rest) = letters.split_at_checked(at)?;
            let (letter_text, joined) = rest.split_at_checked(letter.len_utf8())?;
            if self.flags.contains(letter) {
                given.options.push((letter_text, None));
                continue;
            }
            self.valued.contains(letter).then_some(())?;
            let value = if joined.is_empty() { next()? } else { joined };
            given.options.push((letter_text, Some(value)));
            break;
        }
        Some(())
    }

    fn long<'w>(
        &self,
        option: &'w str,
        next: impl FnOnce() -> Option<&'w str>,
    ) -> Option<(&'w str, Option<&'w str>)> {
        let is_named =
            |name: &str, mark: &str| self.long.iter().any(|long| long.strip_suffix(mark) == Some(name));
        match option.split_once('=') {
            Some((name, value)) => {
                (is_named(name, "=") || is_named(name, "[=")).then_some((name, Some(value)))
            }
            None if self.long.contains(&option) || is_named(option, "[=") => Some((option, None)),
            None if is_named(option, "=") => Some((option, Some(next()?))),
            None => None,
        }
    }

    pub(super) fn reading(&self, words: &[&str]) -> Option<Reading> {
        let mut reading = Reading::default();
        let Given { options, mut operands } = self.given(words)?;
        let has = |names: &[&str]| options.iter().any(|(option, _)| names.contains(option));
        // Where it has this one it shows nothing below without it.
        if !self.flags.contains('r') || has(&["r"]) {
            reading.below = self.below;
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
            Operands::PatternAndPaths if !has(&["e", "regexp"]) => {
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
        // What none of them is about is left out only where the first of them names what is meant.
        let limits =
            || options.iter().filter(|(option, _)| matches!(*option, "exclude" | "exclude-from" | "include"));
        if limits().next().is_some_and(|(option, _)| *option == "include") {
            let included =
                limits().filter(|(option, _)| *option == "include").filter_map(|(_, value)| *value);
            reading.only = ends(&included.map(str::to_owned).collect::<Vec<_>>());
        }
        reading.paths = operands.into_iter().filter(|word| *word != "-").map(str::to_owned).collect();
        Some(reading)
    }
}
