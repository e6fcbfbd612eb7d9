//! Which lines of a file a replacement changes, and the pieces by which the edit tool finds them.

use std::collections::BTreeMap;

use super::{
    outputs::Window,
    wish::{Places, Replacement},
};

/// Places that are shown of a text that stands in several files.
pub(super) const MAX_SHOWN: usize = 20;

/// Places that are changed one by one in one file, where a single call cannot. More become one piece from the first to
/// the last, so that a refusal is not told once for each.
const MAX_PLACES: usize = 4;

/// The lines that change, by their place in the window, with their new text.
pub(super) fn changed_lines(window: &Window, wish: &Replacement) -> BTreeMap<usize, String> {
    let mut changed = BTreeMap::new();
    let context = wish.on_lines_with.as_deref().map(str::to_lowercase);
    for (at, line) in window.lines.iter().enumerate() {
        let is_meant = match wish.places {
            Places::All => true,
            Places::First => changed.is_empty(),
            Places::Line(number) => window.first + at == number,
        };
        let has_context = context.as_deref().is_none_or(|context| line.to_lowercase().contains(context));
        if !is_meant || !has_context {
            continue;
        }
        let new = replaced(line, &wish.find, &wish.with, wish.whole_words, wish.places == Places::First);
        if let Some(new) = new {
            changed.insert(at, new);
        }
    }
    changed
}

fn replaced(line: &str, find: &str, with: &str, whole_words: bool, first_only: bool) -> Option<String> {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut new = String::new();
    let mut from = 0;
    let mut count = 0;
    for (at, found) in line.match_indices(find) {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + found.len()..).and_then(|text| text.chars().next());
        let inside = is_part(before) && is_part(find.chars().next())
            || is_part(after) && is_part(find.chars().next_back());
        if (whole_words && inside) || (first_only && count > 0) {
            continue;
        }
        new.push_str(line.get(from..at)?);
        new.push_str(with);
        from = at + found.len();
        count += 1;
    }
    new.push_str(line.get(from..)?);
    (count > 0).then_some(new)
}

/// Changed lines with as many lines around them as make each piece stand once in the file.
pub(super) fn hunks(lines: &[String], changed: &BTreeMap<usize, String>) -> Vec<(String, String)> {
    let text = lines.join("\n");
    let joined = |first: usize, last: usize| lines.get(first..=last).unwrap_or_default().join("\n");
    let mut blocks: Vec<(usize, usize)> = Vec::new();
    for at in changed.keys() {
        let (mut first, mut last) = (*at, *at);
        // More context than this does not make a repeated piece unique; the tool's refusal then says so.
        for step in 0..12 {
            let piece = joined(first, last);
            if !piece.trim().is_empty() && text.matches(&piece).count() == 1 {
                break;
            }
            if step % 2 == 0 && last + 1 < lines.len() {
                last += 1;
            } else {
                first = first.saturating_sub(1);
            }
        }
        match blocks.last_mut() {
            Some(block) if first <= block.1 => *block = (block.0.min(first), block.1.max(last)),
            _ => blocks.push((first, last)),
        }
    }
    if blocks.len() > MAX_PLACES
        && let (Some((first, _)), Some((_, last))) = (blocks.first().copied(), blocks.last().copied())
    {
        blocks = vec![(first, last)];
    }
    blocks
        .into_iter()
        .map(|(first, last)| {
            let new: Vec<_> = (first..=last)
                .filter_map(|at| changed.get(&at).or(lines.get(at)).map(String::as_str))
                .collect();
            (joined(first, last), new.join("\n"))
        })
        .collect()
}
