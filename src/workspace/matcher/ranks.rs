//! The ranks of likeness, from the closest on: each is tried only when the one before found nothing, and the first that
//! finds a place is the last.

use std::ops::Range;

use super::{
    Likeness,
    carry::{Edit, Piece, Place},
    fold::{Dash, Fold, Folded},
    indentation::{Indentation, usual_step},
    lines::{Keyed, Lines, Sameness, split_lead},
};

/// Lines that were found by less than all their characters hold at least so many letters and digits: a bracket with
/// another indentation is another bracket.
const MIN_LETTERS: usize = 3;

/// What was found on one rank: at least one place, in order, not overlapping.
pub(super) type Found = (Likeness, Vec<Place>);

/// Pieces of a line count, as they stand or but for blanks before line ends.
pub(super) fn as_written(file: &Lines<'_>, find: &str) -> Option<Found> {
    let places = folded_places(file, find, Fold::LineEnds);
    if !places.is_empty() {
        let is_exact = places.iter().all(|place| file.text.get(place.range.clone()) == Some(find));
        return Some((if is_exact { Likeness::Exact } else { Likeness::LineEnds }, places));
    }
    let places = folded_places(file, find, Fold::TrailingSpaces);
    (!places.is_empty()).then_some((Likeness::TrailingSpaces, places))
}

/// What may differ of whole lines, from the closest rank on.
const LINE_RANKS: &[(Likeness, Sameness, Between)] = &[
    (Likeness::Indentation, Sameness::Trimmed, Between::Same),
    (Likeness::Typography, Sameness::Folded(Dash::One), Between::Same),
    (Likeness::Typography, Sameness::Folded(Dash::Two), Between::Same),
    (Likeness::Typography, Sameness::Unspaced, Between::Same),
    (Likeness::BlankLines, Sameness::Trimmed, Between::BlankLines),
    (Likeness::BlankLines, Sameness::Folded(Dash::One), Between::BlankLines),
    (Likeness::BlankLines, Sameness::Folded(Dash::One), Between::Comments),
];

/// As it may be typed otherwise, pieces of a line or whole lines.
pub(super) fn as_typed(file: &Lines<'_>, edit: &Edit<'_>) -> Option<Found> {
    let find = edit.find.text;
    let pieces = |dash| some(Likeness::Typography, folded_places(file, find, Fold::Typography(dash)));
    let (indented, others) = LINE_RANKS.split_at(1);
    as_ranked(file, edit, indented)
        .or_else(|| pieces(Dash::One).filter(|_| is_telling(find)))
        .or_else(|| pieces(Dash::Two).filter(|_| is_telling(find)))
        .or_else(|| as_ranked(file, edit, others))
}

/// A single line that was found as it is written, but from behind its indentation or a part of it, by a model that writes
/// the new lines as if it had none: they are as deep as the line is.
pub(super) fn as_indented(file: &Lines<'_>, edit: &Edit<'_>, (_, places): &Found) -> Option<Found> {
    let blanks_before = |place: &Place| -> usize {
        let head = file.text.get(..place.range.start).unwrap_or_default();
        let body =
            head.trim_end_matches(|blank: char| blank.is_whitespace() && !matches!(blank, '\r' | '\n'));
        let is_lead = body.is_empty() || body.ends_with(['\r', '\n']);
        if is_lead { head.len() - body.len() } else { 0 }
    };
    let depth = places.iter().map(blanks_before).min().filter(|&depth| depth > 0)?;
    if edit.replace.len() == 0 && edit.find.text.ends_with('\n') {
        // Lines that go take the blanks before them along, or the next line would get them.
        let mut places = places.clone();
        for place in &mut places {
            let blanks = blanks_before(place);
            place.range.start -= blanks;
            if let Some(Some(first)) = place.pieces.first_mut() {
                first.content.start -= blanks;
            }
        }
        return Some((Likeness::Indentation, places));
    }
    if edit.find.len() != 1 || edit.replace.len() < 2 {
        return None;
    }
    // Without a blank before it the line may just as well be quoted as a piece, and the lines below it whole.
    let is_part = edit.find.text.starts_with([' ', '\t']);
    let is_shallow = |line: &str| line.trim().is_empty() || split_lead(line).0.len() < depth;
    let is_relative = edit.replace.contents().skip(1).all(is_shallow) && !leaves_block(edit.replace.text);
    if !is_part && !is_relative {
        return None;
    }
    let (indented, _) = LINE_RANKS.split_at(1);
    as_ranked(file, edit, indented).filter(|(_, lines)| lines.len() == places.len())
}

/// Whether a text closes brackets that it did not open: its lines leave the block in which it stands.
fn leaves_block(text: &str) -> bool {
    let mut open = 0usize;
    for character in text.chars() {
        match character {
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => match open.checked_sub(1) {
                Some(fewer) => open = fewer,
                None => return true,
            },
            _ => {}
        }
    }
    false
}

/// Where the file has escapes for what was written out: a line end inside a string, say.
pub(super) fn as_escaped(file: &Lines<'_>, edit: &Edit<'_>) -> Option<Found> {
    if !is_telling(edit.find.text) || !file.text.contains('\\') {
        return None;
    }
    let places = folded_places(file, edit.find.text, Fold::Escapes);
    (!places.is_empty()).then_some((Likeness::Wrapping, places))
}

/// Whole lines, for callers that never mean pieces of them.
pub(super) fn as_lines(file: &Lines<'_>, edit: &Edit<'_>) -> Option<Found> {
    let of_lines = |likeness, sameness| some(likeness, line_places(file, edit, sameness, Between::Same));
    of_lines(Likeness::Exact, Sameness::Whole)
        .or_else(|| of_lines(Likeness::TrailingSpaces, Sameness::TrimmedEnd))
        .or_else(|| as_ranked(file, edit, LINE_RANKS))
}

fn as_ranked(file: &Lines<'_>, edit: &Edit<'_>, ranks: &[(Likeness, Sameness, Between)]) -> Option<Found> {
    if !is_telling(edit.find.text) {
        return None;
    }
    ranks
        .iter()
        .find_map(|&(likeness, sameness, between)| some(likeness, line_places(file, edit, sameness, between)))
}

fn some(likeness: Likeness, places: Vec<Place>) -> Option<Found> {
    (!places.is_empty()).then_some((likeness, places))
}

fn is_telling(text: &str) -> bool {
    text.chars().filter(|character| character.is_alphanumeric()).take(MIN_LETTERS).count() == MIN_LETTERS
}

fn folded_places(file: &Lines<'_>, find: &str, fold: Fold) -> Vec<Place> {
    let folded = Folded::new(file.text, fold);
    // What a model wrote out is not to be read as an escape again.
    let needle = Folded::new(find, if fold == Fold::Escapes { Fold::LineEnds } else { fold }).text;
    let mut places = folded.places(&needle);
    if needle.len() < find.len() && find.ends_with(char::is_whitespace) && !find.ends_with(['\n', '\r']) {
        // Blanks at the very end of what is looked for stand for a line's end, not for any place inside a word.
        places.retain(|place| matches!(folded.text.as_bytes().get(place.end), None | Some(b'\n')));
    }
    let is_last_line_lost = needle.ends_with('\n') && !find.ends_with(['\n', '\r']);
    let needle = (&*needle, is_last_line_lost);
    places.iter().filter_map(|place| unfolded(file, &folded, needle, place, fold)).collect()
}

fn unfolded(
    file: &Lines<'_>,
    folded: &Folded<'_>,
    (needle, is_last_line_lost): (&str, bool),
    place: &Range<usize>,
    fold: Fold,
) -> Option<Place> {
    let mut start = place.start;
    let mut pieces = Vec::new();
    for line in needle.split_inclusive('\n') {
        let (from, to) = (folded.original(start)?, folded.original(start + line.len())?);
        start += line.len();
        let end_length =
            if line.ends_with('\n') { line_end_length(file.text.get(from..to)?, fold) } else { 0 };
        pieces.push(Some(Piece { content: from..to.checked_sub(end_length)?.max(from), end: to }));
    }
    let range = folded.original(place.start)?..folded.original(place.end)?;
    // A last line of nothing but blanks is folded away, but it is a line.
    if is_last_line_lost {
        pieces.push(Some(Piece { content: range.end..range.end, end: range.end }));
    }
    Some(Place { range, pieces, indentation: Indentation::default() })
}

fn line_end_length(line: &str, fold: Fold) -> usize {
    if line.ends_with("\r\n") || fold == Fold::Escapes && line.ends_with("\\n") { 2 } else { 1 }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    /// The same blank lines.
    Same,
    /// More or fewer blank lines, before and behind the lines as well.
    BlankLines,
    /// And comments that were left out.
    Comments,
}

fn line_places(file: &Lines<'_>, edit: &Edit<'_>, sameness: Sameness, between: Between) -> Vec<Place> {
    let find = &edit.find;
    let wanted = Keyed::new(find, sameness);
    let own = match between {
        Between::Comments => Keyed::without_comments(file, sameness, &wanted),
        Between::Same | Between::BlankLines => Keyed::new(file, sameness),
    };
    let mut places: Vec<Place> = Vec::new();
    let starts = own.places(&wanted);
    if starts.is_empty() {
        return places;
    }
    let units = units(file, edit);
    for start in starts {
        let numbers = own.numbers.get(start..start + wanted.numbers.len()).unwrap_or_default();
        let aligned: Vec<(usize, usize)> =
            wanted.numbers.iter().copied().zip(numbers.iter().copied()).collect();
        let pairs: Vec<(&str, &str)> =
            aligned.iter().map(|&(written, found)| (find.content(written), file.content(found))).collect();
        let Ok(indentation) = Indentation::of(&pairs, units) else { continue };
        let lines = with_blank_lines(file, find, &aligned);
        let is_whole = lines.iter().all(Option::is_some)
            && lines.windows(2).all(|pair| match pair {
                [Some(one), Some(other)] => one + 1 == *other,
                _ => false,
            });
        if between == Between::Same && !is_whole {
            continue;
        }
        let Some(place) = place_of_lines(file, find, &lines, indentation) else { continue };
        if places.last().is_none_or(|last| last.range.end <= place.range.start) {
            places.push(place);
        }
    }
    places
}

/// The steps by which the model's text and the file indent.
pub(super) fn units(file: &Lines<'_>, edit: &Edit<'_>) -> (usize, usize) {
    let own = usual_step(file).unwrap_or(DEFAULT_STEP);
    let written = usual_step(&edit.find).or_else(|| usual_step(&edit.replace)).unwrap_or(own);
    (written, own)
}

/// What most languages indent by.
const DEFAULT_STEP: usize = 4;

/// The file's line for each line of `find`, from those for its lines that are not blank. Blank lines stand for the file's
/// nearest ones, as far as it has any.
fn with_blank_lines(file: &Lines<'_>, find: &Lines<'_>, aligned: &[(usize, usize)]) -> Vec<Option<usize>> {
    let mut lines = vec![None; find.len()];
    let is_blank = |line: usize| line < file.len() && file.content(line).trim().is_empty();
    let mut set = |written: usize, found: usize| {
        if let Some(line) = lines.get_mut(written) {
            *line = Some(found);
        }
    };
    if let Some(&(first, found)) = aligned.first() {
        for back in (1..=first).take_while(|&back| found >= back && is_blank(found - back)) {
            set(first - back, found - back);
        }
    }
    for (index, &(written, found)) in aligned.iter().enumerate() {
        set(written, found);
        let next = aligned.get(index + 1).map_or(find.len(), |(next, _)| *next);
        for forth in (1..next - written).take_while(|&forth| is_blank(found + forth)) {
            set(written + forth, found + forth);
        }
    }
    lines
}

/// The stretch from the first to the last of the file's lines.
pub(super) fn place_of_lines(
    file: &Lines<'_>,
    find: &Lines<'_>,
    lines: &[Option<usize>],
    indentation: Indentation,
) -> Option<Place> {
    let mut pieces = Vec::with_capacity(lines.len());
    for (written, line) in lines.iter().enumerate() {
        let Some(span) = line.and_then(|line| file.span(line)) else {
            pieces.push(None);
            continue;
        };
        let end = if find.has_end(written) { span.end } else { span.content.end };
        pieces.push(Some(Piece { content: span.content.clone(), end }));
    }
    let filled = || pieces.iter().flatten();
    let start = filled().map(|piece| piece.content.start).min()?;
    let end = filled().map(|piece| piece.end).max()?;
    Some(Place { range: start..end, pieces, indentation })
}
