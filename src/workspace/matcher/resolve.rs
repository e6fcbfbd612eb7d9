//! From a wanted edit to what has to be changed in a text, on the closest rank that finds a place.

use std::ops::Range;

use super::{
    Likeness, MatchError, Occurrences, anchors,
    carry::{Conflict, Edit, Place},
    describe_places,
    lines::Lines,
    nearest,
    ranks::{self, Found},
    rewrite::{self, Reading},
};

/// What has to be changed in a text.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) likeness: Likeness,
    /// Ranges of the text and what takes their place, in order, not overlapping.
    pub(super) changes: Vec<(Range<usize>, String)>,
}

pub(super) fn resolve(
    text: &str,
    find: &str,
    replace: &str,
    occurrences: Occurrences,
) -> Result<Resolved, MatchError> {
    if find.is_empty() {
        return Err(MatchError::Pointless(
            "the text to find is empty; give the text that is to be replaced, or write the whole file"
                .to_owned(),
        ));
    }
    let file = Lines::new(text);
    if let Some(found) = ranks::as_written(&file, find) {
        let found = ranks::as_indented(&file, &Edit::new(find, replace), &found).unwrap_or(found);
        let is_exact = found.0 == Likeness::Exact;
        let edit = if is_exact { Edit::exact(find, replace) } else { Edit::new(find, replace) };
        return finish(&file, &edit, found, occurrences);
    }
    let edit = Edit::new(find, replace);
    if let Some(resolved) = unfinished_last_line(&file, find, replace, occurrences) {
        return resolved;
    }
    if let Some(found) = ranks::as_typed(&file, &edit) {
        return finish(&file, &edit, found, occurrences);
    }
    let readings = rewrite::other_readings(find, replace);
    for Reading { find, replace, line } in &readings {
        let edit = Edit::new(find, replace);
        let found = match line {
            Some(line) => near(&file, ranks::as_lines(&file, &edit), *line),
            None => ranks::as_written(&file, find).or_else(|| ranks::as_typed(&file, &edit)),
        };
        if let Some((_, places)) = found {
            return finish(&file, &edit, (Likeness::Wrapping, places), occurrences);
        }
    }
    if let Some(found) = ranks::as_escaped(&file, &edit) {
        if adds_what_needs_escapes(find, replace) {
            return Err(MatchError::Missing(format!(
                "the file writes this text with escapes (`\\n`, `\\\"` …) and the replacement adds such characters, so it is not clear what is to be escaped; write both texts as the file has them\n{}",
                nearest::describe(text, find),
            )));
        }
        return finish(&file, &edit, found, occurrences);
    }
    let others = readings.iter().map(|reading| (&*reading.find, &*reading.replace));
    for (find, replace) in std::iter::once((find, replace)).chain(others) {
        let edit = Edit::new(find, replace);
        if let Some(place) = anchors::place(&file, &edit) {
            return finish(&file, &edit, (Likeness::Anchors, vec![place]), occurrences);
        }
    }
    Err(missing(text, find, replace))
}

/// What was read with line numbers is whole lines, and stands about where it stood: what looks like a number may be none.
fn near(file: &Lines<'_>, found: Option<Found>, line: usize) -> Option<Found> {
    let (likeness, places) = found?;
    let is_near = |place: &Place| (file.line_at(place.range.start) + 1).abs_diff(line) <= MAX_DRIFT;
    places.iter().all(is_near).then_some((likeness, places))
}

/// Lines by which the edits of a turn move what stands below them.
const MAX_DRIFT: usize = 200;

/// Why nothing was found, and whether the change is there already.
pub(super) fn missing(text: &str, find: &str, replace: &str) -> MatchError {
    let done = nearest::already_there(text, find, replace).unwrap_or_default();
    MatchError::Missing(format!("{}{done}", nearest::describe(text, find)))
}

/// A quote, a backslash or a tab that was not in the text before.
fn adds_what_needs_escapes(find: &str, replace: &str) -> bool {
    ['"', '\'', '\\', '\t'].iter().any(|sign| replace.matches(*sign).count() > find.matches(*sign).count())
}

/// The last line of a file without a line end, looked for with one.
fn unfinished_last_line(
    file: &Lines<'_>,
    find: &str,
    replace: &str,
    occurrences: Occurrences,
) -> Option<Result<Resolved, MatchError>> {
    let find = without_last_end(find).filter(|find| !find.is_empty())?;
    let edit = Edit::new(find, without_last_end(replace).unwrap_or(replace));
    let (_, places) = ranks::as_written(file, find)?;
    let place = places.into_iter().next_back().filter(|place| place.range.end == file.text.len())?;
    Some(finish(file, &edit, (Likeness::LineEnds, vec![place]), occurrences))
}

fn without_last_end(text: &str) -> Option<&str> {
    text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text))
}

pub(super) fn finish(
    file: &Lines<'_>,
    edit: &Edit<'_>,
    (likeness, places): Found,
    occurrences: Occurrences,
) -> Result<Resolved, MatchError> {
    if occurrences == Occurrences::One && places.len() > 1 {
        let ranges: Vec<_> = places.into_iter().map(|place| place.range).collect();
        return Err(MatchError::Ambiguous(describe_places(file.text, &ranges, "ask to replace all")));
    }
    let mut changes = Vec::with_capacity(places.len());
    for place in &places {
        let mut new = edit.carry(file, place).map_err(|conflict| in_conflict(file, edit, place, conflict))?;
        let is_unfinished = place.range.end == file.text.len() && !file.text.ends_with(['\n', '\r']);
        if is_unfinished && edit.find.text.ends_with('\n') {
            // A last line without an end keeps having none.
            let kept = without_last_end(&new).map_or(new.len(), str::len);
            new.truncate(kept);
        }
        changes.push((place.range.clone(), new));
    }
    Ok(Resolved { likeness, changes })
}

/// The edit would change what the file has otherwise: it cannot be made without guessing.
fn in_conflict(file: &Lines<'_>, edit: &Edit<'_>, place: &Place, conflict: Conflict) -> MatchError {
    let first = file.line_at(place.range.start);
    let last = file.line_at(place.range.end.saturating_sub(1)).max(first);
    let line = match conflict {
        Conflict::Line(line) | Conflict::Hidden(line) => line,
    };
    let wanted = edit.find.content(line);
    let piece = place.pieces.get(line).and_then(Option::as_ref);
    let differs = match (piece, conflict) {
        (Some(piece), Conflict::Line(_)) => nearest::differs(file, file.line_at(piece.content.start), wanted),
        (Some(piece), Conflict::Hidden(_)) => format!(
            "lines before line {} would go that the text to find does not have; write them as well",
            file.line_at(piece.content.start) + 1
        ),
        (None, _) => format!("there is no line `{}` in it", nearest::cut(wanted)),
    };
    MatchError::Missing(format!(
        "the text to find is not in the file as it stands, and the edit changes what differs; the nearest is {}\n{differs}",
        nearest::region(file, first, last),
    ))
}
