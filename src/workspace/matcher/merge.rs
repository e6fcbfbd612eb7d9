//! What differs between two texts, and two changes of one text made together.

use std::{hash::Hash, ops::Range, time::Duration};

use similar::{Algorithm, DiffOp};

use super::{
    fold::{Dash, fold_line, unescaped},
    lines::Sameness,
    rewrite::unescape,
};

/// The longest that a diff may look for the shortest way; then it answers with one that is right but longer.
const DIFF_TIMEOUT: Duration = Duration::from_millis(100);

/// Longer lines are changed as a whole: they are data, and a diff of them costs the square of their length.
const MAX_WORDS_MERGED: usize = 2_000;

/// Lines with less in common have nothing to do with each other.
pub(super) const MIN_LINE_LIKENESS: f64 = 0.5;

/// Old lines or words that go and new ones that take their place; one of both may be empty.
pub(super) struct Group {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

/// Moves lines that are only added, or only removed, as far up as the text stays the same: so they come before what the
/// file has there besides, a comment of the line below, say.
pub(super) fn slide_up<T: Eq>(groups: &mut [Group], old: &[T], new: &[T]) {
    let mut floor = 0;
    for group in groups {
        let length = |range: &Range<usize>| range.end - range.start;
        if length(&group.old) == 0 || length(&group.new) == 0 {
            while group.old.start > floor {
                let above = old.get(group.old.start - 1);
                let last = if length(&group.old) == 0 {
                    group.new.end.checked_sub(1).and_then(|line| new.get(line))
                } else {
                    group.old.end.checked_sub(1).and_then(|line| old.get(line))
                };
                if above != last || group.new.start == 0 {
                    break;
                }
                group.old = group.old.start - 1..group.old.end - 1;
                group.new = group.new.start - 1..group.new.end - 1;
            }
        }
        floor = group.old.end;
    }
}

/// The groups that make `old` to `new`.
pub(super) fn changes<T: Eq + Hash + Ord>(old: &[T], new: &[T]) -> Vec<Group> {
    let deadline = std::time::Instant::now() + DIFF_TIMEOUT;
    let ops = similar::capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(deadline));
    let mut groups: Vec<Group> = Vec::new();
    let mut is_apart = true;
    for op in ops {
        if matches!(op, DiffOp::Equal { .. }) {
            is_apart = true;
            continue;
        }
        match groups.last_mut().filter(|_| !is_apart) {
            Some(group) => {
                group.old.end = op.old_range().end;
                group.new.end = op.new_range().end;
            }
            None => groups.push(Group { old: op.old_range(), new: op.new_range() }),
        }
        is_apart = false;
    }
    groups
}

/// The same but for blanks around.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one.trim() == other.trim()
}

/// The same but for what may be typed otherwise.
pub(super) fn is_alike(one: &str, other: &str) -> bool {
    let fold = |line, dash| fold_line(str::trim(line), dash).into_owned();
    is_same(one, other)
        || [Dash::One, Dash::Two].iter().any(|&dash| fold(one, dash) == fold(other, dash))
        || Sameness::Unspaced.key(one) == Sameness::Unspaced.key(other)
        || unescape(other) == one
}

/// Words, runs of blanks, and other characters one by one.
fn words(line: &str) -> Vec<&str> {
    let kind = |character: char| match character {
        _ if character.is_alphanumeric() || character == '_' => 0,
        _ if character.is_whitespace() => 1,
        _ => 2,
    };
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = match kind(first) {
            // An escape is one sign, as what it stands for.
            2 if unescaped(rest).is_some() => 2,
            2 => first.len_utf8(),
            own => rest.find(|character| kind(character) != own).unwrap_or(rest.len()),
        };
        let (word, behind) = rest.split_at(end);
        words.push(word);
        rest = behind;
    }
    words
}

/// How much two lines have in common: 1 for the same, 0 for nothing. Blanks count for nothing.
pub(super) fn likeness(one: &str, other: &str) -> f64 {
    if one == other {
        return 1.0;
    }
    let (one, other) = (words(one), words(other));
    if one.len() > MAX_WORDS_MERGED || other.len() > MAX_WORDS_MERGED {
        return 0.0;
    }
    let weight = |words: &[&str]| words.iter().map(|word| word.trim().chars().count()).sum::<usize>();
    let all = weight(&one) + weight(&other);
    let changed: usize = changes(&one, &other)
        .iter()
        .map(|group| {
            weight(one.get(group.old.clone()).unwrap_or_default())
                + weight(other.get(group.new.clone()).unwrap_or_default())
        })
        .sum();
    if all == 0 { 0.0 } else { (all - changed) as f64 / all as f64 }
}

/// `own` with the changes that make `old` to `new`; `None` when both change the same.
pub(super) fn merge(old: &str, own: &str, new: &str) -> Option<String> {
    if is_same(old, own) || old == new {
        return Some(if old == new { own.to_owned() } else { new.to_owned() });
    }
    let whole = || is_alike(old, own).then(|| new.to_owned());
    let (old_words, own_words, new_words) = (words(old), words(own), words(new));
    let longest = old_words.len().max(own_words.len()).max(new_words.len());
    if longest > MAX_WORDS_MERGED || likeness(old, new) < MIN_LINE_LIKENESS {
        return whole();
    }
    let owns = changes(&old_words, &own_words);
    let news = joined(changes(&old_words, &new_words), &old_words);
    let mut out = String::new();
    let mut at = 0;
    let (mut owns, mut news) = (owns.iter().peekable(), news.iter().peekable());
    let text = |words: &[&str], range: &Range<usize>| words.get(range.clone()).unwrap_or_default().concat();
    loop {
        let (group, words) = match (owns.peek(), news.peek()) {
            (None, None) => break,
            (Some(own), Some(new))
                if own.old.start < new.old.end && new.old.start < own.old.end || own.old == new.old =>
            {
                // Both change the same words: what the model wants wins over what only looks different.
                let is_look = is_alike(&text(&old_words, &own.old), &text(&own_words, &own.new));
                if !is_look {
                    return None;
                }
                owns.next();
                continue;
            }
            (Some(own), Some(new)) if (own.old.start, own.old.end) < (new.old.start, new.old.end) => {
                (owns.next()?, &own_words)
            }
            (Some(_), None) => (owns.next()?, &own_words),
            (_, Some(_)) => (news.next()?, &new_words),
        };
        out.push_str(&text(&old_words, &(at..group.old.start)));
        out.push_str(&text(words, &group.new));
        at = group.old.end.max(at);
    }
    out.push_str(&text(&old_words, &(at..old_words.len())));
    Some(out)
}

/// Changes with nothing but signs between them are one: a quote or a bracket alone does not make two lines alike.
fn joined(groups: Vec<Group>, old: &[&str]) -> Vec<Group> {
    let mut out: Vec<Group> = Vec::new();
    for group in groups {
        let has_words = |range: Range<usize>| {
            old.get(range).unwrap_or_default().iter().any(|word| word.contains(char::is_alphanumeric))
        };
        match out.last_mut() {
            Some(last) if !has_words(last.old.end..group.old.start) => {
                last.old.end = group.old.end;
                last.new.end = group.new.end;
            }
            _ => out.push(group),
        }
    }
    out
}
