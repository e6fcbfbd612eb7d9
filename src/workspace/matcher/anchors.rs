//! Finds a block by its first and its last line, when what is between them is close enough to what was wanted, or was left
//! out with three dots.
//!
//! A wrong place is far worse than a refusal, so the bounds are tight, and the edit itself is only made where the lines that
//! it changes are those of the file: see [`super::carry`].

use std::{hash::Hash, ops::Range};

use super::{
    carry::{Edit, Place},
    fold::Dash,
    indentation::Indentation,
    lines::{Keyed, Lines, Sameness, is_comment, split_lead},
    merge::{Group, MIN_LINE_LIKENESS, changes, likeness},
    ranks::{place_of_lines, units},
};

/// With two lines there is nothing between the anchors that could speak for the place.
const MIN_LINES: usize = 3;

/// Longer blocks are compared too slowly, and no model remembers them nearly right.
const MAX_LINES: usize = 400;

/// An anchor holds at least so many letters and digits, or it says nothing.
const MIN_ANCHOR_LETTERS: usize = 3;

/// The share of lines of the block that have to be those of the file, and the other way round: of three lines the middle
/// one may differ in some words, of four one in all, but a block with the frame of another does not pass.
const MIN_BLOCK_LIKENESS: f64 = 0.7;

/// By how much the best block has to be better than the second best: less is chance.
const MIN_LEAD: f64 = 0.1;

/// Blocks with the same unique line that are compared; with more, the other anchor says nothing.
const MAX_BLOCKS: usize = 30;

/// Lines that are compared word by word in one search, of all its blocks: some milliseconds.
const MAX_COMPARISONS: usize = 2_000;

/// Lines that three dots can stand for: as long as a very long function.
const MAX_ELIDED: usize = 600;

/// The one block that is close enough, if there is one.
pub(super) fn place(file: &Lines<'_>, edit: &Edit<'_>) -> Option<Place> {
    let sameness = Sameness::Folded(Dash::One);
    let (own, wanted) = (Keyed::new(file, sameness), Keyed::new(&edit.find, sameness));
    if wanted.keys.iter().any(|line| is_elision(line)) {
        return elided(file, edit, &own, &wanted);
    }
    if !(MIN_LINES..=MAX_LINES).contains(&wanted.keys.len()) {
        return None;
    }
    let mut comparisons = MAX_COMPARISONS;
    let mut blocks: Vec<(f64, Range<usize>, Alignment)> = candidates(file, edit, &own, &wanted)
        .into_iter()
        .map(|block| {
            let lines = own.keys.get(block.clone()).unwrap_or_default();
            let alignment = Alignment::of(lines, &wanted.keys, &mut comparisons);
            (alignment.likeness(), block, alignment)
        })
        .collect();
    blocks.sort_by(|one, other| other.0.total_cmp(&one.0));
    let (likeness, block, alignment) = blocks.first()?;
    let second = blocks.get(1).map_or(0.0, |(likeness, _, _)| *likeness);
    if *likeness < MIN_BLOCK_LIKENESS || likeness - second < MIN_LEAD {
        return None;
    }
    let pairs = alignment.lines.iter().enumerate();
    let aligned: Vec<(usize, usize)> =
        pairs.filter_map(|(line, found)| Some((line, block.start + (*found)?))).collect();
    at(file, edit, &own, &wanted, &aligned)
}

/// The place of pairs of lines that belong together, as indexes into the lines that are not blank.
fn at(
    file: &Lines<'_>,
    edit: &Edit<'_>,
    own: &Keyed<'_>,
    wanted: &Keyed<'_>,
    aligned: &[(usize, usize)],
) -> Option<Place> {
    let mut lines = vec![None; edit.find.len()];
    let mut pairs = Vec::new();
    for &(written, found) in aligned {
        let (written, found) = (*wanted.numbers.get(written)?, *own.numbers.get(found)?);
        *lines.get_mut(written)? = Some(found);
        pairs.push((edit.find.content(written), file.content(found)));
    }
    // A blank line stands for the blank one behind the line before it, if there is one.
    for written in 1..lines.len() {
        let before = lines.get(written - 1).copied().flatten();
        let here = before
            .map(|line| line + 1)
            .filter(|&line| line < file.len() && file.content(line).trim().is_empty());
        if edit.find.content(written).trim().is_empty()
            && let Some(line) = lines.get_mut(written)
        {
            *line = here;
        }
    }
    let indentation = Indentation::mostly(&pairs, units(file, edit));
    place_of_lines(file, &edit.find, &lines, indentation)
}

/// Blocks of the file that begin and end with the lines that the wanted one begins and ends with, one of which stands
/// only once. Indexes into the lines that are not blank.
fn candidates(file: &Lines<'_>, edit: &Edit<'_>, own: &Keyed<'_>, wanted: &Keyed<'_>) -> Vec<Range<usize>> {
    let count = wanted.keys.len();
    let (Some(first), Some(last)) = (wanted.keys.first(), wanted.keys.last()) else { return Vec::new() };
    let standing = |key: &str| -> Vec<usize> {
        own.keys
            .iter()
            .enumerate()
            .filter(|(_, own)| *own == key)
            .map(|(index, _)| index)
            .take(MAX_BLOCKS + 1)
            .collect()
    };
    let (firsts, lasts) = (standing(first), standing(last));
    let is_anchored = firsts.len() == 1 && is_telling(first) || lasts.len() == 1 && is_telling(last);
    if !is_anchored {
        return Vec::new();
    }
    let lengths = count.div_ceil(2)..=count + count / 2 + 3;
    let depth = |lines: &Lines<'_>, keyed: &Keyed<'_>, index: usize| {
        keyed.numbers.get(index).map(|&line| split_lead(lines.content(line)).0.chars().count())
    };
    let wanted_depths = depth(&edit.find, wanted, 0).cmp(&depth(&edit.find, wanted, count - 1));
    // Where a last line stands very often, those near the first one count; they are looked for from there.
    let near = |first: usize| {
        own.keys.iter().enumerate().skip(first + 1).take(*lengths.end()).filter(|(_, key)| *key == last)
    };
    let mut blocks: Vec<Range<usize>> = Vec::new();
    for &start in &firsts {
        blocks.extend(near(start).map(|(end, _)| start..end + 1));
    }
    blocks.retain(|block| {
        let depths = depth(file, own, block.start).cmp(&depth(file, own, block.end - 1));
        lengths.contains(&block.len()) && depths == wanted_depths
    });
    blocks.truncate(MAX_BLOCKS);
    blocks
}

/// Which line of a block each wanted line is.
struct Alignment {
    /// For each wanted line.
    lines: Vec<Option<usize>>,
    is_taken: Vec<bool>,
    /// How alike the pairs are, in all.
    credit: f64,
}

impl Alignment {
    /// Equal lines in order, then those that were moved, then those that are nearly the same, between the equal ones.
    /// `comparisons` bounds the work.
    fn of<K: AsRef<str> + Eq + Hash + Ord>(block: &[K], wanted: &[K], comparisons: &mut usize) -> Self {
        let mut own =
            Self { lines: vec![None; wanted.len()], is_taken: vec![false; block.len()], credit: 0.0 };
        let groups = changes(wanted, block);
        let (mut line, mut found) = (0, 0);
        for group in &groups {
            while line < group.old.start {
                own.pair(line, found, 1.0);
                (line, found) = (line + 1, found + 1);
            }
            (line, found) = (group.old.end, group.new.end);
        }
        for line in line..wanted.len() {
            own.pair(line, found + line - groups.last().map_or(0, |group| group.old.end), 1.0);
        }
        for (line, text) in wanted.iter().enumerate() {
            let is_free = |index: usize| own.is_taken.get(index) == Some(&false);
            let mut elsewhere =
                block.iter().enumerate().filter(|(index, own)| *own == text && is_free(*index));
            let only = elsewhere.next().filter(|_| elsewhere.next().is_none());
            if let (Some(None), Some((found, _))) = (own.lines.get(line), only) {
                own.pair(line, found, 1.0);
            }
        }
        for group in groups {
            own.pair_alike(block, wanted, &group, comparisons);
        }
        own
    }

    fn pair(&mut self, line: usize, found: usize, likeness: f64) {
        if let (Some(own), Some(taken)) = (self.lines.get_mut(line), self.is_taken.get_mut(found)) {
            *own = Some(found);
            *taken = true;
            self.credit += likeness;
        }
    }

    fn pair_alike<K: AsRef<str>>(
        &mut self,
        block: &[K],
        wanted: &[K],
        group: &Group,
        comparisons: &mut usize,
    ) {
        let mut next = group.new.start;
        for line in group.old.clone().filter(|&line| wanted.len() > line) {
            if self.lines.get(line) != Some(&None) {
                continue;
            }
            let mut best: Option<(usize, f64)> = None;
            for found in (next..group.new.end).filter(|&found| self.is_taken.get(found) == Some(&false)) {
                let (Some(one), Some(other)) = (wanted.get(line), block.get(found)) else { continue };
                *comparisons = comparisons.saturating_sub(1);
                let alike = if *comparisons == 0 { 0.0 } else { likely(one.as_ref(), other.as_ref()) };
                if alike >= MIN_LINE_LIKENESS && best.is_none_or(|(_, best)| alike > best) {
                    best = Some((found, alike));
                }
            }
            if let Some((found, alike)) = best {
                self.pair(line, found, alike);
                next = found + 1;
            }
        }
    }

    /// From 0 to 1: the share of lines, wanted and found, that are those of the other side.
    fn likeness(&self) -> f64 {
        2.0 * self.credit / (self.lines.len() + self.is_taken.len()) as f64
    }
}

fn is_telling(line: &str) -> bool {
    line.chars().filter(|character| character.is_alphanumeric()).count() >= MIN_ANCHOR_LETTERS
}

/// How alike a wanted line and one of the file are, where a comment behind the line may have been forgotten.
fn likely(wanted: &str, own: &str) -> f64 {
    let (shorter, longer) = (wanted.len().min(own.len()), wanted.len().max(own.len()));
    let rest = own.strip_prefix(wanted).filter(|_| !wanted.is_empty());
    if rest.is_some_and(is_comment) {
        return 1.0;
    }
    // With so different lengths there cannot be half in common.
    if shorter * 4 < longer { 0.0 } else { likeness(wanted, own) }
}

/// A line that stands for lines which are left out: three dots, with or without a comment around; not a spread (`...all`).
pub(super) fn is_elision(line: &str) -> bool {
    let line = line.trim();
    let bare = line.trim_start_matches(|character: char| "/#*-;<!{%( ".contains(character));
    let Some(rest) = bare.strip_prefix("...").or_else(|| bare.strip_prefix('…')) else { return false };
    bare.len() < line.len()
        || !rest.starts_with(|character: char| character.is_alphanumeric() || "_$([{".contains(character))
}

/// A block whose middle was left out: what is written of it stands in order inside one block of the file.
fn elided(file: &Lines<'_>, edit: &Edit<'_>, own: &Keyed<'_>, wanted: &Keyed<'_>) -> Option<Place> {
    if edit.new_lines().any(is_elision) {
        return None;
    }
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for index in 0..=wanted.keys.len() {
        if wanted.keys.get(index).is_none_or(|line| is_elision(line)) {
            if start < index {
                parts.push(start..index);
            }
            start = index + 1;
        }
    }
    let [first, rest @ ..] = parts.as_slice() else { return None };
    let letters = |part: &Range<usize>| {
        let lines = wanted.keys.get(part.clone()).unwrap_or_default();
        lines.iter().flat_map(|line| line.chars()).filter(|character| character.is_alphanumeric()).count()
    };
    if rest.is_empty() || letters(first) < MIN_ANCHOR_LETTERS {
        return None;
    }
    let standing = |part: &Range<usize>, from: usize, count: usize| -> Vec<usize> {
        let lines = wanted.keys.get(part.clone()).unwrap_or_default();
        let windows = own.keys.windows(lines.len()).enumerate().skip(from).take(count);
        windows.filter(|(_, window)| *window == lines).map(|(index, _)| index).collect()
    };
    let starts = standing(first, 0, usize::MAX);
    let [start] = starts.as_slice() else { return None };
    let depth =
        |index: usize| own.numbers.get(index).map(|&line| split_lead(file.content(line)).0.chars().count());
    let wanted_depth = |index: usize| {
        wanted.numbers.get(index).map(|&line| split_lead(edit.find.content(line)).0.chars().count())
    };
    let mut aligned: Vec<(usize, usize)> = first.clone().zip(*start..).collect();
    let mut next = start + first.len();
    for part in rest {
        let fits = |found: &usize| {
            // Deeper than the block's first line, or as deep, as it was written.
            let written = wanted_depth(part.start).cmp(&wanted_depth(first.start));
            depth(*found).cmp(&depth(*start)) == written
        };
        let found = standing(part, next, MAX_ELIDED).into_iter().find(fits)?;
        let telling =
            wanted.keys.get(part.clone()).unwrap_or_default().iter().filter(|line| is_telling(line));
        let mut telling = telling.map(|line| own.keys.iter().filter(|own| *own == line).count());
        let is_unique = telling.any(|count| count == 1);
        let leaves_block = (next..found).any(|index| {
            let has_words = own.keys.get(index).is_some_and(|line| line.contains(char::is_alphanumeric));
            has_words && depth(index) <= depth(*start)
        });
        let others = standing(part, next, MAX_ELIDED).len() > 1;
        if !is_unique && (leaves_block || others && letters(part) >= MIN_ANCHOR_LETTERS) {
            return None;
        }
        aligned.extend(part.clone().zip(found..));
        next = found + part.len();
    }
    at(file, edit, own, wanted, &aligned)
}
