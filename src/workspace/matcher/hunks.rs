//! The hunks of a patch without line numbers: each says which lines stay, go and come, in the order of the file.

use super::{
    Likeness, MatchError, Occurrences, Replaced, anchors,
    carry::{Edit, Place},
    describe_places,
    fold::{Dash, fold_line},
    indentation::Indentation,
    lines::{Lines, split_lead},
    ranks::{self, Found},
    resolve,
    together::Made,
};

/// One hunk of a patch that names no line numbers: lines that stay or go, and what stands there after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchHunk {
    /// Lines (or parts of lines) below which the hunk stands, from the outermost to the innermost, without `@@`; mostly
    /// none.
    pub anchors: Vec<String>,
    /// Lines that stay and lines that go, in order, without line ends. Empty for lines that are only added: then an
    /// anchor or `at_end` says where.
    pub old_lines: Vec<String>,
    /// Lines that stay and lines that are new, in order, without line ends.
    pub new_lines: Vec<String>,
    /// The hunk ends where the file ends.
    pub at_end: bool,
}

/// A hunk with all places where it may belong.
struct Candidates<'a> {
    index: usize,
    edit: Edit<'a>,
    likeness: Likeness,
    places: Vec<Place>,
}

/// Makes all hunks of one file's patch, or none: `Err` has the index of the one that was refused, and why.
///
/// Each hunk is found in the text as it was before, as whole lines, by the same ranks as [`super::replace`]. Hunks stand in
/// the order of the file: where one could stand at several places, there has to be exactly one way to place all of them
/// in order. Hunks out of order are taken when each stands only once. A hunk that is found nowhere is looked for in the
/// text as the others left it, as models count on lines that they added themselves.
pub fn replace_hunks(text: &str, hunks: &[PatchHunk]) -> Result<Replaced, (usize, MatchError)> {
    let file = Lines::new(text);
    let texts: Vec<(String, String)> =
        hunks.iter().map(|hunk| (joined(&hunk.old_lines), joined(&hunk.new_lines))).collect();
    let mut candidates = Vec::new();
    let mut late = Vec::new();
    for (index, (hunk, (old, new))) in hunks.iter().zip(&texts).enumerate() {
        match find(&file, index, hunk, old, new).map_err(|error| (index, error))? {
            Some(found) => candidates.push(found),
            None => late.push((index, hunk, old, new)),
        }
    }
    let chosen = in_order(&file, &candidates)?;
    let mut likeness = Likeness::Exact;
    let mut changes = Vec::new();
    for (hunk, place) in candidates.iter().zip(chosen) {
        let index = hunk.index;
        likeness = likeness.max(hunk.likeness);
        let resolved = resolve::finish(&file, &hunk.edit, (hunk.likeness, vec![place]), Occurrences::One);
        let resolved = resolved.map_err(|error| (index, error))?;
        changes.extend(resolved.changes.into_iter().map(|(range, new)| (index, range, new)));
    }
    let mut made = Made::of(text, changes, "hunks")?;
    for (index, hunk, old, new) in late {
        let missing = || (index, resolve::missing(text, old, new));
        let now = made.text.clone();
        let file = Lines::new(&now);
        let found =
            find(&file, index, hunk, old, new).map_err(|error| (index, error))?.ok_or_else(missing)?;
        likeness = likeness.max(found.likeness);
        let resolved = resolve::finish(&file, &found.edit, (found.likeness, found.places), Occurrences::One);
        let resolved = resolved.map_err(|error| (index, error))?;
        made.add(index, resolved.changes).ok_or_else(missing)??;
    }
    made.finish(text, likeness).map_err(|error| (0, error))
}

/// Each line with its end, so that a hunk stands for whole lines.
fn joined(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// Where a hunk may belong; `None`: nowhere.
fn find<'a>(
    file: &Lines<'_>,
    index: usize,
    hunk: &PatchHunk,
    old: &'a str,
    new: &'a str,
) -> Result<Option<Candidates<'a>>, MatchError> {
    let edit = Edit::new(old, new);
    if hunk.old_lines.is_empty() {
        let place = insertion(file, hunk)?;
        return Ok(Some(Candidates { index, edit, likeness: Likeness::Exact, places: vec![place] }));
    }
    let found = ranks::as_lines(file, &edit)
        .or_else(|| Some((Likeness::Anchors, vec![anchors::place(file, &edit)?])));
    let Some((likeness, mut places)): Option<Found> = found else { return Ok(None) };
    if hunk.at_end {
        let last = file.text.trim_end().len();
        if places.iter().any(|place| place.range.end >= last) {
            places.retain(|place| place.range.end >= last);
        }
    }
    if places.len() > 1 && !hunk.anchors.is_empty() {
        places = below_anchors(file, hunk, places);
    }
    Ok(Some(Candidates { index, edit, likeness, places }))
}

/// Where lines go that a hunk only adds.
fn insertion(file: &Lines<'_>, hunk: &PatchHunk) -> Result<Place, MatchError> {
    let at =
        |offset| Place { range: offset..offset, pieces: Vec::new(), indentation: Indentation::default() };
    if hunk.at_end || file.len() == 0 {
        return Ok(at(file.text.len()));
    }
    let Some(innermost) = hunk.anchors.last() else {
        return Err(MatchError::Ambiguous(
            "the hunk only adds lines and does not say where: give some lines around them that stay as they are, or the line above them behind @@"
                .to_owned(),
        ));
    };
    match anchor_lines(file, &hunk.anchors).as_slice() {
        [line] => Ok(at(file.span(*line).map_or(file.text.len(), |span| span.end))),
        [] => Err(MatchError::Missing(format!("the line `{innermost}` behind @@ is not in the file"))),
        many => {
            let ranges: Vec<_> =
                many.iter().filter_map(|&line| file.span(line)).map(|span| span.content.clone()).collect();
            Err(MatchError::Ambiguous(format!(
                "the line `{innermost}` behind @@ is not clear: {}",
                describe_places(file.text, &ranges, "name the line above it behind another @@")
            )))
        }
    }
}

/// The lines that the innermost anchor names, below those that the outer ones name.
fn anchor_lines(file: &Lines<'_>, anchors: &[String]) -> Vec<usize> {
    let mut above: Option<Vec<usize>> = None;
    for anchor in anchors {
        let wanted = fold_line(anchor.trim(), Dash::One);
        let lines: Vec<_> = file.contents().map(|line| fold_line(line.trim(), Dash::One)).collect();
        let first = above.as_ref().map(|above| above.first().copied().unwrap_or(usize::MAX));
        let is_below = |line: usize| first.is_none_or(|first| line > first);
        let among = |fits: &dyn Fn(&str) -> bool| -> Vec<usize> {
            lines
                .iter()
                .enumerate()
                .filter(|(line, text)| is_below(*line) && fits(text))
                .map(|(line, _)| line)
                .collect()
        };
        let mut found = among(&|line| line == wanted);
        if found.is_empty() {
            found = among(&|line| line.starts_with(&*wanted));
        }
        if found.is_empty() {
            found = among(&|line| line.contains(&*wanted));
        }
        if let Some(above) = above.as_ref().filter(|above| above.len() > 1) {
            found.retain(|&line| above.iter().any(|&above| is_in_block(file, above, line)));
        }
        above = Some(found);
    }
    above.unwrap_or_default()
}

/// Of several places those that an anchor speaks for: inside the block that it begins, else the only one below it.
fn below_anchors(file: &Lines<'_>, hunk: &PatchHunk, places: Vec<Place>) -> Vec<Place> {
    let anchors = anchor_lines(file, &hunk.anchors);
    let start = |place: &Place| file.line_at(place.range.start);
    let inside: Vec<_> = places
        .iter()
        .filter(|place| anchors.iter().any(|&anchor| is_in_block(file, anchor, start(place))))
        .cloned()
        .collect();
    if !inside.is_empty() {
        return inside;
    }
    let below: Vec<_> =
        places.iter().filter(|place| anchors.iter().any(|&anchor| anchor <= start(place))).cloned().collect();
    if below.len() == 1 { below } else { places }
}

/// Whether all lines from the first one to the other are deeper than the first, but for those of brackets.
fn is_in_block(file: &Lines<'_>, first: usize, line: usize) -> bool {
    let depth = |line: usize| split_lead(file.content(line)).0.chars().count();
    let has_words = |line: &usize| file.content(*line).contains(char::is_alphanumeric);
    first <= line && (first + 1..line).filter(has_words).all(|between| depth(between) > depth(first))
}

/// One place for each hunk.
fn in_order(file: &Lines<'_>, hunks: &[Candidates<'_>]) -> Result<Vec<Place>, (usize, MatchError)> {
    let starts: Vec<Vec<usize>> =
        hunks.iter().map(|hunk| hunk.places.iter().map(|place| place.range.start).collect()).collect();
    let before = ways(&starts, |one, other| one < other);
    let reversed: Vec<_> = starts.iter().rev().cloned().collect();
    let mut behind = ways(&reversed, |one, other| one > other);
    behind.reverse();
    let mut chosen = Vec::new();
    let is_ordered = before.last().is_none_or(|last| last.iter().any(|ways| *ways > 0));
    for (number, hunk) in hunks.iter().enumerate() {
        let counts = before.get(number).zip(behind.get(number));
        let possible: Vec<&Place> = match counts.filter(|_| is_ordered) {
            None => hunk.places.iter().collect(),
            Some((before, behind)) => {
                let ways = before.iter().zip(behind);
                hunk.places
                    .iter()
                    .zip(ways)
                    .filter(|(_, (before, behind))| **before > 0 && **behind > 0)
                    .map(|(place, _)| place)
                    .collect()
            }
        };
        match possible.as_slice() {
            [place] => chosen.push((*place).clone()),
            _ => {
                let ranges: Vec<_> = possible.iter().map(|place| place.range.clone()).collect();
                return Err((
                    hunk.index,
                    MatchError::Ambiguous(describe_places(
                        file.text,
                        &ranges,
                        "name a line above it behind @@",
                    )),
                ));
            }
        }
    }
    Ok(chosen)
}

/// For each place of each hunk whether the hunks up to it can be placed in order: 0 or 1 (more than one way shows where
/// two places of one hunk are possible).
fn ways(starts: &[Vec<usize>], is_in_order: impl Fn(usize, usize) -> bool) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    // The place of the hunk before that leaves the most room.
    let mut nearest: Option<usize> = None;
    for (number, own) in starts.iter().enumerate() {
        let counts: Vec<u8> = own
            .iter()
            .map(|&start| u8::from(number == 0 || nearest.is_some_and(|nearest| is_in_order(nearest, start))))
            .collect();
        let possible = own.iter().zip(&counts).filter(|(_, count)| **count > 0).map(|(start, _)| *start);
        nearest = possible.reduce(|one, other| if is_in_order(one, other) { one } else { other });
        all.push(counts);
    }
    all
}
