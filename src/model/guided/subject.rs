//! What a question is about: its telling words, by which names are ranked and long outputs are shortened.

use regex::{Regex, RegexBuilder};

use crate::model::offline::{terms, words::Token};

/// The telling words of a question, the most telling first.
#[derive(Debug, Default)]
pub(super) struct Subject {
    pub(super) words: Vec<Word>,
}

/// One telling word in each of its spellings.
#[derive(Debug)]
pub(super) struct Word {
    /// As the user wrote it.
    pub(super) shown: String,
    /// A regular expression for a search without regard to case.
    pub(super) pattern: String,
    weight: u32,
    regex: Regex,
}

impl Subject {
    pub(super) fn of(question: &[Token]) -> Self {
        let words = terms::terms(question).into_iter().filter_map(|term| {
            let regex = RegexBuilder::new(&term.pattern).case_insensitive(true).build().ok()?;
            Some(Word { shown: term.shown, pattern: term.pattern, weight: term.weight, regex })
        });
        Self { words: words.collect() }
    }

    /// How much of the subject stands in a name.
    pub(super) fn weight_in(&self, text: &str) -> u32 {
        self.words.iter().filter(|word| word.regex.is_match(text)).map(|word| word.weight).sum()
    }

    /// For each line how much of the subject stands in it. A word that is on many lines tells little on each.
    pub(super) fn weigh(&self, lines: &[&str]) -> Vec<u32> {
        /// What a word is worth that stands on one line only.
        const UNIQUE: u32 = 1_000;
        let mut weights = vec![0; lines.len()];
        for word in &self.words {
            let held: Vec<usize> = lines
                .iter()
                .enumerate()
                .filter(|(_, line)| word.regex.is_match(line))
                .map(|(at, _)| at)
                .collect();
            let count = u32::try_from(held.len()).unwrap_or(u32::MAX).max(1);
            for at in held {
                if let Some(weight) = weights.get_mut(at) {
                    *weight += word.weight * UNIQUE / count;
                }
            }
        }
        weights
    }
}
