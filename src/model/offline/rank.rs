//! Which passages bear most on a question: by how many of its terms stand together, how rare they are, and how the
//! file is named. Nothing here knows any question.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};

use super::{
    outline_line::{is_definition, is_function_named},
    outputs::{Listing, Matches},
    section::distinct,
    terms::{Term, name_parts, stem},
};

/// Passages of one answer: what a person reads before asking more exactly.
const MAX_PASSAGES: usize = 4;

/// Passages of one file, so that a long one does not push all others out.
const MAX_PER_FILE: usize = 2;

/// Lines that belong together: terms further apart say nothing about each other.
const SPAN: usize = 14;

/// Files that are searched once more, each for all terms.
const MAX_LIKELY: usize = 6;

/// What holds less than this share of the best passage says little beside it.
const MIN_SHARE: f64 = 0.25;

/// How much more a function says that is named as a term than other lines with it: enough to stand before an interface or
/// a type of that name in a file of that name. Of several terms each has its part, since the question is about all.
const NAMED: f64 = 2.5;

/// Found lines, by file and number; each once, whichever search found it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lines(BTreeMap<String, BTreeMap<usize, String>>);

impl Lines {
    pub(super) fn add(&mut self, matches: &Matches) {
        for found in &matches.matches {
            self.0.entry(found.path.clone()).or_default().insert(found.line, found.text.clone());
        }
    }

    pub(super) fn count(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    pub(super) fn files(&self) -> usize {
        self.0.len()
    }

    pub(super) fn hold(&self, term: Option<&Term>) -> bool {
        let regex = term.and_then(regex_of);
        regex.is_some_and(|regex| self.0.values().flat_map(BTreeMap::values).any(|text| regex.is_match(text)))
    }

    /// Files that hold rare terms or are named like one, the likeliest first.
    pub(super) fn likely_files(&self, terms: &[Term], rarity: &[f64], tree: &Listing) -> Vec<String> {
        let regexes: Vec<_> = terms.iter().map(regex_of).collect();
        let held = |path: &str| -> f64 {
            let Some(lines) = self.0.get(path) else { return 0.0 };
            let holds = |regex: &Option<Regex>| {
                regex.as_ref().is_some_and(|regex| lines.values().any(|text| regex.is_match(text)))
            };
            regexes.iter().zip(rarity).filter(|(regex, _)| holds(regex)).map(|(_, rarity)| rarity).sum()
        };
        let mut scored: Vec<(f64, String)> = distinct(self.0.keys().map(String::as_str).chain(tree.files()))
            .into_iter()
            .map(|path| ((held(&path) + path_bonus(&path, terms, rarity)) * kind_factor(&path), path))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        scored.into_iter().take(MAX_LIKELY).map(|(_, path)| path).collect()
    }
}

fn regex_of(term: &Term) -> Option<Regex> {
    RegexBuilder::new(&term.pattern).case_insensitive(true).build().ok()
}

/// How much each term says: by the share of files without it, and its weight.
pub(super) fn rarity(terms: &[Term], tree: &Listing, found: &[Matches]) -> Vec<f64> {
    let all_files = tree.files().count().max(1);
    terms
        .iter()
        .zip(found)
        .map(|(term, matches)| {
            let files = distinct(matches.matches.iter().map(|found| found.path.as_str())).len();
            // A search that was cut has seen the first files only: its term is in about half of all, or more.
            let files = if matches.truncated { files.max(all_files / 2) } else { files };
            let share = (1.0 + all_files.max(files) as f64) / (1.0 + files as f64);
            f64::from(term.weight) * (0.5 + share.ln())
        })
        .collect()
}

/// Lines close to each other that hold terms.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Passage {
    pub(super) path: String,
    pub(super) first: usize,
    pub(super) last: usize,
    /// The line that holds most.
    pub(super) best_line: usize,
    /// The terms that it holds by their places in the question, and how clearly: 1 as a word or its beginning.
    pub(super) terms: BTreeMap<usize, f64>,
    pub(super) lines: Vec<(usize, String)>,
    pub(super) score: f64,
}

/// The best passages, best first. Terms that stand together count more than the same apart; so do definitions, and
/// files that are named like a term.
pub(super) fn passages(terms: &[Term], rarity: &[f64], lines: &Lines) -> Vec<Passage> {
    let looked_for: Vec<_> =
        terms.iter().zip(rarity).map(|(term, rarity)| (term, regex_of(term), *rarity)).collect();
    let mut passages = Vec::new();
    for (path, lines) in &lines.0 {
        let named = path_bonus(path, terms, rarity);
        let mut of_file = passages_of(path, lines, &looked_for, named);
        of_file.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.first.cmp(&b.first)));
        of_file.truncate(MAX_PER_FILE);
        passages.extend(of_file);
    }
    passages.sort_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| (&a.path, a.first).cmp(&(&b.path, b.first)))
    });
    let best = passages.first().map_or(0.0, |passage| passage.score);
    passages.retain(|passage| passage.score >= best * MIN_SHARE);
    passages.truncate(MAX_PASSAGES);
    passages
}

/// How clearly a line holds a term: 1 where the term begins a word, less where it only stands inside one (`port` in
/// `export`); `None` when it does not hold it.
fn clarity(regex: Option<&Regex>, text: &str) -> Option<f64> {
    let mut found = regex?.find_iter(text).peekable();
    found.peek()?;
    let begins_word = |found: regex::Match<'_>| {
        let before = text.get(..found.start()).and_then(|text| text.chars().next_back());
        let is_capital = found.as_str().chars().next().is_some_and(char::is_uppercase);
        before.is_none_or(|before| !before.is_alphabetic() || (is_capital && before.is_lowercase()))
    };
    Some(if found.any(begins_word) { 1.0 } else { 0.3 })
}

fn passages_of(
    path: &str,
    lines: &BTreeMap<usize, String>,
    looked_for: &[(&Term, Option<Regex>, f64)],
    named: f64,
) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut line_scores: Vec<f64> = Vec::new();
    for (number, text) in lines {
        let mut hits = Vec::new();
        let mut score = 0.0;
        for (at, (term, regex, rarity)) in looked_for.iter().enumerate() {
            let Some(clarity) = clarity(regex.as_ref(), text) else { continue };
            hits.push((at, clarity));
            let definition = if is_definition(path, text) { 1.5 } else { 1.0 };
            let is_named = is_function_named(path, text, &term.shown);
            let named = if is_named { NAMED / looked_for.len() as f64 } else { 0.0 };
            score += (definition * clarity + named) * rarity;
        }
        let is_close = passages.last().is_some_and(|passage| number - passage.first <= SPAN);
        if !is_close {
            passages.push(Passage {
                path: path.to_owned(),
                first: *number,
                last: *number,
                best_line: *number,
                terms: BTreeMap::new(),
                lines: Vec::new(),
                score: 0.0,
            });
            line_scores.push(0.0);
        }
        if let (Some(passage), Some(best)) = (passages.last_mut(), line_scores.last_mut()) {
            passage.last = *number;
            passage.lines.push((*number, text.clone()));
            for (term, clarity) in hits {
                let clearest = passage.terms.entry(term).or_insert(clarity);
                *clearest = clearest.max(clarity);
            }
            if score > *best {
                *best = score;
                passage.best_line = *number;
            }
        }
    }
    for (passage, best_line) in passages.iter_mut().zip(line_scores) {
        let rarity = |term: usize| looked_for.get(term).map_or(0.0, |(_, _, rarity)| *rarity);
        let held: f64 = passage.terms.iter().map(|(term, clarity)| clarity * rarity(*term)).sum();
        let share = passage.terms.values().sum::<f64>() / looked_for.len().max(1) as f64;
        // Coverage first; then how much one line says, how often, and the file's name.
        let often = (passage.lines.len() as f64).ln_1p();
        passage.score = (held * (0.5 + share) + 0.5 * best_line + 0.3 * often + named) * kind_factor(path);
    }
    passages
}

/// A file that is named like a term is probably about it.
fn path_bonus(path: &str, terms: &[Term], rarity: &[f64]) -> f64 {
    let parts = name_parts(path);
    terms
        .iter()
        .zip(rarity)
        .filter(|(term, _)| {
            let wanted = name_parts(&term.shown);
            let first = wanted.first().map(|word| stem(word)).unwrap_or_default();
            !first.is_empty() && parts.iter().any(|part| part.starts_with(&first))
        })
        .map(|(_, rarity)| 0.7 * rarity)
        .sum()
}

/// Lock files and logs repeat every word; tests come after what they test.
fn kind_factor(path: &str) -> f64 {
    let lower = path.to_lowercase();
    if lower.ends_with(".lock")
        || lower.ends_with(".log")
        || lower.ends_with("-lock.json")
        || lower.ends_with(".svg")
        || lower.ends_with(".min.js")
    {
        0.3
    } else if lower.contains("test") || lower.contains("changelog") {
        0.8
    } else {
        1.0
    }
}
